// What the driver says in the log of this boot about the GPU's memory, links and clocks. The first Xid of a GPU counts:
// which-kind-wins between page retirement, row remapping and plain ECC errors is decided here.

#include <algorithm>
#include <array>
#include <span>

#include "rules/evidence.h"
#include "rules/hardware.h"

namespace gpuvet {
namespace {

constexpr std::array memory_codes = {48, 63, 64, 94, 95, 140};
constexpr std::array nvlink_codes = {74, 144, 145, 146, 147, 148, 149, 150};

bool is_one_of(std::span<const int> codes, std::int64_t code) { return std::ranges::find(codes, code) != codes.end(); }

/// All Xids with these codes of the GPUs whose first Xid is one of them.
std::vector<const LogEvent*> story(const Machine& machine, std::span<const int> codes) {
  std::vector<const LogEvent*> events = current_xids(machine, codes);
  const auto leading = leading_xids(machine);
  std::erase_if(events, [&](const LogEvent* event) {
    return std::ranges::none_of(leading,
                                [&](const LogEvent* first) { return first->pci == event->pci && is_one_of(codes, first->code); });
  });
  return events;
}

// ---- memory ----------------------------------------------------------------------------------------------------------

enum class MemoryStory { None, PageRetirement, RowRemap, Uncorrectable };

bool has_code(const std::vector<const LogEvent*>& events, std::initializer_list<int> codes) {
  return std::ranges::any_of(
      events, [&](const LogEvent* event) { return is_one_of(std::span<const int>(codes.begin(), codes.size()), event->code); });
}

/// Row remapping came with Ampere; before, bad pages were retired. The GPU decides, then the driver's words.
bool remaps_rows(const RuleContext& context, const std::vector<const LogEvent*>& events) {
  for (const auto* event : events) {
    if (contains_ignoring_case(event->text, "row remap") || contains_ignoring_case(event->text, "marked for remapping"))
      return true;
    if (contains_ignoring_case(event->text, "retire")) return false;
  }
  for (const auto* event : events)
    if (const auto* gpu = gpu_of_event(context, *event); gpu && gpu->identity.compute_capability)
      return gpu->identity.compute_capability->major >= 8;
  return false;
}

MemoryStory memory_story(const RuleContext& context, const std::vector<const LogEvent*>& events) {
  if (events.empty()) return MemoryStory::None;
  if (has_code(events, {63, 64})) return remaps_rows(context, events) ? MemoryStory::RowRemap : MemoryStory::PageRetirement;
  return has_code(events, {48}) ? MemoryStory::PageRetirement : MemoryStory::Uncorrectable;
}

/// A finding of this story, with the lines and the GPU; nothing when it is another one.
std::optional<Finding> tell_memory_story(const RuleContext& context, MemoryStory wanted) {
  const auto events = story(context.machine, memory_codes);
  if (memory_story(context, events) != wanted) return std::nullopt;
  Finding finding;
  finding.parameters["gpu"] = label_of_event(context, *events.front());
  finding.parameters["address"] = events.front()->pci.empty() ? "-" : events.front()->pci;
  quote_events(finding.evidence, events, 5);
  return finding;
}

Action reset_gpu(const Finding& finding) {
  std::string address = finding.parameters.at("address");
  if (address == "-")
    address = "0";
  else if (address.find('.') == std::string::npos)
    address += ".0";  // nvidia-smi wants the function too
  return make_action("reset-gpu", {{"address", address}});
}

}  // namespace

std::optional<Finding> judge_double_bit_error(const RuleContext& context) {
  auto finding = tell_memory_story(context, MemoryStory::PageRetirement);
  if (!finding) return std::nullopt;
  finding->repair.push_back(reset_gpu(*finding));
  finding->repair.push_back(make_action("watch-memory-errors"));
  return finding;
}

std::optional<Finding> judge_row_remap(const RuleContext& context) {
  auto finding = tell_memory_story(context, MemoryStory::RowRemap);
  if (!finding) return std::nullopt;
  const auto events = story(context.machine, memory_codes);
  if (has_code(events, {64})) {
    finding->variant = "failed";
    finding->repair.push_back(make_action("replace-gpu", {{"address", finding->parameters.at("address")}}));
    return finding;
  }
  finding->repair.push_back(reset_gpu(*finding));
  finding->repair.push_back(make_action("watch-memory-errors"));
  return finding;
}

std::optional<Finding> judge_uncorrectable_ecc(const RuleContext& context) {
  auto finding = tell_memory_story(context, MemoryStory::Uncorrectable);
  if (!finding) return std::nullopt;
  const auto events = story(context.machine, memory_codes);
  finding->variant = has_code(events, {95, 140}) ? "uncontained" : "";
  finding->repair.push_back(reset_gpu(*finding));
  finding->repair.push_back(make_action("watch-memory-errors"));
  return finding;
}

// ---- NVLink ----------------------------------------------------------------------------------------------------------

namespace {

/// A line that says that a link did not come up; errors on a link that runs are another matter.
const LogEvent* inactive_link(const Machine& machine) {
  for (const auto* event : current_events(machine)) {
    if (!contains_ignoring_case(event->text, "nvlink") && !contains_ignoring_case(event->text, "link ")) continue;
    if (event->kind == "pci" || event->kind == "aer") continue;
    for (const char* sign : {"inactive", "training failed", "failed to train", "link is not active", "not connected"})
      if (contains_ignoring_case(event->text, sign)) return event;
  }
  return nullptr;
}

/// Cards that are joined by a bridge: no NVSwitch, and at least two that the bus shows (or none shown).
bool may_be_bridged(const RuleContext& context) { return nvswitches(context.machine).empty() && context.gpus.size() != 1; }

std::vector<const LogEvent*> fatal_switch_errors(const Machine& machine) {
  auto events = current_events(machine, "sxid");
  std::erase_if(events, [](const LogEvent* event) {
    return contains_ignoring_case(event->text, "non-fatal") || contains_ignoring_case(event->text, "nonfatal") ||
           !contains_ignoring_case(event->text, "fatal");
  });
  return events;
}

bool all_nonfatal(const std::vector<const LogEvent*>& events) {
  return std::ranges::all_of(events, [](const LogEvent* event) { return contains_ignoring_case(event->text, "nonfatal"); });
}

Finding nvlink_finding(const RuleContext& context, const std::vector<const LogEvent*>& events) {
  Finding finding;
  finding.parameters["gpu"] = label_of_event(context, *events.front());
  finding.parameters["address"] = events.front()->pci.empty() ? "-" : events.front()->pci;
  finding.parameters["code"] = std::to_string(events.front()->code);
  quote_events(finding.evidence, events, 5);
  return finding;
}

}  // namespace

std::optional<Finding> judge_nvlink_bridge(const RuleContext& context) {
  const auto events = story(context.machine, std::array{74});
  const LogEvent* inactive = inactive_link(context.machine);
  if (events.empty() || !inactive || !may_be_bridged(context)) return std::nullopt;
  Finding finding = nvlink_finding(context, events);
  if (std::ranges::find(events, inactive) == events.end()) finding.evidence.push_back(quote(*inactive));
  finding.repair.push_back(make_action("reseat-nvlink-bridge"));
  return finding;
}

std::optional<Finding> judge_nvlink_fabric(const RuleContext& context) {
  if (judge_nvlink_bridge(context)) return std::nullopt;
  auto events = story(context.machine, nvlink_codes);
  const auto switch_errors = fatal_switch_errors(context.machine);
  const bool only_nonfatal = !events.empty() && all_nonfatal(events) && switch_errors.empty();
  events.insert(events.end(), switch_errors.begin(), switch_errors.end());
  if (events.empty()) return std::nullopt;
  Finding finding = nvlink_finding(context, events);
  // Bridges join cards of NVLink 4 at most; 144 to 150 come from GPUs behind switches (NVLink 5), as SXids do.
  const bool fabric = !nvswitches(context.machine).empty() ||
                      std::ranges::any_of(events, [](const LogEvent* event) { return event->code != 74; });
  finding.variant = fabric ? "nvswitch" : "";
  if (only_nonfatal) finding.severity = Severity::Warning;  // Xid 144–150 say themselves whether the link was lost
  finding.repair.push_back(fabric ? make_action("reset-gpus-and-fabric-manager") : reset_gpu(finding));
  finding.repair.push_back(make_action(fabric ? "report-gpu-failure" : "reseat-nvlink-bridge"));
  return finding;
}

// ---- heat and power --------------------------------------------------------------------------------------------------

namespace {

bool speaks_of_brake(const LogEvent& event) {
  const bool from_driver = event.kind == "nvrm" || event.kind == "xid" || event.kind == "nvidia";
  if (!from_driver) return false;
  if (event.kind == "xid" && event.code == 54) return true;  // auxiliary power missing: clocks are cut
  for (const char* sign : {"thermal slowdown", "hw slowdown", "hardware slowdown", "power brake", "overheat", "over temperature",
                           "thermal limit", "thermal shutdown"})
    if (contains_ignoring_case(event.text, sign)) return true;
  return contains_ignoring_case(event.text, "thrott") && contains_ignoring_case(event.text, "clock");
}

}  // namespace

std::optional<Finding> judge_thermal_or_power(const RuleContext& context) {
  std::vector<const LogEvent*> events = current_events(context.machine);
  std::erase_if(events, [](const LogEvent* event) { return !speaks_of_brake(*event); });
  if (events.empty()) return std::nullopt;
  Finding finding;
  finding.parameters["gpu"] = label_of_event(context, *events.front());
  quote_events(finding.evidence, events, 4);
  const bool power = events.front()->code == 54 || contains_ignoring_case(events.front()->text, "power");
  finding.variant = power ? "power" : "";
  finding.repair.push_back(make_action(power ? "check-gpu-power-and-seating" : "improve-gpu-cooling"));
  return finding;
}

}  // namespace gpuvet
