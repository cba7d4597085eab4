#include "loader/find_library.h"

#include <algorithm>

#include "loader/load_state.h"
#include "loader/machine_rules.h"

namespace gpuvet {
namespace {

LibraryFile plain_program(std::string_view elf_class, std::string_view elf_machine) {
  LibraryFile program;
  program.path = program.real_path = "/program";
  program.state = "elf";
  program.type = "program";
  program.elf_class = elf_class;
  program.machine = elf_machine;
  return program;
}

std::vector<std::string> configured_folders(const LoaderView& view) {
  std::vector<std::string> folders;
  for (const SearchFolder& folder : view.folders)
    if (folder.rule == "ld.so.conf") folders.push_back(folder.path);
  return folders;
}

}  // namespace

FoundLibrary find_library(const Machine& machine, const std::map<std::string, std::string>& environment, std::string_view soname,
                          std::string_view elf_class, std::string_view elf_machine) {
  ViewSource source(machine.loader);
  const LibraryFile program = plain_program(elf_class, elf_machine);
  LoaderRules rules = machine_loader_rules(machine, &program);
  rules.kind = LoaderRules::Kind::Glibc;
  rules.want_shadows = true;
  std::vector<std::string> configured;
  if (!machine.loader.cache.is_known()) configured = configured_folders(machine.loader);
  rules.defaults.insert(rules.defaults.begin(), configured.begin(), configured.end());
  LoadState state(source, rules, environment);
  state.elf_class = elf_class;
  state.machine = elf_machine;
  LoadedObject object;
  object.path = object.name = program.path;
  object.file = &program;
  add_object(state, std::move(object), {-1, "/", {}, {}});
  prepare_folders(state);
  const Found found = search_glibc(state, soname, 0);
  FoundLibrary result;
  (found.error.empty() ? result.file : result.blocked_by) = found.file;
  result.rule = found.rule;
  const bool by_configuration = std::ranges::any_of(
      configured, [&](const std::string& folder) { return found.path.starts_with(folder == "/" ? folder : folder + "/"); });
  if (found.rule == "default" && by_configuration) result.rule = "ld.so.conf";
  for (const ShadowedCopy& copy : found.shadows) result.shadowed.push_back(copy.file);
  return result;
}

}  // namespace gpuvet
