// The driver's side in a text: kernel log, device nodes, driver libraries, services, Secure Boot, switches of laptops.

#include <algorithm>
#include <array>
#include <string>

#include "model/text_search.h"
#include "model/version.h"
#include "text/driver_text_parts.h"
#include "text/kernel_log_text.h"
#include "text/printable.h"
#include "text/re2_text.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

struct Patterns {
  RE2 node{R"re(^\s*([cdlsp-])([rwxsStT-]{9})[.+@]?\s+\d+\s+(\S+)\s+(\S+)\s+(\d+),\s*(\d+)\s.*?(/dev/\S+|nvidia\S*|dxg)\s*$)re"};
  RE2 node_name{R"re(^(?:/dev/)?(nvidia(?:\d+|ctl|-uvm|-uvm-tools|-modeset|-caps|-nvswitch\d+|-nvswitchctl)|dxg):?$)re"};
  RE2 library{
      R"re(^\s*(?:([l-])[rwx-]{9}[.+]?\s+\d+\s+\S+\s+\S+\s+(\d+)\s.*?\s)?(\S*lib(?:cuda|nvidia-ml)\.so[0-9.]*)(?: -> (\S+))?\s*$)re"};
  RE2 library_name{R"re(^\S*lib(?:cuda|nvidia-ml)\.so[0-9.]*$)re"};
  RE2 active{R"re(^(active|inactive|failed|activating|deactivating|unknown)$)re"};
  RE2 unit{R"re(^\s*[●○×*]?\s*([A-Za-z0-9@_.-]+)\.service(?: - .*)?$)re"};
  RE2 unit_loaded{R"re(^\s*Loaded: loaded \((/[^;)]+);\s*([a-z-]+))re"};
  RE2 unit_active{R"re(^\s*Active: ([a-z]+))re"};
  RE2 no_unit{R"re(Unit (\S+?)(?:\.service)? (?:could not be found|not found)\.)re"};
  RE2 secure_boot{R"re(SecureBoot (enabled|disabled))re"};
  RE2 remove_rule{R"re((?:^|[\s/])((?:00|50)-remove-nvidia\.rules)\b)re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

void read_log(const PastedText& text, Machine& machine) {
  KernelLogParser parser;
  // Line by line, so that numbers stay those of the text where some were left out.
  std::string whole;
  std::vector<std::uint32_t> numbers;
  for (const PasteLine& line : text.lines) {
    // rsyslog writes the line ends inside a message as #012.
    std::string_view rest = line.text;
    for (;;) {
      const std::size_t at = rest.find("#012");
      whole += std::string(rest.substr(0, at)) + "\n";
      numbers.push_back(line.number);
      if (at == std::string_view::npos) break;
      rest.remove_prefix(at + 4);
    }
  }
  parser.feed(text.name, whole);
  std::vector<LogEvent> events = parser.finish();
  if (events.empty()) return;
  for (LogEvent& event : events) {
    if (event.origin.line > 0 && event.origin.line <= numbers.size()) event.origin.line = numbers[event.origin.line - 1];
    event.boot = 0;
  }
  machine.kernel_log.events = Fact<std::vector<LogEvent>>::known(std::move(events), {text.name, 0, ""});
}

/// A listing of all of NVIDIA's nodes, not of some of them.
bool lists_all_nodes(const PasteSegment* segment) {
  if (segment == nullptr) return false;
  const std::string& command = segment->command;
  // "podman exec NAME ls /dev": the container's own listing.
  const bool inside = segment->place == PastePlace::Container && command.find(" ls ") != std::string::npos;
  if (!inside && !runs(*segment, "ls")) return false;
  if (command.find("/dev/nvidia*") != std::string::npos) return true;
  return command.find("/dev") != std::string::npos && command.find("/dev/nvidia") == std::string::npos &&
         command.find("grep") != std::string::npos && contains_ignoring_case(command, "nv");
}

struct Node {
  std::string path, mode, user, group, major;
};

/// The nodes of a line: of `ls -l`, or names in columns.
std::vector<Node> nodes_of(const std::string& line) {
  const Patterns& p = patterns();
  StringPiece type, mode, user, group, major, minor, path;
  if (RE2::PartialMatch(piece(line), p.node, &type, &mode, &user, &group, &major, &minor, &path)) {
    std::string name(view(path));
    if (!name.starts_with("/dev/")) name = "/dev/" + name;
    return {
        {std::move(name), std::string(view(mode)), std::string(view(user)), std::string(view(group)), std::string(view(major))}};
  }
  std::vector<Node> nodes;
  std::string_view rest = trimmed(line);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest = trimmed(rest.substr(word.size()));
    StringPiece name;
    if (!RE2::FullMatch(piece(word), p.node_name, &name)) return {};
    nodes.push_back({"/dev/" + std::string(view(name)), {}, {}, {}, {}});
  }
  return nodes;
}

/// "ls: cannot access '/dev/nvidia*': No such file or directory": a host without any node.
void read_no_nodes(const PastedText& text, std::size_t i, Machine& machine) {
  static const RE2 none{
      R"re((?:cannot access|无法访问) ['‘"]?/dev/nvidia\*['’"]?\s*[:：] ?(?:No such file or directory|没有那个文件或目录))re"};
  const PasteSegment* segment = segment_of(text, i);
  const bool on_host = segment == nullptr || segment->place == PastePlace::Host;
  if (on_host && text.lines[i].text.size() < 300 && RE2::PartialMatch(piece(text.lines[i].text), none))
    set_fact(machine.device_nodes.nodes, std::vector<DeviceNode>(), text, i);
}

void read_nodes(const PastedText& text, Machine& machine) {
  bool listed = false;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    read_no_nodes(text, i, machine);
    const PasteSegment* segment = segment_of(text, i);
    if (text.lines[i].text.size() > 600 || (segment != nullptr && i < segment->first)) continue;
    for (const Node& node : nodes_of(text.lines[i].text)) {
      if (!node.path.starts_with("/dev/nvidia") && node.path != "/dev/dxg") continue;
      add_observation(
          machine, text, i, "device-node",
          {{"path", node.path}, {"mode", node.mode}, {"user", node.user}, {"group", node.group}, {"major", node.major}});
      if (node.path == "/dev/dxg") set_fact<std::int64_t>(machine.os.wsl, 2, text, i);
      if (listed || !lists_all_nodes(segment)) continue;
      listed = true;
      add_observation(machine, text, i, "device-nodes-listed", {});
    }
  }
}

/// /proc/devices: "509 nvidia-uvm".
void read_majors(const PastedText& text, Machine& machine) {
  static const RE2 major{R"re(^\s*(\d{1,3}) (nvidia(?:-frontend|ctl|-uvm|-caps)?)\s*$)re"};
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece number, name;
    if (text.lines[i].text.size() < 60 && RE2::PartialMatch(piece(text.lines[i].text), major, &number, &name))
      add_observation(machine, text, i, "driver-major",
                      {{"name", std::string(view(name))}, {"major", std::string(view(number))}});
  }
}

