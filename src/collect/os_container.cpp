// Which container or sandbox the judged process runs in. Every sign is kept; the first engine in the order of collect_container
// is the one that is judged: sandboxes and HPC runtimes before Kubernetes, as they may be started inside of a pod and pass its
// variables on, what process 1 tells before what an image may have brought along.

#include <algorithm>
#include <array>

#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::size_t most_signs = 32;

const std::string* variable(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() || it->second.empty() ? nullptr : &it->second;
}

class Signs {
 public:
  /// A sign of an engine or sandbox; the first one is judged.
  void engine(std::string name, Origin origin) {
    if (name.empty()) return;
    if (!judged_.is_known()) judged_ = Fact<std::string>::known(name, origin);
    detail(std::move(name), std::move(origin));
  }
  /// What is worth knowing beside it ("rootless", "toolbox", "containerd"): does not tell of a container by itself.
  void detail(std::string name, Origin origin) {
    const bool again = std::ranges::any_of(
        list_, [&](const ContainerSign& sign) { return sign.name == name && sign.origin.source == origin.source; });
    if (!again && list_.size() < most_signs) list_.push_back({std::move(name), std::move(origin)});
  }
  bool found() const { return judged_.is_known(); }
  bool has(std::string_view name) const {
    return std::ranges::any_of(list_, [&](const ContainerSign& sign) { return sign.name == name; });
  }
  const Fact<std::string>& judged() const { return judged_; }
  std::vector<ContainerSign> take() { return std::move(list_); }

 private:
  Fact<std::string> judged_;
  std::vector<ContainerSign> list_;
};

// ---- the root ---------------------------------------------------------------------------------------------------------

/// The root is a whole file system of a disk (or a usual subvolume of one): a machine's, although it may have been made from an
/// image and kept that one's marker files. Engines with a disk image for each container name it after themselves.
bool is_disk_of_a_machine(const Mount* root) {
  if (root == nullptr || root->source.find("docker") != std::string::npos) return false;
  if (root->type == "zfs") return root->source.find("/ROOT/") != std::string::npos;
  if (!root->source.starts_with("/dev/")) return false;
  if (root->type == "btrfs") {
    const std::string& volume = root->subtree;
    return volume == "/" || volume == "/@" || volume == "/root" || volume == "/@rootfs" || volume == "/@root" ||
           (volume.starts_with("/@/.snapshots/") && volume.ends_with("/snapshot"));
  }
  return root->subtree == "/" && (root->type == "ext4" || root->type == "ext3" || root->type == "xfs" || root->type == "f2fs");
}

/// Engines by the folder of the host that the root shows, or whose layers an overlay puts together.
std::string engine_of_root(const Mount& root) {
  constexpr std::pair<const char*, const char*> layers[] = {{"/buildkit/", "buildkit"},
                                                            {"/docker/", "docker"},
                                                            {"/overlay2/l/", "docker"},
                                                            {"/containers/storage/", "podman"},
                                                            {"/overlay/l/", "podman"},
                                                            {"io.containerd.snapshotter", "containerd"},
                                                            {"apptainer/mnt/session", "apptainer"},
                                                            {"singularity/mnt/session", "apptainer"},
                                                            {"/enroot/", "enroot"},
                                                            {"/enroot-data/", "enroot"},
                                                            {"/pyxis_", "enroot"}};
  constexpr std::pair<const char*, const char*> folders[] = {{"/docker/", "docker"},          {"/containers/storage/", "podman"},
                                                             {"/enroot/", "enroot"},          {"/enroot-data/", "enroot"},
                                                             {"/pyxis_", "enroot"},           {"/var/lib/lxc/", "lxc"},
                                                             {"/lxd/storage-pools/", "lxc"},  {"/incus/storage-pools/", "lxc"},
                                                             {"/var/lib/machines/", "nspawn"}};
  for (const auto& [part, name] : folders)
    if ((root.subtree + "/").find(part) != std::string::npos) return name;
  // An overlay alone is a live system or an appliance as well.
  if (root.type.find("overlay") == std::string::npos) return {};
  for (const auto& [part, name] : layers)
    if (root.options.find(part) != std::string::npos) return name;
  return {};
}

bool is_in_a_home(const Mount& mount) {
  const auto has = [&](const char* part) {
    return mount.subtree.find(part) != std::string::npos || mount.options.find(part) != std::string::npos;
  };
  return has("/.local/share/containers/") || has("/.local/share/docker/") || has("/.local/share/containerd/");
}

// ---- files that engines bring in ----------------------------------------------------------------------------------------

