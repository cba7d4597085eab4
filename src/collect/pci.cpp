// The PCI functions that matter, from sysfs.

#include <algorithm>
#include <set>

#include "collect/collect.h"
#include "collect/lines.h"
#include "collect/pci_parts.h"

namespace gpuvet {
namespace {

constexpr const char* devices_folder = "/sys/bus/pci/devices";
constexpr std::int64_t nvidia = 0x10de;
constexpr std::int64_t bridge_class = 0x0604;

/// The files of one function in sysfs.
class DeviceFiles {
 public:
  DeviceFiles(System& system, const std::string& address)
      : system_(system), folder_(std::string(devices_folder) + "/" + address + "/") {}

  System& system() const { return system_; }
  std::string path(std::string_view name) const { return folder_ + std::string(name); }

  std::optional<std::int64_t> hex(std::string_view name) const {
    const auto text = system_.read_line(path(name));
    const auto value = text ? hexadecimal(*text) : std::nullopt;
    if (!value || *value > 0xffffffff) return std::nullopt;
    return static_cast<std::int64_t>(*value);
  }

  /// Last component of a link: the driver's or the group's name.
  Fact<std::string> link_name(std::string_view name) const {
    const auto target = system_.read_link(path(name));
    if (target) return Fact<std::string>::known(target->substr(target->rfind('/') + 1), origin_of(path(name), *target));
    if (target.error().code == ErrorCode::NotFound) return Fact<std::string>::absent(origin_of(path(name)));
    return not_seen_because<std::string>(target.error(), path(name));
  }

  Fact<std::string> line(std::string_view name, bool missing_is_absent) const {
    return line_fact(system_, path(name), missing_is_absent);
  }
  Fact<std::int64_t> number(std::string_view name) const { return number_fact(system_, path(name), true); }

  Fact<bool> flag(std::string_view name) const {
    const auto value = number_fact(system_, path(name), true);
    if (const auto* number = value.get()) return Fact<bool>::known(*number > 0, value.origin());
    return value.is_absent() ? Fact<bool>::absent(value.origin()) : Fact<bool>::not_seen(value.why(), value.origin());
  }

