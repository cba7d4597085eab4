// Services beside the libraries: fabric manager of NVSwitch machines, persistence daemon.

#include <algorithm>

#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

bool process_runs(const Machine& machine, std::string_view prefix) {
  const auto* processes = machine.processes.get();
  // The kernel cuts a command name at 15 characters.
  return processes != nullptr &&
         std::ranges::any_of(*processes, [&](const std::string& name) { return name.starts_with(prefix.substr(0, 15)); });
}

bool fabric_manager_runs(const Machine& machine) {
  const Service* unit = service(machine, "nvidia-fabricmanager");
  return process_runs(machine, "nv-fabricmanager") || (unit != nullptr && unit->running.is(true));
}

/// The daemon's own packages, whatever their branch. Names: nvidia-fabricmanager-550 (Ubuntu, NVIDIA's apt and old rpm
/// repository), nvidia-fabric-manager (NVIDIA's rpm), nvidia-fabricmanager (both, newer). Not the -dev ones, not metapackages.
std::vector<const Package*> fabric_manager_packages(const Machine& machine) {
  std::vector<const Package*> found;
  for (const char* prefix : {"nvidia-fabricmanager", "nvidia-fabric-manager"}) {
    for (const Package* package : installed_packages_with(machine, prefix)) {
      if (driver_version_in_package_version(package->version) && package->name.find("dev") == std::string::npos)
        found.push_back(package);
    }
  }
  return found;
}

Origin quote_switches(const std::vector<const PciDevice*>& switches) {
  return quote(*switches.front(), "device", std::to_string(switches.size()) + " NVSwitch devices on the bus");
}

/// Volta's, Ampere's and Hopper's switches. Class 0680 alone is not enough: network controllers of NVIDIA's old nForce chipsets
/// call themselves bridges too.
bool is_nvswitch(const PciDevice& device) {
  if (const auto* driver = device.driver.get()) return driver->starts_with("nvidia");
  return device.device == 0x1ac2 || device.device == 0x1af1 || device.device == 0x22a3;
}

/// The NVSwitches that the loaded driver has to do with: none where they are handed to a VM, or NVLink is switched off.
std::vector<const PciDevice*> driven_switches(const RuleContext& context) {
  std::vector<const PciDevice*> switches;
  const auto& parameters = context.machine.kernel_driver.parameters;
  const auto nvlink_off = parameters.find("NvLinkDisable");
  if (!context.loaded_driver || (nvlink_off != parameters.end() && nvlink_off->second == "1")) return switches;
  for (const PciDevice* device : nvswitches(context.machine)) {
    if (is_nvswitch(*device)) switches.push_back(device);
  }
  return switches;
}

std::string_view number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.rfind(words);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + words.size());
  text = text.substr(0, text.find_first_not_of("0123456789."));
  while (text.ends_with('.')) text.remove_suffix(1);  // the end of the sentence
  return text;
}

struct Refusal {
  DriverVersion fabric_manager, driver;
  Origin line;
};

std::optional<Refusal> parse_refusal(const Origin& line) {
  if (line.text.find("match with driver version") == std::string::npos) return std::nullopt;
  const auto own = DriverVersion::parse(number_after(line.text, "interface version "));
  const auto driver = DriverVersion::parse(number_after(line.text, "match with driver version "));
  return own && driver ? std::optional(Refusal{*own, *driver, line}) : std::nullopt;
}

/// The daemon's last word: it found a driver of another version. Nothing when a later line tells of a start that went well.
std::optional<Refusal> fabric_manager_refusal(const Machine& machine) {
  std::optional<Refusal> last;
  if (const Service* unit = service(machine, "nvidia-fabricmanager")) {
    for (const Origin& line : unit->log) {
      if (auto refusal = parse_refusal(line))
        last = refusal;
      else if (contains_ignoring_case(line.text, "successfully"))
        last.reset();
    }
  }
  for (const LogEvent* event : events_with(machine, {"match with driver version"})) {
    if (auto refusal = parse_refusal(quote(*event)); refusal && !last) last = refusal;
  }
  return last;
}

Action install_fabric_manager(const DriverVersion& driver) {
  return make_action("install-fabric-manager", {{"version", driver.text}, {"branch", std::to_string(driver.branch)}});
}

/// Packages that all have another version than the loaded driver, or the daemon's own refusal of this driver.
struct OtherVersion {
  DriverVersion version;
  Origin evidence;
};

std::optional<OtherVersion> other_fabric_manager(const RuleContext& context) {
  if (const auto refusal = fabric_manager_refusal(context.machine); refusal && refusal->driver == *context.loaded_driver)
    return OtherVersion{refusal->fabric_manager, refusal->line};
  std::optional<OtherVersion> other;
  for (const Package* package : fabric_manager_packages(context.machine)) {
    const auto version = driver_version_in_package_version(package->version);
    if (*version == *context.loaded_driver) return std::nullopt;
    other = OtherVersion{*version, quote(*package)};
  }
  return other;
}

}  // namespace

std::optional<Finding> fabric_manager_version_mismatch(const RuleContext& context) {
  const auto switches = driven_switches(context);
  // One that runs was started beside a driver of its version: a package that changed since then matters at the next boot.
  if (switches.empty() || fabric_manager_runs(context.machine)) return std::nullopt;
  const auto other = other_fabric_manager(context);
  if (!other) return std::nullopt;
  const DriverVersion& driver = *context.loaded_driver;
  Finding finding;
  finding.parameters = {{"version", other->version.text}, {"driver", driver.text}};
  finding.evidence = {other->evidence, quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", driver.text),
                      quote_switches(switches)};
  if (context.installed_driver && *context.installed_driver == other->version) {
    // The driver on disk is that of the fabric manager already; only the running kernel still has the old one.
    finding.variant = "pending-reboot";
    finding.repair = {make_action("reboot")};
  } else {
    finding.repair = {install_fabric_manager(driver), make_action("start-fabric-manager")};
  }
  return finding;
}

/// Nobody runs it, and that is sure: of a unit that should run, an empty list of processes proves nothing.
bool fabric_manager_surely_down(const Machine& machine) {
  const auto* processes = machine.processes.get();
  if (!machine.services.is_known() || processes == nullptr || fabric_manager_runs(machine)) return false;
  const Service* unit = service(machine, "nvidia-fabricmanager");
  return unit == nullptr || !unit->enabled.is(true) || !processes->empty() || !unit->log.empty();
}

std::optional<Finding> fabric_manager_not_running(const RuleContext& context) {
  const auto switches = driven_switches(context);
  if (switches.empty() || !fabric_manager_surely_down(context.machine)) return std::nullopt;
  Finding finding;
  finding.parameters = {{"switches", std::to_string(switches.size())}};
  finding.evidence = {quote_switches(switches)};
  const Service* unit = service(context.machine, "nvidia-fabricmanager");
  const bool installed = (unit != nullptr && unit->unit.is_known()) || !fabric_manager_packages(context.machine).empty();
  if (unit != nullptr && unit->unit.is_known()) {
    finding.evidence.push_back(
        {*unit->unit.get(), 0, unit->enabled.is(false) ? "installed, not enabled, no process" : "installed, no process"});
    for (const Origin& line : unit->log) finding.evidence.push_back(line);
  } else {
    finding.evidence.push_back({"process list", 0, "no nv-fabricmanager"});
  }
  if (!installed) {
    finding.variant = "not-installed";
    finding.repair.push_back(install_fabric_manager(*context.loaded_driver));
  }
  finding.repair.push_back(make_action("start-fabric-manager"));
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