bool is_hex_id(std::string_view text) {
  return text.size() >= 12 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// /etc/hosts and its kin are mounts of the engine's own copies, also where control groups and process 1 tell nothing.
void by_network_files(const MountTable& mounts, Signs& signs) {
  for (const char* point : {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}) {
    const Mount* mount = mounts.at(point);
    if (mount == nullptr) continue;
    const std::string& file = mount->subtree;
    const auto has = [&](const char* part) { return file.find(part) != std::string::npos; };
    const auto parts = split(file, '/');
    const bool of_docker = parts.size() >= 3 && parts[parts.size() - 3] == "containers" && is_hex_id(parts[parts.size() - 2]);
    if (has("/pods/") && file.ends_with("/etc-hosts")) {
      signs.engine("kubernetes", mount->origin);
    } else if (has("io.containerd.grpc.v1.cri/")) {
      signs.detail("containerd", mount->origin);
    } else if (has("/nerdctl/")) {
      signs.engine("containerd", mount->origin);
    } else if (has("/overlay-containers/")) {
      // CRI-O keeps its containers in the same store as Podman.
      signs.has("kubernetes") ? signs.detail("cri-o", mount->origin) : signs.engine("podman", mount->origin);
    } else if (of_docker) {
      signs.engine("docker", mount->origin);
    }
    // The folder of a user's own Podman lies in the file system of /run/user/UID.
    if (is_in_a_home(*mount) || file.starts_with("/run/user/") || file.starts_with("/containers/overlay-containers/"))
      signs.detail("rootless", mount->origin);
  }
}

// ---- process 1 and the environment --------------------------------------------------------------------------------------

/// Names that container managers write into `container=` and /run/systemd/container; empty: none of a container.
std::string manager_name(std::string_view text) {
  const std::string name = lower(trim(text));
  if (name.empty() || name == "wsl" || name == "none" || name.size() > 64) return {};
  if (name == "systemd-nspawn") return "nspawn";
  if (name == "lxc" || name == "lxd" || name == "incus" || name.starts_with("lxc-")) return "lxc";
  if (name == "oci") return "podman";  // buildah, and so toolbox and distrobox, set it for podman's containers
  return name;
}

/// `container=…` of process 1, which a manager that knows systemd's interface sets (systemd.io/CONTAINER_INTERFACE).
void by_first_process(System& system, Signs& signs) {
  for (const char* path : {"/run/systemd/container", "/run/host/container-manager"})
    if (const auto text = system.read_line(path)) signs.engine(manager_name(*text), origin_of(path, *text, 1));
  const auto variables = system.read_file("/proc/1/environ", 262144);
  if (!variables) return;
  for (const std::string_view entry : split(*variables, '\0'))
    if (entry.starts_with("container=")) signs.engine(manager_name(entry.substr(10)), origin_of("/proc/1/environ", entry));
}

void by_hpc_variables(const Environment& environment, Signs& signs) {
  for (const char* name : {"APPTAINER_CONTAINER", "APPTAINER_NAME", "SINGULARITY_CONTAINER", "SINGULARITY_NAME"})
    if (const auto* value = variable(environment, name))
      signs.engine("apptainer", origin_of("environment", std::string(name) + "=" + *value));
  if (const auto* value = variable(environment, "ENROOT_ROOTFS"))
    signs.engine("enroot", origin_of("environment", "ENROOT_ROOTFS=" + *value));
}

void by_kubernetes(System& system, const Environment& environment, bool machine_disk, Signs& signs) {
  // Tools that connect a developer's own machine with a cluster set the variable there, too.
  if (variable(environment, "KUBERNETES_SERVICE_HOST") && !machine_disk)
    signs.engine("kubernetes", origin_of("environment", "KUBERNETES_SERVICE_HOST is set"));
  for (const char* path : {"/run/secrets/kubernetes.io/serviceaccount", "/var/run/secrets/kubernetes.io/serviceaccount"})
    if (system.exists(path)) return signs.engine("kubernetes", origin_of(path));
}

// ---- control groups -----------------------------------------------------------------------------------------------------

struct GroupSign {
  std::string engine, detail;
};

/// The manager in a control group path: "/docker/<id>", "/system.slice/docker-<id>.scope", "/kubepods/…", "/lxc/…".
/// "/system.slice/docker.service" is the daemon on a host, "libpod-conmon-<id>.scope" Podman's monitor there: both are none.
GroupSign manager_in_cgroup(std::string_view path) {
  GroupSign found;
  std::string_view before;
  for (const std::string_view part : split(path, '/')) {
    if (part.starts_with("kubepods")) found.engine = "kubernetes";
    if (before == "docker" && is_hex_id(part)) found.engine = "docker";
    if (before == "libpod_parent" && part.starts_with("libpod-") && is_hex_id(part.substr(7))) found.engine = "podman";
    if (before == "lxc" || part.starts_with("lxc.payload")) found.engine = "lxc";
    const std::string_view name = part.ends_with(".scope") ? part.substr(0, part.size() - 6) : std::string_view();
    if (name.starts_with("docker-") && is_hex_id(name.substr(7))) found.engine = "docker";
    if (name.starts_with("libpod-") && is_hex_id(name.substr(7))) found.engine = "podman";
    if (name.starts_with("nerdctl-") && is_hex_id(name.substr(8))) found.engine = "containerd";
    if (part.starts_with("crio-") && !part.starts_with("crio-conmon-")) found = {"kubernetes", "cri-o"};
    if (part.starts_with("cri-containerd-")) found = {"kubernetes", "containerd"};
    before = part;
  }
  return found;
}

void by_cgroup(System& system, bool machine_disk, Signs& signs) {
  for (const std::string path : {"/proc/1/cgroup", "/proc/self/cgroup"}) {
    // A process that was started in a container and went into the host's own root (nsenter, chroot) keeps its group.
    if (path == "/proc/self/cgroup" && machine_disk) continue;
    const auto text = system.read_file(path, 65536);
    if (!text) continue;
    for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
      const std::size_t second = line.find(':', line.find(':') + 1);
      const GroupSign found = second == std::string_view::npos ? GroupSign() : manager_in_cgroup(line.substr(second + 1));
      signs.engine(found.engine, origin_of(path, line, number));
      if (!found.detail.empty()) signs.detail(found.detail, origin_of(path, line, number));
      return found.engine.empty();
    });
  }
}

