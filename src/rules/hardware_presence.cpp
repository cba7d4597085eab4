// Is there an NVIDIA GPU on the bus, and may the NVIDIA driver have it?

#include <algorithm>
#include <array>

#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/hardware.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

constexpr std::int64_t vendor_amd = 0x1002;
constexpr std::int64_t vendor_intel = 0x8086;
constexpr std::int64_t vendor_nvidia = 0x10de;

bool is_display(const PciDevice& device) { return (device.class_code >> 16) == 0x03; }

std::string hex4(std::int64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int shift = 12; shift >= 0; shift -= 4) text += digits[static_cast<std::size_t>((number >> shift) & 15)];
  return text;
}

/// Vendor ids: pci.ids.
std::string vendor_name(std::int64_t vendor) {
  switch (vendor) {
    case vendor_amd:
      return "AMD";
    case vendor_intel:
      return "Intel";
    case 0x1a03:
      return "ASPEED";
    case 0x102b:
      return "Matrox";
    case 0x1234:
      return "QEMU";
    case 0x1af4:
      return "virtio";
    case 0x1b36:
      return "Red Hat QXL";
    case 0x1013:
      return "Cirrus";
    case 0x15ad:
      return "VMware";
    case 0x80ee:
      return "VirtualBox";
    case 0x1414:
      return "Hyper-V";
    case 0x1d0f:
      return "Amazon";
    case 0x19e5:
      return "Huawei";
    default:
      return "";
  }
}

std::string describe(const PciDevice& device) {
  const std::string id = "[" + hex4(device.vendor) + ":" + hex4(device.device) + "]";
  const std::string vendor = vendor_name(device.vendor);
  return vendor.empty() ? id : vendor + " " + id;
}

std::vector<const PciDevice*> other_displays(const Machine& machine) {
  std::vector<const PciDevice*> found;
  const auto* devices = machine.pci.get();
  if (!devices) return found;
  for (const auto& device : *devices)
    if (is_display(device) && device.vendor != vendor_nvidia) found.push_back(&device);
  return found;
}

/// The bus was listed and has no NVIDIA display controller, nor does the driver know one.
bool surely_no_gpu(const RuleContext& context) {
  return context.machine.pci.is_known() && context.gpus.empty() && context.machine.kernel_driver.gpus.empty() &&
         gpu_nodes(context.machine).empty();
}

/// A line of this boot in which the kernel enumerates an NVIDIA display controller: "pci 0000:01:00.0: [10de:25a2] type 00 class
/// 0x030000".
const LogEvent* enumerated_gpu(const Machine& machine) { return first_event_with(machine, {"[10de:", "class 0x03"}); }

/// A desktop without an NVIDIA GPU may still remember a profile.
bool profile_turns_gpu_off(const Machine& machine) {
  if (machine.os.chassis_type.is_known() && !is_portable(machine)) return false;
  const auto* profile = machine.kernel_driver.prime_profile.get();
  return profile && (contains_ignoring_case(*profile, "integrated") || *profile == "intel" || *profile == "amd");
}

// ---- dgpu-switched-off-on-laptop -----------------------------------------------------------------------------------

/// Which tool turned the GPU off, by what it leaves behind: that decides how to turn it on again.
std::string switch_tool(const Machine& machine) {
  const auto& driver = machine.kernel_driver;
  std::vector<Origin> signs = driver.gpu_remove_rules;
  signs.insert(signs.end(), driver.gpu_switch_signs.begin(), driver.gpu_switch_signs.end());
  for (const char* tool : {"envycontrol", "supergfx", "optimus-manager", "bbswitch", "asus", "system76", "acpi_call"})
    for (const auto& sign : signs)
      if (contains_ignoring_case(sign.source, tool) || contains_ignoring_case(sign.text, tool)) return tool;
  for (const auto& sign : signs)  // EnvyControl's own file names
    if (contains_ignoring_case(sign.source, "50-remove-nvidia.rules")) return "envycontrol";
  if (driver.prime_profile.is("intel") || driver.prime_profile.is("amd")) return "prime-select";
  if (driver.prime_profile.is("integrated")) return "envycontrol";
  return loaded_module(machine, "bbswitch") ? "bbswitch" : "";
}

