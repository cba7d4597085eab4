// Does the driver serve this chip? Decided by chip and branch, never by marketing names; an observed success overrules the
// tables.

#include <algorithm>
#include <charconv>

#include "rules/evidence.h"
#include "rules/framework_arch.h"
#include "rules/framework_repair.h"
#include "rules/hardware.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// The driver whose fate with these GPUs is judged: the loaded one, else the one on disk.
const std::optional<DriverVersion>& judged_driver(const RuleContext& context) {
  return context.loaded_driver ? context.loaded_driver : context.installed_driver;
}

Origin quote_driver(const RuleContext& context) {
  const auto& driver = context.machine.kernel_driver;
  if (context.loaded_driver) return quote(driver.version, "/proc/driver/nvidia/version", context.loaded_driver->text);
  return {"driver on disk", 0, context.installed_driver ? context.installed_driver->text : ""};
}

Origin quote_gpu(const MachineGpu& gpu) { return quote(*gpu.device, "device", gpu.identity.label()); }

/// The kernel log's refusal of this GPU as too old: "… is supported through the NVIDIA 470.xx Legacy drivers".
const LogEvent* legacy_refusal(const RuleContext& context) { return first_event_with(context.machine, {"xx legacy drivers"}); }

/// 470 of "NVIDIA 470.xx Legacy drivers"; 0 when it is not told.
std::uint32_t branch_of_refusal(std::string_view text) {
  const auto end = text.find(".xx Legacy");
  if (end == std::string_view::npos) return 0;
  const auto start = text.substr(0, end).find_last_not_of("0123456789");
  const auto digits = text.substr(start + 1, end - start - 1);
  std::uint32_t branch = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), branch);
  return branch;
}

/// 535.129.03 of "The 535.129.03 NVIDIA driver will ignore this GPU"; "?" when it is not told.
std::string driver_of_refusal(std::string_view text) {
  const auto end = text.find(" NVIDIA driver will ignore");
  if (end == std::string_view::npos) return "?";
  const auto start = text.substr(0, end).rfind(' ');
  return std::string(text.substr(start + 1, end - start - 1));
}

/// A card that another driver was given on purpose, like an old one for the screen under nouveau.
bool used_otherwise(const MachineGpu& gpu) { return gpu.device->driver.is_known() && !gpu.device->driver.is("nvidia"); }

std::vector<const MachineGpu*> gpus_judged(const RuleContext& context, Served wanted) {
  std::vector<const MachineGpu*> found;
  const auto& driver = judged_driver(context);
  if (!driver) return found;
  for (const auto& gpu : context.gpus)
    if (driver_serves(*driver, gpu.identity) == wanted && !taken_by_nvidia(context, *gpu.device)) found.push_back(&gpu);
  return found;
}

Action install_branch(std::uint32_t branch, std::string_view flavor) {
  return make_action("install-driver-branch", {{"branch", std::to_string(branch)}, {"flavor", std::string(flavor)}});
}

}  // namespace

// ---- mixed-gpus-one-too-old ----------------------------------------------------------------------------------------

namespace {

struct Conflict {
  const MachineGpu* old_gpu = nullptr;
  const MachineGpu* new_gpu = nullptr;
  bool by_flavor = false;  ///< a branch serves both, but one needs the open module and the other cannot have it
};

Conflict find_conflict(const RuleContext& context) {
  for (const auto& old_gpu : context.gpus)
    for (const auto& new_gpu : context.gpus) {
      const auto& last = old_gpu.identity.last_driver_branch;
      const auto& first = new_gpu.identity.first_driver;
      if (last && first && first->branch > *last) return {&old_gpu, &new_gpu, false};
    }
  for (const auto& old_gpu : context.gpus)
    for (const auto& new_gpu : context.gpus)
      if (old_gpu.identity.open_module == OpenModule::Impossible && new_gpu.identity.open_module == OpenModule::Required)
        return {&old_gpu, &new_gpu, true};
  return {};
}

}  // namespace

