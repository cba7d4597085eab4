#include "rules/framework_contract.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "rules/evidence.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

struct Flavour {
  std::string name;
  std::optional<CudaVersion> cuda;
};

/// "cu124" → 12.4, "cu1310"? No release has such a minor; two digits of major, the rest minor. "cu92" → 9.2.
std::optional<CudaVersion> cuda_of_tag(std::string_view tag) {
  if (!tag.starts_with("cu")) return std::nullopt;
  tag.remove_prefix(2);
  const std::size_t digits = std::min(tag.find_first_not_of("0123456789"), tag.size());
  if (digits < 2 || digits > 4) return std::nullopt;
  const std::size_t major = digits == 2 ? 1 : 2;
  return CudaVersion::parse(std::string(tag.substr(0, major)) + "." + std::string(tag.substr(major, digits - major)));
}

/// The local part of a wheel's version: "cu124", "cpu", "rocm6.2", "xpu".
Flavour flavour_of_local(std::string_view local) {
  if (const auto cuda = cuda_of_tag(local)) return {"cuda", cuda};
  for (const char* name : {"cpu", "rocm", "xpu"})
    if (local.starts_with(name)) return {name, std::nullopt};
  return {};
}

/// conda's build string: "cuda126_py312h…", "py3.11_cuda12.1_cudnn8.9.2_0", "gpu_py39…", "cpu_mkl_…", "cpu_generic_…".
Flavour flavour_of_build_string(std::string_view build) {
  if (const std::size_t at = build.find("cuda"); at != std::string_view::npos) {
    std::string_view number = build.substr(at + 4);
    number = number.substr(0, std::min(number.find_first_not_of("0123456789."), number.size()));
    if (auto cuda = CudaVersion::parse(number)) return {"cuda", cuda};
    if (const auto cuda = cuda_of_tag("cu" + std::string(number))) return {"cuda", cuda};
    return {"cuda", std::nullopt};
  }
  if (build.starts_with("gpu_")) return {"cuda", std::nullopt};
  if (build.starts_with("cpu_") || build.find("_cpu") != std::string_view::npos) return {"cpu", std::nullopt};
  return {};
}

const PythonPackage* package_of(const PythonEnvironment& environment, std::string_view framework) {
  static constexpr std::array<std::string_view, 6> preferred{"torch",   "tensorflow",     "jaxlib",
                                                             "pytorch", "tensorflow-gpu", "tf-nightly"};
  const PythonPackage* found = nullptr;
  for (const PythonPackage* package : packages_of_framework(environment, framework)) {
    if (std::ranges::find(preferred, package->name) != preferred.end()) return package;
    if (found == nullptr) found = package;
  }
  return found;
}

/// jax brings its CUDA in a plug-in of its own: "jax-cuda12-plugin".
void read_jax_plugin(FrameworkInstall& install) {
  for (const PythonPackage* plugin : packages_with_prefix(*install.environment, "jax-cuda")) {
    if (!plugin->name.ends_with("-plugin")) continue;
    const auto major = CudaVersion::parse(plugin->name.substr(8, plugin->name.find('-', 8) - 8) + ".0");
    if (!major) continue;
    install.flavour = "cuda";
    install.cuda = major;
    install.origin = quote(*plugin);
    return;
  }
  if (install.flavour.empty() && install.version) {
    const auto local = install.version->local;  // "0.4.14+cuda12.cudnn89"
    if (local.starts_with("cuda")) install.flavour = "cuda", install.cuda = CudaVersion::parse(local.substr(4, 2) + ".0");
  }
}

void read_targets(const RuleContext& context, FrameworkInstall& install) {
  const Platform platform = linux_platform(install.environment->machine.empty() ? context.machine.os.architecture.value_or("")
                                                                                : install.environment->machine);
  if (install.flavour != "cuda" || !install.version) return;
  // A build of somebody's own ("2.6.0a0+ecf3bae.nv25.01", conda's) carries what its maker chose.
  const bool from_conda = install.package != nullptr && install.package->manager == "conda";
  if (install.framework == "torch") {
    if (from_conda || !install.cuda || install.version->phase < 0 || platform == Platform::Unknown) return;
    const std::string& local = install.version->local;
    if (!local.empty() && !cuda_of_tag(local)) return;
    const std::string variant =
        local.empty() ? "cu" + std::to_string(install.cuda->major) + std::to_string(install.cuda->minor) : local;
    const auto near = torch_build_near(context.knowledge, *install.version, variant);
    if (!near) return;
    install.targets = near->build.targets(platform);
    install.targets_are_of_neighbour = !near->exact;
  } else if (install.framework == "tensorflow") {
    if (install.build != nullptr && !install.build->compute_capabilities.empty()) {
      install.targets = parse_targets(join(install.build->compute_capabilities, ","));
    } else if (const auto release = tensorflow_release(context.knowledge, *install.version); release && !from_conda) {
      install.targets = release->targets;
      install.targets_are_of_neighbour = !release->exact;
    }
  } else if (install.framework == "jax" && install.cuda && !from_conda) {
    if (const auto release = jax_release(context.knowledge, *install.version))
      if (const auto* of_major = release->of_major(install.cuda->major)) {
        install.targets = of_major->targets;
        if (of_major->built_with) install.cuda = of_major->built_with;
      }
  }
}

