// The driver's side in a text: kernel log, modules, PCI devices, DKMS, device nodes, driver libraries, the loader's cache, packages,
// services.

#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "model/version.h"
#include "text/kernel_log_text.h"
#include "text/printable.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

StringPiece piece(std::string_view s) { return {s.data(), s.size()}; }
std::string_view view(const StringPiece& s) { return s.data() == nullptr ? std::string_view() : std::string_view(s.data(), s.size()); }

struct Patterns {
  RE2 nvrm_version{R"re(NVRM version: NVIDIA UNIX (Open )?(?:Kernel Module|\S+ (?:Open )?Kernel Module)(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?))re"};
  RE2 loading{R"re(NVRM: loading NVIDIA UNIX (Open )?(?:Kernel Module for \S+|\S+ Kernel Module)\s+(\d+\.\d+(?:\.\d+)?))re"};
  RE2 lspci{R"re(^\s*(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) (VGA compatible controller|3D controller|Display controller)(?: \[03\d\d\])?: (.*)$)re"};
  RE2 pci_ids{R"re(\[([0-9a-f]{4}):([0-9a-f]{4})\])re"};
  RE2 in_use{R"re(^\s+Kernel driver in use: (\S+))re"};
  RE2 dkms{R"re(^\s*(nvidia[a-z0-9-]*)[/,] ?([0-9][0-9.]+)(?:, ([^,:]+))?(?:, ([^,:]+))?: (added|built|installed|broken)\b)re"};
  RE2 node{R"re(^\s*([cdlsp-])([rwxsStT-]{9})[.+@]?\s+\d+\s+(\S+)\s+(\S+)\s+(\d+),\s*(\d+)\s.*?(/dev/\S+|nvidia\S*|dxg)\s*$)re"};
  RE2 library{R"re(^\s*(?:([l-])[rwx-]{9}[.+]?\s+\d+\s+\S+\s+\S+\s+(\d+)\s.*?\s)?(\S*lib(?:cuda|nvidia-ml)\.so[0-9.]*)(?: -> (\S+))?\s*$)re"};
  RE2 cache{R"re(^\s*(lib\S+\.so[.0-9]*) \((?:libc6|ELF)[^)]*\) => (\S+)\s*$)re"};
  RE2 dpkg{R"re(^\s*([a-z][a-zA-Z])[A-Z ]?\s+(\S+?)(?::(amd64|arm64|i386|all))?\s+(\d\S*)\s+(amd64|arm64|i386|all|x86_64)?\b)re"};
  RE2 apt{R"re(^\s*([a-z0-9][a-z0-9.+-]+)/\S+ (\d\S*) (amd64|arm64|all|i386)\b.*\[(?:installed|upgradable))re"};
  RE2 rpm{R"re(^\s*((?:[a-z0-9]+-)*?(?:nvidia|cuda|akmod|kmod|libnvidia|libcuda|xorg-x11-drv-nvidia|kernel)[a-z0-9_-]*?)-((?:\d+:)?\d[0-9.]*-\S+?)\.(x86_64|aarch64|noarch)\s*$)re"};
  RE2 pacman{R"re(^\s*(?:\S+/)?((?:lib32-)?(?:nvidia|cuda|cudnn|linux|linux-lts|linux-zen)[a-z0-9-]*) (\d\S*-\d[\d.]*)\b)re"};
  RE2 module_row{R"re(^\s*(nvidia(?:_[a-z]+)?|nouveau|nova_core|vfio_pci|bbswitch|amdgpu|i915)\s+(\d+)\s+(-?\d+)(?:\s+(\S+))?\s*$)re"};
  RE2 active{R"re(^\s*(active|inactive|failed|activating)\s*$)re"};
  RE2 secure_boot{R"re(SecureBoot (enabled|disabled))re"};
  RE2 modprobe{R"re(^\s*(blacklist|alias|options|install)\s+(\S+)(?:\s+(.*\S))?\s*$)re"};
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

void read_bus(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  const Patterns& p = patterns();
  PciDevice* last = nullptr;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece domain, address, kind, rest, vendor, device;
    if (last != nullptr && RE2::PartialMatch(piece(line), p.in_use, &rest)) {
      last->driver = Fact<std::string>::known(std::string(view(rest)), origin_of(text, i));
      continue;
    }
    if (!line.empty() && line.front() != ' ' && line.front() != '\t') last = nullptr;
    if (!RE2::PartialMatch(piece(line), p.lspci, &domain, &address, &kind, &rest)) continue;
    PciDevice found;
    found.address = (domain.empty() ? "0000" : std::string(view(domain))) + ":" + std::string(view(address));
    found.class_code = view(kind).starts_with("VGA") ? 0x030000 : view(kind).starts_with("3D") ? 0x030200 : 0x038000;
    found.origin = origin_of(text, i);
    if (RE2::PartialMatch(rest, p.pci_ids, &vendor, &device)) {
      found.vendor = std::strtol(std::string(view(vendor)).c_str(), nullptr, 16);
      found.device = std::strtol(std::string(view(device)).c_str(), nullptr, 16);
    } else if (view(rest).find("NVIDIA") != std::string_view::npos || view(rest).find("nVidia") != std::string_view::npos) {
      found.vendor = 0x10de;
      // "NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)"
      const std::size_t open = view(rest).find('['), close = view(rest).find(']');
      if (open != std::string_view::npos && close != std::string_view::npos && close > open)
        if (const auto id = device_of_name(knowledge, view(rest).substr(open + 1, close - open - 1))) found.device = *id;
      if (found.device == 0) add_observation(machine, text, i, "nvidia-pci-device", {{"address", found.address}});
    } else if (view(rest).find("Advanced Micro Devices") != std::string_view::npos || view(rest).find("[AMD/ATI]") != std::string_view::npos) {
      found.vendor = 0x1002;
    } else if (view(rest).find("Intel") != std::string_view::npos) {
      found.vendor = 0x8086;
    } else {
      found.vendor = 0xffff;
    }
    if (found.vendor == 0x10de && found.device == 0) continue;
    if (view(rest).find("(rev ff)") != std::string_view::npos) found.config_all_ones = Fact<bool>::known(true, origin_of(text, i));
    if (!machine.pci.is_known()) machine.pci = Fact<std::vector<PciDevice>>::known({}, origin_of(text, i));
    auto& devices = *machine.pci.get();
    const bool known = std::ranges::any_of(devices, [&](const PciDevice& d) { return d.address == found.address; });
    if (!known) devices.push_back(std::move(found));
    last = &devices.back();
  }
}

