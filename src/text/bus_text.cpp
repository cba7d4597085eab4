// lspci in a text: display controllers of any vendor, NVIDIA's NVSwitches, what is bound to them.

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "model/text_search.h"
#include "text/driver_text_parts.h"
#include "text/re2_text.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

constexpr std::int64_t vendor_nvidia = 0x10de;
constexpr std::size_t most_devices = 256;

struct Patterns {
  // "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)"
  RE2 named{
      R"re(^\s*(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) ([A-Z0-9][^:\[]*?)(?: \[([0-9a-f]{4})\])?: (.+)$)re"};
  // lspci -n: "01:00.0 0300: 10de:2204 (rev a1)"
  RE2 numeric{
      R"re(^\s*(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) ([0-9a-f]{4}): ([0-9a-f]{4}:[0-9a-f]{4}.*)$)re"};
  RE2 ids{R"re((?:^|\[)([0-9a-f]{4}):([0-9a-f]{4})(?:\]|\b))re"};
  RE2 unnamed{R"re(\bDevice ([0-9a-f]{4})\b)re"};
  RE2 in_use{R"re(^\s*Kernel driver in use: (\S+))re"};
  RE2 modules{R"re(^\s*Kernel modules: (\S.*?)\s*$)re"};
  // the driver, of a GPU that it does not serve: "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2c02)"
  RE2 refused{R"re(NVRM: The NVIDIA GPU ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) \(PCI ID: 10de:([0-9a-f]{4})\))re"};
  RE2 slot{R"re( -s\s*(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?:\s|$))re"};
  RE2 width{R"re(^\s*Lnk(Cap|Sta):.*\bWidth x(\d+))re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

struct VendorName {
  std::string_view name;
  std::int64_t vendor;
};
/// How pci.ids calls those who make display controllers. https://pci-ids.ucw.cz/v2.2/pci.ids
constexpr std::array<VendorName, 16> vendor_names{{{"NVIDIA", vendor_nvidia},
                                                   {"nVidia", vendor_nvidia},
                                                   {"Advanced Micro Devices", 0x1002},
                                                   {"[AMD/ATI]", 0x1002},
                                                   {"ATI Technologies", 0x1002},
                                                   {"Intel", 0x8086},
                                                   {"ASPEED", 0x1a03},
                                                   {"Matrox", 0x102b},
                                                   {"Cirrus Logic", 0x1013},
                                                   {"Red Hat", 0x1b36},
                                                   {"Virtio", 0x1af4},
                                                   {"VMware", 0x15ad},
                                                   {"InnoTek", 0x80ee},
                                                   {"Microsoft", 0x1414},
                                                   {"Amazon", 0x1d0f},
                                                   {"Huawei", 0x19e5}}};

std::int64_t hexadecimal(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

/// One line of lspci; class code 0: a function that is kept in no case.
struct Function {
  std::string address;
  std::int64_t class_code = 0;
  std::string_view description;
};

std::int64_t class_of(std::string_view name) {
  if (name.starts_with("VGA compatible controller") || name.starts_with("VGA controller")) return 0x030000;
  if (name.starts_with("3D controller")) return 0x030200;
  if (name.starts_with("Display controller")) return 0x038000;
  if (name == "Bridge") return 0x068000;
  return 0;
}

std::optional<Function> function_of(const std::string& line) {
  const Patterns& p = patterns();
  StringPiece domain, slot, name, code, description;
  Function function;
  if (RE2::PartialMatch(piece(line), p.numeric, &domain, &slot, &code, &description)) {
    const std::int64_t kind = hexadecimal(view(code));
    if (kind == 0x0300 || kind == 0x0302 || kind == 0x0380 || kind == 0x0680) function.class_code = kind << 8;
  } else if (RE2::PartialMatch(piece(line), p.named, &domain, &slot, &name, &code, &description)) {
    function.class_code = class_of(view(name));
  } else {
    return std::nullopt;
  }
  function.address = (domain.empty() ? std::string("0000") : std::string(view(domain))) + ":" + std::string(view(slot));
  for (char& c : function.address) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  function.description = view(description);
  return function;
}

/// Vendor and device; 0: not told.
std::pair<std::int64_t, std::int64_t> identity_of(const Knowledge& knowledge, std::string_view description) {
  const Patterns& p = patterns();
  StringPiece vendor, device;
  if (RE2::PartialMatch(piece(description), p.ids, &vendor, &device))
    return {hexadecimal(view(vendor)), hexadecimal(view(device))};
  const auto* const maker =
      std::ranges::find_if(vendor_names, [&](const VendorName& v) { return description.find(v.name) != std::string_view::npos; });
  if (maker == vendor_names.end()) return {0, 0};
  if (RE2::PartialMatch(piece(description), p.unnamed, &device)) return {maker->vendor, hexadecimal(view(device))};
  if (maker->vendor != vendor_nvidia) return {maker->vendor, 0};
  const std::size_t open = description.find('['), close = description.find(']', open == std::string_view::npos ? 0 : open);
  if (open != std::string_view::npos && close != std::string_view::npos)
    if (const auto id = device_of_name(knowledge, description.substr(open + 1, close - open - 1))) return {vendor_nvidia, *id};
  return {vendor_nvidia, 0};
}

/// Would this command have shown an NVIDIA GPU of any class?
bool would_show_nvidia(std::string_view command) {
  const std::size_t pipe = command.find('|');
  if (pipe == std::string_view::npos) return command.find(" -s") == std::string_view::npos;
  const std::string_view filter = command.substr(pipe);
  return contains_ignoring_case(filter, "nvidia") || contains_ignoring_case(filter, "3d") ||
         contains_ignoring_case(filter, "controller") || contains_ignoring_case(filter, "10de");
}

/// The functions of the text, and whether they are all that matter.
struct Bus {
  std::vector<PciDevice> devices;
  std::optional<std::size_t> first;  ///< line of the first display controller (or of the command that found none)
  bool complete = false;
  std::size_t functions = 0;    ///< display controllers and bridges seen, known before or not
  bool unknown_nvidia = false;  ///< an NVIDIA GPU whose id is not told
};

void take_property(const PastedText& text, std::size_t line, PciDevice& device, Machine& machine) {
  const Patterns& p = patterns();
  const std::string& s = text.lines[line].text;
  StringPiece what, value;
  if (device.vendor == vendor_nvidia && RE2::PartialMatch(piece(s), p.modules, &value))
    add_observation(machine, text, line, "pci-modules", {{"address", device.address}, {"modules", std::string(view(value))}});
  if (RE2::PartialMatch(piece(s), p.in_use, &value)) {
    device.driver = Fact<std::string>::known(std::string(view(value)), origin_of(text, line));
  } else if (device.driver.is_not_seen() && RE2::PartialMatch(piece(s), p.modules)) {
    // lspci names the driver in use before the modules that could be.
    device.driver = Fact<std::string>::absent(origin_of(text, line));
  } else if (s.find("!!! Unknown header type 7f") != std::string::npos) {
    device.config_all_ones = Fact<bool>::known(true, origin_of(text, line));
  } else if (RE2::PartialMatch(piece(s), p.width, &what, &value)) {
    std::int64_t width = 0;
    std::from_chars(value.data(), value.data() + value.size(), width);
    set_fact(view(what) == "Cap" ? device.link_width_max : device.link_width, width, text, line);
  }
}

void take_function(const PastedText& text, std::size_t line, const Knowledge& knowledge, const Function& function, Bus& bus,
                   Machine& machine) {
  // Names are looked for in the whole table: not for a text of nothing but GPUs.
  if (++bus.functions > most_devices) return;
  const auto [vendor, device] = identity_of(knowledge, function.description);
  if (function.class_code == 0x068000 && vendor != vendor_nvidia) return;
  if (!bus.first) bus.first = line;
  if (vendor == vendor_nvidia && device == 0) {
    bus.unknown_nvidia = true;
    add_observation(machine, text, line, "nvidia-pci-device", {{"address", function.address}});
    return;
  }
  if (vendor == 0 || std::ranges::any_of(bus.devices, [&](const PciDevice& d) { return d.address == function.address; })) return;
  PciDevice found;
  found.address = function.address;
  found.class_code = function.class_code;
  found.vendor = vendor;
  found.device = device;
  found.origin = origin_of(text, line);
  if (function.description.find("(rev ff)") != std::string_view::npos)
    found.config_all_ones = Fact<bool>::known(true, found.origin);
  bus.devices.push_back(std::move(found));
}

/// Lines of a GPU that the kernel's log names with its id.
void take_refused(const PastedText& text, std::size_t line, Bus& bus) {
  StringPiece address, device;
  if (!RE2::PartialMatch(piece(text.lines[line].text), patterns().refused, &address, &device)) return;
  PciDevice found;
  found.address = view(address);
  found.vendor = vendor_nvidia;
  found.device = hexadecimal(view(device));
  found.class_code = 0x030000;
  found.origin = origin_of(text, line);
  if (!bus.first) bus.first = line;
  if (bus.devices.size() < most_devices &&
      std::ranges::none_of(bus.devices, [&](const PciDevice& d) { return d.address == found.address; }))
    bus.devices.push_back(std::move(found));
}

void merge(const PastedText& text, Bus bus, Machine& machine) {
  const bool nvidia = std::ranges::any_of(bus.devices, [](const PciDevice& d) { return d.vendor == vendor_nvidia; });
  // `lspci | grep VGA` hides a GPU that is a "3D controller", unless a laptop's switch says that it is off.
  const KernelDriver& driver = machine.kernel_driver;
  const bool switched = driver.prime_profile.is_known() || !driver.gpu_remove_rules.empty() || !driver.gpu_switch_signs.empty();
  if (!bus.first || (!nvidia && !bus.complete && !switched) || bus.unknown_nvidia) return;
  if (!machine.pci.is_known()) {
    machine.pci = Fact<std::vector<PciDevice>>::known(std::move(bus.devices), origin_of(text, *bus.first));
    return;
  }
  // nvidia-smi has told of some, perhaps without their addresses: what lspci says of the same ones is more.
  auto& known = *machine.pci.get();
  const auto listed_twice = [&](const PciDevice& old) {
    const auto same = [&](const PciDevice& d) { return d.vendor == old.vendor && d.device == old.device; };
    return std::ranges::any_of(bus.devices, [&](const PciDevice& d) { return d.address == old.address; }) ||
           std::ranges::count_if(bus.devices, same) >= std::ranges::count_if(known, same);
  };
  std::vector<PciDevice> merged;
  std::ranges::remove_copy_if(known, std::back_inserter(merged), listed_twice);
  std::ranges::move(bus.devices, std::back_inserter(merged));
  known = std::move(merged);
}

/// `lspci -vv -s 61:00.0 | grep Lnk`: the properties of the only GPU that the text names.
void take_properties_of_slot(const PastedText& text, Machine& machine) {
  auto* devices = machine.pci.get();
  if (devices == nullptr) return;
  const auto is_gpu = [](const PciDevice& d) { return d.vendor == vendor_nvidia && (d.class_code >> 16) == 3; };
  for (const PasteSegment& segment : text.segments) {
    StringPiece domain, slot;
    if (!runs(segment, "lspci") || !RE2::PartialMatch(piece(segment.command), patterns().slot, &domain, &slot)) continue;
    const std::string address = (domain.empty() ? "0000" : std::string(view(domain))) + ":" + std::string(view(slot));
    auto device = std::ranges::find(*devices, address, &PciDevice::address);
    if (device == devices->end() && std::ranges::count_if(*devices, is_gpu) == 1) device = std::ranges::find_if(*devices, is_gpu);
    if (device == devices->end()) continue;
    for (std::size_t i = segment.first; i < segment.end; ++i) take_property(text, i, *device, machine);
  }
}

}  // namespace

void read_bus(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  Bus bus;
  std::string open;  // address of the function whose lines follow; empty: none that matters
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    if (line.size() > 600) continue;
    take_refused(text, i, bus);
    if (const auto function = function_of(line)) {
      open.clear();
      if (function->class_code == 0) {
        // A function of another kind and vendor: nothing was picked out.
        const PasteSegment* segment = segment_of(text, i);
        const bool filtered = segment != nullptr && segment->command.find('|') != std::string::npos;
        bus.complete |= !filtered && function->description.find("NVIDIA") == std::string_view::npos;
        continue;
      }
      take_function(text, i, knowledge, *function, bus, machine);
      open = function->address;
      continue;
    }
    if (open.empty()) continue;
    const auto device = std::ranges::find(bus.devices, open, &PciDevice::address);
    if (device != bus.devices.end()) take_property(text, i, *device, machine);
  }
  for (const PasteSegment& segment : text.segments) {
    if (!runs(segment, "lspci") || segment.place != PastePlace::Host || !would_show_nvidia(segment.command)) continue;
    bus.complete |= segment.first < segment.end || output_is_whole(text, segment);
    if (!bus.first && bus.complete) bus.first = segment.line;
  }
  merge(text, std::move(bus), machine);
  take_properties_of_slot(text, machine);
}

}  // namespace gpuvet
