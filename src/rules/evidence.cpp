#include "rules/evidence.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace gpuvet {
namespace {

// Codes that speak of memory, link, bus or firmware processor of the GPU itself and have a rule (data/facts/xid.tsv). Left out
// are those that a program causes (13, 31, 43, 45), counters (92), and what only reports a reaction (154 recovery action).
constexpr std::array health_xids = {48, 63, 64, 74, 79, 94, 95, 119, 120, 140, 144, 145, 146, 147, 148, 149, 150};

// An error an hour later is a story of its own.
constexpr double aftermath_seconds = 600;

bool is_health_xid(std::int64_t code) { return std::ranges::find(health_xids, code) != health_xids.end(); }

/// "0000:01:00" of "0000:01:00.0".
std::string_view without_function(std::string_view address) { return address.substr(0, address.find('.')); }

std::string permissions(std::int64_t mode) {
  std::string text = "rwxrwxrwx";
  for (int bit = 0; bit < 9; ++bit)
    if (((mode >> (8 - bit)) & 1) == 0) text[static_cast<std::size_t>(bit)] = '-';
  return text;
}

}  // namespace

std::vector<const LogEvent*> current_events(const Machine& machine, std::string_view kind) {
  std::vector<const LogEvent*> found;
  const auto* events = machine.kernel_log.events.get();
  if (!events) return found;
  for (const auto& event : *events)
    if (event.boot == 0 && (kind.empty() || event.kind == kind)) found.push_back(&event);
  return found;
}

void keep_since_last_load(const Machine& machine, std::vector<const LogEvent*>& events) {
  const auto loads = events_with(machine, {"NVRM: loading NVIDIA UNIX"});
  // All events lie in one vector, oldest first: addresses tell their order.
  if (!loads.empty()) std::erase_if(events, [&](const LogEvent* event) { return event < loads.back(); });
}

std::vector<const LogEvent*> events_with(const Machine& machine, std::initializer_list<std::string_view> parts) {
  auto events = current_events(machine);
  std::erase_if(events, [&](const LogEvent* event) {
    return !std::ranges::all_of(parts, [&](std::string_view part) { return contains_ignoring_case(event->text, part); });
  });
  return events;
}

const LogEvent* first_event_with(const Machine& machine, std::initializer_list<std::string_view> parts) {
  const auto events = events_with(machine, parts);
  return events.empty() ? nullptr : events.front();
}

// A reset and a reload start the GPU's history anew.
std::vector<const LogEvent*> xids_since_load(const Machine& machine) {
  auto events = current_events(machine, "xid");
  keep_since_last_load(machine, events);
  return events;
}

std::vector<const LogEvent*> current_xids(const Machine& machine, std::span<const int> codes) {
  auto events = xids_since_load(machine);
  std::erase_if(events, [&](const LogEvent* event) { return std::ranges::find(codes, event->code) == codes.end(); });
  return events;
}

std::vector<const LogEvent*> current_xids(const Machine& machine, std::initializer_list<int> codes) {
  return current_xids(machine, std::span<const int>(codes.begin(), codes.size()));
}

std::vector<const LogEvent*> leading_xids(const Machine& machine) {
  std::vector<const LogEvent*> leading;
  for (const auto* event : xids_since_load(machine)) {
    if (!is_health_xid(event->code)) continue;
    const auto aftermath_of = [&](const LogEvent* earlier) {
      const bool timed = earlier->seconds >= 0 && event->seconds >= 0;
      return without_function(earlier->pci) == without_function(event->pci) &&
             (!timed || event->seconds - earlier->seconds <= aftermath_seconds);
    };
    if (std::ranges::none_of(leading, aftermath_of)) leading.push_back(event);
  }
  return leading;
}

bool names_device(std::string_view event_pci, std::string_view address) {
  return !event_pci.empty() && without_function(event_pci) == without_function(address);
}

const LoadedModule* loaded_module(const Machine& machine, std::string_view name) {
  const auto* modules = machine.kernel_driver.loaded.get();
  if (!modules) return nullptr;
  const auto found = std::ranges::find(*modules, name, &LoadedModule::name);
  return found == modules->end() ? nullptr : &*found;
}

bool surely_not_loaded(const Machine& machine, std::string_view name) {
  return machine.kernel_driver.loaded.is_known() && loaded_module(machine, name) == nullptr;
}

const Package* installed_package(const Machine& machine, std::string_view name) {
  const auto* packages = machine.packages.installed.get();
  if (!packages) return nullptr;
  const auto matches = [&](const Package& package) { return package.name == name && package.status != "config-files"; };
  const auto found = std::ranges::find_if(*packages, matches);
  return found == packages->end() ? nullptr : &*found;
}

