// data/actions/*.toml → action_records.cpp.

#include <algorithm>

#include "compile_data/document.h"
#include "compile_data/generate.h"

namespace compile_data {
namespace {

constexpr std::string_view known_keys[] = {"type",    "risk",      "reversible", "reboot", "text.en",
                                           "text.zh", "backup.en", "backup.zh",  "source"};
constexpr std::string_view risks[] = {"none", "variable", "file", "symlink", "package", "kernel", "firmware", "hardware"};
// os ids (ID of os-release) and families; "windows" is the Windows side of a WSL machine.
constexpr std::string_view families[] = {"any",
                                         "debian",
                                         "ubuntu",
                                         "linuxmint",
                                         "pop",
                                         "zorin",
                                         "fedora",
                                         "rhel",
                                         "centos",
                                         "rocky",
                                         "almalinux",
                                         "ol",
                                         "amzn",
                                         "arch",
                                         "manjaro",
                                         "endeavouros",
                                         "suse",
                                         "opensuse-leap",
                                         "opensuse-tumbleweed",
                                         "sles",
                                         "alpine",
                                         "gentoo",
                                         "nixos",
                                         "void",
                                         "wsl",
                                         "jetson",
                                         "container",
                                         "windows",
                                         "mariner",
                                         "azurelinux",
                                         "kali",
                                         "raspbian"};

// Ways to install Python packages: all that can be filled are shown, not one of them chosen by distribution.
constexpr std::string_view installers[] = {"pip", "uv", "conda", "poetry", "pixi"};

template <std::size_t N>
bool contains(const std::string_view (&list)[N], std::string_view value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

void check_keys(const Document& document, Problems& problems) {
  for (const auto& [key, value] : document.values) {
    if (key.starts_with("commands.")) {
      const std::string_view name = std::string_view(key).substr(9);
      if (!contains(families, name) && !contains(installers, name))
        problems.add(document.path, value.line, "unknown family '" + key.substr(9) + "'");
      if (value.kind != Value::Kind::List || value.list.empty())
        problems.add(document.path, value.line, "'" + key + "' must be a list of commands");
    } else if (!contains(known_keys, key)) {
      problems.add(document.path, value.line, "unknown key '" + key + "'");
    }
  }
}

std::string commands_code(const Document& document, const std::string& id, std::string& arrays) {
  std::string entries;
  std::size_t number = 0;
  for (const std::string& family : document.children("commands")) {
    const Value* list = document.find("commands." + family, Value::Kind::List);
    if (!list || list->list.empty()) continue;
    const std::string name = "commands_" + id + "_" + std::to_string(number++);
    arrays += "constexpr std::string_view " + name + "[] = {";
    for (const std::string& command : list->list) arrays += literal(command) + ", ";
    arrays += "};\n";
    entries += "{" + literal(family) + ", " + name + "}, ";
  }
  if (entries.empty()) return "{}";
  arrays += "constexpr FamilyCommands commands_" + id + "[] = {" + entries + "};\n";
  return "commands_" + id;
}

std::string record_code(const Document& document, std::string& arrays, Problems& problems) {
  check_keys(document, problems);
  const std::string type = optional_text(document, "type");
  if (!type.empty() && type != document.stem)
    problems.add(document.path, document.line_of("type"), "type '" + type + "' differs from the file's name");
  const std::string risk = required_text(document, "risk", problems);
  if (!risk.empty() && !contains(risks, risk))
    problems.add(document.path, document.line_of("risk"), "unknown risk '" + risk + "'");
  check_same_placeholders(document, "text.en", "text.zh", problems);
  check_same_placeholders(document, "backup.en", "backup.zh", problems);
  const bool backup = !document.children("backup").empty();
  std::string id = document.stem;
  std::replace_if(
      id.begin(), id.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  const auto flag = [&](std::string_view key) { return required_flag(document, key, problems) ? "true" : "false"; };
  return "  {" + literal(document.stem) + ",\n   " + literal(required_text(document, "text.en", problems)) + ",\n   " +
         literal(required_text(document, "text.zh", problems)) + ",\n   " +
         literal(backup ? required_text(document, "backup.en", problems) : "") + ",\n   " +
         literal(backup ? required_text(document, "backup.zh", problems) : "") + ",\n   " + literal(risk) + ", " +
         flag("reversible") + ", " + flag("reboot") + ", " + commands_code(document, id, arrays) + "},\n";
}

}  // namespace

std::string generate_action_records(const std::string& data_dir, Problems& problems) {
  std::string arrays, entries;
  for (const std::string& path : files_in(data_dir + "/actions", ".toml")) {
    if (const auto document = read_document(path, problems)) entries += record_code(*document, arrays, problems);
  }
  const std::string list = entries.empty() ? "constexpr std::span<const ActionRecord> records;\n"
                                           : "constexpr ActionRecord records[] = {\n" + entries + "};\n";
  return "// Generated by compile_data from data/actions.\n#include \"render/action_record.h\"\n\nnamespace gpuvet {\nnamespace "
         "{\n" +
         arrays + list +
         "}  // namespace\n\nstd::span<const ActionRecord> all_action_records() { return records; }\n\n"
         "const ActionRecord* find_action_record(std::string_view type) {\n"
         "  for (const ActionRecord& record : all_action_records()) {\n    if (record.type == type) return &record;\n  }\n  "
         "return nullptr;\n}\n\n}  // namespace gpuvet\n";
}

}  // namespace compile_data
