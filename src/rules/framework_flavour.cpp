// Builds without CUDA where an NVIDIA GPU is to be used, and desktop wheels on a Jetson.

#include <algorithm>

#include "rules/evidence.h"
#include "rules/framework.h"
#include "rules/framework_facts.h"
#include "rules/framework_repair.h"
#include "rules/software.h"

namespace gpuvet::framework {
namespace {

struct CpuBuild {
  const JudgedEnvironment* judged = nullptr;
  FrameworkInstall install;
};

/// JAX's CPU build is completed by a plug-in: a rule of its own.
bool has_cpu_builds(std::string_view framework) { return framework == "torch" || framework == "tensorflow"; }

/// The first wanted build without CUDA where an NVIDIA GPU is (or, when asked for, may be) to be used.
std::optional<CpuBuild> cpu_build(const RuleContext& context) {
  const GpuHere gpu = gpu_here(context);
  if (gpu == GpuHere::No || (gpu == GpuHere::Unknown && !context.purpose.asked())) return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments)
    for (FrameworkInstall& install : wanted_installs(context, *judged.environment))
      if (install.flavour == "cpu" && has_cpu_builds(install.framework)) return CpuBuild{&judged, std::move(install)};
  return std::nullopt;
}

bool is_aarch64(const RuleContext& context, const PythonEnvironment& environment) {
  return platform_of(context, environment) == "linux_aarch64";
}

/// Another environment has the GPU build: this one may be meant for the CPU.
bool gpu_build_elsewhere(const RuleContext& context, const CpuBuild& build) {
  const auto* all = context.machine.python.environments.get();
  if (all == nullptr || build.judged->why == JudgedEnvironment::Why::Asked) return false;
  return std::ranges::any_of(*all, [&](const PythonEnvironment& other) {
    if (&other == build.judged->environment) return false;
    const auto install = framework_install(context, other, build.install.framework);
    return install && install->flavour == "cuda";
  });
}

Severity severity_of(const RuleContext& context, const CpuBuild& build) {
  if (!gpu_build_elsewhere(context, build)) return by_purpose(context);
  return context.purpose.asked() ? Severity::Warning : Severity::Note;
}

Finding finding_of(const RuleContext& context, const CpuBuild& build) {
  const PythonEnvironment& environment = *build.judged->environment;
  Finding finding;
  finding.severity = severity_of(context, build);
  finding.parameters = {{"framework", label_of(build.install)},
                        {"environment", label_of(environment)},
                        {"python", environment.python.value_or("?")}};
  finding.evidence = {build.install.origin};
  if (build.install.package != nullptr) finding.evidence.push_back(quote(*build.install.package));
  for (const MachineGpu& gpu : context.gpus) {
    finding.evidence.push_back(quote(*gpu.device, "device", gpu.identity.label()));
    break;
  }
  finding.repair = steps_to_gpu_build(context, environment, build.install.framework);
  return finding;
}

/// Every CUDA build of the installed release is for older Pythons: the index had only the CPU build to offer.
std::optional<PythonVersion> newest_python_with_gpu_build(const RuleContext& context, const CpuBuild& build) {
  const PythonEnvironment& environment = *build.judged->environment;
  const auto python = PythonVersion::parse(environment.abi.empty() ? environment.python.value_or("") : environment.abi);
  if (!build.install.version || !python) return std::nullopt;
  // A distribution's and conda's packages are made for their own Python: PyPI's tables say nothing of them.
  if (build.install.package == nullptr || build.install.package->manager != "pip") return std::nullopt;
  if (build.install.framework == "tensorflow") {
    const auto release = tensorflow_release(context.knowledge, *build.install.version);
    return release && release->python.fit(*python) == PythonFit::TooNew ? release->python.newest() : std::nullopt;
  }
  if (build.install.framework != "torch") return std::nullopt;
  const Platform platform =
      linux_platform(environment.machine.empty() ? context.machine.os.architecture.value_or("") : environment.machine);
  std::optional<PythonVersion> newest;
  for (const TorchBuild& one : torch_builds_of(context.knowledge, *build.install.version)) {
    if (!one.is_cuda() || !one.has_platform(platform)) continue;
    if (one.python.fit(*python) != PythonFit::TooNew || !one.python.newest()) return std::nullopt;
    newest = std::max(newest.value_or(PythonVersion{}), *one.python.newest());
  }
  return newest;
}

}  // namespace

