// Which Python environment is meant, and what is in it.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

struct Framework {
  std::string_view package, framework;
};
/// Exact names; families with a suffix follow below.
constexpr std::array frameworks{Framework{"torch", "torch"},
                                Framework{"pytorch", "torch"},
                                Framework{"pytorch-gpu", "torch"},
                                Framework{"tensorflow", "tensorflow"},
                                Framework{"tensorflow-gpu", "tensorflow"},
                                Framework{"tensorflow-cpu", "tensorflow"},
                                Framework{"tensorflow-intel", "tensorflow"},
                                Framework{"tf-nightly", "tensorflow"},
                                Framework{"jax", "jax"},
                                Framework{"jaxlib", "jax"},
                                Framework{"cupy", "cupy"},
                                Framework{"onnxruntime", "onnxruntime"},
                                Framework{"onnxruntime-gpu", "onnxruntime"},
                                Framework{"paddlepaddle", "paddle"},
                                Framework{"paddlepaddle-gpu", "paddle"},
                                Framework{"numba-cuda", "numba"},
                                Framework{"vllm", "vllm"},
                                Framework{"sglang", "sglang"},
                                Framework{"xformers", "xformers"},
                                Framework{"flash-attn", "flash-attn"},
                                Framework{"bitsandbytes", "bitsandbytes"},
                                Framework{"deepspeed", "deepspeed"},
                                Framework{"opencv-python", "opencv"},
                                Framework{"opencv-python-headless", "opencv"},
                                Framework{"opencv-contrib-python", "opencv"},
                                Framework{"opencv-contrib-python-headless", "opencv"},
                                Framework{"libopencv", "opencv"},
                                Framework{"faiss-gpu", "faiss"},
                                Framework{"faiss-cpu", "faiss"},
                                Framework{"faiss", "faiss"},
                                Framework{"tensorrt", "tensorrt"},
                                Framework{"dgl", "dgl"},
                                Framework{"llama-cpp-python", "llama-cpp-python"},
                                Framework{"ctranslate2", "ctranslate2"},
                                Framework{"mxnet", "mxnet"}};
constexpr std::array families{Framework{"cupy-cuda", "cupy"},     Framework{"cupy-rocm", "cupy"},
                              Framework{"faiss-gpu-cu", "faiss"}, Framework{"cudf-cu", "rapids"},
                              Framework{"cuml-cu", "rapids"},     Framework{"mxnet-cu", "mxnet"},
                              Framework{"dgl-cu", "dgl"},         Framework{"tensorrt-cu", "tensorrt"},
                              Framework{"jax-cuda", "jax"},       Framework{"onnxruntime-", "onnxruntime"}};

/// What is built on what: asking for the first judges the second too.
constexpr std::array built_on{Framework{"vllm", "torch"},         Framework{"sglang", "torch"},
                              Framework{"xformers", "torch"},     Framework{"flash-attn", "torch"},
                              Framework{"bitsandbytes", "torch"}, Framework{"deepspeed", "torch"},
                              Framework{"torchvision", "torch"},  Framework{"torchaudio", "torch"},
                              Framework{"build", "torch"},        Framework{"triton", "torch"}};

/// Distributions whose builds import torch (their setup.py or pyproject.toml says so).
constexpr std::array<std::string_view, 22> built_with_torch{
    "torch",        "flash-attn",    "xformers",      "causal-conv1d", "mamba-ssm",          "torch-scatter",
    "torch-sparse", "torch-cluster", "pyg-lib",       "apex",          "transformer-engine", "deepspeed",
    "vllm",         "exllamav2",     "auto-gptq",     "autoawq",       "pytorch3d",          "detectron2",
    "torchvision",  "torchaudio",    "sageattention", "gsplat"};

/// A framework whose presence alone makes GPU work the purpose: opencv and numba live in many CPU-only environments.
bool decides_purpose(std::string_view framework) {
  return !framework.empty() && framework != "opencv" && framework != "numba" && framework != "faiss" &&
         framework != "ctranslate2" && framework != "llama-cpp-python" && framework != "mxnet";
}

