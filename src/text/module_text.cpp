// Kernel modules in a text: lsmod, modinfo, banners of the driver, modprobe.d, DKMS, /lib/modules.

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "model/module_name.h"
#include "model/text_search.h"
#include "model/version.h"
#include "text/driver_text_parts.h"
#include "text/printable.h"
#include "text/re2_text.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

constexpr std::size_t most_entries = 400;

struct Patterns {
  RE2 nvrm_version{
      R"re(NVRM version: NVIDIA UNIX (?:Open )?(?:Kernel Module|\S+ (?:Open )?Kernel Module)(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?))re"};
  RE2 loading{R"re(NVRM: loading NVIDIA UNIX (?:Open )?(?:Kernel Module for \S+|\S+ Kernel Module)\s+(\d+\.\d+(?:\.\d+)?))re"};
  // of a GPU that this driver does not serve
  RE2 refusing{R"re(NVRM:.*?\b(?:NVIDIA (\d+\.\d+(?:\.\d+)?) driver release|(\d+\.\d+(?:\.\d+)?) NVIDIA driver will ignore))re"};
  // nvidia-installer, of a machine in which it knows no GPU
  RE2 unserved{R"re(You do not appear to have an NVIDIA GPU supported by the (\d+\.\d+(?:\.\d+)?))re"};
  // lsmod, and /proc/modules with its state behind
  RE2 row{
      R"re(^\s*([a-z][a-z0-9_]*)\s+(\d+)\s+(-?\d+)(?:\s+([a-z0-9_,-]+))?(?:\s+(Live|Loading|Unloading) 0x[0-9a-f]+.*)?\s*$)re"};
  RE2 heading{R"re(^\s*Module\s+Size\s+Used by)re"};
  RE2 modinfo_file{R"re(^\s*filename:\s+(/\S*/modules/([^/]+)/\S*/([^/\s]+)\.ko(?:\.(xz|zst|gz))?)\s*$)re"};
  RE2 modinfo_field{R"re(^\s*([a-z_0-9]+):\s+(\S.*?)\s*$)re"};
  RE2 modprobe{
      R"re(^\s*(?:(/\S*modprobe\.d/[^\s:]+\.conf):(?:\d+:)?\s*)?(blacklist|alias|options|install|remove|softdep)\s+(\S+)(?:\s+(.*\S))?\s*$)re"};
  RE2 dkms{
      R"re(^\s*(nvidia[a-z0-9-]*)[/,] ?([0-9][^,:\s]*)(?:, ([^,:\s]+))?(?:, ([^,:\s]+))?: (added|built|installed|broken)\b)re"};
  RE2 dkms_failed{R"re(Bad return status for module build on kernel: (\S+)(?: \((\S+)\))?)re"};
  RE2 dkms_log{R"re(/dkms/(nvidia[a-z0-9-]*)/([0-9][^/\s]*)/)re"};
  RE2 no_build{R"re(/lib/modules/([^/'"]+)/build\b.*(?:No such file or directory|没有那个文件或目录))re"};
  RE2 release{R"re(^\d+\.\d+\.\S+$)re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

bool is_module_of_interest(std::string_view name) {
  constexpr std::array<std::string_view, 10> others{"nouveau", "vfio_pci", "pci_stub", "bbswitch", "amdgpu",
                                                    "radeon",  "i915",     "xe",       "dxgkrnl",  "acpi_call"};
  return name.starts_with("nvidia") || name.starts_with("nova_") || std::ranges::find(others, name) != others.end();
}

// ---- the loaded module ------------------------------------------------------------------------------------------------

void read_banner(const PastedText& text, std::size_t i, Machine& machine) {
  const Patterns& p = patterns();
  const std::string& line = text.lines[i].text;
  StringPiece version, other;
  if (RE2::PartialMatch(piece(line), p.refusing, &version, &other)) {
    set_fact(machine.kernel_driver.version, std::string(view(version.empty() ? other : version)), text, i);
    return;
  }
  if (RE2::PartialMatch(piece(line), p.unserved, &version))
    add_observation(machine, text, i, "installer-knows-no-gpu", {{"version", std::string(view(version))}});
  const bool now = RE2::PartialMatch(piece(line), p.nvrm_version, &version);
  if (!now && !RE2::PartialMatch(piece(line), p.loading, &version)) return;
  KernelDriver& driver = machine.kernel_driver;
  const std::string flavor = line.find("Open Kernel Module") != std::string::npos ? "open" : "proprietary";
  // /proc tells what is loaded; a log's line may be of an earlier load.
  if (now && !driver.banner.is_known()) {
    driver.banner = Fact<std::string>::known(line, origin_of(text, i));
    driver.version = Fact<std::string>::known(std::string(view(version)), origin_of(text, i));
    driver.flavor = Fact<std::string>::known(flavor, origin_of(text, i));
  }
  set_fact(driver.version, std::string(view(version)), text, i);
  set_fact(driver.flavor, flavor, text, i);
}

/// Would this output have named NVIDIA's module? `lsmod | grep nouveau` would not.
bool lists_nvidia(const PasteSegment* segment) {
  if (segment == nullptr || segment->command.empty()) return true;
  const std::size_t pipe = segment->command.find('|');
  return pipe == std::string::npos ? runs(*segment, "lsmod") || contains_ignoring_case(segment->command, "/proc/modules")
                                   : contains_ignoring_case(std::string_view(segment->command).substr(pipe), "nv");
}

LoadedModule module_of(const PastedText& text, std::size_t i, std::string_view name, std::string_view count,
                       std::string_view users, std::string_view state) {
  LoadedModule module;
  module.name = name;
  module.state = state.empty() ? "Live" : state;
  std::from_chars(count.data(), count.data() + count.size(), module.use_count);
  while (!users.empty()) {
    const std::string_view user = users.substr(0, users.find(','));
    if (!user.empty() && user != "-") module.used_by.emplace_back(user);
    users.remove_prefix(std::min(users.size(), user.size() + 1));
  }
  module.origin = origin_of(text, i);
  return module;
}

void read_loaded(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  std::vector<LoadedModule> modules;
  std::optional<std::size_t> listed;  // a line from which on an nvidia module would have been named
  bool heading = false;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    if (line.size() > 600 || in_windows(text, i)) continue;
    const PasteSegment* segment = segment_of(text, i);
    if (RE2::PartialMatch(piece(line), p.heading)) {
      heading = true;
      if (!listed && lists_nvidia(segment)) listed = i;
      continue;
    }
    StringPiece name, size, count, users, state;
    if (!RE2::PartialMatch(piece(line), p.row, &name, &size, &count, &users, &state)) {
      if (trimmed(line).empty() || segment == nullptr || i < segment->first) heading = false;
      continue;
    }
    const bool nvidia = view(name).starts_with("nvidia");
    const bool shaped = heading || nvidia || !state.empty() || (segment != nullptr && runs(*segment, "lsmod"));
    if (!shaped || !is_module_of_interest(view(name)) || modules.size() >= most_entries) continue;
    if (!listed && (nvidia || ((heading || (segment != nullptr && !segment->command.empty())) && lists_nvidia(segment))))
      listed = i;
    if (std::ranges::none_of(modules, [&](const LoadedModule& m) { return m.name == view(name); }))
      modules.push_back(module_of(text, i, view(name), view(count), view(users), view(state)));
  }
  for (const PasteSegment& segment : text.segments)
    if (!listed && runs(segment, "lsmod") && segment.first >= segment.end && lists_nvidia(&segment) &&
        output_is_whole(text, segment))
      listed = segment.line;
  if (listed) machine.kernel_driver.loaded = Fact<std::vector<LoadedModule>>::known(std::move(modules), origin_of(text, *listed));
}

