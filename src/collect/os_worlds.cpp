// Containers, WSL and Jetson: worlds in which the chain looks different. Each is told by signs that only it leaves.

#include <array>

#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

using Environment = std::map<std::string, std::string>;

const std::string* variable(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() || it->second.empty() ? nullptr : &it->second;
}

Fact<std::string> container(std::string name, Origin origin) {
  return Fact<std::string>::known(std::move(name), std::move(origin));
}

// ---- container --------------------------------------------------------------------------------------------------------

/// Names that container managers write into `container=` and /run/systemd/container.
std::string manager_name(std::string_view text) {
  const std::string name = lower(trim(text));
  if (name == "systemd-nspawn") return "nspawn";
  if (name == "lxc" || name.starts_with("lxc-")) return "lxc";
  if (name == "oci") return "podman";  // toolbox and distrobox set it for podman's containers
  return name;
}

/// `container=…` of process 1, which a manager that knows systemd's interface sets (systemd.io/CONTAINER_INTERFACE).
std::optional<Fact<std::string>> by_first_process(System& system) {
  if (const auto text = system.read_line("/run/systemd/container")) {
    if (!text->empty() && *text != "wsl") return container(manager_name(*text), origin_of("/run/systemd/container", *text));
  }
  const auto variables = system.read_file("/proc/1/environ", 262144);
  if (!variables) return std::nullopt;
  for (const std::string_view entry : split(*variables, '\0')) {
    if (entry.starts_with("container=") && entry.size() > 10)
      return container(manager_name(entry.substr(10)), origin_of("/proc/1/environ", entry));
  }
  return std::nullopt;
}

std::optional<Fact<std::string>> by_kubernetes(System& system, const Environment& environment) {
  if (variable(environment, "KUBERNETES_SERVICE_HOST"))
    return container("kubernetes", origin_of("environment", "KUBERNETES_SERVICE_HOST is set"));
  for (const char* path : {"/run/secrets/kubernetes.io/serviceaccount", "/var/run/secrets/kubernetes.io/serviceaccount"}) {
    if (system.exists(path)) return container("kubernetes", origin_of(path));
  }
  return std::nullopt;
}

std::optional<Fact<std::string>> by_environment(const Environment& environment) {
  for (const char* name : {"APPTAINER_CONTAINER", "APPTAINER_NAME", "SINGULARITY_CONTAINER", "SINGULARITY_NAME"}) {
    if (const auto* value = variable(environment, name))
      return container("apptainer", origin_of("environment", std::string(name) + "=" + *value));
  }
  if (const auto* value = variable(environment, "ENROOT_ROOTFS"))
    return container("enroot", origin_of("environment", "ENROOT_ROOTFS=" + *value));
  if (const auto* value = variable(environment, "container"))
    return container(manager_name(*value), origin_of("environment", "container=" + *value));
  return std::nullopt;
}

bool is_hex_id(std::string_view text) {
  return text.size() >= 12 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The manager in a control group path: "/docker/<id>", "/system.slice/docker-<id>.scope", "/kubepods/…", "/lxc/…".
/// "/system.slice/docker.service" is the daemon on a host and is none.
std::string manager_in_cgroup(std::string_view path) {
  std::string_view before;
  for (std::string_view part : split(path, '/')) {
    if (part.starts_with("kubepods")) return "kubernetes";
    if (before == "docker" && is_hex_id(part)) return "docker";
    if (before == "lxc" || part.starts_with("lxc.payload")) return "lxc";
    if (part.ends_with(".scope")) {
      const std::string_view name = part.substr(0, part.size() - 6);
      if (name.starts_with("docker-") && is_hex_id(name.substr(7))) return "docker";
      if (name.starts_with("libpod-") && is_hex_id(name.substr(7))) return "podman";
      if (name.starts_with("crio-") || name.starts_with("cri-containerd-")) return "kubernetes";
    }
    before = part;
  }
  return {};
}

std::optional<Fact<std::string>> by_cgroup(System& system) {
  constexpr const char* path = "/proc/1/cgroup";
  const auto text = system.read_file(path, 65536);
  std::optional<Fact<std::string>> found;
  if (!text) return found;
  for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
    const std::size_t second = line.find(':', line.find(':') + 1);
    const std::string name = second == std::string_view::npos ? std::string() : manager_in_cgroup(line.substr(second + 1));
    if (!name.empty()) found = container(name, origin_of(path, line, number));
    return !found;
  });
  return found;
}