bool holds_deciding_framework(const PythonEnvironment& environment) {
  return std::ranges::any_of(environment.packages,
                             [](const PythonPackage& p) { return decides_purpose(framework_of_package(p.name)); });
}

const std::vector<PythonEnvironment>& all_environments(const Machine& machine) {
  static const std::vector<PythonEnvironment> none;
  const auto* list = machine.python.environments.get();
  return list != nullptr ? *list : none;
}

std::string_view last_folder(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// The name that find_package() needs for a purpose's framework.
std::string_view framework_asked(const Purpose& purpose) {
  return purpose.name == "build" ? "torch" : std::string_view(purpose.name);
}

bool is_gpu_build(const PythonEnvironment& environment, std::string_view framework) {
  return std::ranges::any_of(environment.frameworks, [&](const FrameworkBuild& b) {
    return framework_of_package(b.name) == framework && b.flavour == "cuda";
  });
}

/// Of the environments that have a framework the first with a GPU build, else the first.
const PythonEnvironment* best_with(const Machine& machine, std::string_view framework) {
  const PythonEnvironment* best = nullptr;
  for (const PythonEnvironment& environment : all_environments(machine)) {
    if (!has_framework(environment, framework)) continue;
    if (is_gpu_build(environment, framework)) return &environment;
    if (best == nullptr) best = &environment;
  }
  return best;
}

std::vector<JudgedEnvironment> environments_asked(const Machine& machine, const Purpose& purpose) {
  using Why = JudgedEnvironment::Why;
  if (!purpose.environment.empty()) {
    const auto* asked = find_environment(machine, purpose.environment);
    return asked != nullptr ? std::vector<JudgedEnvironment>{{asked, Why::Asked}} : std::vector<JudgedEnvironment>{};
  }
  const std::string_view framework = framework_asked(purpose);
  const auto* active = active_environment(machine);
  if (active != nullptr && has_framework(*active, framework)) return {{active, Why::Active}};
  if (const auto* other = best_with(machine, framework)) return {{other, Why::HasIt}};
  if (active != nullptr) return {{active, Why::Active}};
  return {};
}

}  // namespace

std::vector<JudgedEnvironment> judged_environments(const Machine& machine, const Purpose& purpose) {
  using Why = JudgedEnvironment::Why;
  if (purpose.needs_framework()) return environments_asked(machine, purpose);
  if (purpose.asked()) return {};
  const auto* active = active_environment(machine);
  if (active != nullptr && holds_deciding_framework(*active)) return {{active, Why::Active}};
  const PythonEnvironment* only = nullptr;
  for (const PythonEnvironment& environment : all_environments(machine)) {
    if (!holds_deciding_framework(environment)) continue;
    if (only != nullptr) return {};
    only = &environment;
  }
  if (only == nullptr) return {};
  return {{only, Why::OnlyOne}};
}

const PythonEnvironment* find_environment(const Machine& machine, std::string_view name) {
  while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
  for (const PythonEnvironment& environment : all_environments(machine))
    if (environment.prefix == name) return &environment;
  const PythonEnvironment* found = nullptr;
  for (const PythonEnvironment& environment : all_environments(machine)) {
    const bool interpreter = environment.interpreter.is(std::string(name));
    if (environment.name != name && last_folder(environment.prefix) != name && !interpreter) continue;
    if (found != nullptr) return nullptr;
    found = &environment;
  }
  return found;
}

const PythonEnvironment* active_environment(const Machine& machine) {
  const auto& all = all_environments(machine);
  const auto found = std::ranges::find_if(all, [](const PythonEnvironment& e) { return e.active; });
  return found != all.end() ? &*found : nullptr;
}

std::string framework_of_package(std::string_view package) {
  for (const Framework& one : frameworks)
    if (one.package == package) return std::string(one.framework);
  for (const Framework& family : families)
    if (package.starts_with(family.package)) return std::string(family.framework);
  return {};
}

