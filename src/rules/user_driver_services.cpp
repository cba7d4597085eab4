// Services beside the libraries: fabric manager of NVSwitch machines, vGPU licence, persistence daemon.

#include <algorithm>

#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

const Service* service(const Machine& machine, std::string_view name) {
  const auto* services = machine.services.get();
  if (services == nullptr) return nullptr;
  const auto it = std::ranges::find(*services, name, &Service::name);
  return it == services->end() ? nullptr : &*it;
}

bool process_runs(const Machine& machine, std::string_view prefix) {
  const auto* processes = machine.processes.get();
  // The kernel cuts a command name at 15 characters.
  return processes != nullptr && std::ranges::any_of(*processes, [&](const std::string& name) { return name.starts_with(prefix.substr(0, 15)); });
}

bool fabric_manager_runs(const Machine& machine) {
  const Service* unit = service(machine, "nvidia-fabricmanager");
  return process_runs(machine, "nv-fabricmanager") || (unit != nullptr && unit->running.is(true));
}

/// The installed fabric manager's package, whatever its branch.
const Package* fabric_manager_package(const Machine& machine) {
  for (const char* prefix : {"nvidia-fabricmanager", "nvidia-fabric-manager", "cuda-drivers-fabricmanager"}) {
    for (const Package* package : installed_packages_with(machine, prefix)) {
      if (driver_version_in_package_version(package->version) && package->name.find("dev") == std::string::npos) return package;
    }
  }
  return nullptr;
}

Origin quote_switches(const std::vector<const PciDevice*>& switches) {
  return quote(*switches.front(), "device", std::to_string(switches.size()) + " NVSwitch devices on the bus");
}

/// The machine has NVSwitches whose driver is loaded: only then a fabric manager has something to do. Switches that were handed to
/// a service VM are managed there.
std::vector<const PciDevice*> driven_switches(const RuleContext& context) {
  if (!context.loaded_driver) return {};
  auto switches = nvswitches(context.machine);
  std::erase_if(switches, [](const PciDevice* device) { return device->driver.is("vfio-pci") || device->driver.is("pci-stub"); });
  return switches;
}

/// The last thing that nvidia-gridd said about the licence in this boot, or null.
const LogEvent* last_licence_event(const Machine& machine) {
  const LogEvent* last = nullptr;
  for (const LogEvent* event : events_with(machine, {"gridd"})) {
    const bool licence = contains_ignoring_case(event->text, "license") || contains_ignoring_case(event->text, "licence");
    if (licence) last = event;
  }
  return last;
}

bool says_unlicensed(const LogEvent& event) {
  for (const char* phrase : {"failed to acquire license", "failed to acquire/renew license", "unable to acquire license", "valid grid license not found", "license not found", "failed to renew license", "unlicensed", "license denied", "license expired"}) {
    if (contains_ignoring_case(event.text, phrase)) return true;
  }
  return false;
}

}  // namespace

std::optional<Finding> fabric_manager_version_mismatch(const RuleContext& context) {
  const auto switches = driven_switches(context);
  const Package* package = switches.empty() ? nullptr : fabric_manager_package(context.machine);
  if (package == nullptr) return std::nullopt;
  const auto version = driver_version_in_package_version(package->version);
  if (!version || *version == *context.loaded_driver) return std::nullopt;
  Finding finding;
  finding.parameters = {{"version", version->text}, {"driver", context.loaded_driver->text}};
  finding.evidence = {quote(*package), quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", context.loaded_driver->text), quote_switches(switches)};
  finding.repair = {make_action("install-fabric-manager", {{"version", context.loaded_driver->text}, {"branch", std::to_string(context.loaded_driver->branch)}}),
                    make_action("start-fabric-manager")};
  return finding;
}

std::optional<Finding> fabric_manager_not_running(const RuleContext& context) {
  const auto switches = driven_switches(context);
  const bool visible = context.machine.services.is_known() && context.machine.processes.is_known();
  if (switches.empty() || !visible || fabric_manager_runs(context.machine)) return std::nullopt;
  Finding finding;
  finding.parameters = {{"switches", std::to_string(switches.size())}};
  finding.evidence = {quote_switches(switches)};
  const Service* unit = service(context.machine, "nvidia-fabricmanager");
  const bool installed = (unit != nullptr && unit->unit.is_known()) || fabric_manager_package(context.machine) != nullptr;
  if (unit != nullptr && unit->unit.is_known()) {
    finding.evidence.push_back({*unit->unit.get(), 0, unit->enabled.is(false) ? "installed, not enabled, no process" : "installed, no process"});
    for (const Origin& line : unit->log) finding.evidence.push_back(line);
  } else {
    finding.evidence.push_back({"process list", 0, "no nv-fabricmanager"});
  }
  if (!installed) {
    finding.variant = "not-installed";
    finding.repair.push_back(make_action("install-fabric-manager", {{"version", context.loaded_driver->text}, {"branch", std::to_string(context.loaded_driver->branch)}}));
  }
  finding.repair.push_back(make_action("start-fabric-manager"));
  return finding;
}

std::optional<Finding> vgpu_unlicensed(const RuleContext& context) {
  const LogEvent* last = last_licence_event(context.machine);
  if (last == nullptr || !says_unlicensed(*last)) return std::nullopt;
  Finding finding;
  finding.evidence = {quote(*last)};
  if (const Service* gridd = service(context.machine, "nvidia-gridd"); gridd != nullptr && gridd->running.is(false)) {
    finding.evidence.push_back({gridd->unit.value_or("nvidia-gridd.service"), 0, "nvidia-gridd is not running"});
  }
  finding.repair = {make_action("restore-vgpu-licence")};
  return finding;
}

std::optional<Finding> vgpu_guest_driver_mismatch(const RuleContext& context) {
  // The manager's words, and the guest driver's own. "Guest VGX version … is newer than the host VGX version" alone is none: there
  // the driver goes on with the host's version (open kernel modules, rpcSetGuestSystemInfo).
  const LogEvent* event = first_event_with(context.machine, {"incompatible guest/host drivers"});
  if (event == nullptr) event = first_event_with(context.machine, {"setguestsysteminfo", "host version", "too old"});
  if (event == nullptr) return std::nullopt;
  Finding finding;
  finding.parameters = {{"driver", context.loaded_driver ? context.loaded_driver->text : "?"}};
  finding.evidence = {quote(*event)};
  finding.repair = {make_action("install-matching-vgpu-guest-driver")};
  return finding;
}

std::optional<Finding> nvidia_persistenced_down(const RuleContext& context) {
  const Service* daemon = service(context.machine, "nvidia-persistenced");
  const bool wanted = daemon != nullptr && daemon->unit.is_known() && daemon->enabled.is(true) && daemon->running.is(false);
  if (!wanted || !context.loaded_driver || process_runs(context.machine, "nvidia-persistenced")) return std::nullopt;
  Finding finding;
  finding.severity = Severity::Note;
  finding.evidence = {{*daemon->unit.get(), 0, "enabled, but no process"}};
  for (const Origin& line : daemon->log) finding.evidence.push_back(line);
  finding.repair = {make_action("start-persistence-daemon")};
  return finding;
}

}  // namespace gpuvet::user_driver
