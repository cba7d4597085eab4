#include "rules/framework_facts.h"

#include <algorithm>
#include <charconv>

#include "model/windows_driver.h"
#include "rules/evidence.h"
#include "rules/framework_repair.h"
#include "rules/hardware.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// Windows' and WSL's driver numbers lie a little above their branch ("528.33" is R525): the newest branch that is not newer.
std::optional<CudaVersion> native_cuda_of_wsl(const Knowledge& knowledge, const DriverVersion& driver) {
  std::optional<DriverBranch> best;
  const auto branches = knowledge.driver_branches();
  for (const DriverBranch& branch : branches)
    if (branch.cuda && branch.branch <= driver.branch && (!best || best->branch < branch.branch)) best = branch;
  // Branches are some dozen numbers apart: beyond the newest one nothing is known.
  const bool known = best && driver.branch < best->branch + 15;
  return known ? best->cuda : std::nullopt;
}

/// The library that WSL puts on the loader's path may be a small one that opens its driver's own in Windows' driver store: then
/// that one's number counts, or Windows' number of the driver.
std::optional<RunningDriver> driver_of_windows(const RuleContext& context) {
  const auto answer = [&](DriverVersion version, Origin origin) {
    return RunningDriver{version, native_cuda_of_wsl(context.knowledge, version), true, std::move(origin)};
  };
  const Machine& machine = context.machine;
  const std::string* folder = machine.wsl.driver_store.get();
  const auto* libraries = machine.user_driver.libraries.get();
  if (folder != nullptr && libraries != nullptr)
    for (const DriverLibrary& library : *libraries) {
      const std::string* text = library.version.get();
      if (text == nullptr || library.name != "libcuda.so.1" || !library.path.starts_with(*folder + "/")) continue;
      if (auto version = DriverVersion::parse(*text))
        return answer(*version, quote(library.version, library.path, "driver " + *text));
    }
  const std::string* number = machine.wsl.windows_driver.get();
  const auto version = number != nullptr ? driver_of_windows_version(*number) : std::nullopt;
  if (!version) return std::nullopt;
  return answer(*version, {machine.wsl.windows_driver.origin().source, 0, "driver " + version->text + " (" + *number + ")"});
}

std::optional<RunningDriver> driver_of_library(const RuleContext& context, const DriverLibrary& library) {
  const auto* text = library.version.get();
  const auto version = text != nullptr ? DriverVersion::parse(*text) : std::nullopt;
  const bool wsl = library.kind == "wsl";
  if (!version) return wsl ? driver_of_windows(context) : std::nullopt;
  return RunningDriver{*version, wsl ? native_cuda_of_wsl(context.knowledge, *version) : context.knowledge.native_cuda(*version),
                       wsl, quote(library.version, library.path, "driver " + *text)};
}

bool is_nvidia_gpu_node(const DeviceNode& node) {
  constexpr std::string_view prefix = "/dev/nvidia";
  return node.path.starts_with(prefix) && node.path.size() > prefix.size() && node.path[prefix.size()] >= '0' &&
         node.path[prefix.size()] <= '9';
}

bool has_gpu_node(const Machine& machine) {
  const auto* nodes = machine.device_nodes.nodes.get();
  return nodes != nullptr && std::ranges::any_of(*nodes, is_nvidia_gpu_node);
}

/// The bus of a container is the host's: of its GPUs only those that were given in count.
bool is_shown(const RuleContext& context, const MachineGpu& gpu) {
  const auto& listed = context.machine.kernel_driver.gpus;
  if (!context.in(World::Container) || listed.empty()) return true;
  const auto found = std::ranges::find_if(listed, [&](const ProcGpu& g) { return names_device(g.address, gpu.device->address); });
  if (found == listed.end()) return false;
  const bool nodes_seen = context.machine.device_nodes.nodes.is_known();
  return found->device_minor < 0 || !nodes_seen ||
         device_node(context.machine, "/dev/nvidia" + std::to_string(found->device_minor)) != nullptr;
}

