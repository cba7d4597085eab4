// The plans that a check needs, and every file that their forecasts open.

#include <algorithm>

#include "collect/library_copies.h"
#include "collect/process_plan.h"
#include "collect/process_plan_parts.h"
#include "elf/cuda_library_version.h"
#include "knowledge/framework_loading.h"
#include "loader/machine_rules.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_plans = 6;

bool has_distribution(const PythonEnvironment& environment, std::string_view framework) {
  const auto is_it = [&](const PythonPackage& package) {
    const std::string_view name = package.name;
    if (package.state == "files-missing") return false;
    if (name == framework || (framework == "torch" && name == "pytorch") || (framework == "jax" && name == "jaxlib")) return true;
    return name.starts_with(framework) && name.size() > framework.size() && name[framework.size()] == '-';
  };
  return std::ranges::any_of(environment.packages, is_it);
}

/// Frameworks that are judged where nothing was asked for, in the order in which they are looked at.
std::vector<std::string> frameworks_in(const PythonEnvironment& environment) {
  static constexpr std::string_view judged[] = {"torch", "tensorflow", "jax", "cupy", "onnxruntime", "vllm", "bitsandbytes"};
  std::vector<std::string> out;
  for (const std::string_view framework : judged)
    if (has_distribution(environment, framework)) out.emplace_back(framework);
  return out;
}

bool has_cuda_build(const PythonEnvironment& environment) {
  return std::ranges::any_of(environment.frameworks, [](const FrameworkBuild& b) { return b.flavour == "cuda"; });
}

/// The environment in use; else the one whose framework has a CUDA build, else the first that has one.
const PythonEnvironment* environment_for(const Machine& machine, std::string_view framework) {
  const auto* all = machine.python.environments.get();
  if (all == nullptr) return nullptr;
  const auto has = [&](const PythonEnvironment& e) {
    return framework.empty() ? !frameworks_in(e).empty() : has_distribution(e, framework);
  };
  const PythonEnvironment* best = nullptr;
  for (const PythonEnvironment& environment : *all) {
    if (!has(environment)) continue;
    if (environment.active) return &environment;
    if (best == nullptr || (has_cuda_build(environment) && !has_cuda_build(*best))) best = &environment;
  }
  return best;
}

std::vector<std::string> targets_for(const Machine& machine, const Purpose& purpose) {
  if (purpose.name == "path") return {purpose.target};
  if (purpose.asked() && !purpose.needs_framework()) return {};
  const std::string framework = purpose.name == "build" ? "torch" : purpose.name;
  const PythonEnvironment* environment =
      purpose.environment.empty() ? environment_for(machine, framework) : environment_named(machine, purpose.environment);
  if (environment == nullptr) return {};
  std::vector<std::string> out;
  if (!framework.empty()) {
    out.push_back("python:" + framework + "@" + environment->prefix);
  } else {
    for (const std::string& one : frameworks_in(*environment)) out.push_back("python:" + one + "@" + environment->prefix);
  }
  if (out.size() > max_plans) out.resize(max_plans);
  return out;
}

/// Opens all that any of the plan's forecasts asks for, copies behind the winners too.
void open_all(const PlanSource& source, const ProcessPlan& plan) {
  const LibraryFile* program = plan.program.empty() ? nullptr : source.objects.open(plan.program);
  LoaderRules rules = source.objects.rules(source.machine, program);
  rules.want_tried = false;
  rules.want_shadows = true;
  for (const auto& environment : environments_of(source.machine)) (void)forecast(source.objects, rules, plan, environment);
}

/// Folders of a program in which its own libraries may lie, whatever its RPATH says.
std::vector<std::string> folders_of_program(const std::string& path) {
  const std::string folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  const std::string above = folder.substr(0, std::max<std::size_t>(folder.rfind('/'), 1));
  return {folder, folder + "/lib", folder + "/lib64", above + "/lib", above + "/lib64"};
}