/// Driver libraries in a listing: versions in their names, where links lead, empty files.
void read_libraries(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    const PasteSegment* segment = segment_of(text, i);
    if (line.size() > 600 || (segment != nullptr && segment->first > i)) continue;
    StringPiece type, size, path, target;
    const auto add = [&](std::string_view file) {
      add_observation(machine, text, i, "driver-library",
                      {{"path", std::string(file)}, {"target", std::string(view(target))}, {"size", std::string(view(size))}});
    };
    if (RE2::PartialMatch(piece(line), p.library, &type, &size, &path, &target)) {
      add(view(path));
      continue;
    }
    // Names in columns.
    std::vector<std::string_view> names;
    std::string_view rest = trimmed(line);
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
      if (!RE2::FullMatch(piece(word), p.library_name)) break;
      names.push_back(word);
      rest = trimmed(rest.substr(word.size()));
    }
    if (rest.empty())
      for (const std::string_view name : names) add(name);
  }
}

/// CUDA libraries that the text shows as files: outputs of ls, find, where, ldconfig -p, but no error messages.
void read_library_files(const PastedText& text, Machine& machine) {
  static const RE2 file{
      R"re(((?:/[^\s:'"<>|]*/|[A-Za-z]:\\[^:*?"<>|]*\\|^\s*|^[-dla][-adrhslwx.]{3,9}\s.*\s|^\d[\d/.-]+\s.*\s)(?:lib(?:cud|cub|cuf|cur|cus|nv|nccl|npp)[A-Za-z0-9_-]*\.so[.0-9]*|(?:cud|cub|cuf|cur|cus|nv)[A-Za-z0-9_]*\.dll)))re"};
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.lines.size() && kept < 200; ++i) {
    const std::string& line = text.lines[i].text;
    bool message = false;
    for (const std::string_view word :
         {"cannot ", "No such file", "not found", "rror", "Could not", "Traceback", "undefined symbol", "Possible files"})
      message |= line.find(word) != std::string::npos;
    if (message) continue;
    const PasteSegment* segment = segment_of(text, i);
    if (segment != nullptr && segment->line == i && !segment->command.empty()) continue;
    StringPiece rest = piece(line), path;
    while (kept < 200 && RE2::FindAndConsume(&rest, file, &path)) {
      ++kept;
      const std::string_view whole = trimmed(view(path));
      const std::size_t slash = whole.find_last_of("/\\ \t");
      add_observation(machine, text, i, "library-seen",
                      {{"path", std::string(whole)}, {"name", std::string(whole.substr(slash + 1))}});
    }
  }
}