bool given_away(const MachineGpu& gpu) {
  return is_passthrough_driver(*gpu.device) || gpu.device->driver.is("nouveau") || gpu.device->driver.is("nova_core");
}

}  // namespace

std::optional<RunningDriver> running_driver(const RuleContext& context) {
  if (context.machine.os.jetson.is_known()) return std::nullopt;
  if (context.libcuda != nullptr && (context.libcuda->kind == "wsl" || context.libcuda->kind == "compat"))
    return driver_of_library(context, *context.libcuda);
  if (context.in(World::Wsl2)) return std::nullopt;
  if (context.loaded_driver)
    return RunningDriver{
        *context.loaded_driver, context.knowledge.native_cuda(*context.loaded_driver), false,
        quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", context.loaded_driver->text)};
  if (context.installed_driver)
    return RunningDriver{*context.installed_driver,
                         context.knowledge.native_cuda(*context.installed_driver),
                         false,
                         {"driver on disk", 0, context.installed_driver->text}};
  if (context.libcuda != nullptr && context.libcuda->kind == "driver") return driver_of_library(context, *context.libcuda);
  return std::nullopt;
}

DriverFit fit_of(const RuleContext& context, const RunningDriver& driver, const CudaVersion& cuda) {
  if (!driver.from_windows) return driver_fit(context.knowledge, driver.version, cuda);
  return driver.native ? driver_fit(context.knowledge, *driver.native, cuda) : DriverFit::Unknown;
}

GpuHere gpu_here(const RuleContext& context) {
  const Machine& machine = context.machine;
  if (!context.gpus.empty()) return std::ranges::all_of(context.gpus, given_away) ? GpuHere::No : GpuHere::Yes;
  if (machine.os.jetson.is_known() || has_gpu_node(machine) || !machine.kernel_driver.gpus.empty()) return GpuHere::Yes;
  if (context.in(World::Wsl2))
    return context.libcuda != nullptr && context.libcuda->kind == "wsl" ? GpuHere::Yes : GpuHere::Unknown;
  if (context.in(World::Container)) return GpuHere::Unknown;
  return machine.pci.is_known() ? GpuHere::No : GpuHere::Unknown;
}

std::vector<const MachineGpu*> usable_gpus(const RuleContext& context) {
  std::vector<const MachineGpu*> found;
  for (const MachineGpu& gpu : context.gpus)
    if (gpu.identity.compute_capability && !given_away(gpu) && is_shown(context, gpu)) found.push_back(&gpu);
  return found;
}

Origin quote_capability(const MachineGpu& gpu) {
  const std::string capability = gpu.identity.compute_capability ? gpu.identity.compute_capability->text() : "?";
  return quote(*gpu.device, "device", gpu.identity.label() + ", compute capability " + capability);
}

int jetson_release(const Machine& machine) {
  const auto* text = machine.os.jetson.get();
  const std::size_t at = text != nullptr ? text->find('R') : std::string::npos;
  int release = 0;
  if (at != std::string::npos) std::from_chars(text->data() + at + 1, text->data() + text->size(), release);
  return release;
}

std::string label_of(const FrameworkInstall& install) {
  return install.framework + (install.version ? " " + install.version->text : "");
}

std::string label_of(const PythonEnvironment& environment) {
  return environment.prefix.empty() ? std::string(unnamed_environment) : environment.prefix;
}

std::vector<Action> steps_to_gpu_build(const RuleContext& context, const PythonEnvironment& environment,
                                       const std::string& framework) {
  auto steps = reinstall_framework(context, environment, framework);
  if (steps.empty()) steps.push_back(make_action("find-gpu-build", {{"framework", framework}}));
  return steps;
}

Severity by_purpose(const RuleContext& context) { return context.purpose.asked() ? Severity::Error : Severity::Warning; }

}  // namespace gpuvet