std::optional<Finding> cpu_only_aarch64(const RuleContext& context) {
  const auto build = cpu_build(context);
  if (!build || !is_aarch64(context, *build->judged->environment)) return std::nullopt;
  Finding finding = finding_of(context, *build);
  const auto& version = build->install.version;
  const auto table = version && build->install.framework == "torch" ? torch_build(context.knowledge, *version, "cpu")
                                                                    : std::optional<TorchBuild>();
  const bool from_conda = build->install.package != nullptr && build->install.package->manager == "conda";
  finding.variant = table && table->pypi_default_linux_aarch64 && !from_conda ? "" : "other";
  return finding;
}

std::optional<Finding> python_too_new(const RuleContext& context) {
  const auto build = cpu_build(context);
  if (build) {
    if (is_aarch64(context, *build->judged->environment)) return std::nullopt;
    const auto newest = newest_python_with_gpu_build(context, *build);
    if (!newest) return std::nullopt;
    Finding finding = finding_of(context, *build);
    finding.parameters["newest"] = newest->text();
    const PythonEnvironment& environment = *build->judged->environment;
    finding.evidence.push_back(quote(environment.python, environment.prefix, "Python " + finding.parameters["python"]));
    return finding;
  }
  return python_too_new_to_install(context);
}

namespace {

/// Frameworks whose CPU build is a distribution of its own; many environments have one by the way, so only when it is asked for.
bool is_split_by_distribution(std::string_view framework) {
  return framework == "onnxruntime" || framework == "paddle" || framework == "faiss" || framework == "mxnet" ||
         framework == "llama-cpp-python";
}

/// onnxruntime and onnxruntime-gpu write the same folder: the CPU package goes first. A release that the tables lack is no reason
/// to name none.
std::vector<Action> steps_to_onnxruntime_gpu(const RuleContext& context, const PythonEnvironment& environment) {
  WheelNeeds needs = wheel_needs(context, environment, "onnxruntime-gpu");
  WheelChoice choice = choose_wheel(context.knowledge, needs);
  if (!choice.found && choice.obstacle == WheelObstacle::UnknownRelease) {
    needs.release.reset();
    choice = choose_wheel(context.knowledge, needs);
  }
  auto steps = install_choice(context, environment, choice);
  if (steps.empty()) return steps_to_gpu_build(context, environment, "onnxruntime-gpu");
  if (choice.found && steps.front().type == "install-framework-build")
    steps.insert(steps.begin(), uninstall_packages(environment, {"onnxruntime"}));
  return steps;
}

std::optional<Finding> cpu_distribution(const RuleContext& context) {
  const std::string& framework = context.purpose.name;
  if (!is_split_by_distribution(framework) || gpu_here(context) == GpuHere::No) return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    const auto packages = packages_of_framework(environment, framework);
    if (packages.size() != 1 || packages.front()->manager == "conda") continue;  // of two, the files of either may have won
    const auto build = std::ranges::find_if(environment.frameworks, [&](const FrameworkBuild& b) {
      return framework_of_package(b.name) == framework && b.flavour == "cpu";
    });
    if (build == environment.frameworks.end()) continue;
    Finding finding;
    finding.parameters = {{"framework", packages.front()->name + " " + packages.front()->version},
                          {"environment", label_of(environment)},
                          {"python", environment.python.value_or("?")}};
    finding.evidence = {quote(*build), quote(*packages.front())};
    if (!context.gpus.empty())
      finding.evidence.push_back(quote(*context.gpus.front().device, "device", context.gpus.front().identity.label()));
    finding.repair = framework == "onnxruntime" ? steps_to_onnxruntime_gpu(context, environment)
                                                : steps_to_gpu_build(context, environment, framework);
    return finding;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> cpu_only(const RuleContext& context) {
  if (auto finding = cpu_distribution(context)) return finding;
  const auto build = cpu_build(context);
  if (!build || is_aarch64(context, *build->judged->environment)) return std::nullopt;
  if (newest_python_with_gpu_build(context, *build)) return std::nullopt;
  return finding_of(context, *build);
}

// ---- jetson-desktop-wheel -------------------------------------------------------------------------------------------

namespace {

/// Wheels of PyPI and of PyTorch's index: their tags, or the local version that only that index gives. NVIDIA's and the Jetson
/// community's have a plain linux tag and a version without "+cu…".
bool is_desktop_wheel(const FrameworkInstall& install) {
  if (install.package == nullptr || install.package->manager != "pip" || !install.version) return false;
  if (contains_ignoring_case(install.package->url, "jetson") || contains_ignoring_case(install.package->url, "/jp/"))
    return false;
  const std::string& local = install.version->local;
  if (install.version->phase < 0 || local.find("nv") != std::string::npos) return false;
  const bool manylinux = std::ranges::any_of(install.package->tags, [](const std::string& tag) {
    return tag.find("manylinux") != std::string::npos && tag.find("aarch64") != std::string::npos;
  });
  return manylinux || local == "cpu";
}

}  // namespace

namespace {

/// Wheels that NVIDIA builds for a JetPack release lie below these addresses (".../compute/redist/jp/v61/pytorch/...").
bool is_jetpack_wheel(const FrameworkInstall& install) {
  if (install.package == nullptr) return false;
  const std::string& url = install.package->url;
  return contains_ignoring_case(url, "/redist/jp/") || contains_ignoring_case(url, "jetson");
}

/// The other way round: a JetPack wheel on an aarch64 machine with an NVIDIA GPU on PCIe, which is what servers have.
std::optional<Finding> jetpack_wheel_elsewhere(const RuleContext& context) {
  // In a container the files of a Jetson need not be seen.
  if (context.in(World::Jetson) || context.in(World::Container) || context.gpus.empty()) return std::nullopt;
  if (context.machine.os.architecture.value_or("") == "x86_64") return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments) {
    if (!is_aarch64(context, *judged.environment)) continue;
    for (const FrameworkInstall& install : wanted_installs(context, *judged.environment)) {
      if (install.framework != "torch" || install.flavour != "cuda" || !is_jetpack_wheel(install)) continue;
      Finding finding;
      finding.severity = by_purpose(context);
      finding.variant = "no-jetson";
      finding.parameters = {{"framework", label_of(install)}, {"environment", label_of(*judged.environment)}};
      finding.evidence = {
          {install.package->folder + "/direct_url.json", 0, install.package->url}, install.origin, quote(*install.package)};
      for (const MachineGpu& gpu : context.gpus)
        if (gpu.device != nullptr) finding.evidence.push_back(quote_capability(gpu));
      finding.repair = steps_to_gpu_build(context, *judged.environment, install.framework);
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> jetson_desktop_wheel(const RuleContext& context) {
  if (!context.in(World::Jetson)) return jetpack_wheel_elsewhere(context);
  const int release = jetson_release(context.machine);
  // JetPack 7 (L4T 38) runs the wheels for servers; of what comes after nothing is known here.
  if (release < 32 || release >= 38) return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments) {
    for (const FrameworkInstall& install : wanted_installs(context, *judged.environment)) {
      if (install.framework != "torch" || install.flavour.empty() || !is_desktop_wheel(install)) continue;
      Finding finding;
      finding.severity = by_purpose(context);
      finding.variant = install.flavour == "cpu" ? "cpu" : "";
      finding.parameters = {{"framework", label_of(install)},
                            {"environment", label_of(*judged.environment)},
                            {"l4t", "R" + std::to_string(release)}};
      finding.evidence = {quote(context.machine.os.jetson, "/etc/nv_tegra_release", *context.machine.os.jetson.get()),
                          install.origin, quote(*install.package)};
      if (!install.package->tags.empty())
        finding.evidence.push_back({install.package->folder + "/WHEEL", 0, "Tag: " + install.package->tags.front()});
      finding.repair.push_back(make_action("use-jetpack-wheel", {{"framework", install.framework}}));
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace gpuvet::framework
