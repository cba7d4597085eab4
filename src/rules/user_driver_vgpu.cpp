// Guests of NVIDIA's vGPU: the licence, and a guest driver that fits the host's vGPU manager.

#include <algorithm>

#include "rules/evidence.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

/// "NVIDIA A40-8Q", "GRID T4-2C", "NVIDIA A100-1-5CME": a profile, not a card ("A100-SXM4-40GB").
bool is_vgpu_name(std::string_view model) {
  if (model.starts_with("GRID ")) return true;
  const std::size_t dash = model.rfind('-');
  if (dash == std::string_view::npos) return false;
  std::string_view tail = model.substr(dash + 1);
  const std::size_t digits = std::min(tail.find_first_not_of("0123456789"), tail.size());
  if (digits == 0) return false;
  tail.remove_prefix(digits);
  if (tail.ends_with("ME")) tail.remove_suffix(2);
  return tail == "Q" || tail == "C" || tail == "B" || tail == "A";
}

/// Whole cards passed into a VM may run the licence daemon as well; their CUDA needs no licence.
bool names_whole_cards(const Machine& machine) {
  const auto& gpus = machine.kernel_driver.gpus;
  return !gpus.empty() && std::ranges::none_of(gpus, [](const ProcGpu& gpu) { return is_vgpu_name(gpu.model); });
}

enum class Licence : std::uint8_t { Unknown, Held, None };

/// What a line of nvidia-gridd says for sure. A renewal that failed is not listed: the licence holds until it expires.
Licence licence_told(std::string_view text) {
  for (const char* phrase : {"license acquired successfully", "license renewed successfully", "acquired license successfully"}) {
    if (contains_ignoring_case(text, phrase)) return Licence::Held;
  }
  for (const char* phrase : {"failed to acquire license", "unable to acquire license", "valid grid license not found",
                             "license expired", "license has expired", "failed to acquire/renew license"}) {
    if (contains_ignoring_case(text, phrase)) return Licence::None;
  }
  return Licence::Unknown;
}

/// The last decisive thing that nvidia-gridd said about the licence in this boot, or null.
const LogEvent* last_licence_event(const Machine& machine) {
  const LogEvent* last = nullptr;
  for (const LogEvent* event : current_events(machine)) {
    if (licence_told(event->text) != Licence::Unknown) last = event;
  }
  return last;
}

}  // namespace

std::optional<Finding> vgpu_unlicensed(const RuleContext& context) {
  const LogEvent* last = last_licence_event(context.machine);
  if (last == nullptr || licence_told(last->text) != Licence::None) return std::nullopt;
  Finding finding;
  if (names_whole_cards(context.machine)) {
    finding.variant = "whole-card";
    finding.severity = Severity::Warning;
  }
  finding.evidence = {quote(*last)};
  if (!context.machine.kernel_driver.gpus.empty())
    finding.evidence.push_back({"/proc/driver/nvidia/gpus", 0, context.machine.kernel_driver.gpus.front().model});
  if (const Service* gridd = service(context.machine, "nvidia-gridd"); gridd != nullptr && gridd->running.is(false)) {
    finding.evidence.push_back({gridd->unit.value_or("nvidia-gridd.service"), 0, "nvidia-gridd is not running"});
  }
  finding.repair = {make_action("restore-vgpu-licence")};
  return finding;
}

/// Words of the guest's kernel module when it and the host's vGPU manager find no common version (rpc.c of the open kernel
/// module). That the guest is newer and tries the host's version is told as well, and is no error.
std::optional<Finding> vgpu_guest_driver_mismatch(const RuleContext& context) {
  const LogEvent* event = first_event_with(context.machine, {"SetGuestSystemInfo", "too old"});
  if (event == nullptr) event = first_event_with(context.machine, {"Incompatible Guest/Host drivers"});
  if (event == nullptr) return std::nullopt;
  Finding finding;
  finding.parameters = {{"driver", context.loaded_driver ? context.loaded_driver->text : "?"}};
  finding.evidence = {quote(*event)};
  finding.repair = {make_action("install-matching-vgpu-guest-driver")};
  return finding;
}

}  // namespace gpuvet::user_driver