/// Files of the kernel module that find, locate or ls show. Which kernels have one; not that others have none.
void read_module_files(const PastedText& text, Machine& machine) {
  static const RE2 file{R"re(^[^'"]*?(?:/usr)?/lib/modules/(\d+\.\d+[^/\s]*)/\S*/(nvidia)\.ko(?:\.(?:xz|zst|gz))?\s*$)re"};
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece kernel, name;
    if (text.lines[i].text.size() < 400 && RE2::PartialMatch(piece(text.lines[i].text), file, &kernel, &name))
      add_observation(machine, text, i, "module-file", {{"kernel", std::string(view(kernel))}});
  }
}

/// Display adapters that are named without lspci: wmic, PowerShell, system reports.
void read_other_gpus(const PastedText& text, Machine& machine) {
  static const RE2 other{
      R"re(((?:AMD )?Radeon(?:\(TM\)| RX| Pro| VII)?[ A-Za-z0-9()]*|Intel\(R\) (?:UHD|HD|Iris)[^|,]*Graphics[ A-Za-z0-9]*|Intel\(R\) Arc\S* [A-Z0-9]+|\bgfx(?:9|10|11|12)\d\d?\b))re"};
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece name;
    if (text.lines[i].text.size() < 300 && RE2::PartialMatch(piece(text.lines[i].text), other, &name)) {
      const bool amd = view(name).find("Intel") == std::string_view::npos;
      add_observation(machine, text, i, "other-gpu",
                      {{"vendor", amd ? "amd" : "intel"}, {"name", std::string(trimmed(view(name)))}});
    }
  }
}

// ---- services ---------------------------------------------------------------------------------------------------------

Service& service_named(Machine& machine, const PastedText& text, std::size_t line, std::string_view name) {
  set_fact(machine.services, std::vector<Service>(), text, line);
  auto& list = *machine.services.get();
  constexpr std::size_t most = 100;  // of a hostile text the last one takes the rest
  const auto known = std::ranges::find(list, name, &Service::name);
  if (known != list.end()) return *known;
  if (list.size() >= most) return list.back();
  Service service;
  service.name = name;
  list.push_back(std::move(service));
  return list.back();
}

/// "activating" and "unknown" say neither.
void set_running(Machine& machine, const PastedText& text, std::size_t line, std::string_view unit, std::string_view state) {
  Service& service = service_named(machine, text, line, unit);
  if (state == "active") set_fact(service.running, true, text, line);
  if (state == "inactive" || state == "failed") set_fact(service.running, false, text, line);
  add_observation(machine, text, line, "service", {{"unit", std::string(unit)}, {"state", std::string(state)}});
}

std::string_view without_suffix(std::string_view unit) {
  if (unit.ends_with(".service")) unit.remove_suffix(8);
  return unit;
}

/// `systemctl status`, in any place of the text: the unit's own line starts it.
void read_services(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  std::string unit;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    if (line.size() > 400 || in_container(text, i)) continue;
    StringPiece word, enabled;
    if (RE2::PartialMatch(piece(line), p.no_unit, &word)) {
      service_named(machine, text, i, view(word)).unit = Fact<std::string>::absent(origin_of(text, i));
    } else if (RE2::FullMatch(piece(line), p.unit, &word)) {
      unit = view(word);
    } else if (!unit.empty() && RE2::PartialMatch(piece(line), p.unit_loaded, &word, &enabled)) {
      Service& service = service_named(machine, text, i, unit);
      set_fact(service.unit, std::string(view(word)), text, i);
      if (view(enabled) == "enabled" || view(enabled) == "disabled")
        set_fact(service.enabled, view(enabled) == "enabled", text, i);
    } else if (!unit.empty() && RE2::PartialMatch(piece(line), p.unit_active, &word)) {
      set_running(machine, text, i, unit, view(word));
      unit.clear();
    }
  }
}

