// Forward compatibility (cuda-compat's libcuda) and what a container image asks of the driver.
// Rules: docs.nvidia.com/deploy/cuda-compatibility, in data/facts/compat_packages.tsv.

#include <algorithm>

#include "rules/evidence.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

Origin quote(const DriverLibrary& library, std::string text) { return {library.path, 0, std::move(text)}; }

struct CompatPair {
  const DriverLibrary* library = nullptr;
  DriverVersion version;  ///< of the compat libcuda
  DriverVersion module;   ///< of the loaded kernel module
};

/// A compat libcuda that a new process gets, with both versions known.
std::optional<CompatPair> winning_compat(const RuleContext& context) {
  if (context.libcuda == nullptr || context.libcuda->kind != "compat" || !context.loaded_driver) return std::nullopt;
  const auto* text = context.libcuda->version.get();
  const auto version = text != nullptr ? DriverVersion::parse(*text) : std::nullopt;
  if (!version) return std::nullopt;
  return CompatPair{context.libcuda, *version, *context.loaded_driver};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Finding compat_finding(const RuleContext& context, const CompatPair& pair) {
  Finding finding;
  finding.parameters = {{"path", pair.library->path}, {"folder", folder_of(pair.library->path)}, {"version", pair.version.text}, {"driver", pair.module.text}};
  finding.evidence = {quote(*pair.library, "cuda-compat libcuda " + pair.version.text + ", found by " + pair.library->found_by),
                      gpuvet::quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", pair.module.text)};
  if (pair.library->found_by == "LD_LIBRARY_PATH") finding.repair.push_back(make_action("remove-from-ld-library-path", {{"folder", finding.parameters["folder"]}}));
  else finding.repair.push_back(make_action("remove-compat-from-loader-path", {{"folder", finding.parameters["folder"]}}));
  return finding;
}

/// GeForce cards are never allowed forward compatibility; data-centre ones are; of professional cards only some, so nothing is said.
bool is_geforce(const GpuIdentity& gpu) { return gpu.name.find("GeForce") != std::string::npos; }

/// "cuda>=12.4" inside a requirement. Its alternatives ("brand=geforce,driver>=470,driver<471") only let the container start, for
/// the sake of cuda-compat; without that library the runtime needs what it needs.
std::optional<CudaVersion> least_cuda(std::string_view requirement) {
  const std::size_t at = requirement.find("cuda>=");
  if (at == std::string_view::npos) return std::nullopt;
  requirement.remove_prefix(at + 6);
  return CudaVersion::parse(requirement.substr(0, requirement.find_first_not_of("0123456789.")));
}

}  // namespace

std::optional<CudaVersion> image_cuda_version(const Machine& machine) {
  for (const char* name : {"NVIDIA_REQUIRE_CUDA", "CUDA_VERSION"}) {
    const auto variable = machine.environment.find(name);
    if (variable == machine.environment.end()) continue;
    const auto version = std::string_view(name) == "CUDA_VERSION" ? CudaVersion::parse(variable->second) : least_cuda(variable->second);
    if (version) return version;
  }
  return std::nullopt;
}

std::optional<Finding> compat_libcuda_shadows_driver(const RuleContext& context) {
  const auto pair = winning_compat(context);
  if (!pair || pair->version >= pair->module) return std::nullopt;
  return compat_finding(context, *pair);
}

std::optional<Finding> forward_compat_on_unsupported_gpu(const RuleContext& context) {
  const auto pair = winning_compat(context);
  if (!pair || pair->version <= pair->module) return std::nullopt;
  const auto gpu = std::ranges::find_if(context.gpus, [](const MachineGpu& g) { return is_geforce(g.identity); });
  if (gpu == context.gpus.end()) return std::nullopt;
  Finding finding = compat_finding(context, *pair);
  finding.parameters["gpu"] = gpu->identity.label();
  finding.evidence.push_back(gpuvet::quote(*gpu->device, "device", gpu->identity.name));
  finding.repair.push_back(make_action(context.in(World::Container) ? "update-driver-on-host" : "update-driver", {{"branch", std::to_string(pair->version.branch)}}));
  return finding;
}

std::optional<Finding> driver_too_old_for_container_image(const RuleContext& context) {
  if (!context.loaded_driver || (context.libcuda != nullptr && context.libcuda->kind == "compat")) return std::nullopt;
  const auto wanted = image_cuda_version(context.machine);
  const auto least = wanted ? context.knowledge.least_driver_for_runtime(*wanted) : std::nullopt;
  const bool too_old = least && *context.loaded_driver < *least;
  const auto unmet = too_old ? std::nullopt : unmet_requirement(context);
  if (!too_old && !unmet) return std::nullopt;
  const char* name = context.machine.environment.contains("NVIDIA_REQUIRE_CUDA") ? "NVIDIA_REQUIRE_CUDA" : "CUDA_VERSION";
  const std::string requirement = unmet ? *unmet : std::string(name) + "=" + context.machine.environment.at(name);
  Finding finding;
  finding.parameters = {{"driver", context.loaded_driver->text}, {"requirement", requirement}, {"cuda", wanted ? wanted->text() : ""}, {"least", least ? least->text : ""}};
  if (unmet) finding.variant = "required-driver";
  finding.evidence = {{"environment", 0, requirement}, gpuvet::quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", context.loaded_driver->text)};
  if (too_old) finding.repair = {make_action("update-driver-on-host", {{"branch", std::to_string(least->branch)}})};
  finding.repair.push_back(make_action("use-older-cuda-image", {{"driver", context.loaded_driver->text}}));
  return finding;
}

}  // namespace gpuvet::user_driver
