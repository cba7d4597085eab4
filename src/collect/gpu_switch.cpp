// What hybrid laptops use to keep the discrete GPU off: prime-select, EnvyControl, supergfxctl, system76-power, optimus-manager,
// bbswitch, firmware switches; and udev rules that take NVIDIA functions off the bus.
#include <algorithm>
#include <array>

#include "collect/kernel_driver_parts.h"
#include "collect/lines.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::array<const char*, 5> udev_folders = {"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d",
                                                     "/usr/lib/udev/rules.d", "/lib/udev/rules.d"};

std::string without_blanks(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != ' ' && c != '\t'; });
  return out;
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// A rule that writes 1 to `remove` of an NVIDIA function, or of any display controller. Audio, USB and UCSI functions beside
/// the GPU are removed by power management recipes; that does not touch the GPU.
bool removes_gpu(std::string_view rule) {
  const std::string text = lower(without_blanks(rule));
  if (!has(text, "attr{remove}=\"1\"")) return false;
  const std::size_t class_at = text.find("attr{class}==\"");
  if (class_at != std::string::npos && !text.substr(class_at + 14).starts_with("0x03")) return false;
  return has(text, "10de") || class_at != std::string::npos;
}

void read_rules(System& system, const std::string& folder, bool packaged, std::vector<std::string>& seen,
                std::vector<Origin>& out) {
  const auto entries = system.list(folder, 4096);
  if (!entries) return;
  for (const auto& entry : *entries) {
    if (!entry.name.ends_with(".rules") || entry.type == FileType::Directory) continue;
    if (std::find(seen.begin(), seen.end(), entry.name) != seen.end())
      continue;  // a file of that name in a folder before hides it
    seen.push_back(entry.name);
    // A distribution ships a hundred rule files; the ones that switch GPUs say so in their names.
    const bool likely = has(entry.name, "nvidia") || has(entry.name, "gpu") || has(entry.name, "remove") ||
                        has(entry.name, "prime") || has(entry.name, "-pm");
    if (packaged && !likely) continue;
    const std::string path = folder + "/" + entry.name;
    if (const auto text = system.read_file(path, std::size_t{256} << 10)) find_gpu_remove_rules(path, *text, out);
  }
}

void collect_remove_rules(System& system, KernelDriver& driver) {
  std::vector<std::string> names, real_folders;
  for (const char* folder : udev_folders) {
    const auto real = system.real_path(folder);
    if (!real || std::find(real_folders.begin(), real_folders.end(), *real) != real_folders.end()) continue;
    real_folders.push_back(*real);
    read_rules(system, folder, std::string_view(folder).find("/lib/") != std::string_view::npos, names, driver.gpu_remove_rules);
  }
}

Fact<std::string> profile(std::string value, std::string_view path, std::uint32_t line, std::string_view text) {
  return Fact<std::string>::known(std::move(value), {std::string(path), line, printable(text)});
}

/// nvidia-prime of Ubuntu keeps its choice in /etc/prime-discrete: "on", "off", "on-demand"; SUSE's suse-prime in
/// /etc/prime/current_type.
Fact<std::string> prime_select(System& system) {
  if (const auto line = system.read_line("/etc/prime-discrete")) {
    const std::string value = lower(trim(*line));
    if (value == "on") return profile("nvidia", "/etc/prime-discrete", 1, *line);
    if (value == "off") return profile("intel", "/etc/prime-discrete", 1, *line);
    if (!value.empty()) return profile(printable(value, 64), "/etc/prime-discrete", 1, *line);
  }
  if (const auto line = system.read_line("/etc/prime/current_type"); line && !line->empty()) {
    return profile(printable(lower(trim(*line)), 64), "/etc/prime/current_type", 1, *line);
  }
  return Fact<std::string>::absent({"/etc/prime-discrete", 0, {}});
}

/// Files that a switching tool writes for a mode without the discrete GPU, told by their first lines.
Fact<std::string> written_by_tool(System& system, std::vector<Origin>& signs) {
  for (const char* path : {"/etc/modprobe.d/blacklist-nvidia.conf", "/lib/modprobe.d/blacklist-nvidia.conf",
                           "/usr/lib/modprobe.d/blacklist-nvidia.conf"}) {
    if (!system.status(path, false)) continue;
    const auto head = system.read_head(path, 4096);
    std::string mode;
    Origin sign;
    bool active = false;
    for_each_line(head ? std::string_view(*head) : std::string_view(), [&](std::string_view line, std::uint32_t number) {
      const std::string text = lower(trim(line));
      active |= text.starts_with("blacklist nvidia") || text.starts_with("alias nvidia");
      if (!mode.empty()) return true;
      if (has(text, "envycontrol"))
        mode = "integrated";
      else if (has(text, "nvidia-prime") || has(text, "prime-select"))
        mode = "intel";
      sign = {path, number, printable(trim(line))};
      return true;
    });
    if (mode.empty() || !active) break;  // a file of that name in /etc hides the tool's own further down
    signs.push_back(sign);
    return Fact<std::string>::known(mode, sign);
  }
  return Fact<std::string>::absent({"/etc/modprobe.d/blacklist-nvidia.conf", 0, {}});
}