/// Copies of the libraries that a program does not find, wherever they lie on this machine.
void open_unused_copies(const PlanSource& source, const ProcessPlan& plan) {
  const std::string path = main_path_of(plan);
  const LibraryFile* program = source.objects.open(path);
  if (program == nullptr) return;
  const LoaderRules& rules = source.objects.rules(source.machine, program);
  const Forecast now = forecast(source.objects, rules, plan, source.machine.environment);
  std::vector<std::string> folders;
  for (const MissingLibrary& missing : now.missing) {
    if (missing.name.find('/') != std::string::npos || (missing.optional && missing.needed_by_path.empty())) continue;
    if (folders.empty()) {
      folders = folders_of_program(path);
      std::ranges::copy(usual_library_folders(source.system, source.machine), std::back_inserter(folders));
    }
    (void)find_library_copies(source.objects, folders, missing.name, program->elf_class, program->machine);
  }
}

/// Extensions of the torch of the environment that the first target ("python:NAME@PREFIX") is about.
std::optional<ProcessPlan> extensions_of(const PlanSource& source, const std::string& target,
                                         std::map<std::string, std::vector<std::string>>& lacking) {
  const auto at = target.find('@');
  if (!target.starts_with("python:") || at == std::string::npos) return std::nullopt;
  const PythonEnvironment* environment = environment_named(source.machine, target.substr(at + 1));
  const bool has_torch = environment != nullptr && has_distribution(*environment, "torch") && has_cuda_build(*environment);
  return has_torch ? torch_extensions(source, *environment, lacking) : std::nullopt;
}

/// Releases of the CUDA libraries among the files, each file once.
void fill_releases(const PlanSource& source, LoaderView& view) {
  std::map<std::string, Fact<std::string>> by_inode;
  for (LibraryFile& file : view.files) {
    if (file.state != "elf" || !is_cuda_library_name(file.soname) || file.library_version.is_known()) continue;
    const auto [it, added] = by_inode.try_emplace(file.inode);
    if (added) {
      const auto reader = source.objects.reader(file);
      if (reader) it->second = read_cuda_library_version(*reader, file);
    }
    file.library_version = it->second;
  }
}

}  // namespace

bool is_cuda_library_name(std::string_view soname) {
  static constexpr std::string_view stems[] = {"libcudart",   "libcudnn", "libcublas",    "libcufft", "libcurand", "libcusolver",
                                               "libcusparse", "libnvrtc", "libnvJitLink", "libnccl",  "libcupti",  "libnvshmem"};
  return std::ranges::any_of(stems, [&](std::string_view stem) { return soname.starts_with(stem); });
}

tl::expected<void, PlanError> collect_process_plans(System& system, Machine& machine, const Purpose& purpose) {
  const std::vector<std::string> targets = targets_for(machine, purpose);
  if (targets.empty()) return {};
  const Knowledge knowledge;
  SystemObjects objects(system);
  const PlanSource source{objects, system, machine, knowledge};
  std::vector<ProcessPlan> plans;
  for (const std::string& target : targets) {
    auto plan = plan_for_target(objects, system, machine, knowledge, target);
    if (!plan && purpose.name == "path") return tl::unexpected(plan.error());
    if (!plan) continue;
    open_all(source, *plan);
    if (plan->kind != "python") open_unused_copies(source, *plan);
    plans.push_back(std::move(*plan));
  }
  std::map<std::string, std::vector<std::string>> lacking;
  auto extensions = extensions_of(source, targets.front(), lacking);
  if (plans.empty() && !extensions) return {};
  objects.store(machine.loader);
  fill_releases(source, machine.loader);
  add_wanted_symbols(source, machine.loader);
  for (LibraryFile& file : machine.loader.files)
    if (const auto found = lacking.find(file.path); found != lacking.end())
      file.wanted_symbols.insert(file.wanted_symbols.end(), found->second.begin(), found->second.end());
  for (const ProcessPlan& plan : plans)
    if (plan.kind != "python") add_static_runtimes(source, plan, machine.loader);
  if (extensions) plans.push_back(std::move(*extensions));
  machine.loader.plans = std::move(plans);
  return {};
}

}  // namespace gpuvet
