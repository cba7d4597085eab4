// The card, the bus and the kernel module as a text shows them: what no single line and no fact alone decides.

#include <algorithm>
#include <string>

#include "rules/evidence.h"
#include "rules/kernel_module.h"
#include "rules/observed.h"

namespace gpuvet {
namespace {

using Context = RuleContext;
using Result = std::optional<Finding>;

/// nvidia-smi found no driver, or a list of modules has none of NVIDIA's.
bool driver_absent(const Context& context) {
  const KernelDriver& driver = context.machine.kernel_driver;
  if (driver.version.is_absent()) return true;
  const auto* loaded = driver.loaded.get();
  return loaded != nullptr && std::ranges::none_of(*loaded, [](const LoadedModule& m) { return m.name == "nvidia"; });
}

/// A line of nvidia-smi that tells of the failure; null: none.
const Observation* smi_failed(const Context& context) { return observed(context.machine, "nvidia-smi-cannot-communicate"); }

// ---- the card and the bus --------------------------------------------------------------------------------------------

/// `nvidia-smi -q`: a bad row waits for the reset that puts a spare one in its place.
Result row_pending(const Context& context) {
  for (const Observation* field : all_observed(context.machine, "smi-field")) {
    const std::string_view section = value_of(*field, "section");
    if (value_of(*field, "key") == "Pending" && value_of(*field, "value") == "Yes" && section.starts_with("Remapped Rows"))
      return text_finding(0.92, {field});
  }
  return std::nullopt;
}

/// The kernel found no room for a window of a GPU: the log names the device's vendor, or lspci does, and no later try helped.
Result window_without_space(const Context& context) {
  for (const Observation* lack : all_observed(context.machine, "pci-window-without-space")) {
    const std::string address(value_of(*lack, "pci"));
    const std::string window = "BAR " + std::string(value_of(*lack, "bar"));
    const auto* events = context.machine.kernel_log.events.get();
    const bool on_bus = std::ranges::any_of(context.gpus, [&](const MachineGpu& gpu) { return gpu.device->address == address; });
    const auto names_vendor = [&](const LogEvent& event) {
      return event.text.find(address) != std::string::npos && event.text.find("[10de:") != std::string::npos;
    };
    const bool in_log = events != nullptr && std::ranges::any_of(*events, names_vendor);
    if (on_bus || in_log) return text_finding(0.8, {lack});
  }
  return std::nullopt;
}

/// Corrected errors cost nothing as long as they are few; a text that shows one after another shows a flood.
Result many_corrected(const Context& context) {
  constexpr int few = 3;
  const Observation* first = nullptr;
  int count = 0;
  for (const char* id : {"nvidia-aer-corrected", "port-aer-corrected"}) {
    for (const Observation* report : all_observed(context.machine, id)) {
      count += static_cast<int>(report->count);
      if (first == nullptr || id == std::string_view("nvidia-aer-corrected")) first = report;
    }
  }
  if (count < few || observed(context.machine, "nvidia-aer-corrected") == nullptr) return std::nullopt;
  return text_finding(0.7, {first, observed(context.machine, "port-aer-corrected")});
}

/// The installer knows no GPU of this machine, and lspci shows one that is newer than its driver.
Result installer_too_old(const Context& context) {
  const Observation* message = observed(context.machine, "installer-knows-no-gpu");
  if (message == nullptr) return std::nullopt;
  const auto driver = DriverVersion::parse(value_of(*message, "version"));
  if (!driver) return std::nullopt;
  for (const MachineGpu& gpu : context.gpus) {
    if (driver_serves(*driver, gpu.identity) != Served::TooOldDriver) continue;
    Finding finding = text_finding(0.93, {message});
    finding.evidence.push_back(gpu.device->origin);
    return finding;
  }
  return std::nullopt;
}

// ---- the module -------------------------------------------------------------------------------------------------------

/// lspci -k: another driver has the GPU although NVIDIA's module is on disk for this kernel.
Result other_driver_bound(const Context& context) {
  for (const MachineGpu& gpu : context.gpus) {
    const auto* bound = gpu.device->driver.get();
    if (bound == nullptr) continue;
    if (*bound != "nouveau" && *bound != "NovaCore" && *bound != "nova_core" && *bound != "nova") continue;
    const Observation* modules = observed(context.machine, "pci-modules", {{"address", gpu.device->address}});
    const Observation* failed = smi_failed(context);
    const std::string list = modules == nullptr ? "" : ", " + std::string(value_of(*modules, "modules")) + ",";
    const bool on_disk = list.find(", nvidia,") != std::string::npos;
    if (!on_disk && (failed == nullptr || modules != nullptr)) continue;
    Finding finding = text_finding(on_disk ? 0.9 : 0.6, {modules, failed});
    finding.evidence.push_back(gpu.device->driver.origin());
    finding.parameters = {{"driver", *bound}};
    return finding;
  }
  return std::nullopt;
}

bool stops_loading(const ModprobeDirective& directive) {
  if (directive.module != "nvidia" && directive.module != "nvidia_current" && directive.module != "nvidia_drm") return false;
  return (directive.kind == "blacklist" && directive.value != "rd.driver.blacklist" && directive.value != "rdblacklist") ||
         (directive.kind == "alias" && directive.value == "off");
}

/// Is the file one that a graphics switch of laptops writes?
bool of_switch(std::string_view file) {
  for (const char* part : {"blacklist-nvidia.conf", "supergfxd", "optimus-manager", "system76-power", "nvidia-prime"})
    if (file.find(part) != std::string_view::npos) return true;
  return false;
}

const ModprobeDirective* stopping(const Context& context, bool by_switch) {
  for (const ModprobeDirective& directive : context.machine.kernel_driver.modprobe)
    if (stops_loading(directive) && of_switch(directive.origin.source) == by_switch) return &directive;
  return nullptr;
}

/// A switch is set to the integrated graphics, and the driver does not answer. Where lspci was shown, the facts decide.
Result switched_to_integrated(const Context& context) {
  if (context.machine.pci.is_known() || !driver_absent(context)) return std::nullopt;
  const Fact<std::string>& profile = context.machine.kernel_driver.prime_profile;
  const bool integrated = profile.is_known() && (*profile.get() == "intel" || *profile.get() == "amd" ||
                                                 *profile.get() == "integrated" || *profile.get() == "Integrated");
  const ModprobeDirective* line = stopping(context, true);
  if (!integrated && line == nullptr) return std::nullopt;
  Finding finding = text_finding(line != nullptr ? 0.9 : 0.8, {smi_failed(context)});
  if (integrated) finding.evidence.push_back(profile.origin());
  if (line != nullptr) finding.evidence.push_back(kernel_module::quote_directive(*line));
  return finding;
}

/// A file blacklists the module, and it is not loaded. Where lspci was shown, the facts decide.
Result blacklisted(const Context& context) {
  const ModprobeDirective* line = stopping(context, false);
  if (line == nullptr || context.machine.pci.is_known() || !driver_absent(context)) return std::nullopt;
  Finding finding = text_finding(0.8, {smi_failed(context)});
  finding.evidence.push_back(kernel_module::quote_directive(*line));
  return finding;
}

// ---- device numbers -----------------------------------------------------------------------------------------------------

/// What /proc/devices calls the driver of a node. The GPUs' own number has had several names.
bool answers_for(std::string_view name, std::string_view path) {
  if (path == "/dev/nvidia-uvm" || path == "/dev/nvidia-uvm-tools") return name == "nvidia-uvm";
  if (path.starts_with("/dev/nvidia-cap")) return name == "nvidia-caps";
  const bool gpu = path == "/dev/nvidiactl" || (path.size() > 11 && path[11] >= '0' && path[11] <= '9');
  return gpu && (name == "nvidia" || name == "nvidia-frontend" || name == "nvidiactl");
}

Result other_major(const Context& context) {
  for (const Observation* node : all_observed(context.machine, "device-node")) {
    const Observation* registered = nullptr;
    const std::string_view major = value_of(*node, "major"), path = value_of(*node, "path");
    bool same = false;
    for (const Observation* number : all_observed(context.machine, "driver-major")) {
      if (!answers_for(value_of(*number, "name"), path)) continue;
      registered = number;
      same |= value_of(*number, "major") == major;
    }
    if (major.empty() || registered == nullptr || same) continue;
    Finding finding = text_finding(0.94, {node, registered});
    finding.parameters = {
        {"node", std::string(path)}, {"major", std::string(major)}, {"expected", std::string(value_of(*registered, "major"))}};
    if (node->place != "container") finding.repair = {make_action("recreate-device-node", {{"node", std::string(path)}})};
    finding.repair.push_back(make_action("recreate-container"));
    return finding;
  }
  return std::nullopt;
}

/// The kernel refused a module's signature; the line does not name the module.
Result signature_refused(const Context& context) {
  const Observation* message = observed(context.machine, "module-signature-refused");
  if (message == nullptr || refuses_other_module_only(context.machine)) return std::nullopt;
  return text_finding(0.75, {message});
}

/// The .run installer built the module; DKMS' key did not sign it.
Result module_of_installer_refused(const Context& context) {
  const Observation* refused = observed(context.machine, "module-signature-refused");
  const Observation* installer = observed(context.machine, "installer-module-not-loadable");
  if (refused == nullptr || installer == nullptr || refuses_other_module_only(context.machine)) return std::nullopt;
  Finding finding = text_finding(0.98, {refused, installer});
  finding.variant = "runfile";
  finding.repair = {make_action("let-installer-sign-module"), or_action("take-packaged-driver"),
                    or_action("disable-secure-boot")};
  return finding;
}

/// bbswitch cut the power and cannot give it back: its own message and the kernel's, or Bumblebee's, which speaks of nothing
/// else.
Result bbswitch_keeps_gpu_off(const Context& context) {
  const Observation* refused = observed(context.machine, "bumblebee-gpu-stays-off");
  const Observation* enabling = observed(context.machine, "bbswitch-enabling");
  const Observation* asleep = observed(context.machine, "pci-device-stays-asleep");
  if (refused == nullptr && (enabling == nullptr || asleep == nullptr)) return std::nullopt;
  Finding finding = text_finding(0.93, {refused, enabling, asleep});
  finding.variant = "powered-off";
  finding.repair = {make_action("remove-bbswitch"), make_action("reboot")};
  return finding;
}

/// The open module says that the GPU has no GSP. Of a GPU whose id is that of a chip with one, the driver read no register at
/// all.
bool refused_gpu_has_gsp(const Context& context) {
  const auto has_gsp = [](const MachineGpu& gpu) {
    return gpu.identity.open_module == OpenModule::Possible || gpu.identity.open_module == OpenModule::Required;
  };
  return !context.gpus.empty() && std::ranges::all_of(context.gpus, has_gsp);
}

Result open_module_refused(const Context& context) {
  const Observation* message = observed(context.machine, "open-module-refused-gpu");
  if (message == nullptr || refused_gpu_has_gsp(context)) return std::nullopt;
  return text_finding(0.93, {message});
}

Result registers_unreadable(const Context& context) {
  const Observation* message = observed(context.machine, "open-module-refused-gpu");
  if (message == nullptr || !refused_gpu_has_gsp(context)) return std::nullopt;
  return text_finding(0.35, {message});
}

/// ESXi starts no virtual machine whose MMIO window is smaller than the windows of its GPUs.
Result esxi_window_too_small(const Context& context) {
  return finding_of_message(context.machine, "esxi-passthrough-window-too-small", 0.94, "in-text", "give-vm-64bit-mmio");
}

/// The build of the module stopped for want of a compiler.
Result compiler_missing(const Context& context) {
  const Observation* akmod = observed(context.machine, "akmod-needs-compiler");
  const Observation* compiler = observed(context.machine, "build-compiler-not-found");
  const Observation* source = observed(context.machine, "nvidia-module-source-compiled");
  if (akmod == nullptr && (compiler == nullptr || source == nullptr)) return std::nullopt;
  Finding finding = text_finding(0.95, {akmod, compiler, source});
  finding.variant = "no-compiler";
  finding.confirm = "gcc --version; g++ --version; cat /proc/version";
  finding.repair = {make_action("install-kernel-compiler"),
                    make_action(akmod != nullptr ? "build-akmods-module" : "build-kernel-module", {{"kernel", "$(uname -r)"}})};
  return finding;
}

/// The kernel was built with a newer gcc than the module is: the compiler refuses the kernel's options.
Result compiler_older_than_kernels(const Context& context) {
  const Observation* option = observed(context.machine, "kernel-compiler-too-old");
  const Observation* source = observed(context.machine, "nvidia-module-source-compiled");
  if (option == nullptr || source == nullptr) return std::nullopt;
  Finding finding = text_finding(0.93, {option, source});
  finding.variant = "other-compiler";
  finding.parameters = {{"option", std::string(value_of(*option, "option"))}};
  finding.repair = {make_action("install-kernel-compiler"), make_action("build-kernel-module", {{"kernel", "$(uname -r)"}})};
  return finding;
}

/// The persistence daemon of a machine whose GPU memory is the system's runs without the rights to bring it online.
Result persistenced_without_root(const Context& context) {
  return finding_of_message(context.machine, "persistenced-numa-refused", 0.93, "numa-root", "run-persistence-daemon-as-root");
}

/// dpkg's summary names a package of the driver: mostly its module was not built.
Result driver_package_unfinished(const Context& context) {
  const Observation* package = observed(context.machine, "dpkg-driver-package-listed");
  if (package == nullptr || observed(context.machine, "dpkg-errors-listed") == nullptr) return std::nullopt;
  return text_finding(0.7, {package});
}

constexpr Rule rules[] = {
    {"dkms-build-failed-new-kernel", compiler_older_than_kernels},
    {"package-manager-blocked", driver_package_unfinished},
    {"nvidia-persistenced-down", persistenced_without_root},
    {"failing-hbm-row-remap", row_pending},
    {"secure-boot-module-rejected", signature_refused},
    {"secure-boot-module-rejected", module_of_installer_refused},
    {"dgpu-switched-off-on-laptop", bbswitch_keeps_gpu_off},
    {"open-module-on-pre-turing-gpu", open_module_refused},
    {"xid79-fell-off-bus", registers_unreadable},
    {"bar-or-4g-decoding-bios", esxi_window_too_small},
    {"dkms-build-failed-new-kernel", compiler_missing},
    {"bar-or-4g-decoding-bios", window_without_space},
    {"pcie-errors", many_corrected},
    {"gpu-needs-newer-driver", installer_too_old},
    {"nouveau-holds-the-gpu", other_driver_bound},
    {"prime-select-intel-blacklist", switched_to_integrated},
    {"module-blacklisted", blacklisted},
    {"device-major-mismatch", other_major},
};

}  // namespace

std::span<const Rule> observed_driver_rules() { return rules; }

}  // namespace gpuvet