/// What torch's own libraries carry, where they were looked into: more than any table knows. (XLA and TensorFlow make kernels at
/// run time: for them a file without an architecture proves nothing.)
void read_targets_of_files(const RuleContext& context, FrameworkInstall& install) {
  const auto* files = context.machine.gpu_code.get();
  if (files == nullptr || install.framework != "torch" || install.flavour != "cuda" || install.build == nullptr) return;
  const std::string start = install.build->folder + "/lib/libtorch_cuda";
  GpuTargets targets;
  for (const GpuCodeFile& file : *files) {
    if (!file.path.starts_with(start) || (!file.state.empty() && file.state != "headers")) continue;
    for (const GpuCodeTarget& target : file.targets) {
      const auto parsed = target.kind == "lto" ? std::nullopt : parse_gpu_arch(target.arch);
      if (!parsed || target.count == 0 || std::ranges::find(targets.list, *parsed) != targets.list.end()) continue;
      targets.list.push_back(*parsed);
      if (install.targets_origin.source.empty()) install.targets_origin.source = file.path;
    }
  }
  if (!targets.known()) return;
  std::ranges::sort(targets.list, {},
                    [](const GpuTarget& t) { return std::tuple(t.capability.major, t.capability.minor, t.ptx); });
  install.targets = std::move(targets);
  install.targets_are_of_neighbour = false;
  install.targets_origin.text = "carries GPU code for " + install.targets.text();
}

void read_flavour(const RuleContext& context, FrameworkInstall& install) {
  if (install.build != nullptr && !install.build->flavour.empty()) {
    install.flavour = install.build->flavour;
    if (const auto* cuda = install.build->cuda.get()) install.cuda = CudaVersion::parse(*cuda);
    install.origin = quote(*install.build);
  } else {
    Flavour flavour = install.version ? flavour_of_local(install.version->local) : Flavour{};
    if (flavour.name.empty() && install.package != nullptr) flavour = flavour_of_build_string(install.package->build);
    install.flavour = flavour.name;
    install.cuda = flavour.cuda;
    if (install.package != nullptr) install.origin = quote(*install.package);
  }
  if (install.framework == "tensorflow" && install.flavour.empty() && install.package != nullptr) {
    if (install.package->name == "tensorflow-cpu") install.flavour = "cpu";
  }
  if (install.framework == "tensorflow" && install.flavour == "cuda" && !install.cuda && install.version)
    if (const auto release = tensorflow_release(context.knowledge, *install.version)) install.cuda = release->cuda;
  if (install.framework == "jax") read_jax_plugin(install);
}

}  // namespace

std::optional<FrameworkInstall> framework_install(const RuleContext& context, const PythonEnvironment& environment,
                                                  std::string_view framework) {
  FrameworkInstall install;
  install.framework = framework;
  install.environment = &environment;
  install.package = package_of(environment, framework);
  install.build = find_build(environment, framework == "jax" ? std::string_view("jaxlib") : framework);
  if (install.package != nullptr && install.package->state == "files-missing") return std::nullopt;
  if (install.package == nullptr && install.build == nullptr) return std::nullopt;
  if (install.build != nullptr && !install.build->version.empty())
    install.version = ReleaseVersion::parse(install.build->version);
  if (!install.version && install.package != nullptr) install.version = ReleaseVersion::parse(install.package->version);
  read_flavour(context, install);
  read_targets(context, install);
  read_targets_of_files(context, install);
  return install;
}

std::vector<FrameworkInstall> wanted_installs(const RuleContext& context, const PythonEnvironment& environment) {
  std::vector<FrameworkInstall> found;
  for (const char* framework : {"torch", "tensorflow", "jax"}) {
    if (!wants_framework(context, environment, framework)) continue;
    if (auto install = framework_install(context, environment, framework)) found.push_back(std::move(*install));
  }
  return found;
}

std::vector<std::string> missing_cuda_requirements(const PythonEnvironment& environment, const PythonPackage& package) {
  std::vector<std::string> missing;
  for (const std::string& requirement : package.requirements) {
    if (!requirement.starts_with("nvidia-") && !requirement.starts_with("cuda-")) continue;
    if (requirement.find("extra ==") != std::string::npos || requirement.find("extra==") != std::string::npos) continue;
    const std::size_t end = std::min(requirement.find_first_of(" <>=!~;[("), requirement.size());
    const std::string name = normalised_distribution_name(requirement.substr(0, end));
    // Its own platform's requirements only: markers name the others.
    const std::string_view marker = std::string_view(requirement).substr(std::min(requirement.find(';'), requirement.size()));
    if (marker.find("Windows") != std::string_view::npos || marker.find("win32") != std::string_view::npos) continue;
    const std::string_view other = environment.machine == "aarch64" ? "x86_64" : "aarch64";
    const std::string_view own = environment.machine == "aarch64" ? "aarch64" : "x86_64";
    if (marker.find(other) != std::string_view::npos && marker.find(own) == std::string_view::npos) continue;
    if (find_package(environment, name) == nullptr) missing.push_back(name);
  }
  return missing;
}

}  // namespace gpuvet
