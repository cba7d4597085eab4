// The module is loaded and something in it stopped working, or a parameter of it is in the way.

#include <algorithm>
#include <array>

#include "rules/kernel_module.h"

namespace gpuvet::kernel_module {
namespace {

bool parameter_is(const Machine& machine, std::string_view module, const std::string& name,
                  std::initializer_list<std::string_view> values) {
  const auto* loaded = loaded_module(machine, module);
  if (!loaded) return false;
  const auto found = loaded->parameters.find(name);
  return found != loaded->parameters.end() && std::ranges::find(values, std::string_view(found->second)) != values.end();
}

/// Value of NVreg_NAME that the loaded module has (/proc/driver/nvidia/params lists names without NVreg_).
std::string driver_parameter(const Machine& machine, const std::string& name) {
  const auto& parameters = machine.kernel_driver.parameters;
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

/// Lines after the newest resume of this boot that say that CUDA or nvidia_uvm does not work any more.
std::vector<const LogEvent*> failures_after_resume(const Machine& machine, const LogEvent*& resume) {
  std::vector<const LogEvent*> failures;
  resume = nullptr;
  for (const auto* event : current_events(machine)) {
    if (event->kind == "resume") {
      resume = event;
      failures.clear();
      continue;
    }
    if (!resume) continue;
    const auto has = [&](std::string_view part) { return contains_ignoring_case(event->text, part); };
    const bool cuda = has("CUDA_ERROR_UNKNOWN") || has("cudaErrorUnknown") || has("error 999") || has("error: 999") ||
                      has("999: unknown error");
    const bool uvm = (event->kind == "nvidia-uvm" || has("nvidia_uvm")) && (has("fail") || has("error") || has("unable"));
    const bool restore = event->kind == "nvrm" && (has("failed to restore") || has("VA space"));
    if (cuda || uvm || restore) failures.push_back(event);
  }
  return failures;
}

std::string option_text(const ModprobeDirective& directive) { return directive.value; }

/// The modprobe.d line (or kernel argument) that sets NVreg_NAME, or null.
const ModprobeDirective* option_line(const Machine& machine, std::string_view parameter) {
  for (const auto& directive : machine.kernel_driver.modprobe)
    if (directive.kind == "options" && directive.effective && option_text(directive).find(parameter) != std::string::npos)
      return &directive;
  return nullptr;
}

struct Harm {
  const char* parameter;  ///< without NVreg_
  const char* variant;
};

// What each does: kernel-open/nvidia/nv-reg.h of NVIDIA/open-gpu-kernel-modules and the driver README's chapter on module
// parameters.
constexpr std::array harms = std::to_array<Harm>({
    {"ExcludedGpus", "excluded"},
    {"GpuBlacklist", "excluded"},
    {"NvLinkDisable", "nvlink"},
});

bool applies(const RuleContext& context, const Harm& harm, const std::string& value) {
  if (value.empty() || value == "(null)" || value == "\"\"") return false;
  // Without NVLink a single GPU or PCIe cards lose nothing; on a machine with NVSwitches the fabric is gone.
  if (std::string_view(harm.variant) == "nvlink")
    return value == "1" && !nvswitches(context.machine).empty() && context.gpus.size() > 1;
  return true;
}

}  // namespace

Judged xid119_gsp_timeout(const RuleContext& context) {
  std::vector<const LogEvent*> first;
  for (const auto* event : leading_xids(context.machine))
    if (event->code == 119 || event->code == 120) first.push_back(event);
  if (first.empty()) return std::nullopt;
  Finding finding;
  finding.parameters = {{"code", std::to_string(first.front()->code)},
                        {"gpu", first.front()->pci.empty() ? "?" : first.front()->pci},
                        {"version", context.loaded_driver ? context.loaded_driver->text : "?"}};
  quote_events(finding.evidence, first, 2);
  const auto all = current_xids(context.machine, {119, 120});
  for (const auto* event : all)
    if (finding.evidence.size() < 4 && std::ranges::find(first, event) == first.end()) add(finding.evidence, quote(*event));
  if (!first.front()->pci.empty())
    finding.repair.push_back(make_action(
        "reset-gpu", {{"address", first.front()->pci + (first.front()->pci.find('.') == std::string::npos ? ".0" : "")}}));
  finding.repair.push_back(make_action("update-driver"));
  const auto& machine = context.machine;
  // Only the proprietary module can do without the GSP firmware.
  if (machine.kernel_driver.flavor.is("proprietary"))
    finding.repair.insert(finding.repair.end(),
                          {make_action("disable-gsp-firmware"), make_action("rebuild-initramfs"), make_action("reboot")});
  finding.repair.push_back(make_action("report-gpu-failure"));
  return finding;
}

Judged uvm_hmm_init_failure(const RuleContext& context) {
  auto events = events_with(context.machine, {"request_free_mem_region() err"});
  for (const auto* event : events_with(context.machine, {"nvidia-uvm", "memremap_pages() err"})) events.push_back(event);
  for (const auto* event : events_with(context.machine, {"nvidia-uvm", "hmm", "failed"})) events.push_back(event);
  if (events.empty() || parameter_is(context.machine, "nvidia_uvm", "uvm_disable_hmm", {"Y", "1"})) return std::nullopt;
  Finding finding;
  finding.parameters = {{"kernel", running_kernel(context)}};
  quote_events(finding.evidence, events, 2);
  if (!running_kernel(context).empty()) add(finding.evidence, quote_kernel(context));
  finding.repair = {make_action("disable-uvm-hmm"), make_action("rebuild-initramfs"), make_action("reboot")};
  return finding;
}

Judged uvm_broken_after_suspend(const RuleContext& context) {
  const LogEvent* resume = nullptr;
  const auto failures = failures_after_resume(context.machine, resume);
  if (!resume || failures.empty()) return std::nullopt;
  Finding finding;
  add(finding.evidence, quote(*resume));
  quote_events(finding.evidence, failures, 3);
  const std::string preserve = driver_parameter(context.machine, "PreserveVideoMemoryAllocations");
  if (!preserve.empty()) add(finding.evidence, {"/proc/driver/nvidia/params", 0, "PreserveVideoMemoryAllocations: " + preserve});
  finding.repair = {make_action("reload-nvidia-uvm")};
  if (preserve != "1")
    finding.repair.insert(finding.repair.end(),
                          {make_action("preserve-video-memory"), make_action("rebuild-initramfs"), make_action("reboot")});
  return finding;
}

Judged nvidia_module_parameter_harmful(const RuleContext& context) {
  for (const auto& harm : harms) {
    const std::string value = driver_parameter(context.machine, harm.parameter);
    if (!applies(context, harm, value)) continue;
    Finding finding;
    finding.variant = harm.variant;
    finding.parameters = {{"parameter", std::string("NVreg_") + harm.parameter}, {"value", value}};
    add(finding.evidence, {"/proc/driver/nvidia/params", 0, std::string(harm.parameter) + ": " + value});
    for (const auto& gpu : context.machine.kernel_driver.gpus)
      if (gpu.excluded) add(finding.evidence, {"/proc/driver/nvidia/gpus/" + gpu.address, 0, "excluded"});
    std::string file = "/etc/modprobe.d";
    if (const auto* line = option_line(context.machine, harm.parameter)) {
      add(finding.evidence, quote_directive(*line));
      file = line->origin.source;
    }
    finding.repair = {
        make_action("remove-module-parameter", {{"parameter", std::string("NVreg_") + harm.parameter}, {"file", file}}),
        make_action("rebuild-initramfs"), make_action("reboot")};
    return finding;
  }
  return std::nullopt;
}

}  // namespace gpuvet::kernel_module
