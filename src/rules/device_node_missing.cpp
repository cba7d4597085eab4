// Nodes that the loaded driver wants and /dev lacks, nodes of another driver, and MIG without instances.

#include <algorithm>
#include <charconv>
#include <map>

#include "rules/device_node.h"
#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/hardware.h"

namespace gpuvet {
namespace {

constexpr std::int64_t setuid_bit = 04000;

/// libcuda and NVML call nvidia-modprobe when a node is missing: setuid, it makes node and loads module for everybody.
/// Not seen counts as there: only a surely missing helper makes a missing node an error.
bool nodes_come_on_demand(const RuleContext& context) {
  const auto& helper = context.machine.device_nodes.nvidia_modprobe;
  const auto& parameters = context.machine.kernel_driver.parameters;
  const auto modify = parameters.find("ModifyDeviceFiles");
  if (modify != parameters.end() && modify->second == "0") return false;
  if (const auto* mode = helper.get()) return (*mode & setuid_bit) != 0;
  if (helper.is_absent()) return false;
  // Without a look at the file: the packages that bring it setuid.
  const auto& machine = context.machine;
  return installed_package(machine, "nvidia-modprobe") ||
         (machine.packages.manager.is("pacman") && installed_package(machine, "nvidia-utils")) ||
         !machine.packages.installed.is_known();
}

Origin quote_helper(const Machine& machine) {
  const auto& helper = machine.device_nodes.nvidia_modprobe;
  return quote(helper, "/usr/bin/nvidia-modprobe", helper.is_known() ? "not setuid root" : "not installed");
}

bool nodes_seen(const Machine& machine) { return machine.device_nodes.nodes.is_known(); }

/// Paths of the nodes that the driver's own GPUs and its control interface need and that are not there.
std::vector<std::string> missing_nodes(const Machine& machine) {
  std::vector<std::string> missing;
  if (!device_node(machine, "/dev/nvidiactl")) missing.push_back("/dev/nvidiactl");
  for (const auto& gpu : machine.kernel_driver.gpus) {
    if (gpu.excluded || gpu.device_minor < 0) continue;
    const std::string path = "/dev/nvidia" + std::to_string(gpu.device_minor);
    if (!device_node(machine, path)) missing.push_back(path);
  }
  if (machine.kernel_driver.gpus.empty() && gpu_nodes(machine).empty()) missing.push_back("/dev/nvidia0");
  return missing;
}

/// In a container the nodes of the GPUs that were given count: at least one, and the control node.
std::vector<std::string> missing_in_container(const Machine& machine) {
  std::vector<std::string> missing;
  const bool control = device_node(machine, "/dev/nvidiactl") != nullptr;
  const bool any_gpu = !gpu_nodes(machine).empty();
  if (control && !any_gpu) missing.push_back("/dev/nvidia0");
  if (!control && any_gpu) missing.push_back("/dev/nvidiactl");
  return missing;  // none of both: the container was given no GPU, which is another story
}

}  // namespace

// ---- device-nodes-missing ------------------------------------------------------------------------------------------

std::optional<Finding> judge_nodes_missing(const RuleContext& context) {
  const auto& machine = context.machine;
  if (!nodes_seen(machine) || !driver_is_loaded(context)) return std::nullopt;
  const bool container = context.in(World::Container);
  // A driver that took no GPU makes no nodes; the reason lies further up the chain.
  if (!container && machine.kernel_driver.gpus.empty() &&
      std::ranges::none_of(context.gpus, [&](const MachineGpu& gpu) { return taken_by_nvidia(context, *gpu.device); }))
    return std::nullopt;
  const auto missing = container ? missing_in_container(machine) : missing_nodes(machine);
  if (missing.empty()) return std::nullopt;

  Finding finding;
  finding.parameters["nodes"] = join(missing, ", ");
  for (const auto& path : std::span(missing).first(std::min<std::size_t>(missing.size(), 4)))
    finding.evidence.push_back({path, 0, "missing"});
  if (const auto* module = loaded_module(machine, "nvidia")) finding.evidence.push_back(quote(*module));
  if (container) {
    finding.variant = "container";
    finding.repair.push_back(make_action("pass-gpu-into-container"));
    return finding;
  }
  if (nodes_come_on_demand(context)) {
    finding.severity = Severity::Note;
    finding.variant = "on-demand";
    return finding;
  }
  finding.evidence.push_back(quote_helper(machine));
  finding.repair.push_back(make_action("create-device-nodes"));
  finding.repair.push_back(
      make_action(machine.device_nodes.nvidia_modprobe.is_known() ? "make-nvidia-modprobe-setuid" : "install-nvidia-modprobe"));
  return finding;
}

// ---- nvidia-uvm-device-missing -------------------------------------------------------------------------------------

namespace {

bool uvm_on_disk(const RuleContext& context) {
  const auto& machine = context.machine;
  const auto* kernel = machine.os.kernel.get();
  if (!kernel || !machine.kernel_driver.module_files.is_known()) return true;  // not seen to be missing
  for (const auto& file : *machine.kernel_driver.module_files.get())
    if (file.kernel == *kernel && (file.name.starts_with("nvidia") && file.name.ends_with("uvm"))) return true;
  // Built into nobody's kernel; but a listing without any nvidia module was not that of the loaded one.
  return !module_file_for(machine, *kernel, "nvidia");
}

/// A blacklist that modprobe obeys also on request: alias off, install /bin/false.
const ModprobeDirective* uvm_forbidden(const Machine& machine) {
  for (const auto& directive : machine.kernel_driver.modprobe) {
    const bool stops = directive.kind == "install" || (directive.kind == "alias" && directive.value == "off");
    if (directive.effective && directive.module == "nvidia_uvm" && stops) return &directive;
  }
  return nullptr;
}

}  // namespace

std::optional<Finding> judge_uvm_node_missing(const RuleContext& context) {
  const auto& machine = context.machine;
  if (!nodes_seen(machine) || device_node(machine, "/dev/nvidia-uvm")) return std::nullopt;
  const bool container = context.in(World::Container);
  if (!container && !driver_is_loaded(context)) return std::nullopt;
  // Without the other nodes it is not this one that is missing.
  if (!device_node(machine, "/dev/nvidiactl") || gpu_nodes(machine).empty()) return std::nullopt;

  Finding finding;
  finding.evidence.push_back({"/dev/nvidia-uvm", 0, "missing"});
  finding.evidence.push_back(quote(*device_node(machine, "/dev/nvidiactl")));
  if (container) {
    finding.variant = "container";
    finding.repair.push_back(make_action("load-nvidia-uvm"));
    finding.repair.push_back(make_action("pass-uvm-into-container"));
    return finding;
  }
  const auto* uvm = loaded_module(machine, "nvidia_uvm");
  if (uvm)
    finding.evidence.push_back(quote(*uvm));
  else if (machine.kernel_driver.loaded.is_known())
    finding.evidence.push_back({"/proc/modules", 0, "nvidia_uvm is not loaded"});
  const auto* forbidden = uvm_forbidden(machine);
  if (forbidden) finding.evidence.push_back(forbidden->origin);
  if (nodes_come_on_demand(context) && !forbidden && uvm_on_disk(context)) {
    finding.severity = Severity::Note;
    finding.variant = "on-demand";
    return finding;
  }
  if (!nodes_come_on_demand(context)) finding.evidence.push_back(quote_helper(machine));
  finding.repair.push_back(make_action("load-nvidia-uvm"));
  finding.repair.push_back(make_action("load-nvidia-uvm-at-boot"));
  return finding;
}

// ---- device-major-mismatch -----------------------------------------------------------------------------------------

namespace {

/// The major number that the driver has registered for a node; -1: not seen.
std::int64_t registered_major(const Machine& machine, const DeviceNode& node) {
  const auto* majors = machine.device_nodes.majors.get();
  if (!majors) return -1;
  // Since 560 the frontend is called "nvidia"; "nvidiactl" and "nvidia-modeset" share its major.
  std::vector<std::string_view> names = {"nvidia-frontend", "nvidia"};
  if (node.path == "/dev/nvidiactl") names = {"nvidiactl", "nvidia-frontend", "nvidia"};
  if (node.path == "/dev/nvidia-uvm" || node.path == "/dev/nvidia-uvm-tools") names = {"nvidia-uvm"};
  for (const auto name : names)
    for (const auto& major : *majors)
      if (major.name == name) return major.major;
  return -1;
}

std::vector<const DeviceNode*> nodes_that_cuda_opens(const Machine& machine) {
  auto nodes = gpu_nodes(machine);
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm"})
    if (const auto* node = device_node(machine, path)) nodes.push_back(node);
  return nodes;
}

/// Character devices below this have fixed owners (Documentation/admin-guide/devices.txt: 195 is NVIDIA's, dynamic ones are
/// above): a node with such a number was not left over from another boot, it is an artefact of a copied /dev.
constexpr std::int64_t lowest_credible_major = 195;

bool has_wrong_number(const Machine& machine, const DeviceNode& node) {
  if (node.type != "char" || node.major < lowest_credible_major) return false;
  const auto major = registered_major(machine, node);
  if (major >= 0 && major != node.major) return true;
  if (node.path == "/dev/nvidiactl") return node.minor != 255;
  return node.path == "/dev/nvidia-uvm" && major >= 0 && node.minor != 0;
}

}  // namespace

std::optional<Finding> judge_major_mismatch(const RuleContext& context) {
  const auto& machine = context.machine;
  if (!nodes_seen(machine)) return std::nullopt;
  for (const auto* node : nodes_that_cuda_opens(machine)) {
    const bool no_device = node->type == "file" || node->type == "directory";
    if (!no_device && !has_wrong_number(machine, *node)) continue;
    Finding finding;
    finding.variant = no_device ? "no-device" : "";
    finding.parameters["node"] = node->path;
    finding.evidence.push_back(quote(*node));
    if (const auto major = registered_major(machine, *node); !no_device) {
      finding.parameters["major"] = std::to_string(node->major);
      finding.parameters["expected"] = std::to_string(major >= 0 ? major : 195);
      finding.evidence.push_back(quote(machine.device_nodes.majors, "/proc/devices",
                                       std::to_string(major >= 0 ? major : 195) + " " + node->path.substr(5)));
    }
    if (context.in(World::Container))
      finding.repair.push_back(make_action("recreate-container"));
    else
      finding.repair.push_back(make_action("recreate-device-node", {{"node", node->path}}));
    return finding;
  }
  return std::nullopt;
}

// ---- mig-enabled-no-instance ---------------------------------------------------------------------------------------

namespace {

/// What /proc/driver/nvidia/capabilities says of one GPU. A folder gpuN/mig is there for every GPU; only instances prove MIG.
struct MigState {
  bool gpu_instance = false;
  bool compute_instance = false;
};

/// "gpu0/mig/gi1/ci0/access" → GPU number 0, parts of it noted.
std::map<int, MigState> mig_states(const std::vector<std::string>& paths) {
  std::map<int, MigState> states;
  for (const std::string& path : paths) {
    const auto start = path.find("gpu");
    const auto mig = path.find("/mig", start == std::string::npos ? 0 : start);
    if (start == std::string::npos || mig == std::string::npos) continue;
    int gpu = -1;
    const auto [end, error] = std::from_chars(path.data() + start + 3, path.data() + mig, gpu);
    if (error != std::errc{} || end != path.data() + mig) continue;
    auto& state = states[gpu];
    state.gpu_instance |= path.find("/gi", mig) != std::string::npos;
    state.compute_instance |= path.find("/ci", mig) != std::string::npos;
  }
  return states;
}

}  // namespace

std::optional<Finding> judge_mig_without_instance(const RuleContext& context) {
  const auto* paths = context.machine.kernel_driver.mig_capabilities.get();
  if (!paths) return std::nullopt;
  const auto states = mig_states(*paths);
  const auto stuck = [](const auto& entry) { return entry.second.gpu_instance && !entry.second.compute_instance; };
  const auto first = std::ranges::find_if(states, stuck);
  if (first == states.end()) return std::nullopt;
  const auto count = static_cast<std::size_t>(std::ranges::count_if(states, stuck));
  const std::size_t gpus = std::max(context.gpus.size(), context.machine.kernel_driver.gpus.size());

  Finding finding;
  if (count < gpus) finding.severity = Severity::Warning;  // programs find the other GPUs
  finding.parameters["index"] = std::to_string(first->first);
  const std::string folder = "gpu" + std::to_string(first->first) + "/mig/gi";
  for (const std::string& path : *paths)
    if (path.find(folder) != std::string::npos && finding.evidence.size() < 3)
      finding.evidence.push_back(
          quote(Fact<std::string>(), "/proc/driver/nvidia/capabilities/" + path, "GPU instance without compute instance"));
  finding.repair.push_back(make_action("create-mig-compute-instance", {{"index", std::to_string(first->first)}}));
  finding.repair.push_back(or_action("disable-mig", {{"index", std::to_string(first->first)}}));
  return finding;
}

}  // namespace gpuvet