bool package_matters(std::string_view name) {
  for (const std::string_view part : {"nvidia", "cuda", "cudnn", "nccl", "linux-headers", "linux-image", "kernel-devel", "kernel-headers", "dkms", "nouveau", "akmod"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

void add_package(Machine& machine, const PastedText& text, std::size_t line, std::string_view name, std::string_view version,
                 std::string_view manager, std::string_view status) {
  if (!package_matters(name) || in_container(text, line)) return;
  if (!machine.packages.installed.is_known()) {
    machine.packages.installed = Fact<std::vector<Package>>::known({}, origin_of(text, line));
    machine.packages.manager = Fact<std::string>::known(std::string(manager), origin_of(text, line));
  }
  Package package;
  package.name = name;
  package.version = version;
  package.manager = manager;
  package.status = status;
  package.origin = origin_of(text, line);
  machine.packages.installed.get()->push_back(std::move(package));
}

void read_packages(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    if (line.size() > 300) continue;
    StringPiece a, b, c, d;
    if (RE2::PartialMatch(piece(line), p.dpkg, &a, &b, &c, &d) && (view(a) == "ii" || view(a) == "hi" || view(a) == "rc" || view(a) == "iU" || view(a) == "iF" || view(a) == "iH")) {
      const std::string_view state = view(a);
      add_package(machine, text, i, view(b), view(d), "dpkg",
                  state == "rc" ? "config-files" : state == "iU" ? "unpacked" : state == "iF" ? "half-configured" : state == "iH" ? "half-installed" : "installed");
    } else if (RE2::PartialMatch(piece(line), p.apt, &a, &b)) {
      add_package(machine, text, i, view(a), view(b), "dpkg", "installed");
    } else if (RE2::PartialMatch(piece(line), p.rpm, &a, &b)) {
      add_package(machine, text, i, view(a), view(b), "rpm", "installed");
    } else if (const PasteSegment* segment = segment_of(text, i); segment != nullptr && runs(*segment, "pacman") && RE2::PartialMatch(piece(line), p.pacman, &a, &b)) {
      add_package(machine, text, i, view(a), view(b), "pacman", "installed");
    }
  }
}

void read_dkms(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  std::vector<DkmsModule> modules;
  std::size_t first = 0;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece name, version, kernel, architecture, state;
    if (!RE2::PartialMatch(piece(text.lines[i].text), p.dkms, &name, &version, &kernel, &architecture, &state)) continue;
    if (modules.empty()) first = i;
    DkmsModule module;
    module.name = view(name);
    module.version = view(version);
    module.kernel = view(kernel);
    module.architecture = view(architecture);
    module.state = view(state);
    module.error_lines = {origin_of(text, i)};
    modules.push_back(std::move(module));
  }
  if (!modules.empty()) machine.kernel_driver.dkms = Fact<std::vector<DkmsModule>>::known(std::move(modules), origin_of(text, first));
  // ls of the build link: "No such file or directory" there means no headers for that kernel.
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece kernel;
    static const RE2 missing{R"re(/lib/modules/([^/'"]+)/build\b.*(?:No such file or directory|没有那个文件或目录))re"};
    if (RE2::PartialMatch(piece(text.lines[i].text), missing, &kernel))
      add_observation(machine, text, i, "kernel-headers-missing", {{"kernel", std::string(view(kernel))}});
  }
}

