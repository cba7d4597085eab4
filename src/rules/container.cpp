// What a container shows of itself: whether it got the GPU, with which part of the driver, and with how much shared memory.

#include "rules/container.h"

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/kernel_module_versions.h"
#include "rules/software.h"
#include "rules/user_driver.h"

namespace gpuvet {

std::span<const Rule> container_rules() {
  using namespace container;
  static constexpr std::array rules = {
      Rule{"docker-snap-conflict", snap_conflict},
      Rule{"docker-desktop-vm-no-gpu", desktop_virtual_machine},
      Rule{"container-toolkit-missing", toolkit_missing},
      Rule{"container-lost-gpu-after-daemon-reload", right_to_gpu_lost},
      Rule{"container-not-given-gpu", given_no_gpu},
      Rule{"driver-capabilities-without-compute", capabilities_without_compute},
      Rule{"stale-driver-libs-in-container", stale_driver_libraries},
      Rule{"container-shm-too-small", shared_memory_too_small},
  };
  return rules;
}

namespace container {
namespace {

constexpr std::int64_t docker_default_shm = 64 * 1024 * 1024;  ///< docs.docker.com, docker run --shm-size

const std::string* variable(const RuleContext& context, const char* name) {
  const auto it = context.machine.environment.find(name);
  return it == context.machine.environment.end() ? nullptr : &it->second;
}

Origin quote_variable(const char* name, const std::string& value) { return {"environment", 0, std::string(name) + "=" + value}; }

/// Engines whose containers are whole systems, with a driver's libraries of their own: nothing is injected there.
bool is_system_container(const Machine& machine) { return machine.os.container.is("lxc") || machine.os.container.is("nspawn"); }

bool has_gpu_node(const Machine& machine) {
  return device_node(machine, "/dev/nvidiactl") != nullptr || !gpu_nodes(machine).empty() ||
         device_node(machine, "/dev/dxg") != nullptr;
}

bool is_driver_copy(const DriverLibrary& library) { return library.kind == "driver" || library.kind == "wsl"; }

/// NVIDIA_VISIBLE_DEVICES as a request: "void" and an empty value say that none is wanted, "none" asks for libraries only.
const std::string* requested_devices(const RuleContext& context) {
  const std::string* devices = variable(context, "NVIDIA_VISIBLE_DEVICES");
  if (devices == nullptr || devices->empty() || *devices == "void" || *devices == "none") return nullptr;
  return devices;
}

/// A CUDA build of a framework in a judged environment, or null.
const FrameworkBuild* cuda_framework(const RuleContext& context) {
  for (const JudgedEnvironment& judged : context.environments) {
    for (const FrameworkBuild& build : judged.environment->frameworks)
      if (build.flavour == "cuda") return &build;
  }
  return nullptr;
}

/// Why a GPU is wanted in here; nothing: nobody wants one.
std::vector<Origin> wish_for_gpu(const RuleContext& context) {
  if (const std::string* devices = requested_devices(context)) return {quote_variable("NVIDIA_VISIBLE_DEVICES", *devices)};
  if (const FrameworkBuild* build = cuda_framework(context)) {
    Origin origin = build->origin;
    if (origin.text.empty()) origin.text = build->name + " " + build->version + ", built for CUDA";
    return {origin};
  }
  return {};
}

/// The bus was seen (a container's /sys is the host's) and there is no NVIDIA GPU on it: no start can bring one in.
bool host_has_no_gpu(const RuleContext& context) {
  const auto* devices = context.machine.pci.get();
  return devices != nullptr && !devices->empty() && context.gpus.empty() && !context.in(World::Wsl2);
}

/// The copy that wins and was not brought in from the host; null: there is none, or it is a host's.
const DriverLibrary* own_winner(const DriverLibrary* winner) {
  return winner != nullptr && !winner->bind_mounted && winner->kind != "wsl" ? winner : nullptr;
}

}  // namespace

/// The node may be opened by its mode, and the kernel says "not permitted" all the same: the control group's device rules.
std::optional<Finding> right_to_gpu_lost(const RuleContext& context) {
  const auto* nodes = context.machine.device_nodes.nodes.get();
  if (nodes == nullptr || is_system_container(context.machine)) return std::nullopt;
  for (const DeviceNode& node : *nodes) {
    const bool everybody = (node.mode & 0666) == 0666;
    if (!node.path.starts_with("/dev/nvidia") || node.type != "char" || !everybody || !node.user_may_open.is(false)) continue;
    if (node.open_error.find("Operation not permitted") == std::string::npos) continue;
    Finding finding;
    finding.evidence = {quote(node), {node.path, 0, "open: " + node.open_error}};
    finding.repair = {make_action("recreate-container"), make_action("keep-container-devices-on-reload")};
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> given_no_gpu(const RuleContext& context) {
  if (!context.in(World::Container)) return std::nullopt;
  const Machine& machine = context.machine;
  const auto* libraries = machine.user_driver.libraries.get();
  if (!machine.device_nodes.nodes.is_known() || libraries == nullptr || has_gpu_node(machine)) return std::nullopt;
  const bool injected = std::ranges::any_of(*libraries, [](const DriverLibrary& library) { return library.bind_mounted; });
  if (injected || host_has_no_gpu(context)) return std::nullopt;
  Finding finding;
  finding.evidence = wish_for_gpu(context);
  const bool asked = context.purpose.asked() && !wants_compiler(context);
  if (finding.evidence.empty() && !asked) return std::nullopt;
  finding.evidence.push_back({"/dev", 0, "no NVIDIA device node"});
  if (std::ranges::none_of(*libraries, is_driver_copy))
    finding.evidence.push_back({"loader search path", 0, "no library of the NVIDIA driver"});
  if (machine.kernel_driver.version.is_known())
    finding.evidence.push_back(quote(machine.kernel_driver.version, "/proc/driver/nvidia/version"));
  finding.repair = {is_system_container(machine)           ? make_action("pass-nodes-into-system-container")
                    : machine.os.container.is("apptainer") ? make_action("start-apptainer-with-nv")
                                                           : make_action("pass-gpu-into-container")};
  return finding;
}

std::optional<Finding> capabilities_without_compute(const RuleContext& context) {
  if (!context.in(World::Container)) return std::nullopt;
  const Machine& machine = context.machine;
  const std::string* capabilities = variable(context, "NVIDIA_DRIVER_CAPABILITIES");
  if (capabilities == nullptr || !has_gpu_node(machine) || is_system_container(machine)) return std::nullopt;
  if (capabilities->find("compute") != std::string::npos || capabilities->find("all") != std::string::npos) return std::nullopt;
  // An empty value is the default of the toolkit: utility and compute.
  if (capabilities->empty() || context.libcuda != nullptr || machine.user_driver.search_complete.is(false)) return std::nullopt;
  if (!machine.user_driver.libraries.is_known()) return std::nullopt;
  Finding finding;
  finding.evidence = {quote_variable("NVIDIA_DRIVER_CAPABILITIES", *capabilities)};
  if (context.libnvml != nullptr) finding.evidence.push_back({context.libnvml->path, 0, "brought in; libcuda.so.1 was not"});
  finding.repair = {make_action("inject-driver-libraries")};
  return finding;
}

std::optional<Finding> stale_driver_libraries(const RuleContext& context) {
  const Machine& machine = context.machine;
  // Under WSL every such copy is wrong, whatever its version (wsl-driver-libs-in-image-or-distro).
  if (is_system_container(machine) || context.in(World::Wsl2) || !has_gpu_node(machine)) return std::nullopt;
  for (const DriverLibrary* winner : {own_winner(context.libcuda), own_winner(context.libnvml)}) {
    if (winner == nullptr) continue;
    const bool empty = winner->kind == "empty";
    const std::string* version = winner->version.get();
    const auto own = version != nullptr ? DriverVersion::parse(*version) : std::nullopt;
    const bool other = winner->kind == "driver" && own && context.loaded_driver && *own != *context.loaded_driver;
    if (!empty && !other) continue;
    Finding finding;
    finding.variant = empty ? "empty-in-image" : "";
    finding.parameters = {{"path", winner->path},
                          {"version", own ? own->text : "?"},
                          {"loaded", context.loaded_driver ? context.loaded_driver->text : "?"}};
    finding.evidence = {
        {winner->path, 0, empty ? "an empty file of the image itself" : "driver " + own->text + ", of the image itself"}};
    if (winner->package.is_known()) finding.evidence.push_back(quote(winner->package, winner->path));
    if (machine.kernel_driver.version.is_known())
      finding.evidence.push_back(quote(machine.kernel_driver.version, "/proc/driver/nvidia/version"));
    finding.repair = {make_action("remove-driver-libraries-from-image")};
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> shared_memory_too_small(const RuleContext& context) {
  if (!context.in(World::Container)) return std::nullopt;
  const std::int64_t* size = context.machine.os.shared_memory.get();
  if (size == nullptr || *size > docker_default_shm || !has_gpu_node(context.machine)) return std::nullopt;
  // Torch's data loaders and NCCL pass their data through it; a program of another kind never notices.
  const bool torch = std::ranges::any_of(context.environments, [&](const JudgedEnvironment& judged) {
    return has_framework(*judged.environment, "torch") && wants_framework(context, *judged.environment, "torch");
  });
  if (!torch) return std::nullopt;
  Finding finding;
  finding.parameters = {{"mib", std::to_string(*size / 1024 / 1024)}};
  finding.evidence = {quote(context.machine.os.shared_memory, "/proc/self/mountinfo")};
  finding.repair = {make_action("give-nccl-shared-memory")};
  return finding;
}

}  // namespace container
}  // namespace gpuvet
