// Two packages of one import: the one that was installed last has overwritten the other's files.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_packages.h"
#include "rules/framework_repair.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// Distributions that bring the same import package. A name that ends in '*' stands for all that start so.
struct Rivals {
  std::string_view framework;  ///< as purposes name it
  std::array<std::string_view, 9> names;
};
constexpr std::array rivals{
    Rivals{"onnxruntime",
           {"onnxruntime", "onnxruntime-gpu", "onnxruntime-training", "onnxruntime-training-gpu", "onnxruntime-directml",
            "onnxruntime-openvino", "onnxruntime-rocm", "onnxruntime-migraphx", "onnxruntime-qnn"}},
    Rivals{"tensorflow",
           {"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-rocm", "intel-tensorflow", "tf-nightly",
            "tf-nightly-cpu"}},
    Rivals{"cupy", {"cupy", "cupy-cuda*", "cupy-rocm*"}},
    Rivals{"faiss", {"faiss", "faiss-cpu", "faiss-gpu", "faiss-gpu-*"}},
    Rivals{"paddle", {"paddlepaddle", "paddlepaddle-gpu", "paddlepaddle-rocm"}},
    Rivals{"bitsandbytes", {"bitsandbytes", "bitsandbytes-cuda*", "bitsandbytes-rocm*", "bitsandbytes-windows"}},
    Rivals{"mxnet", {"mxnet", "mxnet-cu*"}},
    Rivals{"dgl", {"dgl", "dgl-cu*"}},
    Rivals{"rapids", {"cudf-cu*"}},
    Rivals{"rapids", {"cuml-cu*"}},
    Rivals{"rapids", {"cugraph-cu*"}},
    Rivals{"jax", {"jax-cuda12-plugin", "jax-cuda13-plugin"}},
    Rivals{"opencv", {"opencv-python", "opencv-contrib-python", "opencv-python-headless", "opencv-contrib-python-headless"}},
};

