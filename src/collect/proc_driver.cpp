#include <charconv>

#include "collect/kernel_driver_parts.h"
#include "collect/lines.h"
#include "model/version.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::string_view folder = "/proc/driver/nvidia";

std::string at(std::string_view name) { return std::string(folder) + "/" + std::string(name); }

/// "Key: \t value"; false when the line has no colon.
bool key_and_value(std::string_view line, std::string_view& key, std::string_view& value) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  key = trimmed(line.substr(0, colon));
  value = trimmed(line.substr(colon + 1));
  return true;
}

const LoadedModule* loaded_nvidia(const KernelDriver& driver) {
  const auto* loaded = driver.loaded.get();
  if (loaded == nullptr) return nullptr;
  for (const LoadedModule& module : *loaded) {
    if (module.name == "nvidia") return &module;
  }
  return nullptr;
}

void set_from_banner(KernelDriver& driver, std::string_view line) {
  const Origin origin{at("version"), 1, printable(line)};
  driver.banner = Fact<std::string>::known(printable(line), origin);
  if (std::string version = driver_version_in_banner(line); !version.empty())
    driver.version = Fact<std::string>::known(std::move(version), origin);
  if (std::string flavor = flavor_in_banner(line); !flavor.empty())
    driver.flavor = Fact<std::string>::known(std::move(flavor), origin);
}

/// No banner: /sys/module tells the version; the taint tells the flavor, because only the proprietary module sets P.
void set_from_module(KernelDriver& driver, const LoadedModule* module) {
  if (module == nullptr) {
    if (driver.loaded.is_known()) {
      const Origin origin{"/proc/modules", 0, {}};
      if (driver.version.is_not_seen()) driver.version = Fact<std::string>::absent(origin);
      if (driver.flavor.is_not_seen()) driver.flavor = Fact<std::string>::absent(origin);
    }
    return;
  }
  if (driver.version.is_not_seen() && module->version.is_known()) driver.version = module->version;
  if (const auto* taint = module->taint.get(); driver.flavor.is_not_seen() && taint != nullptr && !taint->empty()) {
    const bool proprietary = taint->find('P') != std::string::npos;
    driver.flavor = Fact<std::string>::known(proprietary ? "proprietary" : "open", module->taint.origin());
  }
}

void collect_params(System& system, KernelDriver& driver) {
  const auto text = system.read_file(at("params"), 65536);
  if (!text) return;
  for_each_line(*text, [&](std::string_view line, std::uint32_t) {
    std::string_view key, value;
    if (key_and_value(line, key, value)) driver.parameters[printable(key, 64)] = printable(value, 512);
    return driver.parameters.size() < 512;
  });
}

void collect_registry(System& system, KernelDriver& driver) {
  const std::string path = at("registry");
  const auto text = system.read_line(path, 8192);
  if (text)
    driver.registry = Fact<std::string>::known(printable(*text, 4096), {path, 0, {}});
  else if (text.error().code == ErrorCode::NotFound)
    driver.registry = Fact<std::string>::absent({path, 0, {}});
  else
    driver.registry = Fact<std::string>::not_seen(text.error().message);
}

void collect_gpus(System& system, KernelDriver& driver) {
  const auto entries = system.list(at("gpus"), 256);
  if (!entries) return;
  for (const auto& entry : *entries) {
    const std::string gpu = at("gpus/") + entry.name;
    const auto information = system.read_file(gpu + "/information", 16384);
    if (!information) continue;
    const auto registry = system.read_line(gpu + "/registry", 8192);
    driver.gpus.push_back(parse_proc_gpu(entry.name, *information, registry ? std::string_view(*registry) : std::string_view()));
  }
}

void walk_capabilities(System& system, const std::string& below, int depth, std::vector<std::string>& out) {
  const auto entries = system.list(at("capabilities") + (below.empty() ? "" : "/" + below), 512);
  if (!entries) return;
  for (const auto& entry : *entries) {
    if (out.size() >= 2000) return;
    const std::string path = (below.empty() ? "" : below + "/") + entry.name;
    if (entry.type == FileType::Directory) {
      if (depth < 6) walk_capabilities(system, path, depth + 1, out);
    } else {
      out.push_back(printable(path, 200));
    }
  }
}

void collect_capabilities(System& system, KernelDriver& driver) {
  const std::string path = at("capabilities");
  const auto status = system.status(path);
  if (!status) {
    driver.mig_capabilities = status.error().code == ErrorCode::NotFound
                                  ? Fact<std::vector<std::string>>::absent({path, 0, {}})
                                  : Fact<std::vector<std::string>>::not_seen(status.error().message);
    return;
  }
  std::vector<std::string> paths;
  walk_capabilities(system, {}, 0, paths);
  driver.mig_capabilities = Fact<std::vector<std::string>>::known(std::move(paths), {path, 0, {}});
}

}  // namespace

std::string driver_version_in_banner(std::string_view banner) {
  const std::size_t module = banner.find("Kernel Module");
  if (module == std::string_view::npos) return {};
  for (std::string_view word : words(banner.substr(module))) {
    if (const auto version = DriverVersion::parse(word); version && version->branch >= 10) return std::string(word);
  }
  return {};
}

std::string flavor_in_banner(std::string_view banner) {
  if (banner.find("Open Kernel Module") != std::string_view::npos) return "open";
  return banner.find("Kernel Module") != std::string_view::npos ? "proprietary" : "";
}

ProcGpu parse_proc_gpu(std::string_view address, std::string_view information, std::string_view registry) {
  ProcGpu gpu;
  gpu.address = printable(address, 32);
  gpu.registry = printable(registry, 1024);
  for_each_line(information, [&](std::string_view line, std::uint32_t) {
    std::string_view key, value;
    if (!key_and_value(line, key, value)) return true;
    if (key == "Model")
      gpu.model = printable(value, 128);
    else if (key == "GPU UUID")
      gpu.uuid = printable(value, 64);
    else if (key == "Video BIOS")
      gpu.vbios = printable(value, 64);
    else if (key == "GPU Firmware")
      gpu.firmware = printable(value, 64);
    else if (key == "GPU Excluded")
      gpu.excluded = value == "Yes";
    else if (key == "Device Minor")
      std::from_chars(value.data(), value.data() + value.size(), gpu.device_minor);
    return true;
  });
  return gpu;
}

void collect_proc_driver(System& system, Machine& machine) {
  KernelDriver& driver = machine.kernel_driver;
  const std::string path = at("version");
  const auto text = system.read_file(path, 16384);
  if (text && !text->empty()) {
    set_from_banner(driver, std::string_view(*text).substr(0, text->find('\n')));
  } else if (!text && text.error().code != ErrorCode::NotFound) {
    driver.banner = Fact<std::string>::not_seen(text.error().message);
  } else if (system.is_directory("/proc/driver") || driver.loaded.is_known()) {
    driver.banner = Fact<std::string>::absent({path, 0, {}});
  } else {
    driver.banner = Fact<std::string>::not_seen("/proc is not there");
  }
  set_from_module(driver, loaded_nvidia(driver));
  collect_params(system, driver);
  collect_registry(system, driver);
  collect_gpus(system, driver);
  collect_capabilities(system, driver);
}

}  // namespace gpuvet