void read_nodes(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  bool listed = false;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece type, mode, user, group, major, minor, path;
    if (!RE2::PartialMatch(piece(text.lines[i].text), p.node, &type, &mode, &user, &group, &major, &minor, &path)) continue;
    std::string name(view(path));
    if (!name.starts_with("/dev/")) name = "/dev/" + name;
    if (!name.starts_with("/dev/nvidia") && name != "/dev/dxg") continue;
    add_observation(machine, text, i, "device-node",
                    {{"path", name}, {"mode", std::string(view(mode))}, {"user", std::string(view(user))}, {"group", std::string(view(group))}});
    if (!listed) {
      listed = true;
      const PasteSegment* segment = segment_of(text, i);
      const bool all = segment != nullptr && (segment->command.find("/dev/nvidia*") != std::string::npos || segment->command.find("/dev | grep nvidia") != std::string::npos || segment->command.find("/dev/ | grep") != std::string::npos);
      if (all) add_observation(machine, text, i, "device-nodes-listed", {});
    }
  }
}

/// Driver libraries in a listing: versions in their names, where links lead, empty files.
void read_libraries(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece type, size, path, target, soname;
    if (RE2::PartialMatch(piece(line), p.cache, &soname, &path)) {
      add_observation(machine, text, i, "loader-cache", {{"soname", std::string(view(soname))}, {"path", std::string(view(path))}});
      continue;
    }
    if (line.size() > 300 || !RE2::PartialMatch(piece(line), p.library, &type, &size, &path, &target)) continue;
    const PasteSegment* segment = segment_of(text, i);
    if (segment != nullptr && segment->first > i) continue;  // the command itself
    add_observation(machine, text, i, "driver-library",
                    {{"path", std::string(view(path))}, {"target", std::string(view(target))}, {"size", std::string(view(size))}});
  }
}

