// data/signatures/*.toml → signature_records.cpp. Patterns themselves are tried by tests/unit/text/signatures_test.cpp.

#include <algorithm>
#include <filesystem>
#include <set>

#include "compile_data/document.h"
#include "compile_data/generate.h"

namespace compile_data {
namespace {

constexpr std::string_view known_keys[] = {"id",          "pattern",     "literals", "observes", "kind",  "weight",
                                           "harmless_en", "harmless_zh", "releases", "source",   "match", "near_miss"};
constexpr std::size_t shortest_literal = 6;

void check_keys(const Document& document, Problems& problems) {
  for (const auto& [key, value] : document.values) {
    if (key.starts_with("with.") || key.starts_with("also.")) continue;
    if (std::find(std::begin(known_keys), std::end(known_keys), key) == std::end(known_keys))
      problems.add(document.path, value.line, "unknown key '" + key + "'");
  }
}

/// One text or a list of texts.
std::vector<std::string> texts_of(const Document& document, std::string_view key, Problems& problems) {
  if (const Value* list = document.find(key, Value::Kind::List); list != nullptr && !list->list.empty()) return list->list;
  return {required_text(document, key, problems)};
}

std::string array_of(const std::vector<std::string>& texts) {
  std::string code;
  for (const std::string& text : texts) code += literal(text) + ", ";
  return code;
}

struct Writer {
  const std::set<std::string>& kinds;
  Problems& problems;
  std::string arrays, entries;
  std::set<std::string> ids;

  void kind_exists(const Document& document, const std::string& kind) {
    if (!kind.empty() && !kinds.contains(kind))
      problems.add(document.path, document.line, "kind '" + kind + "' has no record in data/rules");
  }

  double share(const Document& document, const std::string& key) {
    const Value* value = document.find(key, Value::Kind::Number);
    if (value != nullptr && value->number > 0 && value->number < 1) return value->number;
    problems.add(document.path, document.line, "'" + key + "' must be a number between 0 and 1");
    return 0;
  }

  void add(const Document& document) {
    check_keys(document, problems);
    const std::string id = required_text(document, "id", problems);
    if (!ids.insert(id).second) problems.add(document.path, document.line, "signature '" + id + "' is there twice");
    const std::string name = "s" + std::to_string(ids.size()) + "_";
    const auto literals = texts_of(document, "literals", problems);
    for (const std::string& text : literals)
      if (text.size() < shortest_literal) problems.add(document.path, document.line, "literal '" + text + "' is too short");
    arrays += "constexpr std::string_view " + name + "literals[] = {" + array_of(literals) + "};\n";
    arrays += "constexpr std::string_view " + name + "match[] = {" + array_of(texts_of(document, "match", problems)) + "};\n";
    arrays += "constexpr std::string_view " + name + "near[] = {" + array_of(texts_of(document, "near_miss", problems)) + "};\n";
    std::string with, also;
    for (const std::string& key : document.children("with"))
      with += "{" + literal(key) + ", " + literal(optional_text(document, "with." + key)) + "}, ";
    for (const std::string& kind : document.children("also")) {
      kind_exists(document, kind);
      also += "{" + literal(kind) + ", " + std::to_string(share(document, "also." + kind)) + "}, ";
    }
    if (!with.empty()) arrays += "constexpr SignatureParameter " + name + "with[] = {" + with + "};\n";
    if (!also.empty()) arrays += "constexpr SignatureKind " + name + "also[] = {" + also + "};\n";
    const std::string kind = optional_text(document, "kind"), observes = optional_text(document, "observes");
    kind_exists(document, kind);
    const bool harmless = !optional_text(document, "harmless_en").empty();
    if (harmless != !optional_text(document, "harmless_zh").empty())
      problems.add(document.path, document.line, "'" + id + "': harmless_en and harmless_zh go together");
    if (harmless && !kind.empty()) problems.add(document.path, document.line, "'" + id + "' is harmless and names a kind");
    entries += "  {" + literal(id) + ", " + literal(required_text(document, "pattern", problems)) + ",\n   " + name +
               "literals, " + literal(observes.empty() ? id : observes) + ", " + (with.empty() ? "{}" : name + "with") + ", " +
               literal(kind) + ", " + (kind.empty() ? "0" : std::to_string(share(document, "weight"))) + ", " +
               (also.empty() ? "{}" : name + "also") + ",\n   " + literal(optional_text(document, "harmless_en")) + ", " +
               literal(optional_text(document, "harmless_zh")) + ",\n   " + literal(optional_text(document, "releases")) + ", " +
               literal(required_text(document, "source", problems)) + ", " + name + "match, " + name + "near},\n";
  }
};

}  // namespace

std::string generate_signature_records(const std::string& data_dir, Problems& problems) {
  std::set<std::string> kinds;
  for (const std::string& path : files_in(data_dir + "/rules", ".toml"))
    kinds.insert(std::filesystem::path(path).stem().string());
  Writer writer{kinds, problems, {}, {}, {}};
  for (const std::string& path : files_in(data_dir + "/signatures", ".toml"))
    for (const Document& document : read_document_list(path, "signature", problems)) writer.add(document);
  const std::string list = writer.entries.empty() ? "constexpr std::span<const Signature> records;\n"
                                                  : "constexpr Signature records[] = {\n" + writer.entries + "};\n";
  return "// Generated by compile_data from data/signatures.\n#include \"knowledge/signatures.h\"\n\nnamespace gpuvet {\n"
         "namespace {\n" +
         writer.arrays + list +
         "}  // namespace\n\nstd::span<const Signature> all_signatures() { return records; }\n\n}  // namespace gpuvet\n";
}

}  // namespace compile_data