std::vector<const Package*> installed_packages_with(const Machine& machine, std::string_view prefix) {
  std::vector<const Package*> found;
  const auto* packages = machine.packages.installed.get();
  if (!packages) return found;
  for (const auto& package : *packages)
    if (package.name.starts_with(prefix) && package.status != "config-files") found.push_back(&package);
  return found;
}

const Service* service(const Machine& machine, std::string_view name) {
  const auto* services = machine.services.get();
  if (services == nullptr) return nullptr;
  const auto it = std::ranges::find(*services, name, &Service::name);
  return it == services->end() ? nullptr : &*it;
}

const DeviceNode* device_node(const Machine& machine, std::string_view path) {
  const auto* nodes = machine.device_nodes.nodes.get();
  if (!nodes) return nullptr;
  const auto found = std::ranges::find(*nodes, path, &DeviceNode::path);
  return found == nodes->end() ? nullptr : &*found;
}

std::vector<const DeviceNode*> gpu_nodes(const Machine& machine) {
  constexpr std::string_view prefix = "/dev/nvidia";
  std::vector<const DeviceNode*> found;
  const auto* nodes = machine.device_nodes.nodes.get();
  if (!nodes) return found;
  for (const auto& node : *nodes) {
    const std::string_view path = node.path;
    if (!path.starts_with(prefix) || path.size() == prefix.size()) continue;
    const auto number = path.substr(prefix.size());
    if (number.find_first_not_of("0123456789") == std::string_view::npos) found.push_back(&node);
  }
  return found;
}

const PciDevice* pci_device(const Machine& machine, std::string_view address) {
  const auto* devices = machine.pci.get();
  if (!devices) return nullptr;
  const auto found = std::ranges::find(*devices, address, &PciDevice::address);
  return found == devices->end() ? nullptr : &*found;
}

bool is_portable(const Machine& machine) {
  constexpr std::array portable = {8,  9, 10, 14,
                                   31, 32};  // SMBIOS 7.4.1: portable, laptop, notebook, sub-notebook, convertible, detachable
  const auto* chassis = machine.os.chassis_type.get();
  return chassis && std::ranges::find(portable, *chassis) != portable.end();
}

Origin quote(const LogEvent& event) {
  Origin origin = event.origin;
  if (origin.source.empty()) origin.source = "kernel log";
  if (origin.text.empty()) origin.text = event.text;
  return origin;
}

Origin quote(const PciDevice& device, std::string_view file, std::string text) {
  if (!device.origin.source.empty()) return device.origin;
  std::string source = "/sys/bus/pci/devices/" + device.address;
  if (!file.empty()) source.append("/").append(file);
  return {source, 0, std::move(text)};
}

Origin quote(const DeviceNode& node) {
  const char type = node.type == "char" ? 'c' : node.type == "block" ? 'b' : node.type == "directory" ? 'd' : '-';
  std::string text = type + permissions(node.mode) + " " + std::to_string(node.uid) + ":" + std::to_string(node.gid);
  if (type == 'c' || type == 'b') text += " " + std::to_string(node.major) + "," + std::to_string(node.minor);
  return {node.path, 0, text};
}

Origin quote(const Package& package) {
  Origin origin = package.origin;
  if (origin.source.empty()) origin.source = package.manager;
  if (origin.text.empty()) origin.text = package.name + " " + package.version;
  return origin;
}

Origin quote(const LoadedModule& module) {
  Origin origin = module.origin;
  if (origin.source.empty()) origin.source = "/proc/modules";
  if (origin.text.empty()) origin.text = module.name;
  return origin;
}

void quote_events(std::vector<Origin>& evidence, std::span<const LogEvent* const> events, std::size_t limit) {
  for (const auto* event : events.first(std::min(limit, events.size()))) evidence.push_back(quote(*event));
}

Action make_action(std::string_view type, std::map<std::string, std::string> parameters) {
  return {std::string(type), std::move(parameters)};
}

Action or_action(std::string_view type, std::map<std::string, std::string> parameters) {
  return {std::string(type), std::move(parameters), StepWhen::Instead};
}

Action undo_modprobe_line(const std::string& file, std::string line) {
  const bool vendor = file.starts_with("/usr/lib/modprobe.d/") || file.starts_with("/lib/modprobe.d/");
  if (!vendor) return make_action("remove-modprobe-line", {{"file", file}, {"line", std::move(line)}});
  const std::string own = "/etc/modprobe.d" + file.substr(file.rfind('/'));
  return make_action("override-modprobe-file", {{"file", file}, {"line", std::move(line)}, {"override", own}});
}

std::string join(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    text += item;
  }
  return text;
}

std::string words_of_cut(const LibraryFile& file) {
  return "cut off: needs at least " + std::to_string(file.whole_size) + " bytes, has " + std::to_string(file.size);
}

}  // namespace gpuvet
