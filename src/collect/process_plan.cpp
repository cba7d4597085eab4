#include "collect/process_plan.h"

#include <algorithm>

#include "collect/process_plan_parts.h"
#include "collect/working_folder.h"

namespace gpuvet {
namespace {

constexpr int max_interpreters = 4;  // as deep as Linux follows #! lines
constexpr std::size_t script_head = 256;

using Kind = PlanError::Kind;

tl::unexpected<PlanError> no(Kind kind, std::string path = {}, std::string detail = {}) {
  return tl::unexpected(PlanError{kind, std::move(path), std::move(detail)});
}

std::string name_of(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

/// A program's name by PATH of the judged process; empty: not there.
std::string on_path(const PlanSource& source, std::string_view name) {
  const auto path = source.machine.environment.find("PATH");
  return find_on_path(source.system, path != source.machine.environment.end() ? path->second : "/usr/bin:/bin", name);
}

/// Absolute, by the working directory of this process on a live host, and by HOME behind "~/".
std::string absolute_path(const PlanSource& source, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  if (path.starts_with("~/")) {
    const auto home = source.machine.environment.find("HOME");
    return home != source.machine.environment.end() ? home->second + std::string(path.substr(1)) : "";
  }
  const std::string here = working_folder(source.system);
  if (here.empty()) return "";
  while (path.starts_with("./")) path.remove_prefix(2);
  return here + "/" + std::string(path);
}

/// The program of a "#!" line: "/usr/bin/env NAME" is looked up on PATH, and stays NAME where that has none. Empty: no such line.
std::string interpreter_of_script(const PlanSource& source, const std::string& path, std::string& line) {
  const auto head = source.system.read_head(path, script_head);
  if (!head || !head->starts_with("#!")) return "";
  line = head->substr(0, std::min(head->find('\n'), head->size()));
  std::vector<std::string> words;
  for (std::string_view rest = std::string_view(line).substr(2); !rest.empty();) {
    const auto start = std::min(rest.find_first_not_of(" \t\r"), rest.size());
    const auto end = std::min(rest.find_first_of(" \t\r", start), rest.size());
    if (end > start) words.emplace_back(rest.substr(start, end - start));
    rest.remove_prefix(end);
  }
  if (words.empty()) return "";
  if (name_of(words[0]) != "env") return words[0];
  const auto program = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !word.starts_with('-') && word.find('=') == std::string::npos;
  });
  if (program == words.end()) return "";
  std::string found = on_path(source, *program);
  return found.empty() ? *program : found;
}

/// Follows scripts to the program that runs them; each is told in `problems`.
std::string program_behind(const PlanSource& source, std::string path, std::vector<Origin>& problems) {
  for (int depth = 0; depth < max_interpreters; ++depth) {
    std::string line;
    const std::string next = interpreter_of_script(source, path, line);
    if (next.empty()) return path;
    problems.push_back({path, 1, line});
    path = next;
    if (path.find('/') == std::string::npos) break;
  }
  return path;
}

/// What is there under this path, if it is nothing that a loader takes.
std::optional<PlanError> unfit_file(System& system, const std::string& path) {
  const auto status = system.status(path);
  if (!status)
    return PlanError{status.error().code == ErrorCode::NotFound ? Kind::NotFound : Kind::Unreadable, path,
                     status.error().message};
  if (status->type == FileType::Directory) return PlanError{Kind::Folder, path, {}};
  if (status->type != FileType::Regular) return PlanError{Kind::NotRegular, path, {}};
  return std::nullopt;
}

tl::expected<ProcessPlan, PlanError> plan_of_file(const PlanSource& source, std::string_view target) {
  ProcessPlan plan;
  plan.name = target;
  std::string path = absolute_path(source, target);
  if (path.empty()) return no(Kind::NoFolder, std::string(target));
  if (const auto unfit = unfit_file(source.system, path)) return tl::unexpected(*unfit);
  const std::string asked = path;
  path = program_behind(source, path, plan.problems);
  const bool found = path.find('/') != std::string::npos;
  if (!found && !source.machine.environment.contains("PATH")) return no(Kind::InterpreterUnknown, asked, path);
  const LibraryFile* file = found ? source.objects.open(path) : nullptr;
  if (file == nullptr) return path == asked ? no(Kind::NotFound, path) : no(Kind::NoInterpreter, asked, path);
  if (file->state == "unreadable") return no(Kind::Unreadable, path, "permission denied");
  if (file->state != "elf") return no(path.ends_with(".py") ? Kind::PythonScript : Kind::NotElf, path);
  if (file->type == "object" || file->type == "core") return no(Kind::ObjectFile, path);
  plan.kind = file->type == "shared" ? "library" : "program";
  if (plan.kind == "program") {
    plan.program = path;
  } else {
    plan.steps.push_back({{path}, "", false, false, "the library itself", {}});
  }
  for (std::string& part : parts_with_cuda(source, path)) plan.problems.push_back({std::move(part), 0, "part with CUDA"});
  const FrameworkLoading rows = library_rows(source);
  auto so_far = add_dlopen_names(source, plan, rows);
  add_library_steps(source, plan, rows, std::move(so_far));
  return plan;
}

tl::expected<ProcessPlan, PlanError> plan_of_python(const PlanSource& source, std::string_view target) {
  const auto at = target.find('@');
  const std::string_view name = target.substr(0, at);
  const std::string_view where = at == std::string_view::npos ? std::string_view() : target.substr(at + 1);
  if (name.empty()) return no(Kind::NoModule);
  if (!source.machine.python.environments.is_known()) return no(Kind::NotLookedAt);
  const PythonEnvironment* environment = environment_named(source.machine, where);
  if (environment == nullptr) return where.empty() ? no(Kind::NoneInUse) : no(Kind::NoEnvironment, std::string(where));
  auto plan = python_plan(source, *environment, name);
  if (plan) add_library_steps(source, *plan, library_rows(source));
  return plan;
}

}  // namespace

std::string find_on_path(System& system, std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const auto end = std::min(list.find(':'), list.size());
    const std::string file = std::string(list.substr(0, end)) + "/" + std::string(name);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (file.starts_with('/') && system.exists(file) && !system.is_directory(file)) return file;
  }
  return {};
}

tl::expected<ProcessPlan, PlanError> plan_for_target(SystemObjects& objects, System& system, const Machine& machine,
                                                     const Knowledge& knowledge, std::string_view target) {
  const PlanSource source{objects, system, machine, knowledge};
  if (target.starts_with("python:")) return plan_of_python(source, target.substr(7));
  return plan_of_file(source, target);
}

tl::expected<ProcessPlan, PlanError> plan_for_target(System& system, const Machine& machine, std::string_view target) {
  SystemObjects objects(system);
  const Knowledge knowledge;
  return plan_for_target(objects, system, machine, knowledge, target);
}

const PythonEnvironment* environment_named(const Machine& machine, std::string_view name) {
  const auto* all = machine.python.environments.get();
  if (all == nullptr || all->empty()) return nullptr;
  while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
  if (name.empty()) {
    const auto active = std::ranges::find_if(*all, &PythonEnvironment::active);
    return active != all->end() ? &*active : &all->front();
  }
  const PythonEnvironment* found = nullptr;
  for (const PythonEnvironment& environment : *all) {
    if (environment.prefix == name) return &environment;
    const bool same =
        environment.name == name || name_of(environment.prefix) == name || environment.interpreter.is(std::string(name));
    if (!same) continue;
    if (found != nullptr) return nullptr;
    found = &environment;
  }
  return found;
}

}  // namespace gpuvet