std::string framework_of_purpose(const Purpose& purpose) {
  if (purpose.name != "build") return purpose.name;
  return std::ranges::find(built_with_torch, purpose.target) != built_with_torch.end() ? "torch" : "";
}

bool is_gpu_framework(std::string_view package) { return !framework_of_package(package).empty(); }

bool is_known_framework(std::string_view name) {
  if (name == "numba" || name == "triton" || name == "torchvision" || name == "torchaudio") return true;
  return is_gpu_framework(name) || std::ranges::any_of(frameworks, [&](const Framework& one) { return one.framework == name; }) ||
         std::ranges::any_of(families, [&](const Framework& one) { return one.framework == name; });
}

const PythonPackage* find_package(const PythonEnvironment& environment, std::string_view name) {
  const auto found = std::ranges::find_if(environment.packages, [&](const PythonPackage& p) { return p.name == name; });
  return found != environment.packages.end() ? &*found : nullptr;
}

std::vector<const PythonPackage*> packages_of_framework(const PythonEnvironment& environment, std::string_view framework) {
  std::vector<const PythonPackage*> found;
  for (const PythonPackage& package : environment.packages)
    if (framework_of_package(package.name) == framework) found.push_back(&package);
  return found;
}

std::vector<const PythonPackage*> packages_with_prefix(const PythonEnvironment& environment, std::string_view prefix) {
  std::vector<const PythonPackage*> found;
  for (const PythonPackage& package : environment.packages)
    if (package.name.starts_with(prefix)) found.push_back(&package);
  return found;
}

const FrameworkBuild* find_build(const PythonEnvironment& environment, std::string_view name) {
  const auto found = std::ranges::find_if(environment.frameworks, [&](const FrameworkBuild& b) { return b.name == name; });
  return found != environment.frameworks.end() ? &*found : nullptr;
}

bool has_framework(const PythonEnvironment& environment, std::string_view framework) {
  const bool package = std::ranges::any_of(environment.packages, [&](const PythonPackage& p) {
    return p.state != "files-missing" && (p.name == framework || framework_of_package(p.name) == framework);
  });
  return package || find_build(environment, framework) != nullptr;
}

std::optional<ReleaseVersion> framework_version(const PythonEnvironment& environment, std::string_view name) {
  if (const auto* build = find_build(environment, name); build != nullptr && !build->version.empty())
    return ReleaseVersion::parse(build->version);
  const auto* package = find_package(environment, name);
  if (package == nullptr && name == "torch") package = find_package(environment, "pytorch");
  return package != nullptr ? ReleaseVersion::parse(package->version) : std::nullopt;
}

std::optional<ReleaseVersion> python_version(const PythonEnvironment& environment) {
  const auto* text = environment.python.get();
  return text != nullptr ? ReleaseVersion::parse(*text) : std::nullopt;
}

std::string platform_of(const RuleContext& context, const PythonEnvironment& environment) {
  std::string machine = environment.machine.empty() ? context.machine.os.architecture.value_or("") : environment.machine;
  if (machine == "amd64") machine = "x86_64";
  if (machine == "arm64") machine = "aarch64";
  return machine.empty() ? machine : "linux_" + machine;
}

bool wants_framework(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework) {
  if (!context.purpose.asked()) return has_framework(environment, framework);
  if (context.purpose.name == framework) return true;
  if (context.purpose.name == "build" && context.purpose.target == framework) return true;
  return std::ranges::any_of(built_on, [&](const Framework& one) {
    return one.package == context.purpose.name && one.framework == framework && has_framework(environment, framework);
  });
}

Origin quote(const PythonPackage& package) {
  if (!package.origin.source.empty()) return package.origin;
  return {package.folder, 0, package.name + " " + package.version + (package.build.empty() ? "" : " " + package.build)};
}

Origin quote(const FrameworkBuild& build) {
  Origin origin = build.origin;
  if (origin.source.empty()) origin.source = build.folder;
  if (origin.text.empty())
    origin.text = build.name + " " + build.version + (build.flavour.empty() ? "" : " (" + build.flavour + ")");
  return origin;
}

}  // namespace gpuvet
