// Forward compatibility (cuda-compat's libcuda) and what a container image asks of the driver.
// Rules: docs.nvidia.com/deploy/cuda-compatibility, in data/facts/compat_packages.tsv.

#include <algorithm>

#include "knowledge/table.h"
#include "rules/evidence.h"
#include "rules/hardware.h"
#include "rules/process_repair.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

struct CompatPair {
  std::string path, found_by;
  DriverVersion version;                 ///< of the compat libcuda
  DriverVersion module;                  ///< of the loaded kernel module
  const ProcessView* process = nullptr;  ///< the one that gets it, where other programs do not
};

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// A folder of a cuda-compat package, or a copy of it under a telling name.
bool is_compat_folder(std::string_view folder) {
  while (!folder.empty()) {
    const auto slash = folder.rfind('/');
    const std::string_view part = folder.substr(slash == std::string_view::npos ? 0 : slash + 1);
    if (part == "compat" || part.starts_with("compat.") || part.starts_with("cuda-compat")) return true;
    if (slash == std::string_view::npos) break;
    folder = folder.substr(0, slash);
  }
  return false;
}

/// A process that comes to a compat libcuda by its own RPATH or RUNPATH, though others get the driver's.
std::optional<CompatPair> compat_of_process(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    const LoadedObject* object = loaded_library(view.now, "libcuda");
    if (object == nullptr || object->file->stub) continue;
    if (!is_compat_folder(folder_of(object->path)) && !is_compat_folder(folder_of(object->file->real_path))) continue;
    const auto* text = object->file->driver_version.get();
    const auto version = text != nullptr ? DriverVersion::parse(*text) : std::nullopt;
    if (version) return CompatPair{object->path, object->rule, *version, *context.loaded_driver, &view};
  }
  return std::nullopt;
}

/// A compat libcuda that a new process gets, with both versions known.
std::optional<CompatPair> winning_compat(const RuleContext& context) {
  if (!context.loaded_driver) return std::nullopt;
  if (context.libcuda == nullptr || context.libcuda->kind != "compat") return compat_of_process(context);
  const auto* text = context.libcuda->version.get();
  const auto version = text != nullptr ? DriverVersion::parse(*text) : std::nullopt;
  if (!version) return std::nullopt;
  return CompatPair{context.libcuda->path, context.libcuda->found_by, *version, *context.loaded_driver};
}

Finding compat_finding(const RuleContext& context, const CompatPair& pair) {
  Finding finding;
  const std::string folder = folder_of(pair.path);
  finding.parameters = {{"path", pair.path},
                        {"folder", folder},
                        {"version", pair.version.text},
                        {"driver", pair.module.text},
                        {"process", pair.process != nullptr ? pair.process->label() : ""}};
  finding.evidence = {{pair.path, 0, "cuda-compat libcuda " + pair.version.text + ", found by " + pair.found_by},
                      gpuvet::quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", pair.module.text)};
  if (pair.found_by == "LD_LIBRARY_PATH") {
    finding.repair.push_back(make_action("remove-from-ld-library-path", {{"folder", folder}}));
  } else if (pair.process != nullptr) {
    finding.variant = "program";
    finding.repair.push_back(make_action("remove-folder-from-rpath", {{"folder", folder}, {"program", pair.process->label()}}));
  } else {
    finding.repair.push_back(make_action("remove-compat-from-loader-path", {{"folder", folder}}));
  }
  return finding;
}

/// GeForce cards are never allowed forward compatibility; data-centre ones are; of professional cards only some, so nothing is
/// said.
bool is_geforce(std::string_view name) { return name.find("GeForce") != std::string_view::npos; }

/// Every GPU that this process may see is a GeForce: `label` receives the first one's name. By the bus, else by the driver's own
/// list.
bool all_geforce(const RuleContext& context, std::string& label) {
  const auto& listed = context.machine.kernel_driver.gpus;
  if (!context.gpus.empty()) {
    label = context.gpus.front().identity.label();
    return std::ranges::all_of(context.gpus, [](const MachineGpu& gpu) { return is_geforce(gpu.identity.name); });
  }
  if (!listed.empty()) label = listed.front().model;
  return !listed.empty() && std::ranges::all_of(listed, [](const ProcGpu& gpu) { return is_geforce(gpu.model); });
}

/// "cuda>=12.4" inside a requirement. Its alternatives ("brand=geforce,driver>=470,driver<471") only let the container start, for
/// the sake of cuda-compat; without that library the runtime needs what it needs.
std::optional<CudaVersion> least_cuda(std::string_view requirement) {
  const std::size_t at = requirement.find("cuda>=");
  if (at == std::string_view::npos) return std::nullopt;
  requirement.remove_prefix(at + 6);
  return CudaVersion::parse(requirement.substr(0, requirement.find_first_not_of("0123456789.")));
}

struct ImageCuda {
  CudaVersion version;
  std::string variable;  ///< that told it
};

std::optional<ImageCuda> image_cuda(const Machine& machine) {
  for (const char* name : {"NVIDIA_REQUIRE_CUDA", "CUDA_VERSION"}) {
    const auto variable = machine.environment.find(name);
    if (variable == machine.environment.end()) continue;
    const auto version =
        std::string_view(name) == "CUDA_VERSION" ? CudaVersion::parse(variable->second) : least_cuda(variable->second);
    if (version) return ImageCuda{*version, name};
  }
  return std::nullopt;
}

/// The branch to update to: the long-term one that serves the GPUs here; 0 when none of those that serve them is new enough.
std::uint32_t branch_for(const RuleContext& context, std::uint32_t least) {
  if (context.gpus.empty()) return least;
  const std::uint32_t recommended = recommended_branch(context);
  if (recommended == 0) return least;
  return recommended >= least ? recommended : 0;
}

/// A GPU that surely may use forward compatibility: the class is of the name. Mining cards and those of cars are none.
bool is_data_centre(const MachineGpu& gpu) {
  const std::string& name = gpu.identity.name;
  return gpu.identity.gpu_class == "data-centre" && !name.empty() && name.find("CMP") == std::string::npos &&
         name.find("DRIVE") == std::string::npos;
}

bool serves_all(const RuleContext& context, const CudaVersion& cuda) {
  const auto release = context.knowledge.cuda_release(cuda.text());
  const auto low = release ? ComputeCapability::parse(release->supported_sm_min) : std::nullopt;
  return low && std::ranges::all_of(context.gpus, [&](const MachineGpu& gpu) {
           return gpu.identity.compute_capability && *low <= *gpu.identity.compute_capability;
         });
}

/// The oldest package with this CUDA release or a newer one that NVIDIA supports on a driver branch.
std::optional<CudaVersion> compat_package(const Knowledge& knowledge, const CudaVersion& cuda, std::uint32_t branch) {
  const Knowledge::Table& table = knowledge.table("compat_packages");
  std::optional<CudaVersion> best;
  for (const auto& row : table.rows) {
    const bool fits = table.cell(row, "status") == "supported" && table.cell(row, "base_driver_branch") == std::to_string(branch);
    // The page has a column for such branches, and its text excludes them.
    const bool excluded = table.cell(row, "note").find("New Feature Branch") != std::string_view::npos;
    const auto version = fits && !excluded ? CudaVersion::parse(table.cell(row, "cuda")) : std::nullopt;
    if (version && *version >= cuda && (!best || *version < *best)) best = version;
  }
  return best;
}

}  // namespace

