#include "loader/machine_rules.h"

#include <algorithm>
#include <charconv>

namespace gpuvet {
namespace {

int minor_of(std::string_view version) {
  int minor = 0;
  if (version.starts_with("2.")) std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor;
}

bool wants_musl(const Machine& machine, const LibraryFile* program) {
  if (program == nullptr || program->state != "elf") return machine.os.glibc.is_absent() && machine.loader.libc_version.empty();
  if (!program->interpreter.empty()) return program->interpreter.find("/ld-musl-") != std::string::npos;
  return std::ranges::any_of(program->needed, [](const auto& n) { return n == "libc.so" || n.starts_with("libc.musl-"); });
}

/// The interpreter of programs, for a library that names none.
std::string usual_loader(std::string_view machine) {
  if (machine == "x86_64") return "/lib64/ld-linux-x86-64.so.2";
  if (machine == "aarch64") return "/lib/ld-linux-aarch64.so.1";
  if (machine == "i386") return "/lib/ld-linux.so.2";
  return {};
}

/// $LIB is the first built-in folder without its slash.
std::string lib_token(const std::vector<std::string>& defaults) {
  return defaults.empty() || !defaults.front().starts_with('/') ? std::string() : defaults.front().substr(1);
}

}  // namespace

std::string extension_words(std::string_view package, std::string_view version) {
  return "module of " + std::string(package) + " " + std::string(version);
}

ExtensionOwner owner_of_extension(const LoadStep& step) {
  constexpr std::string_view start = "module of ";
  if (!step.why.starts_with(start)) return {};
  const std::string text = step.why.substr(start.size());
  const auto space = text.find(' ');
  if (space == std::string::npos) return {};
  return {text.substr(0, space), text.substr(space + 1)};
}

std::string main_path_of(const ProcessPlan& plan) {
  const bool is_library = plan.kind == "library" && !plan.steps.empty() && !plan.steps.front().names.empty();
  return is_library ? plan.steps.front().names.front() : plan.program;
}

LoaderRules machine_loader_rules(const Machine& machine, const LibraryFile* program) {
  LoaderRules rules;
  rules.want_tried = false;
  if (program != nullptr) rules.loader_path = program->interpreter;
  if (wants_musl(machine, program)) {
    rules.kind = LoaderRules::Kind::Musl;
    return rules;
  }
  rules.glibc_minor = minor_of(machine.os.glibc.value_or(machine.loader.libc_version));
  rules.platform = program != nullptr && !program->machine.empty() ? program->machine : machine.os.architecture.value_or("");
  if (rules.loader_path.empty()) rules.loader_path = usual_loader(rules.platform);
  for (const SearchFolder& folder : machine.loader.folders)
    if (folder.rule == "default") rules.defaults.push_back(folder.path);
  rules.lib = lib_token(rules.defaults);
  rules.hwcaps = machine.loader.hwcaps;
  rules.preload = machine.loader.preload.value_or({});
  const auto here = machine.environment.find("PWD");
  if (here != machine.environment.end() && here->second.starts_with('/')) rules.working_directory = here->second;
  return rules;
}

}  // namespace gpuvet