Action switch_on_action(const Machine& machine) {
  const std::string tool = switch_tool(machine);
  if (tool == "envycontrol") return make_action("switch-gpu-on-envycontrol");
  if (tool == "supergfx") return make_action("switch-gpu-on-supergfxctl");
  if (tool == "asus") return make_action("switch-gpu-on-asus");
  if (tool == "optimus-manager") return make_action("switch-gpu-on-optimus-manager");
  if (tool == "system76") return make_action("switch-gpu-on-system76");
  if (tool == "bbswitch" || tool == "acpi_call") return make_action("switch-gpu-on-bbswitch");
  if (tool == "prime-select") return make_action("switch-gpu-on-prime-select");
  if (!machine.kernel_driver.gpu_remove_rules.empty())
    return make_action("remove-udev-remove-rule", {{"path", machine.kernel_driver.gpu_remove_rules.front().source}});
  return make_action("switch-gpu-on-firmware");
}

/// On the bus, but powered down by a switch and not merely asleep under the driver.
const PciDevice* powered_off_gpu(const RuleContext& context) {
  const bool switch_loaded =
      loaded_module(context.machine, "bbswitch") || !context.machine.kernel_driver.gpu_switch_signs.empty();
  if (!switch_loaded) return nullptr;
  for (const auto& gpu : context.gpus) {
    const auto& device = *gpu.device;
    if (device.driver.is_absent() && device.config_all_ones.is(true)) return &device;
  }
  return nullptr;
}

}  // namespace

std::optional<Finding> judge_dgpu_switched_off(const RuleContext& context) {
  const auto& machine = context.machine;
  const auto& driver = machine.kernel_driver;
  const PciDevice* off = powered_off_gpu(context);
  if (!off && !surely_no_gpu(context)) return std::nullopt;
  const LogEvent* seen_before = enumerated_gpu(machine);
  const bool signs = !driver.gpu_remove_rules.empty() || !driver.gpu_switch_signs.empty() || profile_turns_gpu_off(machine);
  // Without a switch that we know, only a laptop's GPU that this boot has seen is surely one that was turned off.
  if (!off && !signs && !(seen_before && is_portable(machine))) return std::nullopt;

  Finding finding;
  finding.variant = off ? "powered-off" : !driver.gpu_remove_rules.empty() ? "removed" : "";
  auto& evidence = finding.evidence;
  evidence = driver.gpu_remove_rules;
  evidence.insert(evidence.end(), driver.gpu_switch_signs.begin(), driver.gpu_switch_signs.end());
  if (evidence.size() > 5) evidence.resize(5);
  if (profile_turns_gpu_off(machine))
    evidence.push_back(quote(driver.prime_profile, "prime profile", *driver.prime_profile.get()));
  if (off) evidence.push_back(quote(*off, "config", "ff ff ff ff"));
  if (seen_before) evidence.push_back(quote(*seen_before));
  finding.repair.push_back(switch_on_action(machine));
  finding.repair.push_back(make_action("reboot"));
  return finding;
}

// ---- amd-or-rocm-with-cuda-package ---------------------------------------------------------------------------------

namespace {

bool is_toolkit_package(std::string_view name) {
  for (const char* prefix :
       {"cuda-toolkit", "cuda-nvcc", "cuda-drivers", "cuda-runtime", "cuda-cudart", "nvidia-cuda-toolkit", "libcudnn", "cudnn"})
    if (name.starts_with(prefix)) return true;
  return name == "cuda" || name == "nvidia-driver" || name == "nvidia-open";
}

/// What somebody installed for an NVIDIA GPU: a kernel module or a toolkit. Firmware and libraries come along with other things.
/// On a laptop the driver is rather a sign of an NVIDIA GPU that is off: there only a toolkit counts.
std::vector<const Package*> packages_for_nvidia(const Machine& machine) {
  std::vector<const Package*> found;
  const auto parts = driver_packages(machine);
  for (const auto& package : parts)
    if (package.role == PackageRole::Module) found.push_back(package.package);
  if (is_portable(machine) && !found.empty()) return {};
  if (const auto* installed = machine.packages.installed.get())
    for (const auto& package : *installed)
      if (package.status != "config-files" && is_toolkit_package(package.name) &&
          std::ranges::find(found, &package) == found.end())
        found.push_back(&package);
  return found;
}

}  // namespace

