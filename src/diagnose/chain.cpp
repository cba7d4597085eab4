#include "diagnose/chain.h"

#include <algorithm>
#include <map>
#include <string>

#include "diagnose/program_links.h"
#include "diagnose/software_links.h"
#include "model/windows_driver.h"
#include "rules/evidence.h"

namespace gpuvet {
namespace {

bool has_node_starting_with(const Machine& machine, std::string_view prefix) {
  const auto* nodes = machine.device_nodes.nodes.get();
  return nodes != nullptr && std::ranges::any_of(*nodes, [&](const DeviceNode& n) { return n.path.starts_with(prefix); });
}

/// In WSL2 the GPU is the host's, reached through /dev/dxg: that node stands for bus, kernel driver and device node.
LinkView view_dxg(const Machine& machine) {
  return device_node(machine, "/dev/dxg") != nullptr ? LinkView{true, "/dev/dxg (WSL2)"} : LinkView{};
}

/// On Jetson the integrated GPU is no PCI device; its nodes stand for it and for its driver.
LinkView view_tegra(const Machine& machine) {
  for (const char* prefix : {"/dev/nvhost-gpu", "/dev/nvgpu", "/dev/nvhost-ctrl-gpu", "/dev/nvmap"}) {
    if (has_node_starting_with(machine, prefix)) return {true, machine.os.jetson.value_or("Jetson")};
  }
  return {};
}

/// "2 x RTX 3090 (GA102)", different models one after the other.
std::string describe_gpus(const RuleContext& context) {
  std::map<std::string, int> models;
  for (const MachineGpu& gpu : context.gpus) ++models[gpu.identity.label()];
  std::string text;
  for (const auto& [model, count] : models) {
    if (!text.empty()) text += ", ";
    if (count > 1) text += std::to_string(count) + " x ";
    text += model;
  }
  return text;
}

LinkView view_hardware(const RuleContext& context) {
  if (context.in(World::Wsl2)) return view_dxg(context.machine);
  if (context.in(World::Jetson)) return view_tegra(context.machine);
  if (!context.gpus.empty()) return {true, describe_gpus(context)};
  if (!context.machine.kernel_driver.gpus.empty()) return {true, context.machine.kernel_driver.gpus.front().model};
  return {};
}

LinkView view_kernel_module(const RuleContext& context) {
  if (context.in(World::Wsl2)) return view_dxg(context.machine);
  if (context.in(World::Jetson)) return view_tegra(context.machine);
  const KernelDriver& driver = context.machine.kernel_driver;
  const auto* version = driver.version.get();
  if (version == nullptr) return {};
  return {true, "nvidia " + *version + (driver.flavor.is_known() ? " (" + *driver.flavor.get() + ")" : "")};
}

LinkView view_device_nodes(const RuleContext& context) {
  if (context.in(World::Wsl2)) return view_dxg(context.machine);
  if (context.in(World::Jetson)) return view_tegra(context.machine);
  if (device_node(context.machine, "/dev/nvidiactl") == nullptr) return {};
  std::string text = "/dev/nvidiactl";
  for (const DeviceNode& node : *context.machine.device_nodes.nodes.get()) {
    const bool gpu =
        node.path.starts_with("/dev/nvidia") && node.path.size() > 11 && node.path[11] >= '0' && node.path[11] <= '9';
    if (gpu || node.path == "/dev/nvidia-uvm") text += ", " + node.path.substr(5);
  }
  return {true, text};
}

LinkView view_user_driver(const RuleContext& context) {
  const DriverLibrary* libcuda = context.libcuda;
  if (libcuda == nullptr) return {};
  const bool usable = libcuda->kind == "driver" || libcuda->kind == "compat" || libcuda->kind == "wsl";
  std::string text = libcuda->name;
  if (const auto* version = libcuda->version.get()) text += " " + *version;
  // The folder is what tells copies apart; the file's name is the library's again.
  const std::size_t slash = libcuda->path.rfind('/');
  if (slash != std::string::npos) text += " (" + libcuda->path.substr(0, std::max<std::size_t>(slash, 1)) + ")";
  // What people know of Windows' driver is its number there.
  const std::string* windows = context.machine.wsl.windows_driver.get();
  const auto driver = windows != nullptr ? driver_of_windows_version(*windows) : std::nullopt;
  if (driver && libcuda->kind == "wsl") text += ", Windows " + driver->text;
  return {usable, text};
}

LinkView view_link(const RuleContext& context, Layer layer) {
  switch (layer) {
    case Layer::Hardware:
      return view_hardware(context);
    case Layer::KernelModule:
      return view_kernel_module(context);
    case Layer::DeviceNode:
      return view_device_nodes(context);
    case Layer::UserDriver:
      return view_user_driver(context);
    case Layer::Toolkit:
      return view_toolkit(context);
    case Layer::RuntimeLibrary:
      return view_runtime_libraries(context);
    case Layer::Framework:
      return view_framework(context);
    case Layer::Application:
      return context.purpose.name == "path" ? view_program(context) : LinkView{};
    default:
      return {};
  }
}

LinkState judge_link(const std::vector<Finding>& findings, Layer layer, bool needed, const LinkView& view) {
  Severity worst = Severity::Note;
  for (const Finding& finding : findings) {
    if (finding.layer == layer) worst = std::max(worst, finding.severity);
  }
  if (worst == Severity::Error) return LinkState::Broken;
  if (!needed) return worst == Severity::Warning ? LinkState::Warning : LinkState::NotNeeded;
  if (!view.seen_good) return LinkState::Unknown;
  return worst == Severity::Warning ? LinkState::Warning : LinkState::Ok;
}

template <class T>
void note_unless_seen(std::vector<NotSeen>& list, const Fact<T>& fact, const char* what) {
  if (fact.is_not_seen()) list.push_back({what, fact.why()});
}

}  // namespace

std::vector<ChainLink> judge_chain(const RuleContext& context, const std::vector<Finding>& findings) {
  std::vector<ChainLink> chain;
  for (int i = 0; i < chain_length; ++i) {
    const Layer layer = static_cast<Layer>(i);
    LinkView view = view_link(context, layer);
    chain.push_back({layer, judge_link(findings, layer, purpose_needs(context, layer), view), std::move(view.detail)});
  }
  return chain;
}

std::vector<NotSeen> list_not_seen(const RuleContext& context) {
  const Machine& machine = context.machine;
  std::vector<NotSeen> list;
  const bool own_kernel_driver = !context.in(World::Wsl2) && !context.in(World::Wsl1) && !context.in(World::Jetson);
  if (own_kernel_driver) {
    note_unless_seen(list, machine.pci, "pci-bus");
    note_unless_seen(list, machine.kernel_driver.loaded, "kernel-modules");
    if (!context.in(World::Container)) note_unless_seen(list, machine.kernel_driver.module_files, "module-files");
  }
  note_unless_seen(list, machine.device_nodes.nodes, "device-nodes");
  note_unless_seen(list, machine.user_driver.libraries, "driver-libraries");
  note_unless_seen(list, machine.kernel_log.events, "kernel-log");
  note_unless_seen(list, machine.packages.installed, "packages");
  note_unless_seen(list, machine.environment_seen, "environment");
  if (context.in(World::Wsl2)) note_unless_seen(list, machine.wsl.windows_driver, "windows-driver");
  if (purpose_needs(context, Layer::Toolkit)) note_unless_seen(list, machine.toolkits.found, "toolkits");
  if (purpose_needs(context, Layer::Framework)) note_unless_seen(list, machine.python.environments, "python-environments");
  for (const NotSeen& entry : unseen_of_software(context)) list.push_back(entry);
  for (const std::string& build : builds_with_unseen_code(context)) list.push_back({"gpu-code", build});
  return list;
}

}  // namespace gpuvet