/// CUDA libraries that the text shows as files: outputs of ls, find, where, ldconfig -p, but no error messages.
void read_library_files(const PastedText& text, Machine& machine) {
  static const RE2 file{R"re(((?:/[^\s:'"<>|]*/|[A-Za-z]:\\[^:*?"<>|]*\\|^\s*)(?:lib(?:cud|cub|cuf|cur|cus|nv|nccl|npp)[A-Za-z0-9_-]*\.so[.0-9]*|(?:cud|cub|cuf|cur|cus|nv)[A-Za-z0-9_]*\.dll)))re"};
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.lines.size() && kept < 200; ++i) {
    const std::string& line = text.lines[i].text;
    bool message = false;
    for (const std::string_view word : {"cannot ", "No such file", "not found", "rror", "Could not", "Traceback", "undefined symbol", "Possible files"})
      message |= line.find(word) != std::string::npos;
    if (message) continue;
    const PasteSegment* segment = segment_of(text, i);
    if (segment != nullptr && segment->line == i && !segment->command.empty()) continue;
    StringPiece rest = piece(line), path;
    while (kept < 200 && RE2::FindAndConsume(&rest, file, &path)) {
      ++kept;
      const std::string_view whole = trimmed(view(path));
      const std::size_t slash = whole.find_last_of("/\\");
      add_observation(machine, text, i, "library-seen", {{"path", std::string(whole)}, {"name", std::string(whole.substr(slash + 1))}});
    }
  }
}

/// Display adapters that are named without lspci: wmic, PowerShell, system reports.
void read_other_gpus(const PastedText& text, Machine& machine) {
  static const RE2 other{R"re(((?:AMD )?Radeon(?:\(TM\)| RX| Pro| VII)?[ A-Za-z0-9()]*|Intel\(R\) (?:UHD|HD|Iris)[^|,]*Graphics[ A-Za-z0-9]*|Intel\(R\) Arc\S* [A-Z0-9]+|\bgfx(?:9|10|11|12)\d\d?\b))re"};
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece name;
    if (text.lines[i].text.size() < 300 && RE2::PartialMatch(piece(text.lines[i].text), other, &name)) {
      const bool amd = view(name).find("Intel") == std::string_view::npos;
      add_observation(machine, text, i, "other-gpu", {{"vendor", amd ? "amd" : "intel"}, {"name", std::string(trimmed(view(name)))}});
    }
  }
}

void read_modules(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece a, b, c, d;
    if (in_windows(text, i)) continue;
    if (RE2::PartialMatch(piece(line), p.nvrm_version, &a, &b) || RE2::PartialMatch(piece(line), p.loading, &a, &b)) {
      const bool open = !a.empty() || line.find("Open Kernel Module") != std::string::npos;
      if (machine.kernel_driver.version.is_known() && line.find("NVRM version") != std::string::npos &&
          !machine.kernel_driver.version.is(std::string(view(b))))
        machine.kernel_driver.version = Fact<std::string>::known(std::string(view(b)), origin_of(text, i));
      set_fact(machine.kernel_driver.version, std::string(view(b)), text, i);
      set_fact(machine.kernel_driver.flavor, std::string(open ? "open" : "proprietary"), text, i);
      add_observation(machine, text, i, "loaded-module", {{"version", std::string(view(b))}, {"flavor", open ? "open" : "proprietary"}});
    }
    if (RE2::PartialMatch(piece(line), p.module_row, &a, &b, &c, &d)) {
      if (!machine.kernel_driver.loaded.is_known()) machine.kernel_driver.loaded = Fact<std::vector<LoadedModule>>::known({}, origin_of(text, i));
      LoadedModule module;
      module.name = view(a);
      module.state = "Live";
      module.origin = origin_of(text, i);
      machine.kernel_driver.loaded.get()->push_back(std::move(module));
    }
    if (RE2::PartialMatch(piece(line), p.secure_boot, &a)) set_fact(machine.os.secure_boot, view(a) == "enabled", text, i);
    if (RE2::PartialMatch(piece(line), p.modprobe, &a, &b, &c) && (view(b).find("nvidia") != std::string_view::npos || view(b) == "nouveau")) {
      std::string source = text.name;
      if (const PasteSegment* segment = segment_of(text, i); segment != nullptr && runs(*segment, "cat") && segment->command.size() > 4)
        source = segment->command.substr(4);
      add_observation(machine, text, i, "modprobe-line",
                      {{"kind", std::string(view(a))}, {"module", std::string(view(b))}, {"value", std::string(view(c))}, {"file", source}});
    }
  }
}