namespace {

/// A GPU of another vendor that somebody may have taken for one that runs CUDA. Intel's processor graphics (always at 00:02.0)
/// are in every other machine and say nothing about what was meant.
bool is_other_gpu(const PciDevice* device) {
  return device->vendor == vendor_amd || (device->vendor == vendor_intel && !device->address.ends_with(":00:02.0"));
}

struct JudgedInstall {
  FrameworkInstall install;
  const PythonEnvironment* environment = nullptr;
};

/// A framework of this flavour in a judged environment; `asked`: only one that was asked for.
std::optional<JudgedInstall> install_of_flavour(const RuleContext& context, std::string_view flavour, bool asked) {
  if (asked && !context.purpose.asked()) return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments)
    for (FrameworkInstall& install : wanted_installs(context, *judged.environment))
      if (install.flavour == flavour) return JudgedInstall{std::move(install), judged.environment};
  return std::nullopt;
}

/// A ROCm build where all GPUs are NVIDIA's: the wheel of the wrong index, neither a CPU build nor a driver's fault.
std::optional<Finding> rocm_build_on_nvidia(const RuleContext& context) {
  const auto displays = other_displays(context.machine);
  const auto is_amd = [](const PciDevice* device) { return device->vendor == vendor_amd; };
  if (gpu_here(context) != GpuHere::Yes || std::ranges::any_of(displays, is_amd)) return std::nullopt;
  const auto found = install_of_flavour(context, "rocm", false);
  if (!found) return std::nullopt;
  Finding finding;
  finding.variant = "rocm-build";
  finding.severity = by_purpose(context);
  finding.parameters = {{"gpu", context.gpus.empty() ? "NVIDIA GPU" : context.gpus.front().identity.label()},
                        {"package", label_of(found->install)},
                        {"environment", found->environment->prefix}};
  if (!context.gpus.empty())
    finding.evidence.push_back(quote(*context.gpus.front().device, "vendor", context.gpus.front().identity.label()));
  finding.evidence.push_back(found->install.origin);
  if (found->install.package != nullptr) finding.evidence.push_back(quote(*found->install.package));
  finding.repair = steps_to_gpu_build(context, *found->environment, found->install.framework);
  return finding;
}

}  // namespace

std::optional<Finding> judge_amd_with_cuda_package(const RuleContext& context) {
  const auto& machine = context.machine;
  if (auto finding = rocm_build_on_nvidia(context)) return finding;
  if (!surely_no_gpu(context) || judge_dgpu_switched_off(context) || enumerated_gpu(machine)) return std::nullopt;
  const auto displays = other_displays(machine);
  const auto gpu = std::ranges::find_if(displays, is_other_gpu);
  const auto packages = packages_for_nvidia(machine);
  const auto framework = install_of_flavour(context, "cuda", true);
  if (gpu == displays.end() || (packages.empty() && !framework)) return std::nullopt;

  Finding finding;
  finding.parameters["gpu"] = describe(**gpu);
  finding.parameters["package"] = packages.empty() ? label_of(framework->install) : packages.front()->name;
  finding.evidence.push_back(quote(**gpu, "vendor", describe(**gpu)));
  for (std::size_t i = 0; i < std::min<std::size_t>(packages.size(), 3); ++i) finding.evidence.push_back(quote(*packages[i]));
  if (framework) finding.evidence.push_back(framework->install.origin);
  if ((*gpu)->vendor == vendor_amd) finding.repair.push_back(make_action("use-rocm-build"));
  finding.repair.push_back(make_action("use-machine-with-nvidia-gpu"));
  return finding;
}

// ---- no-nvidia-gpu-in-machine --------------------------------------------------------------------------------------