// ---- marker files -------------------------------------------------------------------------------------------------------

void by_marker_file(System& system, bool machine_disk, Signs& signs) {
  constexpr std::pair<const char*, const char*> markers[] = {{"/.dockerenv", "docker"},
                                                             {"/run/.containerenv", "podman"},
                                                             {"/.singularity.d", "apptainer"},
                                                             {"/singularity", "apptainer"}};
  for (const auto& [path, name] : markers)
    if (!machine_disk && system.status(path, false)) signs.engine(name, origin_of(path));
}

void by_sandbox(System& system, const MountTable& mounts, Signs& signs) {
  if (system.status("/.flatpak-info", false)) signs.engine("flatpak", origin_of("/.flatpak-info"));
  // Only a strictly confined snap has a root of its own, with the host's behind it.
  if (const Mount* host = mounts.at("/var/lib/snapd/hostfs")) signs.engine("snap", host->origin);
}

/// What was put around an engine, and how it runs; said only inside of a container.
void add_details(System& system, const Environment& environment, const MountTable& mounts, Signs& signs) {
  constexpr const char* container_file = "/run/.containerenv";
  if (const auto text = system.read_head(container_file, 16384))
    for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
      if (line == "rootless=1") signs.detail("rootless", origin_of(container_file, line, number));
      return true;
    });
  if (const Mount* root = mounts.at("/"); root != nullptr && is_in_a_home(*root)) signs.detail("rootless", root->origin);
  if (system.status("/run/.toolboxenv", false)) signs.detail("toolbox", origin_of("/run/.toolboxenv"));
  for (const char* point : {"/usr/bin/distrobox-export", "/usr/bin/distrobox-host-exec"})
    if (const Mount* mount = mounts.at(point)) signs.detail("distrobox", mount->origin);
  if (const auto* path = variable(environment, "DISTROBOX_ENTER_PATH"))
    signs.detail("distrobox", origin_of("environment", "DISTROBOX_ENTER_PATH=" + *path));
  for (const auto& [path, name] : {std::pair{"/dev/incus/sock", "incus"}, std::pair{"/dev/lxd/sock", "lxd"}})
    if (system.status(path, false)) signs.detail(name, origin_of(path));
}

}  // namespace

void collect_container(System& system, const Environment& environment, const MountTable& mounts, OperatingSystem& os) {
  const Mount* root = mounts.at("/");
  const bool machine_disk = is_disk_of_a_machine(root);
  Signs signs;
  by_sandbox(system, mounts, signs);
  if (!machine_disk) by_hpc_variables(environment, signs);
  by_kubernetes(system, environment, machine_disk, signs);
  by_first_process(system, signs);
  if (const auto* value = variable(environment, "container"); value && !machine_disk)
    signs.engine(manager_name(*value), origin_of("environment", "container=" + *value));
  by_cgroup(system, machine_disk, signs);
  by_marker_file(system, machine_disk, signs);
  by_network_files(mounts, signs);
  if (root != nullptr) signs.engine(engine_of_root(*root), root->origin);
  // The host has lxcfs mounted as a whole, at a place of its own.
  for (const char* point : {"/proc/cpuinfo", "/proc/meminfo"})
    if (const Mount* mount = mounts.at(point); mount != nullptr && mount->type == "fuse.lxcfs")
      signs.engine("lxc", mount->origin);

  if (signs.found()) {
    add_details(system, environment, mounts, signs);
    os.container = signs.judged();
    os.container_signs = signs.take();
  } else if (!system.exists("/proc/1") && !system.exists("/proc/self")) {
    os.container = Fact<std::string>::not_seen("no /proc here, and no container's own file");
  } else {
    os.container = Fact<std::string>::absent(origin_of("/proc/1", "no sign of a container"));
  }
}

}  // namespace gpuvet