 private:
  System& system_;
  std::string folder_;
};

Fact<std::string> find_driver(const DeviceFiles& files) {
  Fact<std::string> driver = files.link_name("driver");
  if (driver.is_known()) return driver;
  // Copies of sysfs often lose the links; uevent says the same.
  const auto uevent = files.system().read_file(files.path("uevent"), 65536);
  if (!uevent) return driver;
  for_each_line(*uevent, [&](std::string_view line, std::uint32_t number) {
    if (!line.starts_with("DRIVER=")) return true;
    driver = Fact<std::string>::known(std::string(line.substr(7)), origin_of(files.path("uevent"), line, number));
    return false;
  });
  return driver;
}

Fact<std::vector<PciBar>> find_bars(const DeviceFiles& files) {
  using Bars = Fact<std::vector<PciBar>>;
  const std::string path = files.path("resource");
  const auto text = files.system().read_file(path, 65536);
  if (!text) return not_seen_because<std::vector<PciBar>>(text.error(), path);
  auto bars = parse_pci_resource(*text);
  if (!bars) return Bars::not_seen(path + ": " + bars.error(), origin_of(path));
  return Bars::known(std::move(*bars), origin_of(path));
}

Fact<AerCounters> find_aer(const DeviceFiles& files) {
  AerCounters counters;
  const std::pair<const char*, std::int64_t*> parts[] = {{"aer_dev_correctable", &counters.correctable},
                                                         {"aer_dev_nonfatal", &counters.nonfatal},
                                                         {"aer_dev_fatal", &counters.fatal}};
  bool any = false;
  for (const auto& [name, counter] : parts) {
    const auto text = files.system().read_file(files.path(name), 65536);
    if (!text) continue;
    const auto total = parse_aer_total(*text);
    if (!total) return Fact<AerCounters>::not_seen(files.path(name) + ": no counters in it", origin_of(files.path(name)));
    *counter = *total;
    any = true;
  }
  const Origin origin = origin_of(files.path("aer_dev_*"));
  return any ? Fact<AerCounters>::known(counters, origin) : Fact<AerCounters>::absent(origin);
}

void collect_iommu(const DeviceFiles& files, PciDevice& device) {
  const Fact<std::string> group = files.link_name("iommu_group");
  const auto* name = group.get();
  const auto number = name ? decimal(*name) : std::nullopt;
  if (!number) {
    device.iommu_group = group.is_absent() ? Fact<std::int64_t>::absent(group.origin())
                                           : Fact<std::int64_t>::not_seen(group.why(), group.origin());
    device.iommu_domain =
        group.is_absent() ? Fact<std::string>::absent(group.origin()) : Fact<std::string>::not_seen(group.why(), group.origin());
    return;
  }
  device.iommu_group = Fact<std::int64_t>::known(*number, group.origin());
  device.iommu_domain = files.line("iommu_group/type", false);
}

// ---- configuration space ----------------------------------------------------------------------------------------------

std::optional<std::uint32_t> read_dword(FileReader& config, std::uint32_t offset) {
  const auto bytes = config.read_at(offset, 4);
  if (!bytes || bytes->size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(static_cast<unsigned char>((*bytes)[i])) << (8 * i);
  return value;
}

void config_not_seen(PciDevice& device, const std::string& why, const Origin& origin) {
  device.config_all_ones = Fact<bool>::not_seen(why, origin);
  device.acs_control = Fact<std::int64_t>::not_seen(why, origin);
}

/// Reads as little as possible: each four bytes are a transaction on the bus.
void collect_config(const DeviceFiles& files, PciDevice& device) {
  const std::string path = files.path("config");
  const Origin origin = origin_of(path);
  // The kernel powers a device in D3cold up when its configuration space is read (pci_config_pm_runtime_get).
  if (files.system().is_live() && (device.power_state.is("D3cold") || device.runtime_status.is("suspended")))
    return config_not_seen(device, "the device sleeps; reading its configuration space would wake it", origin);
  const auto config = files.system().open(path);
  if (!config) return config_not_seen(device, config.error().message, origin);
  const auto header = (*config)->read_at(0, 64);
  if (!header || header->size() < 4) return config_not_seen(device, header ? path + ": empty" : header.error().message, origin);
  const bool all_ones = header->find_first_not_of('\xff') == std::string::npos;
  device.config_all_ones = Fact<bool>::known(all_ones, origin_of(path, all_ones ? "ff ff ff ff …" : ""));
  if (all_ones) {
    device.acs_control = Fact<std::int64_t>::not_seen("the device does not answer", origin);
  } else {
    device.acs_control = find_acs_control([&](std::uint32_t offset) { return read_dword(**config, offset); });
    device.acs_control.origin() = origin;
  }
}

// ---- one function -----------------------------------------------------------------------------------------------------

/// The fixed part; nothing when the function cannot be told at all.
std::optional<PciDevice> identify(const DeviceFiles& files, const std::string& address) {
  const auto vendor = files.hex("vendor"), class_code = files.hex("class");
  if (!vendor || !class_code) return std::nullopt;
  PciDevice device;
  device.address = address;
  device.vendor = *vendor;
  device.class_code = *class_code;
  return device;
}

void collect_details(const DeviceFiles& files, PciDevice& device) {
  device.device = files.hex("device").value_or(0);
  device.subsystem_vendor = files.hex("subsystem_vendor").value_or(0);
  device.subsystem_device = files.hex("subsystem_device").value_or(0);
  device.revision = files.hex("revision").value_or(0);
  device.driver = find_driver(files);
  device.bars = find_bars(files);
  device.link_width = files.number("current_link_width");
  device.link_width_max = files.number("max_link_width");
  device.link_speed = files.line("current_link_speed", true);
  device.link_speed_max = files.line("max_link_speed", true);
  device.power_state = files.line("power_state", false);
  device.runtime_status = files.line("power/runtime_status", false);
  device.power_control = files.line("power/control", false);
  device.enabled = files.flag("enable");
  device.boot_vga = files.flag("boot_vga");
  device.physical_function = files.link_name("physfn");
  device.aer = find_aer(files);
  collect_iommu(files, device);
  collect_config(files, device);
}

bool is_display(const PciDevice& device) { return device.class_code >> 16 == 0x03; }
bool is_bridge(const PciDevice& device) { return device.class_code >> 8 == bridge_class; }

std::vector<PciDevice> collect_functions(System& system, const std::vector<DirectoryEntry>& entries) {
  std::vector<PciDevice> kept;
  std::set<std::string> bridges;
  for (const DirectoryEntry& entry : entries) {
    if (!is_pci_address(entry.name)) continue;
    auto device = identify(DeviceFiles(system, entry.name), entry.name);
    if (!device || (device->vendor != nvidia && !is_display(*device))) continue;
    const auto real = system.real_path(std::string(devices_folder) + "/" + entry.name);
    std::vector<std::string> chain = addresses_in_path(real.value_or(""));
    if (!chain.empty() && chain.back() == entry.name) chain.pop_back();
    if (!chain.empty()) device->parent = chain.back();
    if (device->vendor == nvidia && !is_bridge(*device)) bridges.insert(chain.begin(), chain.end());
    kept.push_back(std::move(*device));
  }
  for (const std::string& address : bridges) {
    if (std::any_of(kept.begin(), kept.end(), [&](const PciDevice& device) { return device.address == address; })) continue;
    auto device = identify(DeviceFiles(system, address), address);
    if (!device) continue;
    const auto chain = addresses_in_path(system.real_path(std::string(devices_folder) + "/" + address).value_or(""));
    if (chain.size() > 1) device->parent = chain[chain.size() - 2];
    kept.push_back(std::move(*device));
  }
  std::sort(kept.begin(), kept.end(), [](const PciDevice& a, const PciDevice& b) { return a.address < b.address; });
  for (PciDevice& device : kept) collect_details(DeviceFiles(system, device.address), device);
  return kept;
}

}  // namespace

void collect_pci(System& system, const CollectOptions&, Machine& machine) {
  using Devices = Fact<std::vector<PciDevice>>;
  const auto entries = system.list(devices_folder);
  if (entries) {
    machine.pci = Devices::known(collect_functions(system, *entries), origin_of(devices_folder));
    return;
  }
  const auto buses = system.list("/sys/bus");
  if (system.is_live() && buses && !buses->empty() && entries.error().code == ErrorCode::NotFound) {
    machine.pci = Devices::absent(origin_of("/sys/bus", "no PCI bus"));  // some small virtual machines, WSL1
  } else if (entries.error().code == ErrorCode::NotFound) {
    machine.pci = Devices::not_seen("no /sys/bus/pci here", origin_of(devices_folder));
  } else {
    machine.pci = not_seen_because<std::vector<PciDevice>>(entries.error(), devices_folder);
  }
}

}  // namespace gpuvet