// ---- module files -----------------------------------------------------------------------------------------------------

void read_modinfo(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  std::vector<ModuleFile> files;
  std::size_t first = 0;
  bool open = false;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece path, kernel, name, compression, key, value;
    if (line.size() > 1000) continue;
    if (RE2::PartialMatch(piece(line), p.modinfo_file, &path, &kernel, &name, &compression)) {
      open = !nvidia_module_role(view(name)).empty() || view(name) == "nouveau";
      if (!open) continue;
      if (files.empty()) first = i;
      ModuleFile file;
      file.kernel = view(kernel);
      file.name = view(name);
      file.path = view(path);
      file.compression = view(compression);
      files.push_back(std::move(file));
    } else if (open && RE2::PartialMatch(piece(line), p.modinfo_field, &key, &value)) {
      ModuleFile& file = files.back();
      const std::string text_value(view(value));
      if (view(key) == "version") set_fact(file.version, text_value, text, i);
      if (view(key) == "license") set_fact(file.license, text_value, text, i);
      if (view(key) == "srcversion") set_fact(file.srcversion, text_value, text, i);
      if (view(key) == "vermagic") set_fact(file.vermagic, text_value, text, i);
      if (view(key) == "signer") set_fact(file.signer, text_value, text, i);
      if (view(key) == "signer" || view(key) == "sig_id") set_fact(file.has_signature, true, text, i);
    } else {
      open = open && !line.empty() && (line.front() == ' ' || line.front() == '\t');  // a signature's bytes go on
    }
  }
  if (!files.empty())
    machine.kernel_driver.module_files = Fact<std::vector<ModuleFile>>::known(std::move(files), origin_of(text, first));
}