/// "mode": "Integrated" in /etc/supergfxd.conf
Fact<std::string> supergfx(System& system, std::vector<Origin>& signs) {
  constexpr const char* path = "/etc/supergfxd.conf";
  Fact<std::string> found = Fact<std::string>::absent({path, 0, {}});
  const auto text = system.read_file(path, 65536);
  if (!text) return found;
  for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
    const std::string squeezed = lower(without_blanks(line));
    const std::size_t at = squeezed.find("\"mode\":\"");
    if (at == std::string::npos || (at > 0 && squeezed[at - 1] != '{' && squeezed[at - 1] != ',')) return true;
    const std::string mode = squeezed.substr(at + 8, squeezed.find('"', at + 8) - at - 8);
    found = profile(printable(mode, 64), path, number, trim(line));
    if (mode == "integrated" || mode == "vfio") signs.push_back(found.origin());
    return false;
  });
  return found;
}

/// system76-power writes blacklists of nvidia for "integrated", and of nothing for "nvidia" and "hybrid".
Fact<std::string> system76(System& system, std::vector<Origin>& signs) {
  constexpr const char* path = "/etc/modprobe.d/system76-power.conf";
  Fact<std::string> found = Fact<std::string>::absent({path, 0, {}});
  const auto text = system.read_file(path, 65536);
  if (!text) return found;
  for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
    const std::string_view directive = trim(line);
    if (directive != "blacklist nvidia" && directive != "alias nvidia off") return true;
    found = profile("integrated", path, number, directive);
    signs.push_back(found.origin());
    return false;
  });
  return found;
}

/// Switches whose state says that the card has no power now.
void collect_power_switches(System& system, std::vector<Origin>& signs) {
  if (const auto line = system.read_line("/proc/acpi/bbswitch"); line && has(*line, "OFF"))
    signs.push_back({"/proc/acpi/bbswitch", 1, printable(*line)});
  // ASUS: the firmware takes the card off the bus (Documentation/ABI/testing/sysfs-platform-asus-wmi)
  for (const char* path : {"/sys/devices/platform/asus-nb-wmi/dgpu_disable",
                           "/sys/class/firmware-attributes/asus-armoury/attributes/dgpu_disable/current_value"}) {
    if (const auto line = system.read_line(path); line && trim(*line) == "1") signs.push_back({path, 1, "1"});
  }
  for (const char* path : {"/etc/bumblebee/bumblebee.conf", "/etc/modprobe.d/bumblebee.conf", "/etc/modprobe.d/bbswitch.conf"}) {
    const auto text = system.read_file(path, 65536);
    if (!text) continue;
    for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
      const bool off = has(line, "load_state=0") || without_blanks(line) == "PMMethod=bbswitch";
      if (off && trim(line).front() != '#') signs.push_back({path, number, printable(trim(line))});
      return true;
    });
  }
}

void collect_optimus_manager(System& system, std::vector<Origin>& signs) {
  for (const char* path : {"/etc/optimus-manager/optimus-manager.conf", "/var/lib/optimus-manager/persistent/startup_mode"}) {
    const auto text = system.read_file(path, 65536);
    if (!text) continue;
    for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
      const std::string squeezed = lower(without_blanks(line));
      if (squeezed == "startup_mode=integrated" || squeezed == "integrated" || squeezed == "switching=bbswitch" ||
          squeezed == "switching=acpi_call") {
        signs.push_back({path, number, printable(trim(line))});
      }
      return true;
    });
  }
}

}  // namespace

void find_gpu_remove_rules(std::string_view path, std::string_view text, std::vector<Origin>& out) {
  for_each_joined_line(text, [&](std::string_view line, std::uint32_t number) {
    const std::string_view rule = trim(line);
    if (!rule.empty() && rule.front() != '#' && removes_gpu(rule) && out.size() < 64)
      out.push_back({std::string(path), number, printable(rule)});
    return true;
  });
}

void collect_gpu_switch(System& system, Machine& machine) {
  KernelDriver& driver = machine.kernel_driver;
  std::vector<Origin>& signs = driver.gpu_switch_signs;
  collect_remove_rules(system, driver);
  // A blacklist that is there now says more than a remembered choice.
  for (const Fact<std::string>& found :
       {written_by_tool(system, signs), system76(system, signs), prime_select(system), supergfx(system, signs)}) {
    if (!driver.prime_profile.is_known()) driver.prime_profile = found;
  }
  collect_power_switches(system, signs);
  collect_optimus_manager(system, signs);
}

}  // namespace gpuvet