void read_answers(const PastedText& text, Machine& machine) {
  for (const PasteSegment& segment : text.segments) {
    if (segment.first >= segment.end) {
      // Nothing was printed: `lsmod | grep nvidia` says that no such module is loaded.
      if (segment.command.find("lsmod") == 0 && segment.command.find("grep") != std::string::npos && segment.command.find("nvidia") != std::string::npos && segment.line + 1 < text.lines.size())
        add_observation(machine, text, segment.line, "module-not-listed", {{"module", "nvidia"}});
      if (segment.command.find("lspci") == 0 && segment.command.find("grep") != std::string::npos && (segment.command.find("vidia") != std::string::npos || segment.command.find("VIDIA") != std::string::npos) && segment.line + 1 < text.lines.size())
        add_observation(machine, text, segment.line, "gpu-not-listed", {});
      if (segment.command.find("/lib/modules") != std::string::npos && segment.command.find("nvidia") != std::string::npos && segment.line + 1 < text.lines.size())
        add_observation(machine, text, segment.line, "driver-not-listed", {{"where", "modules"}});
      if ((segment.command.find("dpkg -l") == 0 || segment.command.find("rpm -qa") == 0 || segment.command.find("pacman -Q") == 0) && segment.command.find("nvidia") != std::string::npos && segment.line + 1 < text.lines.size())
        add_observation(machine, text, segment.line, "driver-not-listed", {{"where", "packages"}});
      continue;
    }
    const std::string_view first = trimmed(text.lines[segment.first].text);
    if (segment.command.find("systemctl status") != std::string::npos) {
      for (std::size_t i = segment.first; i < segment.end; ++i) {
        const auto state = value_behind(text.lines[i].text, "Active: ", " ");
        if (!state) continue;
        std::string unit = segment.command.substr(segment.command.find("status") + 6);
        unit = std::string(trimmed(unit));
        unit = unit.substr(0, unit.find_first_of(" ."));
        add_observation(machine, text, i, "service", {{"unit", unit}, {"state", std::string(*state)}});
      }
    }
    if (segment.command.find("DeviceRequests") != std::string::npos && (first.starts_with("[]") || first.starts_with("null") || first.starts_with("<no value>")))
      add_observation(machine, text, segment.first, "device-requests", {{"gpus", "no"}});
    if (segment.command.find("/sys/module/nvidia/version") != std::string::npos && DriverVersion::parse(first)) {
      set_fact(machine.kernel_driver.version, std::string(first), text, segment.first);
      add_observation(machine, text, segment.first, "loaded-module", {{"version", std::string(first)}});
    }
    if (segment.command.find("systemctl") != std::string::npos && RE2::FullMatch(piece(first), patterns().active)) {
      const std::size_t at = segment.command.rfind(' ');
      std::string unit = segment.command.substr(at == std::string::npos ? 0 : at + 1);
      if (unit.ends_with(".service")) unit.resize(unit.size() - 8);
      add_observation(machine, text, segment.first, "service", {{"unit", unit}, {"state", std::string(first)}});
    }
    if (segment.command.find("prime-select") != std::string::npos || segment.command.find("envycontrol") != std::string::npos || segment.command.find("supergfxctl") != std::string::npos) {
      set_fact(machine.kernel_driver.prime_profile, std::string(first), text, segment.first);
      add_observation(machine, text, segment.first, "graphics-profile", {{"tool", segment.command.substr(0, segment.command.find(' '))}, {"profile", std::string(first)}});
    }
  }
}

}  // namespace

void read_driver(const PastedText& text, const Knowledge& knowledge, Machine& machine) {
  read_log(text, machine);
  read_bus(text, knowledge, machine);
  read_packages(text, machine);
  read_dkms(text, machine);
  read_nodes(text, machine);
  read_libraries(text, machine);
  read_library_files(text, machine);
  read_other_gpus(text, machine);
  read_modules(text, machine);
  read_answers(text, machine);
}

}  // namespace gpuvet