/// `ls /lib/modules`: kernels whose modules are on disk.
void read_kernels(const PastedText& text, Machine& machine) {
  for (const PasteSegment& segment : text.segments) {
    std::string_view argument = arguments_of(segment);
    while (argument.ends_with('/')) argument.remove_suffix(1);
    if (!runs(segment, "ls") || segment.place != PastePlace::Host || segment.first >= segment.end) continue;
    if (argument != "/lib/modules" && argument != "-1 /lib/modules" && argument != "/usr/lib/modules") continue;
    std::vector<InstalledKernel> kernels;
    bool all = true;
    for (std::size_t i = segment.first; i < segment.end && kernels.size() < most_entries; ++i) {
      std::string_view rest = trimmed(text.lines[i].text);
      while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
        rest = trimmed(rest.substr(word.size()));
        InstalledKernel kernel;
        kernel.release = word;
        if (RE2::FullMatch(piece(word), patterns().release))
          kernels.push_back(std::move(kernel));
        else
          all = false;
      }
    }
    if (all && !kernels.empty()) set_fact(machine.kernel_driver.kernels, std::move(kernels), text, segment.first);
  }
}

// ---- DKMS -------------------------------------------------------------------------------------------------------------

void read_dkms(const PastedText& text, Machine& machine) {
  const Patterns& p = patterns();
  std::vector<DkmsModule> modules;
  std::size_t first = 0;
  DkmsModule failed;  // its log's path, with name and version, comes in a line behind (or before)
  std::size_t failed_line = 0;
  for (std::size_t i = 0; i < text.lines.size() && modules.size() < most_entries; ++i) {
    StringPiece name, version, kernel, architecture, state;
    const std::string& line = text.lines[i].text;
    if (line.size() > 1000 || in_container(text, i)) continue;
    if (RE2::PartialMatch(piece(line), p.dkms, &name, &version, &kernel, &architecture, &state)) {
      if (modules.empty()) first = i;
      DkmsModule module;
      module.name = view(name);
      module.version = view(version);
      module.kernel = view(kernel);
      module.architecture = view(architecture);
      module.state = view(state);
      module.error_lines = {origin_of(text, i)};
      modules.push_back(std::move(module));
    } else if (RE2::PartialMatch(piece(line), p.dkms_failed, &kernel, &architecture)) {
      failed = {};
      failed.kernel = view(kernel);
      failed.architecture = view(architecture);
      failed.state = "failed";
      failed.error = Fact<std::string>::known(line, origin_of(text, i));
      failed.error_lines = {origin_of(text, i)};
      failed_line = i;
    }
    if (failed.state.empty() || i > failed_line + 3 || !RE2::PartialMatch(piece(line), p.dkms_log, &name, &version)) continue;
    if (modules.empty()) first = failed_line;
    failed.name = view(name);
    failed.version = view(version);
    modules.push_back(std::move(failed));
    failed = {};
  }
  if (!modules.empty())
    machine.kernel_driver.dkms = Fact<std::vector<DkmsModule>>::known(std::move(modules), origin_of(text, first));
  // ls of the build link: "No such file or directory" there means no headers for that kernel.
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece kernel;
    if (text.lines[i].text.size() < 1000 && RE2::PartialMatch(piece(text.lines[i].text), p.no_build, &kernel))
      add_observation(machine, text, i, "kernel-headers-missing", {{"kernel", std::string(view(kernel))}});
  }
}

