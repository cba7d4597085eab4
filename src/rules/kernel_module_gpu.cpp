// The module and the GPU: the wrong flavour, missing firmware, a GPU that does not initialise, known defects.

#include <algorithm>
#include <charconv>

#include "rules/kernel_module.h"

namespace gpuvet::kernel_module {
namespace {

/// Flavour of the loaded module, else of the file that would be loaded; empty when not known.
std::string flavor_of(const RuleContext& context) {
  const auto& driver = context.machine.kernel_driver;
  if (const auto* flavor = driver.flavor.get()) return *flavor;
  if (is_loaded(context)) return "";
  const auto* file = running_module_file(context);
  if (!file || !file->license.is_known()) return "";
  return *file->license.get() == "NVIDIA" ? "proprietary" : "open";
}

void quote_flavor(const RuleContext& context, std::vector<Origin>& evidence) {
  const auto& driver = context.machine.kernel_driver;
  if (driver.banner.is_known()) {
    add(evidence, quote(driver.banner, "/proc/driver/nvidia/version", *driver.banner.get()));
  } else if (const auto* file = running_module_file(context); file && file->license.is_known()) {
    add(evidence, quote_file(*file, "license: " + *file->license.get()));
  }
}

/// GPUs of this kind that no foreign driver holds and that this driver's branch would serve in the other flavour.
std::vector<const MachineGpu*> gpus_that_are(const RuleContext& context, OpenModule need) {
  std::vector<const MachineGpu*> found;
  const auto& driver = context.loaded_driver ? context.loaded_driver : context.installed_driver;
  for (const auto* gpu : unclaimed_gpus(context)) {
    if (gpu->identity.open_module != need) continue;
    const Served served = driver ? driver_serves(*driver, gpu->identity) : Served::Unknown;
    if (served == Served::Yes || served == Served::Unknown) found.push_back(gpu);
  }
  return found;
}

std::map<std::string, std::string> flavor_parameters(const RuleContext& context, std::string flavor) {
  const auto& driver = context.loaded_driver ? context.loaded_driver : context.installed_driver;
  return {{"branch", driver ? std::to_string(driver->branch) : "580"}, {"flavor", std::move(flavor)}};
}

/// A finding about GPUs that need the other flavour; fewer than all of the machine's GPUs make it a warning.
Finding wrong_flavor(const RuleContext& context, const std::vector<const MachineGpu*>& gpus, const LogEvent* refused,
                     std::string needed) {
  Finding finding;
  finding.parameters = {
      {"gpu", gpus.empty() ? (refused && !refused->pci.empty() ? refused->pci : "?") : gpus.front()->identity.label()},
      {"branch", flavor_parameters(context, needed)["branch"]}};
  if (refused) add(finding.evidence, quote(*refused));
  quote_flavor(context, finding.evidence);
  for (const auto* gpu : gpus)
    if (finding.evidence.size() < 6) add(finding.evidence, quote(*gpu->device, "device", gpu->identity.label()));
  if (!gpus.empty() && gpus.size() < context.gpus.size()) finding.severity = Severity::Warning;
  finding.repair = {make_action("switch-module-flavor", flavor_parameters(context, needed)), make_action("reboot")};
  return finding;
}

bool log_says(const RuleContext& context, std::string_view condition) {
  return first_event_with(context.machine, {condition}) != nullptr;
}

/// Conditions of data/facts/driver_defects.tsv: "log:TEXT", "chip:GB206", "arch:NAME", "kernel>=X.Y"; several joined by '&', all
/// must hold.
enum class Condition { Holds, Fails, Unknown };

Condition holds(const RuleContext& context, std::string_view condition) {
  const auto tail = [&](std::string_view head) { return condition.substr(head.size()); };
  if (condition.empty()) return Condition::Holds;
  if (condition.starts_with("log:")) return log_says(context, tail("log:")) ? Condition::Holds : Condition::Fails;
  if (condition.starts_with("arch:") || condition.starts_with("chip:")) {
    const bool chip = condition.starts_with("chip:");
    for (const auto& gpu : context.gpus)
      if (chip ? gpu.identity.chip == tail("chip:") : contains_ignoring_case(gpu.identity.architecture, tail("arch:")))
        return Condition::Holds;
    return Condition::Fails;
  }
  if (condition.starts_with("kernel>=")) {
    const auto least = KernelVersion::parse(tail("kernel>=")), running = KernelVersion::parse(running_kernel(context));
    if (!least || !running) return Condition::Unknown;
    const auto key = [](const KernelVersion& v) { return std::tuple(v.major, v.minor, v.patch); };
    return key(*running) >= key(*least) ? Condition::Holds : Condition::Fails;
  }
  return Condition::Unknown;
}

/// All parts of the row's condition hold; `proved` when the log is one of them.
bool all_hold(const RuleContext& context, std::string_view conditions, bool& proved, std::vector<Origin>& evidence) {
  while (true) {
    const auto end = conditions.find('&');
    auto one = conditions.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (holds(context, one) != Condition::Holds) return false;
    if (one.starts_with("log:")) {
      proved = true;
      add(evidence, quote(*first_event_with(context.machine, {one.substr(4)})));
    }
    if (end == std::string_view::npos) return true;
    conditions.remove_prefix(end + 1);
  }
}

Judged known_defect(const RuleContext& context, std::string_view rule) {
  // A log without /proc: the package tells the release.
  const auto& driver = context.loaded_driver ? context.loaded_driver : context.installed_driver;
  if (!driver) return std::nullopt;
  const std::string flavor = flavor_of(context);
  Judged weaker;
  for (const auto& defect : context.knowledge.driver_defects()) {
    if (defect.rule != rule || *driver < defect.first || defect.last < *driver) continue;
    Finding finding;
    bool proved = false;
    if (!all_hold(context, defect.condition, proved, finding.evidence)) continue;
    if (!defect.flavor.empty() && defect.flavor != flavor && !(proved && flavor.empty())) continue;
    quote_flavor(context, finding.evidence);
    // The renderer takes NAME_zh for Chinese texts where there is one.
    finding.parameters = {{"version", driver->text},
                          {"fixed", defect.fixed_in.empty() ? "-" : defect.fixed_in},
                          {"defect", defect.defect_en},
                          {"defect_zh", defect.defect_zh}};
    finding.repair = {make_action("update-driver")};
    if (defect.condition.find("only ready for use on Data Center GPUs") != std::string::npos)
      finding.repair.insert(finding.repair.end(),
                            {make_action("allow-open-module-on-geforce"), make_action("rebuild-initramfs")});
    if (rule == "open-module-bug-old-release")
      finding.repair.push_back(make_action("switch-module-flavor", flavor_parameters(context, "proprietary")));
    finding.repair.push_back(make_action("reboot"));
    if (proved) return finding;
    // A matching release without its symptom: worth a note where the table ties it to this hardware or kernel.
    finding.severity = Severity::Note;
    if (!defect.condition.empty() && !weaker) weaker = finding;
  }
  return weaker;
}

/// The three numbers of "RmInitAdapter failed! (0x62:0x40:2168)": step, NV_STATUS, source line.
struct InitCode {
  unsigned step = 0, status = 0;
  bool known = false;
};

InitCode init_code(std::string_view text) {
  InitCode code;
  const auto open = text.find("(0x");
  if (open == std::string_view::npos) return code;
  const auto colon = text.find(":0x", open);
  if (colon == std::string_view::npos) return code;
  const auto first = std::from_chars(text.data() + open + 3, text.data() + text.size(), code.step, 16);
  const auto second = std::from_chars(text.data() + colon + 3, text.data() + text.size(), code.status, 16);
  code.known = first.ec == std::errc() && second.ec == std::errc();
  return code;
}

/// What the step means, where all releases agree (rm_init_status in osinit.c of the open kernel module, 515 to 580).
std::string variant_of_step(const InitCode& code) {
  if (!code.known) return "";
  if (code.step >= 0x20 && code.step <= 0x2f) return "gpu";
  if (code.step >= 0x30 && code.step <= 0x3f) return "vbios";
  if (code.step >= 0x60 && code.step <= 0x6f) return "firmware";
  return "";
}

bool firmware_folder_missing(const RuleContext& context) {
  const auto* folders = context.machine.kernel_driver.firmware.get();
  if (!context.loaded_driver) return false;
  if (!folders) return context.machine.kernel_driver.firmware.is_absent();
  return std::ranges::none_of(*folders, [&](const FirmwareFolder& folder) {
    return folder.version == context.loaded_driver->text &&
           std::ranges::any_of(folder.files, [](const std::string& file) { return file.starts_with("gsp"); });
  });
}

/// Error -2 is "no such file"; -4 (interrupted) and others are not about a missing file.
const LogEvent* firmware_not_found(const RuleContext& context) {
  for (const auto* event : events_with(context.machine, {"firmware load for nvidia/", "gsp"}))
    if (contains_ignoring_case(event->text, "error -2") && !contains_ignoring_case(event->text, "gsp_log")) return event;
  return nullptr;
}

}  // namespace

Judged open_module_on_pre_turing_gpu(const RuleContext& context) {
  const auto* refused = first_event_with(context.machine, {"not supported by open", "System Processor"});
  if (!refused) refused = first_event_with(context.machine, {"does not include the required GPU System Processor"});
  auto gpus = gpus_that_are(context, OpenModule::Impossible);
  const std::string flavor = flavor_of(context);
  if (flavor == "proprietary") return std::nullopt;
  if (!refused && (flavor != "open" || gpus.empty())) return std::nullopt;
  if (refused && gpus.empty() && context.machine.pci.is_known()) return std::nullopt;
  return wrong_flavor(context, gpus, refused, "proprietary");
}

Judged proprietary_module_on_blackwell(const RuleContext& context) {
  const auto* refused = first_event_with(context.machine, {"requires use of the NVIDIA open kernel modules"});
  const std::string flavor = flavor_of(context);
  if (flavor == "open") return std::nullopt;
  const auto gpus = gpus_that_are(context, OpenModule::Required);
  if (!refused && flavor == "proprietary" && gpus.empty() && !context.machine.pci.is_known()) {
    // A log without a bus: a SEC2 halt at start of a proprietary module is how a Blackwell GPU refuses it (facts/xid.tsv, 169).
    const auto halts = current_xids(context.machine, {169});
    if (halts.empty() || !first_event_with(context.machine, {"RmInitAdapter failed"})) return std::nullopt;
    Finding finding = wrong_flavor(context, gpus, halts.front(), "open");
    finding.rank = 0.8;
    return finding;
  }
  if (!refused && (flavor != "proprietary" || gpus.empty())) return std::nullopt;
  return wrong_flavor(context, gpus, refused, "open");
}

Judged open_module_bug_old_release(const RuleContext& context) { return known_defect(context, "open-module-bug-old-release"); }
Judged driver_regression(const RuleContext& context) { return known_defect(context, "driver-regression"); }

Judged gsp_firmware_missing(const RuleContext& context) {
  if (!context.loaded_driver) return std::nullopt;
  const auto* not_found = firmware_not_found(context);
  const bool folder_missing = firmware_folder_missing(context);
  const auto* no_start = first_event_with(context.machine, {"Cannot initialize GSP firmware RM"});
  if (!no_start) no_start = first_event_with(context.machine, {"RmInitAdapter failed", "(0x61:"});
  // The log must show that the firmware was wanted; the disk that it is not there, or the log that it was not found.
  if (!not_found && !(folder_missing && no_start)) return std::nullopt;
  // The proprietary module does without the firmware where it can; only a failed start makes the missing file a fault.
  const bool runs = std::ranges::any_of(context.machine.kernel_driver.gpus,
                                        [](const ProcGpu& gpu) { return !gpu.firmware.empty() && gpu.firmware != "N/A"; });
  if ((runs || flavor_of(context) != "open") && !no_start && !first_event_with(context.machine, {"RmInitAdapter failed"}))
    return std::nullopt;

  Finding finding;
  finding.variant = folder_missing || context.machine.kernel_driver.firmware.is_not_seen() ? "" : "initramfs";
  finding.parameters = {{"version", context.loaded_driver->text}, {"branch", branch_text(context)}};
  if (not_found) add(finding.evidence, quote(*not_found));
  if (no_start) add(finding.evidence, quote(*no_start));
  if (folder_missing) add(finding.evidence, {"/lib/firmware/nvidia/" + context.loaded_driver->text, 0, "no GSP firmware there"});
  quote_flavor(context, finding.evidence);
  if (finding.variant.empty())
    finding.repair.push_back(
        make_action("install-gsp-firmware", {{"version", context.loaded_driver->text}, {"branch", branch_text(context)}}));
  finding.repair.push_back(make_action("rebuild-initramfs"));
  finding.repair.push_back(make_action("reboot"));
  return finding;
}

Judged rm_init_adapter_failed(const RuleContext& context) {
  auto events = events_with(context.machine, {"RmInitAdapter failed"});
  keep_since_last_load(context.machine, events);
  if (events.empty()) return std::nullopt;
  Finding finding;
  const InitCode code = init_code(events.front()->text);
  finding.variant = variant_of_step(code);
  if (first_event_with(context.machine, {"only ready for use on Data Center GPUs"})) finding.variant = "open-parameter";
  const auto open = events.front()->text.find("(0x");
  const auto close = open == std::string::npos ? std::string::npos : events.front()->text.find(')', open);
  finding.parameters = {{"code", close == std::string::npos ? "?" : events.front()->text.substr(open + 1, close - open - 1)},
                        {"gpu", events.front()->pci.empty() ? "?" : events.front()->pci}};
  quote_events(finding.evidence, events, 2);
  // The lines just before it tell the step that failed.
  auto before = current_events(context.machine, "nvrm");
  std::erase_if(before, [](const LogEvent* event) {
    return contains_ignoring_case(event->text, "RmInitAdapter failed") ||
           contains_ignoring_case(event->text, "rm_init_adapter failed") || contains_ignoring_case(event->text, "loading NVIDIA");
  });
  quote_events(finding.evidence, before, 3);
  if (finding.variant == "open-parameter") {
    finding.repair = {make_action("allow-open-module-on-geforce"), make_action("rebuild-initramfs"), make_action("reboot")};
  } else {
    finding.repair = {make_action("power-cycle"), make_action("update-driver"), make_action("report-gpu-failure")};
  }
  return finding;
}

}  // namespace gpuvet::kernel_module