/// The mount of "/" in mountinfo (proc_pid_mountinfo(5)).
struct RootMount {
  bool seen = false;
  std::string subtree;  ///< which folder of its file system it shows
  std::string type, source, options;
  std::string line;
};

RootMount read_root_mount(System& system) {
  RootMount mount;
  for (const char* path : {"/proc/self/mountinfo", "/proc/1/mountinfo"}) {
    const auto text = system.read_file(path);
    if (!text) continue;
    for_each_line(*text, [&](std::string_view line, std::uint32_t) {
      const auto fields = words(line);
      if (fields.size() < 10 || fields[4] != "/") return true;
      std::size_t dash = 6;
      while (dash < fields.size() && fields[dash] != "-") ++dash;
      if (dash + 3 >= fields.size()) return true;
      mount = {true,
               std::string(fields[3]),
               std::string(fields[dash + 1]),
               std::string(fields[dash + 2]),
               std::string(fields[dash + 3]),
               std::string(line)};
      return true;  // the last one is on top
    });
    if (mount.seen) return mount;
  }
  const auto mounts = system.read_file("/proc/mounts");
  if (!mounts) return mount;
  for_each_line(*mounts, [&](std::string_view line, std::uint32_t) {
    const auto fields = words(line);
    if (fields.size() >= 4 && fields[1] == "/" && fields[0] != "rootfs")
      mount = {true, "/", std::string(fields[2]), std::string(fields[0]), std::string(fields[3]), std::string(line)};
    return true;
  });
  return mount;
}

std::optional<Fact<std::string>> by_root_mount(const RootMount& mount) {
  if (mount.type != "overlay" && mount.type != "fuse-overlayfs") return std::nullopt;
  const auto has = [&](const char* part) { return mount.options.find(part) != std::string::npos; };
  const auto answer = [&](const char* name) { return container(name, origin_of("/proc/self/mountinfo", mount.line)); };
  if (has("/docker/overlay2/") || has("/docker/rootfs/") || has("/docker/containerd/")) return answer("docker");
  if (has("/containers/storage/overlay")) return answer("podman");
  if (has("io.containerd.snapshotter")) return answer("containerd");
  return std::nullopt;  // an overlay alone is a live system or an appliance as well
}

/// Files that managers put into the root. They stay behind when an image is turned into a machine or a WSL distribution: then
/// the root is a whole file system on a disk.
std::optional<Fact<std::string>> by_marker_file(System& system, const RootMount& mount) {
  const bool on_disk = mount.seen && mount.subtree == "/" &&
                       (mount.type == "ext4" || mount.type == "xfs" || mount.type == "ext3") &&
                       mount.source.starts_with("/dev/") && mount.source.find("docker") == std::string::npos;
  if (on_disk) return std::nullopt;
  constexpr std::pair<const char*, const char*> markers[] = {{"/.dockerenv", "docker"},
                                                             {"/run/.containerenv", "podman"},
                                                             {"/.singularity.d", "apptainer"},
                                                             {"/singularity", "apptainer"}};
  for (const auto& [path, name] : markers) {
    if (system.status(path, false)) return container(name, origin_of(path));
  }
  return std::nullopt;
}

Fact<std::string> find_container(System& system, const Environment& environment) {
  if (auto found = by_kubernetes(system, environment)) return *found;
  if (auto found = by_first_process(system)) return *found;
  if (auto found = by_environment(environment)) return *found;
  const RootMount mount = read_root_mount(system);
  if (auto found = by_cgroup(system)) return *found;
  if (auto found = by_marker_file(system, mount)) return *found;
  if (auto found = by_root_mount(mount)) return *found;
  if (!system.exists("/proc/1") && !system.exists("/proc/self"))
    return Fact<std::string>::not_seen("no /proc here, and no container's own file");
  return Fact<std::string>::absent(origin_of("/proc/1", "no sign of a container"));
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
  os.container = find_container(system, environment);
  os.jetson = find_jetson(system, os);
}

}  // namespace gpuvet
