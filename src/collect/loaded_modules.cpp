#include <algorithm>
#include <array>
#include <charconv>

#include "collect/kernel_driver_parts.h"
#include "collect/lines.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

std::vector<std::string> split_users(std::string_view list) {
  std::vector<std::string> out;
  if (list == "-") return out;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (comma != 0) out.push_back(printable(list.substr(0, comma), 64));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return out;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Fact<std::string> sysfs_line(System& system, const std::string& path) {
  const auto text = system.read_line(path);
  if (!text)
    return text.error().code == ErrorCode::NotFound ? Fact<std::string>::absent({path, 0, {}})
                                                    : Fact<std::string>::not_seen(text.error().message);
  std::string value = printable(*text, 256);
  return Fact<std::string>::known(value, {path, 1, value});
}

/// Of the other drivers only their presence matters, and amdgpu alone has a hundred parameters.
bool parameters_matter(std::string_view module) {
  return module.starts_with("nvidia") || module.starts_with("nouveau") || module.starts_with("nova") ||
         module.starts_with("vfio") || module == "bbswitch";
}

std::map<std::string, std::string> module_parameters(System& system, const std::string& folder) {
  std::map<std::string, std::string> out;
  const auto entries = system.list(folder + "/parameters", 512);
  if (!entries) return out;
  for (const auto& entry : *entries) {
    // Some are for root only; what cannot be read is left out.
    if (const auto value = system.read_line(folder + "/parameters/" + entry.name))
      out[printable(entry.name, 64)] = printable(*value, 256);
  }
  return out;
}

void add_sysfs_facts(System& system, LoadedModule& module, bool listed) {
  const std::string folder = "/sys/module/" + module.name;
  module.version = sysfs_line(system, folder + "/version");
  module.srcversion = sysfs_line(system, folder + "/srcversion");
  module.taint = sysfs_line(system, folder + "/taint");
  if (parameters_matter(module.name)) module.parameters = module_parameters(system, folder);
  if (listed) return;
  // Only loadable modules have `initstate` and `refcnt`; a built-in one has at most parameters and a version.
  if (const auto state = system.read_line(folder + "/initstate")) {
    module.state = *state == "live" ? "Live" : *state == "coming" ? "Loading" : *state == "going" ? "Unloading" : "";
  } else {
    module.state = "Built-in";
  }
  if (const auto count = system.read_line(folder + "/refcnt")) module.use_count = number(*count);
  if (const auto holders = system.list(folder + "/holders", 64)) {
    for (const auto& holder : *holders) module.used_by.push_back(printable(holder.name, 64));
  }
}

}  // namespace

bool is_module_of_interest(std::string_view name) {
  if (name.starts_with("nvidia") || name.starts_with("nouveau") || name.starts_with("nova")) return true;
  static constexpr std::array<std::string_view, 12> others = {"vfio_pci", "pci_stub", "bbswitch", "amdgpu",    "radeon", "i915",
                                                              "xe",       "dxgkrnl",  "vfio",     "acpi_call", "nvgpu",  "nvmap"};
  return std::find(others.begin(), others.end(), name) != others.end();
}

LoadedModule parse_proc_modules_line(std::string_view line, std::uint32_t line_number) {
  LoadedModule module;
  const auto fields = words(line);  // name size users used-by state address [(taints)]
  if (fields.size() < 3) return module;
  module.name = printable(fields[0], 64);
  module.use_count = number(fields[2]);
  if (fields.size() > 3) module.used_by = split_users(fields[3]);
  if (fields.size() > 4) module.state = printable(fields[4], 16);
  module.origin = {"/proc/modules", line_number, printable(line)};
  return module;
}

void collect_loaded_modules(System& system, Machine& machine) {
  const auto listed = system.read_file("/proc/modules");
  const auto sysfs = system.list("/sys/module");
  if (!listed && !sysfs) {
    machine.kernel_driver.loaded = Fact<std::vector<LoadedModule>>::not_seen(listed.error().message, {"/proc/modules", 0, {}});
    return;
  }
  std::vector<LoadedModule> modules;
  if (listed) {
    for_each_line(*listed, [&](std::string_view line, std::uint32_t line_number) {
      if (!is_module_of_interest(line.substr(0, line.find(' ')))) return true;
      LoadedModule module = parse_proc_modules_line(line, line_number);
      if (module.name.empty()) return true;
      add_sysfs_facts(system, module, true);
      modules.push_back(std::move(module));
      return true;
    });
  }
  if (sysfs) {
    for (const auto& entry : *sysfs) {
      if (!is_module_of_interest(entry.name)) continue;
      if (std::any_of(modules.begin(), modules.end(), [&](const LoadedModule& known) { return known.name == entry.name; }))
        continue;
      LoadedModule module;
      module.name = printable(entry.name, 64);
      module.origin = {"/sys/module/" + module.name, 0, {}};
      add_sysfs_facts(system, module, false);
      modules.push_back(std::move(module));
    }
  }
  machine.kernel_driver.loaded =
      Fact<std::vector<LoadedModule>>::known(std::move(modules), {listed ? "/proc/modules" : "/sys/module", 0, {}});
}

}  // namespace gpuvet