namespace {

/// Places whose bus tells nothing about the GPU of the program: virtual machines of container engines, boards with a built-in
/// GPU.
bool bus_is_no_witness(const RuleContext& context) {
  const auto& machine = context.machine;
  const auto* kernel = machine.os.kernel.get();
  if (kernel && (contains_ignoring_case(*kernel, "linuxkit") || contains_ignoring_case(*kernel, "microsoft") ||
                 contains_ignoring_case(*kernel, "tegra")))
    return true;
  for (const char* node : {"/dev/dxg", "/dev/nvhost-gpu", "/dev/nvhost-ctrl-gpu", "/dev/nvmap", "/dev/nvidiactl"})
    if (device_node(machine, node)) return true;
  // A container may be shown an empty bus: only one with something on it was surely the host's.
  return context.in(World::Container) && other_displays(machine).empty();
}

}  // namespace

std::optional<Finding> judge_no_nvidia_gpu(const RuleContext& context) {
  const auto& machine = context.machine;
  if (!surely_no_gpu(context) || bus_is_no_witness(context)) return std::nullopt;
  if (judge_dgpu_switched_off(context) || enumerated_gpu(machine)) return std::nullopt;

  Finding finding;
  const auto displays = other_displays(machine);
  std::vector<std::string> names;
  for (const auto* device : displays) names.push_back(describe(*device));
  for (const auto* device : displays) finding.evidence.push_back(quote(*device, "vendor", describe(*device)));
  if (displays.empty())
    finding.evidence.push_back(quote(machine.pci, "/sys/bus/pci/devices", "no display controller of any vendor"));
  finding.parameters["others"] = names.empty() ? "-" : join(names, ", ");
  finding.variant = names.empty() ? "" : "other-gpu";
  if (const auto* hypervisor = machine.os.hypervisor.get()) {
    finding.variant = "vm";
    finding.parameters["hypervisor"] = machine.os.cloud.value_or(*hypervisor);
    finding.evidence.push_back(quote(machine.os.hypervisor, "hypervisor", *hypervisor));
    finding.repair.push_back(make_action(machine.os.cloud.is_known() ? "use-gpu-instance" : "pass-gpu-to-vm"));
    return finding;
  }
  if (is_portable(machine))
    finding.repair.push_back(make_action("switch-gpu-on-firmware"));
  else
    finding.repair.push_back(make_action("reseat-gpu"));
  finding.repair.push_back(make_action("use-machine-with-nvidia-gpu"));
  return finding;
}

// ---- gpu-bound-to-vfio ---------------------------------------------------------------------------------------------

std::optional<Finding> judge_gpu_bound_to_vfio(const RuleContext& context) {
  const auto& machine = context.machine;
  std::vector<const MachineGpu*> bound;
  for (const auto& gpu : context.gpus)
    if (is_passthrough_driver(*gpu.device)) bound.push_back(&gpu);
  if (bound.empty()) return std::nullopt;

  Finding finding;
  const auto& first = *bound.front()->device;
  finding.parameters["gpu"] = bound.front()->identity.label();
  finding.parameters["address"] = first.address;
  finding.parameters["driver"] = *first.driver.get();
  for (const auto* gpu : bound) finding.evidence.push_back(quote(*gpu->device, "driver", *gpu->device->driver.get()));
  for (const auto& directive : machine.kernel_driver.modprobe)
    if (directive.effective && (directive.module == "vfio_pci" || directive.module == "pci_stub") && directive.kind == "options")
      finding.evidence.push_back(directive.origin);
  if (const auto* line = machine.os.kernel_command_line.get(); line && contains_ignoring_case(*line, ".ids="))
    finding.evidence.push_back(quote(machine.os.kernel_command_line, "/proc/cmdline", *line));
  // A host that keeps a GPU for itself has given away the others on purpose.
  if (bound.size() < context.gpus.size()) {
    finding.severity = Severity::Note;
    finding.variant = "other-gpu-in-use";
    return finding;
  }
  finding.repair.push_back(make_action("unbind-gpu-from-vfio"));
  finding.repair.push_back(make_action("reboot"));
  return finding;
}

}  // namespace gpuvet
