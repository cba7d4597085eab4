// The plan of `import NAME`: rows of framework_loading.tsv with the files that they mean in one environment.

#include <algorithm>

#include "collect/process_plan_names.h"
#include "collect/process_plan_parts.h"
#include "knowledge/framework_loading.h"

namespace gpuvet {
namespace {

constexpr int max_imports = 4;
constexpr std::size_t max_modules = 64;

/// Distribution names that a framework's release is told by, best first.
std::vector<std::string_view> distributions_of(std::string_view framework) {
  if (framework == "jax") return {"jaxlib", "jax"};
  if (framework == "torch") return {"torch", "pytorch"};
  if (framework == "onnxruntime") return {"onnxruntime-gpu", "onnxruntime"};
  return {framework};
}

bool is_distribution(std::string_view package, std::string_view wanted) {
  if (package == wanted) return true;
  // cupy-cuda12x, faiss-gpu-cu12, tensorflow-cpu
  return package.starts_with(wanted) && package.size() > wanted.size() && package[wanted.size()] == '-' &&
         package != "numba-cuda";
}

std::optional<ReleaseVersion> release_of_framework(const PythonEnvironment& environment, std::string_view framework) {
  for (const std::string_view wanted : distributions_of(framework)) {
    for (const FrameworkBuild& build : environment.frameworks)
      if (build.name == wanted && !build.version.empty()) return ReleaseVersion::parse(build.version);
    for (const PythonPackage& package : environment.packages)
      if (is_distribution(package.name, wanted)) return ReleaseVersion::parse(package.version);
  }
  return std::nullopt;
}

/// CUDA release that a framework was built with; torch's stands in for what is built on it.
std::string cuda_of_framework(const PythonEnvironment& environment, std::string_view framework) {
  for (const std::string_view wanted : {framework, std::string_view("torch")})
    for (const FrameworkBuild& build : environment.frameworks)
      if (build.name == wanted && build.cuda.is_known()) return build.cuda.value_or("");
  return "";
}

class PythonPlan {
 public:
  PythonPlan(const PlanSource& source, const PythonEnvironment& environment, ProcessPlan& plan)
      : source_(source),
        environment_(environment),
        names_(source.system, python_folders(source.system, source.machine, environment)),
        plan_(plan) {}

  /// False: the table has nothing for this name.
  bool framework(std::string_view name, int depth = 0);
  /// The extension modules of a package that the table does not know.
  void package(std::string_view name);
  void set_importer();
  /// Something that the process cannot do without is there.
  bool found() const { return found_; }

 private:
  void row(const LoadingRow& row, const std::string& cuda, int depth);
  bool holds(std::string_view condition, const std::string& cuda);
  std::vector<std::string> resolve_all(const LoadingRow& row, const std::string& cuda);
  std::string caller_of(const LoadingRow& row);
  void missing(const LoadingRow& row, std::string_view name);