void add_forward_compatibility(const RuleContext& context, const CudaVersion& cuda, Finding& finding) {
  const bool has_one = context.libcuda != nullptr && context.libcuda->kind == "compat";
  if (context.in(World::Wsl2) || context.in(World::Jetson) || has_one || !context.loaded_driver || context.gpus.empty()) return;
  if (!std::ranges::all_of(context.gpus, is_data_centre)) return;
  const auto package = compat_package(context.knowledge, cuda, context.loaded_driver->branch);
  if (!package || !serves_all(context, *package)) return;
  finding.repair.push_back(make_action(
      "use-forward-compat", {{"release", package->text()},
                             {"package_release", std::to_string(package->major) + "-" + std::to_string(package->minor)},
                             {"branch", std::to_string(context.loaded_driver->branch)},
                             {"gpu", context.gpus.front().identity.label()}}));
}

std::optional<CudaVersion> image_cuda_version(const Machine& machine) {
  const auto wanted = image_cuda(machine);
  return wanted ? std::optional(wanted->version) : std::nullopt;
}

std::optional<Finding> compat_libcuda_shadows_driver(const RuleContext& context) {
  const auto pair = winning_compat(context);
  if (!pair || pair->version >= pair->module) return std::nullopt;
  return compat_finding(context, *pair);
}

std::optional<Finding> forward_compat_on_unsupported_gpu(const RuleContext& context) {
  const auto pair = winning_compat(context);
  std::string label;
  if (!pair || pair->version <= pair->module || !all_geforce(context, label)) return std::nullopt;
  Finding finding = compat_finding(context, *pair);
  finding.parameters["gpu"] = label;
  if (context.gpus.empty())
    finding.evidence.push_back({"/proc/driver/nvidia/gpus", 0, label});
  else
    finding.evidence.push_back(gpuvet::quote(*context.gpus.front().device, "device", context.gpus.front().identity.name));
  const std::uint32_t branch = branch_for(context, pair->version.branch);
  if (branch != 0)
    finding.repair.push_back(make_action(context.in(World::Container) ? "update-driver-on-host" : "update-driver",
                                         {{"branch", std::to_string(branch)}}));
  return finding;
}

std::optional<Finding> driver_too_old_for_container_image(const RuleContext& context) {
  if (!context.loaded_driver || (context.libcuda != nullptr && context.libcuda->kind == "compat")) return std::nullopt;
  const auto wanted = image_cuda(context.machine);
  const auto least = wanted ? context.knowledge.least_driver_for_runtime(wanted->version) : std::nullopt;
  const bool too_old = least && *context.loaded_driver < *least;
  const auto unmet = too_old ? std::nullopt : unmet_requirement(context);
  if (!too_old && !unmet) return std::nullopt;
  const std::string requirement = unmet ? *unmet : wanted->variable + "=" + context.machine.environment.at(wanted->variable);
  Finding finding;
  finding.parameters = {{"driver", context.loaded_driver->text},
                        {"requirement", requirement},
                        {"cuda", wanted ? wanted->version.text() : ""},
                        {"least", least ? least->text : ""}};
  if (unmet) finding.variant = "required-driver";
  finding.evidence = {
      {"environment", 0, requirement},
      gpuvet::quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", context.loaded_driver->text)};
  const std::uint32_t branch = too_old ? branch_for(context, least->branch) : 0;
  if (branch != 0) finding.repair.push_back(make_action("update-driver-on-host", {{"branch", std::to_string(branch)}}));
  finding.repair.push_back(or_action("use-older-cuda-image", {{"driver", context.loaded_driver->text}}));
  return finding;
}

}  // namespace gpuvet::user_driver