/// `systemctl is-active a b`: a line for each.
void read_is_active(const PastedText& text, const PasteSegment& segment, Machine& machine) {
  std::string_view units = arguments_of(segment);
  const bool active = units.starts_with("is-active "), enabled = units.starts_with("is-enabled ");
  if ((!active && !enabled) || segment.place == PastePlace::Container) return;
  units = trimmed(units.substr(units.find(' ')));
  for (std::size_t i = segment.first; i < segment.end && !units.empty(); ++i) {
    const std::string_view unit = without_suffix(units.substr(0, units.find(' ')));
    units = trimmed(units.substr(std::min(units.size(), units.find(' '))));
    const std::string_view answer = trimmed(text.lines[i].text);
    if (active && RE2::FullMatch(piece(answer), patterns().active)) set_running(machine, text, i, unit, answer);
    if (enabled && (answer == "enabled" || answer == "disabled"))
      set_fact(service_named(machine, text, i, unit).enabled, answer == "enabled", text, i);
  }
}

// ---- answers to single commands ---------------------------------------------------------------------------------------

/// Which GPU a laptop's switch has chosen. https://github.com/bayasdev/envycontrol, nvidia-prime, supergfxctl
bool is_profile(std::string_view word) {
  constexpr std::array<std::string_view, 8> profiles{"intel",      "amd",    "nvidia",    "on-demand",
                                                     "integrated", "hybrid", "dedicated", "asusmuxdgpu"};
  return std::ranges::any_of(profiles,
                             [&](std::string_view p) { return p.size() == word.size() && contains_ignoring_case(word, p); });
}

void read_switches(const PastedText& text, Machine& machine) {
  for (const PasteSegment& segment : text.segments) {
    if (segment.first >= segment.end) continue;
    const bool asks = runs(segment, "prime-select") || runs(segment, "envycontrol") || runs(segment, "supergfxctl") ||
                      runs(segment, "optimus-manager");
    const std::string_view last = trimmed(text.lines[segment.first].text);
    // "Current GPU mode is: integrated" (EnvyControl 2), "integrated"
    const std::string_view word = last.substr(last.find_last_of(' ') == std::string_view::npos ? 0 : last.find_last_of(' ') + 1);
    if (asks && is_profile(word)) set_fact(machine.kernel_driver.prime_profile, std::string(word), text, segment.first);
  }
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece file;
    const std::string& line = text.lines[i].text;
    auto& rules = machine.kernel_driver.gpu_remove_rules;
    if (rules.empty() && line.size() < 400 && line.find("No such file") == std::string::npos &&
        RE2::PartialMatch(piece(line), patterns().remove_rule, &file))
      rules.push_back({"/etc/udev/rules.d/" + std::string(view(file)), 0, text.lines[i].quoted});
  }
}

/// "0000:01:00.0 OFF" of /proc/acpi/bbswitch.
void read_bbswitch(const PastedText& text, Machine& machine) {
  static const RE2 off{R"re(^\s*[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] OFF\s*$)re"};
  for (std::size_t i = 0; i < text.lines.size(); ++i)
    if (machine.kernel_driver.gpu_switch_signs.empty() && RE2::PartialMatch(piece(text.lines[i].text), off))
      machine.kernel_driver.gpu_switch_signs.push_back({"/proc/acpi/bbswitch", 0, text.lines[i].quoted});
}

void read_secure_boot(const PastedText& text, Machine& machine) {
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece state;
    const std::string& line = text.lines[i].text;
    if (RE2::PartialMatch(piece(line), patterns().secure_boot, &state))
      set_fact(machine.os.secure_boot, view(state) == "enabled", text, i);
    // mokutil's second line: shim checks no signatures, whatever the firmware does.
    if (line.find("SecureBoot validation is disabled in shim") != std::string::npos)
      machine.os.secure_boot = Fact<bool>::known(false, origin_of(text, i));
  }
}