bool is_named(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return false;
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_one_of(const Rivals& group, std::string_view name) {
  return std::ranges::any_of(group.names, [&](std::string_view pattern) { return is_named(name, pattern); });
}

/// tensorflow-gpu 2.12.0 and its like have no files that could overwrite anything.
std::vector<const PythonPackage*> installed_rivals(const PythonEnvironment& environment, const Rivals& group) {
  std::vector<const PythonPackage*> found;
  for (const PythonPackage& package : environment.packages)
    if (is_from_wheel(package) && is_one_of(group, package.name) && !is_placeholder(package)) found.push_back(&package);
  return found;
}

bool is_for_nvidia(std::string_view name) {
  return name.find("-gpu") != std::string_view::npos || name.find("-cu") != std::string_view::npos || name == "tensorflow" ||
         name == "cupy" || name == "bitsandbytes";
}

const FrameworkBuild* build_of(const PythonEnvironment& environment, std::string_view framework) {
  const auto found = std::ranges::find_if(
      environment.frameworks, [&](const FrameworkBuild& build) { return framework_of_package(build.name) == framework; });
  return found != environment.frameworks.end() ? &*found : nullptr;
}

/// Of "cupy-cuda11x" and "cupy-cuda12x" the one whose CUDA is the newest that the driver runs; else the one for GPUs.
const PythonPackage* one_to_keep(const RuleContext& context, const std::vector<const PythonPackage*>& packages) {
  const auto driver = running_driver(context);
  const PythonPackage* best = nullptr;
  std::uint32_t best_major = 0;
  for (const PythonPackage* package : packages) {
    if (!is_for_nvidia(package->name)) continue;
    const std::size_t at = package->name.rfind("cu");
    const std::size_t digit = at == std::string::npos ? at : package->name.find_first_of("0123456789", at);
    const auto major = digit == std::string::npos ? std::nullopt : CudaVersion::parse(package->name.substr(digit, 2) + ".0");
    if (major && driver && driver->native && major->major > driver->native->major) continue;
    if (best != nullptr && (major ? major->major : 0) <= best_major) continue;
    best = package;
    best_major = major ? major->major : 0;
  }
  return best;
}

std::vector<Action> keep_one(const RuleContext& context, const PythonEnvironment& environment, const Rivals& group,
                             const std::vector<const PythonPackage*>& packages) {
  std::vector<std::string> names;
  for (const PythonPackage* package : packages) names.push_back(package->name);
  const PythonPackage* kept = one_to_keep(context, packages);
  if (group.framework == "jax" && kept != nullptr) {
    std::erase(names, kept->name);
    return {uninstall_packages(environment, names)};
  }
  std::vector<Action> steps = {uninstall_packages(environment, names)};
  if (kept == nullptr) kept = packages.back();
  const auto version = ReleaseVersion::parse(kept->version);
  const std::string extra =
      kept->name == "tensorflow" && version && *version >= *ReleaseVersion::parse("2.14") ? "[and-cuda]" : "";
  steps.push_back(install_packages(environment, {kept->name + extra + "==" + kept->version}));
  return steps;
}

std::optional<Finding> judge_rivals(const RuleContext& context, const PythonEnvironment& environment, const Rivals& group) {
  if (context.purpose.asked() && !wants_framework(context, environment, group.framework)) return std::nullopt;
  const auto packages = installed_rivals(environment, group);
  if (packages.size() < 2) return std::nullopt;
  Finding finding;
  finding.parameters = {
      {"framework", std::string(group.framework)}, {"packages", list_packages(packages)}, {"environment", label_of(environment)}};
  for (const PythonPackage* package : packages) finding.evidence.push_back(quote(*package));
  const FrameworkBuild* build = build_of(environment, group.framework);
  if (group.framework == "jax") {
    finding.variant = "plugins";
  } else if (build != nullptr && build->flavour == "cpu") {
    finding.variant = "cpu-wins";
    finding.evidence.push_back(quote(*build));
  } else if (build != nullptr && build->flavour == "cuda") {
    finding.variant = "gpu-wins";
    finding.evidence.push_back(quote(*build));
  }
  // It works, only nobody knows how long; where the GPU was asked for and the CPU build's files are there, it does not.
  finding.severity = finding.variant == "cpu-wins" && context.purpose.asked() ? Severity::Error : Severity::Warning;
  // The four OpenCV wheels differ in windows and extra modules, not in CUDA.
  if (group.framework == "opencv" || !gpu_is_meant(context)) finding.severity = Severity::Note;
  finding.repair = keep_one(context, environment, group, packages);
  return finding;
}

// ---- conda beside pip ----------------------------------------------------------------------------------------------------

/// What conda and pip call the same thing. `library`: CUDA's own, which each side brings for its frameworks.
struct Twins {
  std::string_view conda, pip;
  bool library;
};
constexpr std::array twins{Twins{"pytorch", "torch", false},
                           Twins{"tensorflow-base", "tensorflow", false},
                           Twins{"tensorflow", "tensorflow", false},
                           Twins{"jaxlib", "jaxlib", false},
                           Twins{"cupy", "cupy-cuda*", false},
                           Twins{"cupy-core", "cupy-cuda*", false},
                           Twins{"cudnn", "nvidia-cudnn-cu*", true},
                           Twins{"nccl", "nvidia-nccl-cu*", true},
                           Twins{"cudatoolkit", "nvidia-cuda-runtime*", true}};

const PythonPackage* of_conda(const PythonEnvironment& environment, std::string_view name) {
  const auto found =
      std::ranges::find_if(environment.packages, [&](const PythonPackage& p) { return p.manager == "conda" && p.name == name; });
  return found != environment.packages.end() ? &*found : nullptr;
}

/// With an INSTALLER that is not conda: without one nobody can tell who put it there.
const PythonPackage* of_pip(const PythonEnvironment& environment, std::string_view pattern) {
  const auto found = std::ranges::find_if(environment.packages, [&](const PythonPackage& p) {
    // Of NVIDIA's wheels INSTALLER is not read; conda's packages do not have these names.
    const bool told = !p.installer.empty() || p.name.starts_with("nvidia-");
    return is_from_wheel(p) && told && is_named(p.name, pattern) && !is_placeholder(p);
  });
  return found != environment.packages.end() ? &*found : nullptr;
}

/// A difference alone does no harm: only another release does.
bool same_release(const PythonPackage& a, const PythonPackage& b) {
  const auto one = ReleaseVersion::parse(a.version), other = ReleaseVersion::parse(b.version);
  return one && other && one->minor_text() == other->minor_text();
}

/// Both go first: what conda removes takes files of the other copy with it.
std::vector<Action> keep_the_wheel(const RuleContext& context, const PythonEnvironment& environment, const PythonPackage& conda,
                                   const PythonPackage& pip) {
  std::vector<Action> steps = {uninstall_packages(environment, {conda.name, pip.name})};
  auto install = reinstall_framework(context, environment, framework_of_package(pip.name));
  if (install.empty()) install.push_back(install_packages(environment, {pip.name + "==" + pip.version}));
  steps.insert(steps.end(), install.begin(), install.end());
  return steps;
}

std::optional<Finding> judge_twins(const RuleContext& context, const PythonEnvironment& environment, const Twins& pair) {
  const PythonPackage* conda = of_conda(environment, pair.conda);
  const PythonPackage* pip = of_pip(environment, pair.pip);
  if (conda == nullptr || pip == nullptr) return std::nullopt;
  const std::string framework = framework_of_package(pip->name);
  if (!pair.library && context.purpose.asked() && !wants_framework(context, environment, framework)) return std::nullopt;
  Finding finding;
  finding.parameters = {{"conda", conda->name + " " + conda->version},
                        {"pip", pip->name + " " + pip->version},
                        {"environment", label_of(environment)}};
  finding.evidence = {quote(*conda), quote(*pip)};
  if (pair.library) finding.variant = "libraries";
  if (pair.library && same_release(*conda, *pip)) finding.severity = Severity::Note;
  finding.repair = pair.library ? std::vector<Action>{uninstall_packages(environment, {conda->name})}
                                : keep_the_wheel(context, environment, *conda, *pip);
  return finding;
}

}  // namespace

namespace framework {

std::optional<Finding> several_builds(const RuleContext& context) {
  std::optional<Finding> note;
  for (const JudgedEnvironment& judged : context.environments) {
    for (const Rivals& group : rivals) {
      auto finding = judge_rivals(context, *judged.environment, group);
      if (!finding) continue;
      if (finding->severity != Severity::Note) return finding;
      if (!note) note = std::move(finding);
    }
  }
  return note;
}

std::optional<Finding> conda_pip_mixed(const RuleContext& context) {
  std::optional<Finding> note;
  for (const JudgedEnvironment& judged : context.environments) {
    for (const Twins& pair : twins) {
      auto finding = judge_twins(context, *judged.environment, pair);
      if (!finding) continue;
      if (finding->severity != Severity::Note) return finding;
      if (!note) note = std::move(finding);
    }
  }
  return note;
}

}  // namespace framework
}  // namespace gpuvet
