// Packages that are not what their name says: NVIDIA's placeholders, OpenCV's wheels without CUDA.

#include "rules/framework_packages.h"

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_repair.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// Libraries that NVIDIA publishes as wheels, without "nvidia-" and "-cuNN".
constexpr std::array<std::string_view, 20> wheel_families{"cublas",    "cuda-cupti",  "cuda-nvcc", "cuda-nvrtc", "cuda-runtime",
                                                          "cuda-cccl", "cuda-opencl", "cuda-nvtx", "nvtx",       "cudnn",
                                                          "cufft",     "cufile",      "curand",    "cusolver",   "cusparse",
                                                          "nccl",      "npp",         "nvjpeg",    "nvjitlink",  "tensorrt"};

struct WheelName {
  std::string family;  ///< "cublas"; empty: no library of NVIDIA
  std::string suffix;  ///< "cu116"; empty: none
};

WheelName wheel_name(std::string_view package) {
  if (!package.starts_with("nvidia-")) return {};
  package.remove_prefix(7);
  WheelName name;
  if (const std::size_t dash = package.rfind("-cu");
      dash != std::string_view::npos && dash + 3 < package.size() &&
      package.find_first_not_of("0123456789", dash + 3) == std::string_view::npos) {
    name.suffix = package.substr(dash + 1);
    package = package.substr(0, dash);
  }
  if (std::ranges::find(wheel_families, package) != wheel_families.end()) name.family = package;
  return name;
}

/// The package that has the library. CUDA 13's libraries have names without a suffix, cuDNN and NCCL kept theirs.
std::string real_name(const PythonPackage& package) {
  if (package.name == "tensorflow-gpu") return "tensorflow[and-cuda]";
  const WheelName name = wheel_name(package.name);
  if (name.family == "tensorrt") return "tensorrt";
  const bool keeps_suffix = name.family == "cudnn" || name.family == "nccl";
  if (name.suffix == "cu13") return "nvidia-" + name.family + (keeps_suffix ? "-cu13" : "");
  if (name.suffix.starts_with("cu11")) return "nvidia-" + name.family + "-cu11";
  if (name.suffix.starts_with("cu12") || name.suffix.empty()) return "nvidia-" + name.family + "-cu12";
  return {};
}

/// A real wheel of the same library, for whatever CUDA: then the placeholder does no harm.
bool has_real_one(const PythonEnvironment& environment, const PythonPackage& placeholder) {
  const WheelName wanted = wheel_name(placeholder.name);
  return std::ranges::any_of(environment.packages, [&](const PythonPackage& package) {
    if (&package == &placeholder || is_placeholder(package) || package.state == "files-missing") return false;
    if (placeholder.name == "tensorflow-gpu") return package.name == "tensorflow";
    if (wanted.family == "tensorrt") return package.name.starts_with("tensorrt");
    return wheel_name(package.name).family == wanted.family;
  });
}

}  // namespace

bool gpu_is_meant(const RuleContext& context) { return context.purpose.asked() || gpu_here(context) == GpuHere::Yes; }

bool is_from_wheel(const PythonPackage& package) {
  return package.manager == "pip" && package.installer != "conda" && package.state != "files-missing";
}

bool is_from_conda(const PythonPackage& package) { return package.manager == "conda" || package.installer == "conda"; }

bool is_placeholder(const PythonPackage& package) {
  if (package.manager == "conda") return false;
  const auto version = ReleaseVersion::parse(package.version);
  if (!version) return false;
  // The only tensorflow-gpu that PyPI still has: 2.12.0, empty.
  if (package.name == "tensorflow-gpu") return *version >= *ReleaseVersion::parse("2.12.0") && package.state != "files-missing";
  if (wheel_name(package.name).family.empty()) return false;
  return *version < *ReleaseVersion::parse("0.0.2");
}

bool another_framework_has_cuda(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework) {
  if (context.purpose.asked()) return false;
  return std::ranges::any_of(environment.frameworks, [&](const FrameworkBuild& build) {
    return build.flavour == "cuda" && framework_of_package(build.name) != framework && is_gpu_framework(build.name);
  });
}

std::string list_packages(const std::vector<const PythonPackage*>& packages) {
  std::vector<std::string> names;
  for (const PythonPackage* package : packages) names.push_back(package->name + " " + package->version);
  return join(names, ", ");
}

namespace framework {

std::optional<Finding> placeholder_package(const RuleContext& context) {
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    std::vector<const PythonPackage*> placeholders;
    std::vector<std::string> names, real;
    bool harmless = true;
    for (const PythonPackage& package : environment.packages) {
      if (!is_placeholder(package)) continue;
      placeholders.push_back(&package);
      names.push_back(package.name);
      if (has_real_one(environment, package)) continue;
      harmless = false;
      if (auto name = real_name(package); !name.empty()) real.push_back(std::move(name));
    }
    if (placeholders.empty()) continue;
    Finding finding;
    finding.parameters = {{"packages", list_packages(placeholders)}, {"environment", label_of(environment)}};
    for (const PythonPackage* package : placeholders) finding.evidence.push_back(quote(*package));
    finding.severity = harmless || !gpu_is_meant(context) ? Severity::Note : by_purpose(context);
    finding.variant = harmless ? "harmless" : "";
    finding.repair.push_back(uninstall_packages(environment, names));
    if (!real.empty()) finding.repair.push_back(install_packages(environment, real));
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> opencv_without_cuda(const RuleContext& context) {
  if (context.purpose.name != "opencv") return std::nullopt;  // OpenCV lives in many environments that never meant a GPU
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    for (const PythonPackage* package : packages_of_framework(environment, "opencv")) {
      const auto build = std::ranges::find_if(environment.frameworks, [](const FrameworkBuild& b) {
        return b.flavour == "cpu" && framework_of_package(b.name) == "opencv";
      });
      const bool from_pypi = build != environment.frameworks.end() && is_from_wheel(*package);
      const std::string id = context.machine.os.id.value_or("");
      const bool from_debian = package->manager == "distribution" && (id == "debian" || id == "ubuntu");
      if (!from_pypi && !from_debian) continue;
      Finding finding;
      finding.parameters = {{"package", package->name + " " + package->version}, {"environment", label_of(environment)}};
      finding.evidence.push_back(quote(*package));
      if (from_pypi) finding.evidence.push_back(quote(*build));
      finding.variant = from_pypi ? "" : "distribution";
      finding.repair.push_back(make_action("build-opencv-with-cuda", {{"environment", environment.prefix}}));
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace framework
}  // namespace gpuvet