/// Nothing was printed (or counted) where a driver's files or packages would have been.
void read_silence(const PastedText& text, const PasteSegment& segment, Machine& machine) {
  if (segment.place == PastePlace::Container || !contains_ignoring_case(segment.command, "nvidia")) return;
  const bool counts = segment.command.find("wc -l") != std::string::npos || segment.command.find("grep -c") != std::string::npos;
  const bool none =
      segment.first >= segment.end ? output_is_whole(text, segment) : counts && trimmed(text.lines[segment.first].text) == "0";
  if (!none) return;
  const auto lists = [&](std::string_view program, std::string_view option) {
    return runs(segment, program) && arguments_of(segment).starts_with(option);
  };
  if (segment.command.find("/lib/modules") != std::string::npos)
    add_observation(machine, text, segment.line, "driver-not-listed", {{"where", "modules"}});
  if (lists("dpkg", "-l") || lists("rpm", "-qa") || lists("pacman", "-Q"))
    add_observation(machine, text, segment.line, "driver-not-listed", {{"where", "packages"}});
}

void read_answers(const PastedText& text, Machine& machine) {
  for (const PasteSegment& segment : text.segments) {
    read_silence(text, segment, machine);
    if (segment.first >= segment.end) continue;
    const std::string_view first = trimmed(text.lines[segment.first].text);
    if (segment.command.find("/sys/module/nvidia/version") != std::string::npos && DriverVersion::parse(first))
      set_fact(machine.kernel_driver.version, std::string(first), text, segment.first);
    if (runs(segment, "systemctl")) read_is_active(text, segment, machine);
  }
}

/// NVML's "driver not loaded" (9), unless something shows the module.
void read_driver_not_loaded(const PastedText& text, Machine& machine) {
  KernelDriver& driver = machine.kernel_driver;
  if (!driver.version.is_not_seen() || !driver.loaded.is_not_seen() || machine.os.wsl.is_known()) return;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const PasteSegment* segment = segment_of(text, i);
    if (segment != nullptr && segment->place != PastePlace::Host) continue;
    if (text.lines[i].text.find("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver") ==
        std::string::npos)
      continue;
    driver.version = Fact<std::string>::absent(origin_of(text, i));
    return;
  }
}

/// The runfile installer's log names its version; that it is installed shows a library of that version.
void read_runfile(const PastedText& text, Machine& machine) {
  static const RE2 complete{
      R"re(Installation of the (?:kernel module for the )?NVIDIA (?:Accelerated Graphics )?Driver.*\(version:? ?(\d+\.\d+(?:\.\d+)?)\) is now complete)re"};
  static const RE2 header{R"re(^installer version: (\d+\.\d+(?:\.\d+)?)\s*$)re"};
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece version;
    const std::string& line = text.lines[i].text;
    if (RE2::PartialMatch(piece(line), complete, &version)) {
      set_fact(machine.packages.runfile_driver, std::string(view(version)), text, i);
    } else if (RE2::PartialMatch(piece(line), header, &version)) {
      const std::string suffix = ".so." + std::string(view(version));
      const auto* seen = machine.observations.get();
      const bool there = seen != nullptr && std::ranges::any_of(*seen, [&](const Observation& o) {
                           const auto path = o.parameters.find("path");
                           return o.meaning == "driver-library" && path != o.parameters.end() && path->second.ends_with(suffix);
                         });
      if (there) set_fact(machine.packages.runfile_driver, std::string(view(version)), text, i);
    }
  }
}

}  // namespace

bool output_is_whole(const PastedText& text, const PasteSegment& segment) {
  return !segment.command.empty() && segment.end < text.lines.size();
}

std::string_view arguments_of(const PasteSegment& segment) {
  const std::string_view command = segment.command;
  // Variables in front of the program are words with a '='.
  std::string_view rest = command;
  for (int words = 0; words < 32; ++words) {
    const std::size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return {};
    const std::string_view word = rest.substr(0, blank);
    rest = trimmed(rest.substr(blank));
    if (word.find('=') == std::string_view::npos || word.starts_with('/')) return rest;
  }
  return {};
}

void read_driver(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  read_log(text, machine);
  read_answers(text, machine);
  read_services(text, machine);
  read_switches(text, machine);
  read_bbswitch(text, machine);
  read_bus(text, knowledge, machine);
  read_modules(text, machine);
  read_packages(text, machine);
  read_nodes(text, machine);
  read_majors(text, machine);
  read_libraries(text, machine);
  read_library_files(text, machine);
  read_module_files(text, machine);
  read_other_gpus(text, machine);
  read_secure_boot(text, machine);
  read_runfile(text, machine);
  read_driver_not_loaded(text, machine);
}

}  // namespace gpuvet