// ---- modprobe.d -------------------------------------------------------------------------------------------------------

/// The file that a line of an output comes from: named in the line (grep -r), or by `cat FILE`. Empty: not told, and a line
/// that stands in no file stops nothing.
std::string file_of(const PastedText& text, std::size_t i, std::string_view named) {
  if (!named.empty()) return std::string(named);
  const PasteSegment* segment = segment_of(text, i);
  if (segment == nullptr || i < segment->first || !runs(*segment, "cat")) return {};
  const std::string_view arguments = arguments_of(*segment);
  const bool one = arguments.find_first_of(" *|") == std::string_view::npos;
  return one && arguments.find("modprobe.d/") != std::string_view::npos ? std::string(arguments) : std::string();
}

void read_modprobe(const PastedText& text, std::size_t i, Machine& machine) {
  const std::string& line = text.lines[i].text;
  StringPiece named, kind, module, value;
  if (line.size() > 600 || !RE2::PartialMatch(piece(line), patterns().modprobe, &named, &kind, &module, &value)) return;
  const std::string name = module_name_with_underscores(view(module));
  if (!is_module_of_interest(name) || machine.kernel_driver.modprobe.size() >= most_entries || in_container(text, i)) return;
  std::string file = file_of(text, i, view(named));
  if (file.empty()) return;
  ModprobeDirective directive;
  directive.kind = view(kind);
  directive.module = name;
  directive.value = view(value);
  directive.origin = {std::move(file), 0, text.lines[i].quoted};
  machine.kernel_driver.modprobe.push_back(std::move(directive));
}

/// The kernel's command line: /proc/cmdline, a log's first line, GRUB's variable. What it says of modules; see ModprobeDirective.
void read_command_line(const PastedText& text, std::size_t i, Machine& machine) {
  const std::string& line = text.lines[i].text;
  const bool booted = line.find("BOOT_IMAGE=") != std::string::npos || line.find("ommand line: ") != std::string::npos;
  if (!booted || in_container(text, i)) return;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> keys{{{"modprobe.blacklist=", "modprobe.blacklist"},
                                                                               {"rd.driver.blacklist=", "rd.driver.blacklist"},
                                                                               {"rdblacklist=", "rdblacklist"},
                                                                               {"module_blacklist=", "module_blacklist"}}};
  std::string_view rest = line;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto* const found = std::ranges::find_if(keys, [&](const auto& entry) { return word.starts_with(entry.first); });
    if (found == keys.end()) continue;
    std::string_view list = word.substr(found->first.size());
    while (!list.empty()) {
      const std::string_view module = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), module.size() + 1));
      const std::string name = module_name_with_underscores(module);
      auto& known = machine.kernel_driver.modprobe;
      const bool twice =
          std::ranges::any_of(known, [&](const ModprobeDirective& d) { return d.module == name && d.value == found->second; });
      if (is_module_of_interest(name) && !twice && known.size() < most_entries)
        known.push_back({"blacklist", name, std::string(found->second), true, {"/proc/cmdline", 1, std::string(word)}});
    }
  }
}

}  // namespace

void read_modules(const PastedText& text, Machine& machine) {
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    if (in_windows(text, i)) continue;
    read_banner(text, i, machine);
    read_modprobe(text, i, machine);
    read_command_line(text, i, machine);
  }
  read_loaded(text, machine);
  read_modinfo(text, machine);
  read_kernels(text, machine);
  read_dkms(text, machine);
}

}  // namespace gpuvet
