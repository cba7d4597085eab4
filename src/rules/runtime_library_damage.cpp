// Files that a process loads and that are not whole: cut off, or no library at all. A download, copy or installation that broke
// off leaves them.

#include <algorithm>

#include "loader/library_family.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_repair.h"
#include "rules/process_repair.h"
#include "rules/program_facts.h"
#include "rules/runtime_library.h"

namespace gpuvet {
namespace {

/// One file that a process comes to.
struct DamagedFile {
  std::string path;
  const LibraryFile* cut = nullptr;  ///< it is cut off; null: the loader or the kernel refuses it
  std::string error;                 ///< with these words
  bool is_program = false;           ///< it is the program itself
  bool required = true;              ///< the process cannot do without it
};

/// What the loader says of files that are not whole; others ("cannot dynamically load executable") are of another kind.
bool says_damaged(std::string_view error) {
  static constexpr std::string_view errors[] = {"file too short", "invalid ELF header", "cannot read file data",
                                                "nonzero padding in e_ident", "object file has no loadable segments"};
  return std::ranges::find(errors, error) != std::end(errors);
}

/// The driver's own libraries on the way of every process: libcuda-missing and nvml-missing speak of them.
bool is_judged_as_driver(const RuleContext& context, const LibraryFile& file) {
  const auto is_it = [&](const DriverLibrary* library) {
    return library != nullptr && (library->path == file.path || library->real_path == file.real_path);
  };
  return is_it(context.libcuda) || is_it(context.libnvml);
}

std::optional<DamagedFile> damaged_object(const RuleContext& context, const ProcessView& view) {
  std::optional<DamagedFile> optional_part;
  for (const LoadedObject& object : view.now.objects) {
    if (object.file == nullptr || object.file->whole_size == 0 || is_judged_as_driver(context, *object.file)) continue;
    DamagedFile damaged{object.path, object.file, {}, object.rule == "program", !is_optional_part(view, object)};
    if (damaged.required) return damaged;
    if (!optional_part) optional_part = std::move(damaged);
  }
  return optional_part;
}

std::optional<DamagedFile> refused_file(const ProcessView& view) {
  for (const MissingLibrary& missing : view.now.missing) {
    if (missing.optional || missing.blocked_by.empty()) continue;
    const bool main = missing.name == missing.blocked_by && view.now.objects.empty();
    // What blocks a program's libraries is told with the libraries that it lacks.
    if (main || (!is_program(view) && says_damaged(missing.error)))
      return DamagedFile{missing.blocked_by, nullptr, missing.error, main && view.plan->kind != "library", true};
  }
  return std::nullopt;
}

/// Where the library search may lead elsewhere (LD_LIBRARY_PATH is not known) only the program's own file is sure.
std::optional<DamagedFile> damaged_file(const RuleContext& context, const ProcessView& view) {
  const bool sure = context.machine.environment_seen.value_or(false);
  auto refused = refused_file(view);
  if (refused && (sure || refused->is_program)) return refused;
  auto cut = damaged_object(context, view);
  if (cut && (sure || cut->is_program)) return cut;
  return std::nullopt;
}

/// The distribution that a file below site-packages belongs to, by its folder: "nvidia/cublas" is nvidia-cublas-cu12's. Null: not
/// sure.
const PythonPackage* owner_of(const PythonEnvironment& environment, std::string_view path) {
  for (const std::string& site : environment.site_packages) {
    if (!path.starts_with(site + "/")) continue;
    const std::string_view inside = path.substr(site.size() + 1);
    const std::string_view top = inside.substr(0, inside.find('/'));
    std::string name = normalised_distribution_name(std::string(top));
    if (top == "nvidia") {
      const std::string_view below = inside.substr(std::min<std::size_t>(7, inside.size()));
      name += "-" + normalised_distribution_name(std::string(below.substr(0, below.find('/'))));
    }
    const PythonPackage* found = nullptr;
    for (const PythonPackage& package : environment.packages) {
      const bool is_it = package.name == name || (top == "nvidia" && package.name.starts_with(name + "-cu"));
      if (!is_it || package.state == "files-missing") continue;
      if (found != nullptr) return nullptr;
      found = &package;
    }
    return found;
  }
  return nullptr;
}

Action put_whole_file(const RuleContext& context, const ProcessView& view, const DamagedFile& damaged) {
  const PythonEnvironment* environment = environment_of(context, view);
  const PythonPackage* owner = environment == nullptr ? nullptr : owner_of(*environment, damaged.path);
  if (owner != nullptr) return reinstall_package(*environment, *owner);
  return make_action("replace-damaged-file", {{"path", damaged.path}});
}

Finding finding_of(const RuleContext& context, const ProcessView& view, const DamagedFile& damaged) {
  Finding finding;
  if (!damaged.required) finding.severity = Severity::Warning;
  finding.variant = damaged.cut == nullptr ? (damaged.is_program ? "refused" : "no-library")
                    : damaged.is_program   ? "program"
                                           : (damaged.required ? "" : "part");
  finding.parameters = {{"process", view.label()},
                        {"path", damaged.path},
                        {"file", std::string(base_name(damaged.path))},
                        {"error", damaged.error}};
  if (damaged.cut != nullptr) {
    finding.parameters["needs"] = std::to_string(damaged.cut->whole_size);
    finding.parameters["has"] = std::to_string(damaged.cut->size);
  }
  finding.evidence = {{damaged.path, 0, damaged.cut != nullptr ? words_of_cut(*damaged.cut) : damaged.error}};
  finding.repair = {put_whole_file(context, view, damaged)};
  return finding;
}

}  // namespace

namespace runtime_library {

std::optional<Finding> damaged_binary(const RuleContext& context) {
  std::optional<Finding> first;
  for (const ProcessView& view : context.processes) {
    const auto damaged = damaged_file(context, view);
    if (!damaged) continue;
    Finding finding = finding_of(context, view, *damaged);
    if (damaged->required) return finding;
    if (!first) first = std::move(finding);
  }
  return first;
}

}  // namespace runtime_library
}  // namespace gpuvet
