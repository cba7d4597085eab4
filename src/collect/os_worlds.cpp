// WSL and Jetson: worlds in which the chain looks different. Each is told by signs that only it leaves. (Containers:
// os_container.cpp)

#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

using Environment = std::map<std::string, std::string>;

const std::string* variable(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() || it->second.empty() ? nullptr : &it->second;
}

// ---- WSL --------------------------------------------------------------------------------------------------------------

bool has_wsl_files(System& system) {
  return system.exists("/run/WSL") || system.exists("/proc/sys/fs/binfmt_misc/WSLInterop") ||
         system.exists("/proc/sys/fs/binfmt_misc/WSLInterop-late");
}

Fact<std::int64_t> find_wsl(System& system, const Environment& environment, const Fact<std::string>& kernel) {
  const auto known = [](std::int64_t which, Origin origin) { return Fact<std::int64_t>::known(which, std::move(origin)); };
  const bool paravirtual_gpu = system.status("/dev/dxg").has_value();
  const auto* named = variable(environment, "WSL_DISTRO_NAME");
  if (const std::string* release = kernel.get()) {
    const std::string text = lower(*release);
    // WSL1 has no kernel of its own: it says "4.4.0-19041-Microsoft". WSL2's is "5.15.167.4-microsoft-standard-WSL2".
    if (text.ends_with("-microsoft") && release->starts_with("4.4.0")) return known(1, kernel.origin());
    if (text.find("microsoft-standard") != std::string::npos || text.find("wsl2") != std::string::npos ||
        text.ends_with("-microsoft"))
      return known(2, kernel.origin());
    // Somebody's own kernel in WSL2.
    if (paravirtual_gpu && (named || has_wsl_files(system))) return known(2, origin_of("/dev/dxg"));
    return Fact<std::int64_t>::absent(kernel.origin());
  }
  if (paravirtual_gpu) return known(2, origin_of("/dev/dxg"));
  if (named) {
    const Origin origin = origin_of("environment", "WSL_DISTRO_NAME=" + *named);
    return system.exists("/usr/lib/wsl/lib") ? known(2, origin)
                                             : Fact<std::int64_t>::not_seen("WSL, but not told whether 1 or 2", origin);
  }
  return Fact<std::int64_t>::not_seen("the running kernel was not seen");
}

// ---- Jetson -----------------------------------------------------------------------------------------------------------

std::optional<Fact<std::string>> jetson_release(System& system) {
  constexpr const char* path = "/etc/nv_tegra_release";
  const auto text = system.read_head(path, 4096);
  if (!text) return std::nullopt;
  std::string_view line = trim(std::string_view(*text).substr(0, text->find('\n')));
  while (!line.empty() && (line.front() == '#' || line.front() == ' ')) line.remove_prefix(1);
  if (line.empty()) return std::nullopt;
  return Fact<std::string>::known(std::string(line), origin_of(path, line, 1));
}

std::optional<Fact<std::string>> jetson_device_tree(System& system) {
  for (const std::string folder : {"/proc/device-tree/", "/sys/firmware/devicetree/base/"}) {
    const std::string compatible = system.read_line(folder + "compatible").value_or("");
    const std::string model = system.read_line(folder + "model").value_or("");
    const bool tegra = compatible.find("nvidia,tegra") != std::string::npos || contains_ignoring_case(model, "jetson");
    if (tegra) return Fact<std::string>::known(model.empty() ? "NVIDIA Tegra" : model, origin_of(folder + "model", model));
  }
  return std::nullopt;
}

Fact<std::string> find_jetson(System& system, const OperatingSystem& os) {
  if (auto found = jetson_release(system)) return *found;
  if (auto found = jetson_device_tree(system)) return *found;
  const std::string* release = os.kernel.get();
  if (release != nullptr && release->find("-tegra") != std::string::npos)
    return Fact<std::string>::known("NVIDIA Tegra", os.kernel.origin());
  for (const char* node : {"/dev/nvhost-ctrl", "/dev/nvhost-ctrl-gpu"}) {
    if (system.status(node)) return Fact<std::string>::known("NVIDIA Tegra", origin_of(node));
  }
  if (os.architecture.is_known() && !os.architecture.is("aarch64")) return Fact<std::string>::absent(os.architecture.origin());
  if (system.exists("/proc/sys/kernel/osrelease")) return Fact<std::string>::absent(origin_of("/etc/nv_tegra_release"));
  return Fact<std::string>::not_seen("no sign of a Jetson, but neither /proc nor /sys to look at");
}

}  // namespace

void collect_worlds(System& system, const Environment& environment, OperatingSystem& os) {
  os.wsl = find_wsl(system, environment, os.kernel);
  os.jetson = find_jetson(system, os);
}

}  // namespace gpuvet