namespace {

/// A framework's build that serves one card and has no code for another.
std::optional<Finding> judge_mixed_gpus_by_build(const RuleContext& context) {
  if (!variable(context.machine, "CUDA_VISIBLE_DEVICES").empty()) return std::nullopt;  // the user has chosen
  for (const JudgedEnvironment& judged : context.environments) {
    for (const FrameworkInstall& install : wanted_installs(context, *judged.environment)) {
      const auto codes = gpu_code_of(context, install);
      const auto left_out = std::ranges::find_if(codes, [](const GpuCodeOfInstall& c) {
        return c.code != GpuCode::Unknown && !runs(c.code) && !used_otherwise(*c.gpu);
      });
      const auto served = std::ranges::find_if(codes, [](const GpuCodeOfInstall& c) { return runs(c.code); });
      if (left_out == codes.end() || served == codes.end()) continue;
      Finding finding;
      finding.variant = "framework";
      finding.severity = Severity::Warning;  // the other card works
      finding.parameters = {{"framework", label_of(install)},
                            {"old_gpu", left_out->gpu->identity.label()},
                            {"new_gpu", served->gpu->identity.label()},
                            {"capability", left_out->gpu->identity.compute_capability->text()},
                            {"targets", install.targets.text()}};
      finding.evidence = {quote_capability(*left_out->gpu),
                          quote_capability(*served->gpu),
                          install.origin,
                          {"release tables", 0, label_of(install) + " carries code for " + install.targets.text()}};
      finding.repair = reinstall_framework(context, *judged.environment, install.framework);
      if (finding.repair.empty())
        finding.repair.push_back(make_action("show-only-gpu", {{"gpu", served->gpu->identity.label()}}));
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> judge_mixed_gpus(const RuleContext& context) {
  // In a container the driver is the host's matter.
  const Conflict conflict = context.in(World::Container) ? Conflict{} : find_conflict(context);
  if (!conflict.old_gpu) return judge_mixed_gpus_by_build(context);
  const bool both_work =
      taken_by_nvidia(context, *conflict.old_gpu->device) && taken_by_nvidia(context, *conflict.new_gpu->device);
  if (both_work && !conflict.by_flavor) return judge_mixed_gpus_by_build(context);  // the tables are wrong here

  Finding finding;
  finding.variant = conflict.by_flavor ? "flavor" : "";
  finding.parameters["old_gpu"] = conflict.old_gpu->identity.label();
  finding.parameters["new_gpu"] = conflict.new_gpu->identity.label();
  if (!conflict.by_flavor) {
    finding.parameters["last_branch"] = std::to_string(*conflict.old_gpu->identity.last_driver_branch);
    finding.parameters["first_branch"] = std::to_string(conflict.new_gpu->identity.first_driver->branch);
  }
  finding.evidence.push_back(quote_gpu(*conflict.old_gpu));
  finding.evidence.push_back(quote_gpu(*conflict.new_gpu));
  if (judged_driver(context)) finding.evidence.push_back(quote_driver(context));
  if (const auto* event = legacy_refusal(context)) finding.evidence.push_back(quote(*event));
  // Without a driver nothing has gone wrong yet, and a card under another driver was left out on purpose.
  if (!judged_driver(context) || used_otherwise(*conflict.old_gpu) || used_otherwise(*conflict.new_gpu)) {
    finding.severity = Severity::Note;
    return finding;
  }
  finding.repair.push_back(make_action("choose-one-gpu-generation", {{"address", conflict.old_gpu->device->address}}));
  return finding;
}

// ---- gpu-dropped-by-driver-branch ----------------------------------------------------------------------------------

std::optional<Finding> judge_gpu_dropped(const RuleContext& context) {
  const LogEvent* refusal = legacy_refusal(context);
  const auto dropped = gpus_judged(context, Served::DroppedByDriver);
  if (dropped.empty() && !refusal) return std::nullopt;
  // A refusal by a driver that was replaced since says nothing about today's.
  const auto in_order = [&](const MachineGpu& gpu) {
    const auto& driver = judged_driver(context);
    return taken_by_nvidia(context, *gpu.device) || (driver && driver_serves(*driver, gpu.identity) == Served::Yes);
  };
  if (dropped.empty() && !context.gpus.empty() && std::ranges::all_of(context.gpus, in_order)) return std::nullopt;

  Finding finding;
  std::uint32_t branch = refusal ? branch_of_refusal(refusal->text) : 0;
  if (!dropped.empty() && dropped.front()->identity.last_driver_branch) branch = *dropped.front()->identity.last_driver_branch;
  finding.parameters["gpu"] = !dropped.empty()           ? dropped.front()->identity.label()
                              : context.gpus.size() == 1 ? context.gpus.front().identity.label()
                                                         : "GPU";
  finding.parameters["driver"] = judged_driver(context) ? judged_driver(context)->text
                                 : refusal              ? driver_of_refusal(refusal->text)
                                                        : "?";
  finding.parameters["branch"] = std::to_string(branch);
  for (const auto* gpu : dropped) finding.evidence.push_back(quote_gpu(*gpu));
  if (judged_driver(context)) finding.evidence.push_back(quote_driver(context));
  if (refusal) finding.evidence.push_back(quote(*refusal));
  if (!dropped.empty() && std::ranges::all_of(dropped, [](const MachineGpu* gpu) { return used_otherwise(*gpu); }) &&
      dropped.size() < context.gpus.size()) {
    finding.severity = Severity::Note;
    return finding;
  }
  finding.repair.push_back(install_branch(branch, "proprietary"));
  finding.repair.push_back(make_action("reboot"));
  return finding;
}

// ---- gpu-needs-newer-driver ----------------------------------------------------------------------------------------

namespace {

/// "… installed in this system is not supported by the NVIDIA 470.223.02 driver release": said of chips that this driver does not
/// know. The two refusals about the module's flavour have rules of their own.
const LogEvent* unknown_chip_refusal(const RuleContext& context) {
  for (const auto* event : events_with(context.machine, {"installed in this system is not supported by"}))
    if (!contains_ignoring_case(event->text, "System Processor") && !contains_ignoring_case(event->text, "open nvidia.ko") &&
        !contains_ignoring_case(event->text, "open kernel module"))
      return event;
  return nullptr;
}

/// The log's refusal counts by itself only for one GPU that the tables do not claim to be served or dropped.
const MachineGpu* refused_gpu(const RuleContext& context, const LogEvent& refusal) {
  const auto& driver = judged_driver(context);
  for (const auto& gpu : context.gpus) {
    const bool named = names_device(refusal.pci, gpu.device->address) || context.gpus.size() == 1;
    if (!named || taken_by_nvidia(context, *gpu.device)) continue;
    if (driver && driver_serves(*driver, gpu.identity) != Served::Unknown) continue;
    if (gpu.identity.last_driver_branch && driver && driver->branch > *gpu.identity.last_driver_branch) continue;
    return &gpu;
  }
  return nullptr;
}

}  // namespace

std::optional<Finding> judge_gpu_needs_newer_driver(const RuleContext& context) {
  auto too_new = gpus_judged(context, Served::TooOldDriver);
  std::erase_if(too_new, [](const MachineGpu* gpu) { return is_passthrough_driver(*gpu->device); });
  const LogEvent* refusal = unknown_chip_refusal(context);
  if (too_new.empty() && refusal)
    if (const auto* gpu = refused_gpu(context, *refusal)) too_new.push_back(gpu);
  if (too_new.empty() || !judged_driver(context)) return std::nullopt;

  Finding finding;
  const auto& identity = too_new.front()->identity;
  finding.parameters["gpu"] = identity.label();
  finding.parameters["driver"] = judged_driver(context)->text;
  finding.variant = identity.first_driver ? "" : "unknown-chip";
  if (identity.first_driver)
    finding.parameters["first_driver"] =
        identity.first_driver->text.empty() ? std::to_string(identity.first_driver->branch) : identity.first_driver->text;
  for (const auto* gpu : too_new) finding.evidence.push_back(quote_gpu(*gpu));
  finding.evidence.push_back(quote_driver(context));
  if (refusal) finding.evidence.push_back(quote(*refusal));
  if (const auto branch = recommended_branch(context); branch > judged_driver(context)->branch)
    finding.repair.push_back(install_branch(branch, recommended_flavor(context)));
  else
    finding.repair.push_back(make_action("update-driver"));
  finding.repair.push_back(make_action("reboot"));
  return finding;
}

}  // namespace gpuvet
