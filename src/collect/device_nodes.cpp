// The driver's device nodes, who may open them, and the major numbers that the kernel gave.

#include <algorithm>

#include "collect/collect.h"
#include "collect/lines.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_nodes = 4096;

const char* type_name(FileType type) {
  switch (type) {
    case FileType::CharDevice:
      return "char";
    case FileType::BlockDevice:
      return "block";
    case FileType::Regular:
      return "file";
    case FileType::Directory:
      return "directory";
    case FileType::Link:
      return "link";
    case FileType::Fifo:
      return "fifo";
    case FileType::Socket:
      return "socket";
    case FileType::Other:
      break;
  }
  return "other";
}

/// Entries of /dev itself that belong to an NVIDIA driver of any world, the folders of such nodes left out.
bool is_driver_node(std::string_view name) {
  return name.starts_with("nvidia") || name == "dxg" || name == "nvmap" || name.starts_with("nvhost") ||
         name.starts_with("nvgpu");
}

bool is_node_folder(std::string_view name) {
  return name == "dri" || name == "nvidia-caps" || name == "nvidia-caps-imex-channels" || name == "nvgpu";
}

// ---- may the user open it ---------------------------------------------------------------------------------------------

bool in_groups(const User& user, std::int64_t gid) {
  const auto* groups = user.groups.get();
  return groups && std::any_of(groups->begin(), groups->end(), [&](const UserGroup& group) { return group.gid == gid; });
}

/// The nodes of MIG and IMEX capabilities are opened for reading only (their mode is 0400 or 0444), the others for both.
bool is_capability(const DeviceNode& node) { return node.path.starts_with("/dev/nvidia-caps"); }

/// As the kernel decides: the first class that fits counts, also when it says no.
Fact<bool> may_open_by_mode(const DeviceNode& node, const User& user) {
  const auto* uid = user.uid.get();
  const std::int64_t wanted = is_capability(node) ? 04 : 06;
  const std::int64_t for_all = wanted << 6 | wanted << 3 | wanted;
  const bool everybody = (node.mode & for_all) == for_all;
  if (!uid && everybody) return Fact<bool>::known(true, origin_of(node.path));
  if (!uid) return Fact<bool>::not_seen("the user is not known", origin_of(node.path));
  const int shift = *uid == node.uid ? 6 : in_groups(user, node.gid) ? 3 : 0;
  const bool allowed = *uid == 0 || ((node.mode >> shift) & wanted) == wanted;
  return Fact<bool>::known(allowed, origin_of(node.path));
}

void judge_access(System& system, const User& user, DeviceNode& node) {
  if (node.type != "char") {
    node.user_may_open = Fact<bool>::not_seen("not a character device", origin_of(node.path));
    return;
  }
  node.user_may_open = may_open_by_mode(node, user);
  if (is_capability(node)) return;
  const auto identity = system.identity();
  // Another user's environment is judged: only the mode can tell.
  if (system.is_live() && (!identity || !user.uid.is(identity->uid))) return;
  const auto answer = system.may_open(node.path);
  if (answer) {
    node.user_may_open = Fact<bool>::known(*answer, origin_of(node.path, "asked the kernel"));
  } else if (answer.error().code == ErrorCode::Denied) {
    node.user_may_open = Fact<bool>::known(false, origin_of(node.path, answer.error().message));
    node.open_error = answer.error().message;
  }
}

// ---- nodes ------------------------------------------------------------------------------------------------------------

std::optional<DeviceNode> read_node(System& system, const std::string& path) {
  auto status = system.status(path, true);
  if (!status) status = system.status(path, false);  // a dangling link is a finding, too
  if (!status) return std::nullopt;
  DeviceNode node;
  node.path = path;
  node.type = type_name(status->type);
  node.major = status->device_major;
  node.minor = status->device_minor;
  node.mode = status->mode;
  node.uid = status->uid;
  node.gid = status->gid;
  return node;
}

void add_folder(System& system, const std::string& folder, std::vector<DeviceNode>& nodes) {
  const auto entries = system.list(folder, most_nodes);
  if (!entries) return;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.type == FileType::Directory) continue;  // dri/by-path
    if (auto node = read_node(system, folder + "/" + entry.name)) nodes.push_back(std::move(*node));
  }
}

