// The module is on disk and something keeps it from the GPU: Secure Boot, nouveau, a blacklist, a graphics switcher.

#include <algorithm>
#include <array>

#include "model/module_name.h"
#include "rules/kernel_module.h"
#include "rules/observed.h"

namespace gpuvet::kernel_module {
namespace {

constexpr auto rejections =
    std::to_array<std::string_view>({"Key was rejected by service", "unavailable key is rejected", "unsigned module is rejected",
                                     "unsigned module loading is restricted"});

/// Lines in which the kernel or modprobe says that a signature was refused. "module verification failed … tainting kernel" is
/// none of them: there the module did load.
std::vector<const LogEvent*> rejection_events(const RuleContext& context) {
  std::vector<const LogEvent*> found;
  for (const auto* event : current_events(context.machine))
    if (std::ranges::any_of(rejections, [&](std::string_view part) { return contains_ignoring_case(event->text, part); }))
      found.push_back(event);
  return found;
}

bool names_nvidia(const LogEvent& event) { return contains_ignoring_case(event.text, "nvidia"); }

/// Does this kernel refuse unsigned modules? Known from lockdown; else distributions whose kernels lock down under Secure Boot.
bool enforces_signatures(const RuleContext& context) {
  const auto& os = context.machine.os;
  if (const auto* lockdown = os.lockdown.get()) return *lockdown == "integrity" || *lockdown == "confidentiality";
  return os.secure_boot.is(true) && os_is_like(context, {"ubuntu", "debian", "fedora", "rhel", "centos", "suse", "opensuse"});
}

/// Signed with a key that is built into the distribution's kernel: told by the signer, or by the place of Ubuntu's ready-made
/// modules.
bool signed_by_distribution(const ModuleFile& file) {
  if (file.has_signature.is(true) && file.path.find("/kernel/nvidia-") != std::string::npos) return true;
  const auto* signer = file.signer.get();
  if (!signer) return false;
  for (std::string_view own :
       {"Canonical Ltd.", "Debian Secure Boot", "Red Hat", "SUSE Linux Enterprise Secure Boot", "openSUSE Secure Boot"})
    if (signer->find(own) != std::string::npos) return true;
  return false;
}

/// Whose public key must be enrolled, by who builds the modules here.
std::string key_file(const RuleContext& context) {
  if (os_is_like(context, {"ubuntu"})) return "/var/lib/shim-signed/mok/MOK.der";
  return builds_with_akmods(context) ? "/etc/pki/akmods/certs/public_key.der" : "/var/lib/dkms/mok.pub";
}

bool kills(const ModprobeDirective& directive) {
  if (!directive.effective) return false;
  // dracut's blacklists end with the initramfs.
  if (directive.kind == "blacklist") return directive.value != "rd.driver.blacklist" && directive.value != "rdblacklist";
  if (directive.kind == "alias") return directive.value == "off";
  if (directive.kind != "install") return false;
  const auto command = directive.value.substr(0, directive.value.find_first_of(" ;\t"));
  return command == "/bin/false" || command == "/bin/true" || command == "/usr/bin/false" || command == "/usr/bin/true" ||
         command == "false" || command == "true" || command == ":";
}

/// `blacklist` only stops the automatic loading by the GPU's alias; the others stop every load.
bool kills_every_load(const ModprobeDirective& directive) {
  return kills(directive) &&
         (directive.kind != "blacklist" || directive.origin.text.find("module_blacklist=") != std::string::npos);
}

std::vector<const ModprobeDirective*> killers_of(const RuleContext& context, std::string_view role) {
  std::vector<const ModprobeDirective*> found;
  for (const auto& directive : context.machine.kernel_driver.modprobe)
    if (kills(directive) && nvidia_module_role(directive.module) == role) found.push_back(&directive);
  return found;
}

/// The switcher that wrote a modprobe.d file, by the name of the file: "prime-select", "envycontrol", "supergfxctl",
/// "optimus-manager".
std::string switcher_of(const RuleContext& context, std::string_view path) {
  const auto named = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  if (named("supergfxd")) return "supergfxctl";
  if (named("optimus-manager")) return "optimus-manager";
  if (named("system76-power")) return "system76-power";
  if (!named("blacklist-nvidia.conf")) return "";
  if (path.starts_with("/lib/modprobe.d") || path.starts_with("/usr/lib/modprobe.d")) return "prime-select";
  const auto& signs = context.machine.kernel_driver.gpu_switch_signs;
  const bool envy = std::ranges::any_of(signs, [](const Origin& sign) {
    return contains_ignoring_case(sign.source, "envycontrol") || contains_ignoring_case(sign.text, "envycontrol");
  });
  if (envy) return "envycontrol";
  const auto* profile = context.machine.kernel_driver.prime_profile.get();
  if (!profile) return "";
  return *profile == "integrated" ? "envycontrol" : "prime-select";
}

std::string switch_command(const std::string& tool) {
  if (tool == "envycontrol") return "envycontrol -s hybrid";
  if (tool == "supergfxctl") return "supergfxctl --mode Hybrid";
  if (tool == "optimus-manager") return "optimus-manager --switch hybrid";
  if (tool == "system76-power") return "system76-power graphics hybrid";
  return "prime-select on-demand";
}

bool nothing_else_holds_the_gpu(const RuleContext& context) { return !unclaimed_gpus(context).empty(); }

}  // namespace

Judged secure_boot_module_rejected(const RuleContext& context) {
  if (is_loaded(context) || context.machine.kernel_driver.version.is_known()) return std::nullopt;
  const auto* file = running_module_file(context);
  auto events = rejection_events(context);
  // A line without a name may speak of another module; it counts when ours is there and cannot be told to be trusted.
  const bool none = !file && context.machine.kernel_driver.module_files.is_known();
  if (none || (file && signed_by_distribution(*file)) || refuses_other_module_only(context.machine))
    std::erase_if(events, [](const LogEvent* event) { return !names_nvidia(*event); });
  const bool unsigned_file = file && file->has_signature.is(false) && surely_unloaded(context) && enforces_signatures(context);
  if (events.empty() && !unsigned_file) return std::nullopt;
  if (!events.empty() && !surely_unloaded(context) && !names_nvidia(*events.front()) &&
      context.machine.kernel_driver.loaded.is_known())
    return std::nullopt;

  Finding finding;
  finding.variant = file && file->has_signature.is(true) ? "key-not-enrolled" : "";
  finding.parameters = {{"path", file ? file->path : "nvidia.ko"}};
  quote_events(finding.evidence, events, 3);
  if (context.machine.os.secure_boot.is_known())
    add(finding.evidence,
        quote(context.machine.os.secure_boot, "SecureBoot", context.machine.os.secure_boot.is(true) ? "enabled" : "disabled"));
  if (context.machine.os.lockdown.is_known())
    add(finding.evidence,
        quote(context.machine.os.lockdown, "/sys/kernel/security/lockdown", *context.machine.os.lockdown.get()));
  if (file && file->has_signature.is_known())
    add(finding.evidence,
        quote_file(*file, file->has_signature.is(true) ? "signed by " + file->signer.value_or("a key that is not told")
                                                       : "no signature"));
  if (builds_with_akmods(context) && finding.variant.empty())
    finding.repair.push_back(make_action("sign-akmods-module", {{"kernel", running_kernel(context)}}));
  finding.repair.push_back(make_action("enroll-module-key", {{"key", key_file(context)}}));
  if (os_is_like(context, {"ubuntu"}) && !ubuntu_branch(context).empty() && !running_kernel(context).empty())
    finding.repair.push_back(
        or_action("install-signed-module", {{"branch", ubuntu_branch(context)}, {"kernel", running_kernel(context)}}));
  finding.repair.push_back(or_action("disable-secure-boot"));
  return finding;
}

Judged nouveau_holds_the_gpu(const RuleContext& context) {
  if (is_loaded(context) &&
      std::ranges::any_of(context.gpus, [](const MachineGpu& gpu) { return bound_to(*gpu.device, {"nvidia"}); }))
    return std::nullopt;
  Finding finding;
  std::string driver = "nouveau";
  for (const auto& gpu : context.gpus) {
    if (!bound_to(*gpu.device, {"nouveau", "nova", "nova_core", "nova-core", "NovaCore"})) continue;
    driver = *gpu.device->driver.get();
    add(finding.evidence, quote(*gpu.device, "driver", driver));
  }
  const auto* owned = first_event_with(context.machine, {"NVRM", "already bound to nouveau"});
  if (!owned) owned = first_event_with(context.machine, {"nouveau", "obtained ownership"});
  if (context.machine.pci.is_known() && finding.evidence.empty()) return std::nullopt;
  if (finding.evidence.empty()) {
    // No bus to look at, only a log: nouveau names the chip that it drives.
    const auto* chip = first_event_with(context.machine, {"nouveau 0", "NVIDIA"});
    if (!owned && !chip) return std::nullopt;
    if (chip) add(finding.evidence, quote(*chip));
  } else if (!kernel_driver_was_installed(context)) {
    return std::nullopt;  // driver-not-installed says it
  }
  if (owned) add(finding.evidence, quote(*owned));
  if (context.machine.os.kernel_command_line.is_known())
    add(finding.evidence,
        quote(context.machine.os.kernel_command_line, "/proc/cmdline", *context.machine.os.kernel_command_line.get()));
  finding.parameters = {{"driver", driver}};
  finding.repair = {make_action("blacklist-nouveau"), make_action("reboot")};
  return finding;
}

Judged prime_select_intel_blacklist(const RuleContext& context) {
  if (!surely_unloaded(context) || !nothing_else_holds_the_gpu(context)) return std::nullopt;
  if (surely_no_module_for_running_kernel(context)) return std::nullopt;
  Finding finding;
  std::string tool;
  for (const auto* directive : killers_of(context, "nvidia")) {
    const std::string by = switcher_of(context, directive->origin.source);
    if (by.empty()) continue;
    if (tool.empty()) tool = by;
    add(finding.evidence, quote_directive(*directive));
  }
  if (finding.evidence.empty()) return std::nullopt;
  if (const auto* profile = context.machine.kernel_driver.prime_profile.get())
    add(finding.evidence, quote(context.machine.kernel_driver.prime_profile, "profile", *profile));
  finding.parameters = {{"tool", tool}, {"file", finding.evidence.front().source}};
  finding.repair = {make_action("switch-graphics-mode", {{"command", switch_command(tool)}, {"tool", tool}}),
                    make_action("reboot")};
  return finding;
}

Judged module_blacklisted(const RuleContext& context) {
  Finding finding;
  std::vector<const ModprobeDirective*> killers;
  std::string module = "nvidia";
  if (surely_unloaded(context)) {
    const bool bus_seen = context.machine.pci.is_known();
    if ((bus_seen && !nothing_else_holds_the_gpu(context)) || surely_no_module_for_running_kernel(context)) return std::nullopt;
    killers = killers_of(context, "nvidia");
    // Who holds the GPU is not known: only what stops every load is surely to blame.
    if (!bus_seen) std::erase_if(killers, [](const ModprobeDirective* d) { return !kills_every_load(*d); });
    std::erase_if(killers, [&](const ModprobeDirective* d) { return !switcher_of(context, d->origin.source).empty(); });
  } else if (is_loaded(context) && surely_not_loaded(context.machine, "nvidia_uvm")) {
    // The driver asks for nvidia_uvm by its name, so only what stops every load stops it.
    finding.variant = "uvm";
    module = "nvidia_uvm";
    killers = killers_of(context, "nvidia-uvm");
    std::erase_if(killers, [](const ModprobeDirective* d) { return !kills_every_load(*d); });
  }
  if (killers.empty()) return std::nullopt;
  for (const auto* directive : killers) add(finding.evidence, quote_directive(*directive));
  add(finding.evidence, quote(context.machine.kernel_driver.loaded, "/proc/modules", "no " + module));
  const ModprobeDirective& first = *killers.front();
  const bool from_command_line = first.origin.source.find("cmdline") != std::string::npos;
  finding.parameters = {{"module", module}, {"directive", quote_directive(first).text}, {"file", first.origin.source}};
  const Action undo = from_command_line ? make_action("remove-kernel-argument",
                                                      {{"file", first.origin.source}, {"line", quote_directive(first).text}})
                                        : undo_modprobe_line(first.origin.source, quote_directive(first).text);
  finding.repair = {undo, make_action("rebuild-initramfs"), make_action("reboot")};
  return finding;
}

}  // namespace gpuvet::kernel_module