  const PlanSource& source_;
  const PythonEnvironment& environment_;
  PythonNames names_;
  ProcessPlan& plan_;
  bool found_ = false;
  std::string importer_;  ///< libpython, where the interpreter is a small program around it
};

/// dlopen() of an extension module is called by libpython where there is one.
void PythonPlan::set_importer() {
  const LibraryFile* program = source_.objects.open(plan_.program);
  if (program == nullptr) return;
  const bool shared = std::ranges::any_of(program->needed, [](const std::string& n) { return n.starts_with("libpython"); });
  if (!shared) return;
  for (const LoadedObject& object : forecast_so_far(source_, plan_, source_.machine.environment).objects)
    if (object.name.starts_with("libpython")) importer_ = object.path;
}

bool PythonPlan::holds(std::string_view condition, const std::string& cuda) {
  while (!condition.empty()) {
    const auto end = std::min(condition.find('&'), condition.size());
    std::string_view one = condition.substr(0, end);
    condition.remove_prefix(std::min(end + 1, condition.size()));
    const bool negated = one.starts_with('!');
    if (negated) one.remove_prefix(1);
    if (!one.starts_with("exists:")) continue;
    if (names_.resolve(fill_in(one.substr(7), cuda)).empty() != negated) return false;
  }
  return true;
}

std::vector<std::string> PythonPlan::resolve_all(const LoadingRow& row, const std::string& cuda) {
  std::vector<std::string> out;
  for (const std::string& name : row.names) {
    auto files = names_.resolve(fill_in(name, cuda));
    if (files.empty() && row.in_order) return out;
    for (std::string& file : files) out.push_back(std::move(file));
  }
  return out;
}

std::string PythonPlan::caller_of(const LoadingRow& row) {
  if (row.caller.empty()) return importer_;
  const auto files = names_.resolve(row.caller);
  return files.empty() ? importer_ : files.front();
}

void PythonPlan::missing(const LoadingRow& row, std::string_view name) {
  plan_.problems.push_back({environment_.prefix, 0, row.why + ": " + std::string(name) + " is not in this environment"});
}

void PythonPlan::row(const LoadingRow& row, const std::string& cuda, int depth) {
  if (!holds(row.condition, cuda)) return;
  if (row.import) {
    for (const std::string& name : row.names)
      if (!framework(name, depth + 1) && !row.optional) missing(row, name);
    return;
  }
  std::vector<std::string> files = resolve_all(row, cuda);
  if (row.on_failure) {
    if (!plan_.steps.empty()) plan_.steps.back().after_failure = std::move(files);
    return;
  }
  if (files.empty()) {
    if (!row.optional && !row.names.empty()) missing(row, row.names.front());
    return;
  }
  found_ = found_ || !row.optional;
  const auto add = [&](std::vector<std::string> names) {
    plan_.steps.push_back({std::move(names), caller_of(row), row.global, row.optional, row.why, {}});
  };
  if (!row.each) return add(std::move(files));
  for (std::string& file : files) add({std::move(file)});
}

bool PythonPlan::framework(std::string_view name, int depth) {
  const auto release = release_of_framework(environment_, name);
  const FrameworkLoading loading = framework_loading(source_.knowledge, name, release);
  if (loading.rows.empty() || depth > max_imports) return false;
  if (!loading.release_known) {
    const std::string what = release ? std::string(name) + " " + release->text + " is newer than what was read"
                                     : "the release of " + std::string(name) + " is not known";
    plan_.problems.push_back(
        {environment_.prefix, 0, what + ": taken to load its libraries as " + loading.checked_up_to + " does"});
  }
  const std::string cuda = cuda_of_framework(environment_, name);
  for (const LoadingRow& one : loading.rows) row(one, cuda, depth);
  return true;
}

void PythonPlan::package(std::string_view name) {
  if (name.find('/') != std::string_view::npos || name.starts_with('.')) return;
  std::string package(name);
  std::ranges::replace(package, '-', '_');
  const std::string folder = names_.package_folder(package);
  std::vector<std::string> modules;
  if (!folder.empty()) modules = names_.extension_modules(folder, max_modules);
  if (const std::string single = names_.module(package); !single.empty()) modules.push_back(single);
  if (folder.empty() && modules.empty()) return;
  found_ = true;
  for (std::string& module : modules)
    plan_.steps.push_back({{std::move(module)}, importer_, false, true, "an extension module of " + std::string(name), {}});
  plan_.problems.push_back(
      {folder.empty() ? environment_.prefix : folder, 0,
       "in which order " + std::string(name) + " imports its extension modules, and whether it does, is not known"});
}

}  // namespace

tl::expected<ProcessPlan, PlanError> python_plan(const PlanSource& source, const PythonEnvironment& environment,
                                                 std::string_view name) {
  ProcessPlan plan;
  plan.name = std::string(name) + "@" + environment.prefix;
  plan.kind = "python";
  plan.prefix = environment.prefix;
  plan.framework = name;
  plan.program = environment.interpreter.value_or("");
  if (plan.program.empty()) return tl::unexpected(PlanError{PlanError::Kind::NoPython, environment.prefix, {}});
  PythonPlan builder(source, environment, plan);
  builder.set_importer();
  if (!builder.framework(name)) builder.package(name);
  if (!builder.found()) return tl::unexpected(PlanError{PlanError::Kind::NotInstalled, std::string(name), environment.prefix});
  return plan;
}

}  // namespace gpuvet