Fact<std::vector<DeviceNode>> find_nodes(System& system, const User& user) {
  using Nodes = Fact<std::vector<DeviceNode>>;
  const auto entries = system.list("/dev");
  if (!entries) {
    if (entries.error().code == ErrorCode::NotFound) return Nodes::not_seen("no /dev here", origin_of("/dev"));
    return not_seen_because<std::vector<DeviceNode>>(entries.error(), "/dev");
  }
  if (entries->empty()) return Nodes::not_seen("/dev is empty here, as in an image", origin_of("/dev"));
  std::vector<DeviceNode> nodes;
  for (const DirectoryEntry& entry : *entries) {
    if (nodes.size() >= most_nodes) break;
    const std::string path = "/dev/" + entry.name;
    if (is_node_folder(entry.name) && system.is_directory(path)) {
      add_folder(system, path, nodes);
    } else if (is_driver_node(entry.name)) {
      if (auto node = read_node(system, path)) nodes.push_back(std::move(*node));
    }
  }
  for (DeviceNode& node : nodes) judge_access(system, user, node);
  return Nodes::known(std::move(nodes), origin_of("/dev"));
}

// ---- majors -----------------------------------------------------------------------------------------------------------

Fact<std::vector<DeviceMajor>> find_majors(System& system) {
  using Majors = Fact<std::vector<DeviceMajor>>;
  constexpr const char* path = "/proc/devices";
  const auto text = system.read_file(path, std::size_t{1} << 20);
  if (!text) return not_seen_because<std::vector<DeviceMajor>>(text.error(), path);
  std::vector<DeviceMajor> majors;
  bool character = false;
  for_each_line(*text, [&](std::string_view line, std::uint32_t) {
    if (line.starts_with("Character devices")) character = true;
    if (line.starts_with("Block devices")) character = false;
    const auto fields = words(line);
    if (!character || fields.size() != 2 || !fields[1].starts_with("nvidia")) return true;
    if (const auto major = decimal(fields[0])) majors.push_back({std::string(fields[1]), *major});
    return true;
  });
  return Majors::known(std::move(majors), origin_of(path));
}

// ---- control group ----------------------------------------------------------------------------------------------------

/// The path of this process in the v1 hierarchy of devices; nothing when there is none.
std::optional<std::string> devices_cgroup(System& system) {
  const auto text = system.read_file("/proc/self/cgroup", 65536);
  std::optional<std::string> found;
  if (!text) return found;
  for_each_line(*text, [&](std::string_view line, std::uint32_t) {
    const auto fields = split(line, ':');
    if (fields.size() < 3) return true;
    const auto controllers = split(fields[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "devices") != controllers.end())
      found = std::string(line.substr(fields[0].size() + fields[1].size() + 2));
    return !found;
  });
  return found;
}

Fact<std::vector<std::string>> find_cgroup_rules(System& system) {
  using Rules = Fact<std::vector<std::string>>;
  const std::string folder = "/sys/fs/cgroup/devices";
  // A container sees its own group at the top of the mount.
  std::vector<std::string> paths{folder + "/devices.list"};
  if (const auto own = devices_cgroup(system); own && *own != "/") paths.insert(paths.begin(), folder + *own + "/devices.list");
  for (const std::string& path : paths) {
    const auto text = system.read_file(path, 65536);
    if (!text) continue;
    std::vector<std::string> rules;
    for_each_line(*text, [&](std::string_view line, std::uint32_t) {
      if (!trim(line).empty()) rules.emplace_back(trim(line));
      return true;
    });
    return Rules::known(std::move(rules), origin_of(path));
  }
  if (system.exists("/sys/fs/cgroup/cgroup.controllers")) return Rules::absent(origin_of("/sys/fs/cgroup", "control groups v2"));
  return Rules::not_seen("no devices.list here", origin_of(paths.front()));
}

/// The helper that makes missing nodes when a program asks, if it may.
Fact<std::int64_t> find_nvidia_modprobe(System& system) {
  constexpr const char* usual = "/usr/bin/nvidia-modprobe";
  if (!system.is_directory("/usr/bin")) return Fact<std::int64_t>::not_seen("no /usr/bin here", {usual, 0, {}});
  for (const char* path : {usual, "/usr/sbin/nvidia-modprobe", "/opt/bin/nvidia-modprobe"}) {
    const auto status = system.status(path);
    if (status) return Fact<std::int64_t>::known(status->mode, {path, 0, {}});
    if (status.error().code != ErrorCode::NotFound) return Fact<std::int64_t>::not_seen(status.error().message, {path, 0, {}});
  }
  return Fact<std::int64_t>::absent({usual, 0, {}});
}

}  // namespace

void collect_device_nodes(System& system, const CollectOptions&, Machine& machine) {
  machine.device_nodes.nvidia_modprobe = find_nvidia_modprobe(system);
  machine.device_nodes.nodes = find_nodes(system, machine.user);
  machine.device_nodes.majors = find_majors(system);
  machine.device_nodes.cgroup_device_rules = find_cgroup_rules(system);
}

}  // namespace gpuvet
