// May this user open the nodes: by mode and group, and by SELinux or AppArmor.

#include <algorithm>
#include <array>

#include "rules/device_node.h"
#include "rules/evidence.h"

namespace gpuvet {
namespace {

/// Refused by mode, owner and groups. "Operation not permitted" is the device cgroup's answer, which chmod cannot change.
bool is_refused(const DeviceNode& node) {
  return node.type == "char" && node.user_may_open.is(false) && !contains_ignoring_case(node.open_error, "not permitted") &&
         (node.open_error.empty() || contains_ignoring_case(node.open_error, "permission denied"));
}

/// The nodes without which no CUDA program starts: the control node, UVM, and the GPUs where every one is refused.
std::vector<const DeviceNode*> refused_nodes(const Machine& machine) {
  std::vector<const DeviceNode*> refused;
  const auto gpus = gpu_nodes(machine);
  if (!gpus.empty() && std::ranges::all_of(gpus, [](const DeviceNode* node) { return is_refused(*node); })) refused = gpus;
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm"})
    if (const auto* node = device_node(machine, path); node && is_refused(*node)) refused.push_back(node);
  return refused;
}

const ModprobeDirective* device_file_option(const Machine& machine) {
  for (const auto& directive : machine.kernel_driver.modprobe)
    if (directive.effective && directive.kind == "options" && directive.module == "nvidia" &&
        (contains_ignoring_case(directive.value, "NVreg_DeviceFileMode") ||
         contains_ignoring_case(directive.value, "NVreg_DeviceFileGID")))
      return &directive;
  return nullptr;
}

/// The loaded driver was told to make nodes with another mode than 0666 (438).
bool parameter_restricts(const Machine& machine) {
  const auto& parameters = machine.kernel_driver.parameters;
  const auto mode = parameters.find("DeviceFileMode");
  return mode != parameters.end() && mode->second != "438" && mode->second != "0666";
}

std::string group_of(const Machine& machine, std::int64_t gid) {
  if (const auto* groups = machine.user.groups.get())
    for (const auto& group : *groups)
      if (group.gid == gid && !group.name.empty()) return group.name;
  return std::to_string(gid);
}

constexpr std::int64_t group_read_write = 060;

}  // namespace

std::optional<Finding> judge_node_permissions(const RuleContext& context) {
  const auto& machine = context.machine;
  if (!machine.device_nodes.nodes.is_known() || machine.user.uid.is(0)) return std::nullopt;
  const auto refused = refused_nodes(machine);
  if (refused.empty()) return std::nullopt;

  const auto& node = *refused.front();
  Finding finding;
  finding.parameters["node"] = node.path;
  const std::string uid = machine.user.uid.is_known() ? "uid " + std::to_string(*machine.user.uid.get()) : "this user";
  finding.parameters["user"] = machine.user.name.value_or(uid);
  finding.parameters["group"] = group_of(machine, node.gid);
  for (const auto* one : std::span(refused).first(std::min<std::size_t>(refused.size(), 4)))
    finding.evidence.push_back(quote(*one));
  if (machine.user.uid.is_known())
    finding.evidence.push_back(
        quote(machine.user.uid, "user", machine.user.name.value_or("") + " uid " + std::to_string(*machine.user.uid.get())));
  const auto* option = device_file_option(machine);
  if (option) finding.evidence.push_back(option->origin);
  const bool group_may = (node.mode & group_read_write) == group_read_write && node.gid != 0;

  if (context.in(World::Container)) {
    finding.variant = "container";
    finding.repair.push_back(make_action("keep-groups-in-container"));
    return finding;
  }
  if (option || parameter_restricts(machine)) finding.variant = "module-parameter";
  if (group_may)
    finding.repair.push_back(
        make_action("add-user-to-group-of-node", {{"user", machine.user.name.value_or("$USER")}, {"node", node.path}}));
  const bool change_mode = option != nullptr || !group_may || finding.variant.empty();
  if (option)
    finding.repair.push_back(undo_modprobe_line(option->origin.source, option->origin.text));
  else if (change_mode)
    finding.repair.push_back(make_action("set-device-file-mode"));
  if (change_mode) {
    finding.repair.push_back(make_action("rebuild-initramfs"));
    finding.repair.push_back(make_action("reboot"));
  }
  return finding;
}

// ---- selinux-denies-devices ------------------------------------------------------------------------------------------

namespace {

bool names_core_node(std::string_view text) {
  for (const char* name : {"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm", "name=\"nvidia0\"",
                           "name=\"nvidia1\"", "name=\"nvidiactl\"", "name=\"nvidia-uvm\""})
    if (contains_ignoring_case(text, name)) return true;
  return false;
}

/// "avc:  denied  { open } for pid=… path="/dev/nvidiactl" … permissive=0", "apparmor="DENIED" operation="open" …
/// name="/dev/nvidia0"".
bool is_denial(const LogEvent& event) {
  const std::string_view text = event.text;
  if (!names_core_node(text)) return false;
  if (contains_ignoring_case(text, "apparmor=\"DENIED\"")) return true;
  if (!contains_ignoring_case(text, "denied") || !contains_ignoring_case(text, "avc")) return false;
  if (contains_ignoring_case(text, "permissive=1")) return false;
  for (const char* permission : {" open ", " read ", " write ", " map ", " ioctl "})
    if (contains_ignoring_case(text, permission)) return true;
  return false;  // getattr and the like only look
}

/// A container or a user's own process: somebody's CUDA program. A confined daemon is that daemon's business.
bool hits_programs(const RuleContext& context, const LogEvent& event) {
  if (context.in(World::Container) || contains_ignoring_case(event.text, "apparmor")) return true;
  for (const char* type :
       {":container_", ":container:", "container_t:", "svirt_", "spc_t", "unconfined_t", ":user_t", ":staff_t", ":sysadm_t"})
    if (contains_ignoring_case(event.text, type)) return true;
  return false;
}

}  // namespace

std::optional<Finding> judge_selinux_denial(const RuleContext& context) {
  const auto& machine = context.machine;
  std::vector<const LogEvent*> denials = current_events(machine);
  std::erase_if(denials, [](const LogEvent* event) { return !is_denial(*event); });
  if (denials.empty()) return std::nullopt;
  const bool apparmor = contains_ignoring_case(denials.front()->text, "apparmor");
  if (!apparmor && machine.os.selinux_enforcing.is(false)) return std::nullopt;

  Finding finding;
  finding.variant = apparmor ? "apparmor" : "";
  quote_events(finding.evidence, denials, 3);
  if (!apparmor && machine.os.selinux_enforcing.is(true))
    finding.evidence.push_back(quote(machine.os.selinux_enforcing, "/sys/fs/selinux/enforce", "1"));
  const bool programs = std::ranges::any_of(denials, [&](const LogEvent* event) { return hits_programs(context, *event); });
  if (!programs) finding.severity = Severity::Warning;
  if (apparmor) {
    finding.repair.push_back(make_action("allow-gpu-in-apparmor-profile"));
    return finding;
  }
  finding.repair.push_back(make_action("relabel-nvidia-devices"));
  finding.repair.push_back(make_action("allow-containers-to-use-devices"));
  return finding;
}

}  // namespace gpuvet
