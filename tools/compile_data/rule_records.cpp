// data/rules/*.toml → rule_records.cpp, with the checks that keep a record complete in both languages.

#include <algorithm>
#include <filesystem>

#include "compile_data/document.h"
#include "compile_data/generate.h"

namespace compile_data {
namespace {

struct Name {
  std::string_view text, code;
};

// driver-healthy belongs to no link: it stands behind all of them.
constexpr Name layers[] = {{"hardware", "Layer::Hardware"},      {"kernel-module", "Layer::KernelModule"},
                           {"device-node", "Layer::DeviceNode"}, {"user-driver", "Layer::UserDriver"},
                           {"toolkit", "Layer::Toolkit"},        {"runtime-library", "Layer::RuntimeLibrary"},
                           {"framework", "Layer::Framework"},    {"application", "Layer::Application"},
                           {"container", "Layer::Container"},    {"wsl", "Layer::Wsl"},
                           {"none", "Layer::Application"}};
constexpr Name severities[] = {{"note", "Severity::Note"}, {"warning", "Severity::Warning"}, {"error", "Severity::Error"}};
constexpr Name worlds[] = {{"bare-metal", "1"}, {"vm", "2"}, {"container", "4"}, {"wsl2", "8"}, {"wsl1", "16"}, {"jetson", "32"}};

constexpr std::string_view top_keys[] = {"slug",     "layer",  "severity",   "severity_reason", "worlds",
                                         "explains", "source", "decides.en", "decides.zh"};
constexpr std::string_view text_keys[] = {"title_en", "title_zh", "explanation_en", "explanation_zh"};

template <std::size_t N>
std::string code_of(const Name (&names)[N], std::string_view text) {
  for (const Name& name : names) {
    if (name.text == text) return std::string(name.code);
  }
  return "";
}

std::string code_of_key(const Document& document, std::string_view key, const std::string& value, std::string code,
                        Problems& problems) {
  if (code.empty() && !value.empty())
    problems.add(document.path, document.line_of(key), "unknown " + std::string(key) + " '" + value + "'");
  return code;
}

void check_known_keys(const Document& document, Problems& problems) {
  for (const auto& [key, value] : document.values) {
    const bool top = std::find(std::begin(top_keys), std::end(top_keys), key) != std::end(top_keys);
    const std::size_t dot = key.rfind('.');
    const std::string head = dot == std::string::npos ? "" : key.substr(0, dot), tail = key.substr(dot + 1);
    const bool in_text = head == "text" || (head.starts_with("variant.") && head.find('.', 8) == std::string::npos);
    const bool explain = head == "explain" || key.starts_with("explain.repair.");
    if (explain) continue;  // checked where it is read
    const bool text = in_text && std::find(std::begin(text_keys), std::end(text_keys), tail) != std::end(text_keys);
    if (!top && !text) problems.add(document.path, value.line, "unknown key '" + key + "'");
  }
}

void check_against_catalogue(const Document& document, const std::vector<CatalogueRow>& catalogue, Problems& problems) {
  const auto row =
      std::find_if(catalogue.begin(), catalogue.end(), [&](const CatalogueRow& r) { return r.slug == document.stem; });
  if (row == catalogue.end()) {
    problems.add(document.path, document.line_of("slug"), "'" + document.stem + "' is not in data/catalogue.tsv");
    return;
  }
  if (!optional_text(document, "severity_reason").empty()) return;
  for (const auto& [key, wanted] :
       {std::pair<std::string_view, const std::string&>("layer", row->layer), {"severity", row->severity}}) {
    const std::string value = optional_text(document, key);
    if (value != wanted) {
      problems.add(document.path, document.line_of(key),
                   std::string(key) + " '" + value + "' differs from the catalogue's '" + wanted + "' without a severity_reason");
    }
  }
}

std::string world_bits(const Document& document, Problems& problems) {
  const Value* list = document.find("worlds", Value::Kind::List);
  std::string code;
  for (const std::string& world : list ? list->list : std::vector<std::string>{}) {
    const std::string bit = code_of(worlds, world);
    if (bit.empty()) problems.add(document.path, list->line, "unknown world '" + world + "'");
    code += (code.empty() ? "" : " | ") + bit;
  }
  if (code.empty()) problems.add(document.path, document.line_of("worlds"), "'worlds' must name at least one world");
  return code.empty() ? "0" : code;
}

bool explainable(const std::string& kind, const std::vector<CatalogueRow>& catalogue) {
  if (kind.starts_with("layer:")) return !code_of(layers, kind.substr(6)).empty();
  return std::any_of(catalogue.begin(), catalogue.end(), [&](const CatalogueRow& row) { return row.slug == kind; });
}

std::vector<std::string> explained(const Document& document, const std::vector<CatalogueRow>& catalogue, Problems& problems) {
  const Value* list = document.find("explains", Value::Kind::List);
  if (!list) return {};
  for (const std::string& kind : list->list) {
    if (!explainable(kind, catalogue))
      problems.add(document.path, list->line, "explains '" + kind + "', which is no kind of the catalogue and no layer:NAME");
  }
  return list->list;
}

/// One RuleText initialiser: the main text ("text") or a variant ("variant.NAME").
std::string text_code(const Document& document, const std::string& prefix, const std::string& variant, Problems& problems) {
  std::string code = "  {" + literal(variant);
  for (const std::string_view key : text_keys)
    code += ",\n   " + literal(required_text(document, prefix + "." + std::string(key), problems));
  check_same_placeholders(document, prefix + ".title_en", prefix + ".title_zh", problems);
  check_same_placeholders(document, prefix + ".explanation_en", prefix + ".explanation_zh", problems);
  return code + "},\n";
}

std::string identifier(std::string slug) {
  std::replace_if(
      slug.begin(), slug.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return slug;
}

constexpr std::string_view explain_keys[] = {"title_en", "title_zh",        "explanation_en",  "explanation_zh",
                                             "confirm",  "confirm_library", "confirm_windows", "severity"};

/// [explain]: what `explain` says where a text names the kind and the main text's placeholders are not known.
std::string explain_text_code(const Document& document, Problems& problems) {
  if (document.find("explain.title_en", Value::Kind::Text) == nullptr) return "";
  for (const char* key : {"explain.title_en", "explain.title_zh", "explain.explanation_en", "explain.explanation_zh"})
    if (!placeholders(optional_text(document, key)).empty())
      problems.add(document.path, document.line_of(key), std::string(key) + " must do without placeholders");
  return text_code(document, "explain", "in-text", problems);
}

/// "or TYPE" is another way, "else TYPE" is for the case that the steps before did not help.
std::pair<std::string, std::string> step_and_when(const std::string& step) {
  if (step.starts_with("or ")) return {step.substr(3), "StepWhen::Instead"};
  if (step.starts_with("else ")) return {step.substr(5), "StepWhen::IfNotEnough"};
  return {step, "StepWhen::Always"};
}

/// The repair steps of [explain] as RecordAction initialisers; the parameters go into `arrays`.
std::string explain_repair_code(const Document& document, const std::string& id, const std::vector<std::string>& actions,
                                std::string& arrays, Problems& problems) {
  std::string steps;
  const auto known = [&](const std::string& type, std::size_t line) {
    if (std::find(actions.begin(), actions.end(), type) == actions.end())
      problems.add(document.path, line, "unknown action '" + type + "'");
  };
  if (const Value* list = document.find("explain.repair", Value::Kind::List)) {
    for (const std::string& step : list->list) {
      const auto [type, when] = step_and_when(step);
      known(type, list->line);
      steps += "{" + literal(type) + ", " + when + ", {}}, ";
    }
    return steps;
  }
  for (std::size_t i = 0;; ++i) {
    const std::string prefix = "explain.repair." + std::to_string(i);
    const auto keys = document.children(prefix);
    if (keys.empty()) return steps;
    const auto [type, when] = step_and_when(required_text(document, prefix + ".type", problems));
    known(type, document.line_of(prefix + ".type"));
    std::string parameters;
    for (const std::string& key : keys)
      if (key != "type") parameters += "{" + literal(key) + ", " + literal(optional_text(document, prefix + "." + key)) + "}, ";
    const std::string name = "explain_parameters_" + id + "_" + std::to_string(i);
    if (!parameters.empty()) arrays += "constexpr RecordParameter " + name + "[] = {" + parameters + "};\n";
    steps += "{" + literal(type) + ", " + when + ", " + (parameters.empty() ? "{}" : name) + "}, ";
  }
}

void check_explain_keys(const Document& document, Problems& problems) {
  for (const std::string& key : document.children("explain")) {
    if (key != "repair" && std::find(std::begin(explain_keys), std::end(explain_keys), key) == std::end(explain_keys))
      problems.add(document.path, document.line_of("explain." + key), "unknown key 'explain." + key + "'");
  }
}

struct RecordCode {
  std::string arrays, entry;
};

RecordCode record_code(const Document& document, const std::vector<CatalogueRow>& catalogue,
                       const std::vector<std::string>& actions, Problems& problems) {
  check_known_keys(document, problems);
  check_against_catalogue(document, catalogue, problems);
  const std::string slug = required_text(document, "slug", problems);
  if (slug != document.stem)
    problems.add(document.path, document.line_of("slug"), "slug '" + slug + "' differs from the file's name");
  const std::string layer = required_text(document, "layer", problems), severity = required_text(document, "severity", problems);
  const std::string id = identifier(document.stem);

  RecordCode code;
  code.arrays = "constexpr RuleText texts_" + id + "[] = {\n" + text_code(document, "text", "", problems);
  for (const std::string& variant : document.children("variant"))
    code.arrays += text_code(document, "variant." + variant, variant, problems);
  check_explain_keys(document, problems);
  code.arrays += explain_text_code(document, problems);
  code.arrays += "};\n";
  const std::string repair = explain_repair_code(document, id, actions, code.arrays, problems);
  if (!repair.empty()) code.arrays += "constexpr RecordAction explain_repair_" + id + "[] = {" + repair + "};\n";
  std::string explains;
  for (const std::string& kind : explained(document, catalogue, problems)) explains += literal(kind) + ", ";
  if (!explains.empty()) code.arrays += "constexpr std::string_view explains_" + id + "[] = {" + explains + "};\n";

  const std::string of_text = optional_text(document, "explain.severity");
  code.entry = "  {" + literal(slug) + ", " + code_of_key(document, "layer", layer, code_of(layers, layer), problems) + ", " +
               code_of_key(document, "severity", severity, code_of(severities, severity), problems) + ", " +
               world_bits(document, problems) + ", " + (explains.empty() ? "{}" : "explains_" + id) + ", texts_" + id + ",\n   " +
               literal(required_text(document, "decides.en", problems)) + ",\n   " +
               literal(required_text(document, "decides.zh", problems)) + ",\n   " +
               literal(required_text(document, "source", problems)) + ",\n   " +
               literal(optional_text(document, "explain.confirm")) + ", " +
               literal(optional_text(document, "explain.confirm_library")) + ", " +
               literal(optional_text(document, "explain.confirm_windows")) + ", " +
               (repair.empty() ? "{}" : "explain_repair_" + id) + ", " +
               (of_text.empty() ? "std::nullopt"
                                : code_of_key(document, "explain.severity", of_text, code_of(severities, of_text), problems)) +
               "},\n";
  return code;
}

bool has_file(const std::string& folder, std::string_view prefix, std::string_view extension) {
  const auto files = files_in(folder, extension);
  return std::any_of(files.begin(), files.end(), [&](const std::string& path) {
    return std::filesystem::path(path).filename().string().starts_with(prefix);
  });
}

}  // namespace

std::string generate_rule_records(const std::string& data_dir, const std::vector<CatalogueRow>& catalogue, Problems& problems) {
  std::string arrays, entries;
  std::vector<std::string> actions;
  for (const std::string& path : files_in(data_dir + "/actions", ".toml"))
    actions.push_back(std::filesystem::path(path).stem().string());
  for (const std::string& path : files_in(data_dir + "/rules", ".toml")) {
    const auto document = read_document(path, problems);
    if (!document) continue;
    const RecordCode code = record_code(*document, catalogue, actions, problems);
    arrays += code.arrays;
    entries += code.entry;
  }
  const std::string list = entries.empty() ? "constexpr std::span<const RuleRecord> records;\n"
                                           : "constexpr RuleRecord records[] = {\n" + entries + "};\n";
  return "// Generated by compile_data from data/rules.\n#include \"rules/rule.h\"\n\nnamespace gpuvet {\nnamespace {\n" +
         arrays + list +
         "}  // namespace\n\nstd::span<const RuleRecord> all_rule_records() { return records; }\n\n"
         "const RuleRecord* find_rule_record(std::string_view slug) {\n"
         "  for (const RuleRecord& record : all_rule_records()) {\n    if (record.slug == slug) return &record;\n  }\n  return "
         "nullptr;\n}\n\n}  // namespace gpuvet\n";
}

void check_scenarios(const std::string& data_dir, const std::string& scenario_dir, const std::string& case_dir,
                     Problems& problems) {
  std::vector<std::string> slugs;
  for (const std::string& path : files_in(data_dir + "/rules", ".toml")) {
    slugs.push_back(std::filesystem::path(path).stem().string());
    const std::string folder = scenario_dir + "/" + slugs.back();
    // A kind that only texts show has texts instead.
    const std::string texts = case_dir + "/" + slugs.back();
    for (const char* prefix : {"fires-", "near-miss-"}) {
      if (!has_file(folder, prefix, ".scenario") && !has_file(texts, prefix, ".txt"))
        problems.add(path, 1,
                     "no scenario " + folder + "/" + prefix + "*.scenario and no text " + texts + "/" + prefix + "*.txt");
    }
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(scenario_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name == "healthy" || name == "bases" || name == "machines") continue;
    if (std::find(slugs.begin(), slugs.end(), name) == slugs.end())
      problems.add(entry.path().string(), 1, "no rule record " + data_dir + "/rules/" + name + ".toml");
  }
}

}  // namespace compile_data
