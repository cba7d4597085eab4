// Device nodes, modules, containers and WSL as a text shows them.

#include <algorithm>
#include <set>

#include "rules/evidence.h"
#include "rules/observed.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Context = RuleContext;
using Result = std::optional<Finding>;

bool has_parts(std::string_view line, std::initializer_list<std::string_view> parts) {
  return std::ranges::all_of(parts, [&](std::string_view part) { return line.find(part) != std::string_view::npos; });
}

/// The first observation whose line has every one of these parts.
const Observation* line_with(const Context& context, std::initializer_list<std::string_view> parts) {
  for (const Observation& o : observations(context.machine))
    if (has_parts(o.origin.text, parts)) return &o;
  return nullptr;
}

const Observation* container(const Context& context) {
  if (const Observation* command = observed(context.machine, "container-command")) return command;
  return observed(context.machine, "container-image");
}

bool wsl2(const Context& context) { return context.in(World::Wsl2); }

bool is_cuda_failure(const Observation& o) {
  return o.meaning == "cuda-error" || o.meaning == "gpu-not-available" || o.meaning == "torch-cuda-unavailable" ||
         o.meaning == "cuinit-failed" || o.meaning == "no-gpu-seen";
}

const Observation* cuda_failure(const Context& context) {
  for (const Observation& o : observations(context.machine))
    if (is_cuda_failure(o)) return &o;
  return nullptr;
}

// ---- module and nodes ----------------------------------------------------------------------------------------------

Result headers_missing(const Context& context) {
  const Observation* missing = observed(context.machine, "kernel-headers-missing");
  if (missing == nullptr || context.in(World::Wsl1) || wsl2(context)) return std::nullopt;
  const auto* running = context.machine.os.kernel.get();
  const bool of_running = running == nullptr || *running == value_of(*missing, "kernel");
  return text_finding(of_running ? 0.92 : 0.3, {missing});
}

/// Module files are shown for other kernels, none for the running one.
Result module_of_other_kernel(const Context& context) {
  const auto* running = context.machine.os.kernel.get();
  if (running == nullptr || wsl2(context)) return std::nullopt;
  const Observation* other = nullptr;
  std::string kernels;
  for (const Observation* file : all_observed(context.machine, "module-file")) {
    const std::string_view kernel = value_of(*file, "kernel");
    if (kernel == *running) return std::nullopt;
    other = file;
    if (kernels.find(kernel) == std::string::npos) kernels += (kernels.empty() ? "" : ", ") + std::string(kernel);
  }
  const Observation* failed = line_with(context, {"communicate with the NVIDIA driver"});
  if (failed == nullptr) failed = line_with(context, {"nvidia", "not found"});
  if (other == nullptr || failed == nullptr) return std::nullopt;
  Finding finding = text_finding(0.92, {failed, other});
  finding.evidence.push_back(quote(context.machine.os.kernel, "uname -r", *running));
  finding.parameters = {{"kernel", *running}, {"kernels", kernels}};
  finding.variant = "prebuilt";
  finding.repair = {make_action("reinstall-driver-for-all-kernels"), make_action("boot-older-kernel", {{"kernel", *running}})};
  return finding;
}

/// nvidia-smi needs no nvidia-uvm, CUDA does.
Result uvm_node_missing(const Context& context) {
  const Observation* listed = observed(context.machine, "device-nodes-listed");
  if (listed == nullptr || wsl2(context)) return std::nullopt;
  const Observation* gpu = nullptr;
  for (const Observation* node : all_observed(context.machine, "device-node")) {
    if (value_of(*node, "path") == "/dev/nvidia-uvm") return std::nullopt;
    if (value_of(*node, "path") == "/dev/nvidiactl" || gpu == nullptr) gpu = node;
  }
  const Observation* failure = cuda_failure(context);
  return text_finding(failure != nullptr ? 0.94 : 0.6, {gpu, failure});
}

/// A node that only its group may open, and a program that was refused.
Result node_permissions(const Context& context) {
  const Observation* refused = line_with(context, {"Insufficient Permissions"});
  for (const Observation* node : all_observed(context.machine, "device-node")) {
    const std::string_view mode = value_of(*node, "mode");
    // 666 and 660 read as decimal numbers: even the owner may not read.
    if ((mode == "-w--wx-wT" || mode == "-w--w-r-T") && value_of(*node, "path").starts_with("/dev/nvidia")) {
      Finding finding = text_finding(0.95, {node, refused});
      finding.variant = "decimal-mode";
      finding.confirm = "grep -rn DeviceFile /etc/modprobe.d /usr/lib/modprobe.d; grep DeviceFile /proc/driver/nvidia/params";
      finding.parameters = {{"mode", std::string(mode)}};
      finding.repair = {make_action("set-device-file-mode")};
      return finding;
    }
    if (mode.size() == 9 && mode[7] == '-' && value_of(*node, "path").starts_with("/dev/nvidia"))
      return text_finding(refused != nullptr ? 0.95 : cuda_failure(context) != nullptr ? 0.6 : 0.3, {node, refused});
  }
  if (refused != nullptr) return text_finding(0.75, {refused});
  if (const Observation* nvmap = observed(context.machine, "tegra-nvmap-refused")) {
    Finding finding = text_finding(0.93, {nvmap});
    finding.variant = "jetson";
    finding.repair = {make_action("add-user-to-group-of-node", {{"user", "$USER"}, {"node", "/dev/nvmap"}})};
    finding.confirm = "ls -l /dev/nvmap /dev/nvhost-*; id";
    return finding;
  }
  return std::nullopt;
}

/// The fabric manager refuses its own configuration.
Result fabric_manager_config(const Context& context) {
  const Observation* message = observed(context.machine, "fabric-manager-config-invalid");
  if (message == nullptr) return std::nullopt;
  const std::string item(value_of(*message, "item"));
  Finding finding = text_finding(0.93, {message});
  finding.variant = "config";
  finding.parameters = {{"item", item}};
  finding.repair = {make_action("correct-fabric-manager-config", {{"item", item}})};
  return finding;
}

// ---- GPUs ----------------------------------------------------------------------------------------------------------

bool shows_nvidia(const Context& context) {
  return !context.gpus.empty() || observed(context.machine, "smi-works") != nullptr ||
         observed(context.machine, "gpu") != nullptr || observed(context.machine, "nvidia-pci-device") != nullptr;
}

/// The driver ignores one GPU as too old, and serves another one.
Result one_too_old(const Context& context) {
  const Observation* ignored = observed(context.machine, "nvrm-legacy-gpu");
  const Observation* served = observed(context.machine, "smi-gpu");
  if (ignored == nullptr || served == nullptr) return std::nullopt;
  return text_finding(0.95, {ignored, served});
}

/// NVLink errors of GPUs joined by bridges (SXM modules have none), and links that are not up.
Result bridge_not_seated(const Context& context) {
  const Observation* inactive = observed(context.machine, "nvlink-inactive");
  const bool modules = context.gpus.empty() || std::ranges::any_of(context.gpus, [](const MachineGpu& gpu) {
                         const std::string& name = gpu.identity.name;
                         return !name.empty() && name.find("RTX") == std::string::npos &&
                                name.find("PCIe") == std::string::npos && name.find("NVL") == std::string::npos;
                       });
  if (inactive == nullptr || modules) return std::nullopt;
  const auto* events = context.machine.kernel_log.events.get();
  if (events == nullptr) return std::nullopt;
  for (const LogEvent& event : *events) {
    if (event.kind != "xid" || event.code != 74) continue;
    Finding finding = text_finding(0.95, {inactive});
    finding.evidence.push_back(quote(event));
    return finding;
  }
  return std::nullopt;
}

Result other_vendor(const Context& context) {
  const Observation* other = observed(context.machine, "other-gpu", {{"vendor", "amd"}});
  if (other == nullptr || shows_nvidia(context)) return std::nullopt;
  const Observation* failure = cuda_failure(context);
  if (failure == nullptr) failure = observed(context.machine, "no-driver-seen");
  if (failure == nullptr) failure = line_with(context, {"NVIDIA driver"});
  if (failure == nullptr) return std::nullopt;
  return text_finding(0.93, {other, failure});
}

Result no_gpu(const Context& context) {
  if (shows_nvidia(context)) return std::nullopt;
  const Observation* other = observed(context.machine, "other-gpu", {{"vendor", "intel"}});
  const Observation* adapters = line_with(context, {"no adapters were found"});
  if (adapters != nullptr) return text_finding(other != nullptr ? 0.94 : 0.6, {adapters, other});
  if (other == nullptr) return std::nullopt;
  const Observation* failure = cuda_failure(context);
  return failure != nullptr ? Result(text_finding(0.55, {other, failure})) : std::nullopt;
}

/// GPUs behind one switch that hang with peer-to-peer and work without.
Result peer_to_peer(const Context& context) {
  const Observation* without = nullptr;
  for (const Observation* o : all_observed(context.machine, "variable"))
    if (value_of(*o, "name") == "NCCL_P2P_DISABLE" && value_of(*o, "value") == "1") without = o;
  if (const Observation* told = observed(context.machine, "works-without-p2p"))
    return text_finding(0.9, {told, observed(context.machine, "nccl-timeout")});
  const Observation* hang = observed(context.machine, "hang");
  if (without == nullptr) return std::nullopt;
  return text_finding(hang != nullptr ? 0.9 : 0.55, {hang, without});
}

// ---- containers ------------------------------------------------------------------------------------------------------

Result without_compute(const Context& context) {
  const Observation* libcuda = observed(context.machine, "shared-library-not-found", {{"library", "libcuda.so.1"}});
  for (const Observation* request : all_observed(context.machine, "device-requests")) {
    const std::string_view capabilities = value_of(*request, "capabilities");
    if (capabilities.find("utility") != std::string_view::npos && capabilities.find("compute") == std::string_view::npos)
      return text_finding(libcuda != nullptr ? 0.95 : 0.8, {request, libcuda});
  }
  for (const Observation* o : all_observed(context.machine, "variable")) {
    const std::string_view value = value_of(*o, "value");
    if (value_of(*o, "name") == "NVIDIA_DRIVER_CAPABILITIES" && value != "all" && value.find("compute") == std::string_view::npos)
      return text_finding(libcuda != nullptr ? 0.94 : 0.75, {o, libcuda});
  }
  if (libcuda != nullptr && libcuda->place == "container" && observed(context.machine, "smi-works") != nullptr)
    return text_finding(0.6, {libcuda});
  return std::nullopt;
}

/// What an engine or its hook calls to bring in the GPU is not installed.
Result no_container_program(const Context& context) {
  const Observation* missing = observed(context.machine, "container-hook-missing");
  if (missing == nullptr) return std::nullopt;
  Finding finding = text_finding(0.93, {missing});
  for (const char* name : {"program", "missing", "called"})
    if (const std::string_view program = value_of(*missing, name); !program.empty())
      finding.parameters = {{"program", std::string(program)}};
  finding.variant = "hook";
  finding.repair = {make_action("install-container-toolkit-on-node")};
  finding.confirm = "command -v nvidia-container-cli   # on the machine where the container starts";
  return finding;
}

/// LXD and Incus start NVIDIA's tools for nvidia.runtime=true.
Result no_lxd_hook(const Context& context) {
  return finding_of_message(context.machine, "lxd-nvidia-hook-missing", 0.93, "lxd", "install-container-tools-for-lxd",
                            "command -v nvidia-container-cli; ls /usr/share/lxc/hooks/nvidia");
}

/// The toolkit may not write the container's device rules: it runs without root's rights, or in a container itself.
Result device_rules_refused(const Context& context) {
  const Observation* refused = observed(context.machine, "container-cgroup-not-permitted");
  if (refused == nullptr) return std::nullopt;
  // A filter that the kernel does not take may also be a kernel without eBPF for devices.
  Finding finding = text_finding(refused->signature == "container-device-filter-failed" ? 0.55 : 0.92, {refused});
  // Enroot's hook calls the tool itself, with --no-cgroups, and reads no config.toml.
  const bool enroot = refused->origin.text.find("pyxis") != std::string::npos || line_with(context, {"enroot"}) != nullptr;
  finding.variant = enroot ? "device-rules-enroot" : "device-rules";
  finding.repair = {make_action(enroot ? "update-libnvidia-container-on-node" : "leave-device-rules-to-outer-container")};
  finding.confirm = enroot ? "nvidia-container-cli --version; grep -n no-cgroups /etc/enroot/hooks.d/98-nvidia.sh"
                           : "grep -n no-cgroups /etc/nvidia-container-runtime/config.toml; docker info | grep -i rootless";
  return finding;
}

/// The toolkit is told to write no device rules, which only rootless containers can do without.
Result told_to_write_no_rules(const Context& context) {
  const Observation* setting = observed(context.machine, "toolkit-no-cgroups");
  const Observation* refused = line_with(context, {"NVML: Unknown Error"});
  if (refused == nullptr) refused = line_with(context, {"GPU access blocked by the operating system"});
  if (setting == nullptr || refused == nullptr) return std::nullopt;
  Finding finding = text_finding(0.96, {setting, refused});
  finding.variant = "no-cgroups";
  finding.repair = {make_action("let-toolkit-write-device-rules")};
  finding.confirm = "grep -n no-cgroups /etc/nvidia-container-runtime/config.toml";
  return finding;
}

/// The toolkit knows no GPU of the name that the container asks for.
Result gpu_not_on_host(const Context& context) {
  const Observation* message = observed(context.machine, "container-cli-unknown-device");
  if (message == nullptr) return std::nullopt;
  Finding finding = text_finding(0.85, {message});
  finding.variant = "container";
  finding.parameters = {{"device", std::string(value_of(*message, "device"))}};
  finding.repair = {make_action("name-gpu-of-host-for-container")};
  finding.confirm = "nvidia-smi -L; docker inspect CONTAINER | grep -e NVIDIA_VISIBLE_DEVICES -e DeviceIDs";
  return finding;
}

/// slurmd was compiled without NVML, whatever the node has.
Result slurm_without_nvml(const Context& context) {
  return finding_of_message(
      context.machine, "slurm-built-without-nvml", 0.93, "slurm-build", "build-slurm-with-nvml",
      "ls /usr/lib*/slurm/gpu_nvml.so /usr/lib/*/slurm*/gpu_nvml.so; grep -i autodetect /etc/slurm/gres.conf");
}

/// A node has another number after a reboot, another card or another driver; the specification names the old one.
Result cdi_node_gone(const Context& context) {
  const Observation* gone = observed(context.machine, "cdi-host-device-gone");
  if (gone == nullptr) return std::nullopt;
  Finding finding = text_finding(0.94, {gone});
  finding.variant = "node";
  finding.parameters = {{"path", std::string(value_of(*gone, "path"))}};
  finding.repair = {make_action("generate-cdi-specification")};
  finding.confirm = "ls -l /dev/dri /dev/nvidia*; grep -n \"path: /dev/\" /etc/cdi/*.yaml /var/run/cdi/*.yaml";
  return finding;
}

/// The toolkit compares a node's number with the driver's.
Result node_of_other_number(const Context& context) {
  const Observation* message = observed(context.machine, "container-cli-invalid-node");
  if (message == nullptr) return std::nullopt;
  Finding finding = text_finding(0.9, {message});
  finding.repair = {make_action("recreate-device-node", {{"node", std::string(value_of(*message, "path"))}})};
  return finding;
}

/// What Docker from the snap says when it cannot bring in the GPU.
Result snap_docker(const Context& context) {
  const Observation* snap = observed(context.machine, "snap-docker");
  if (snap == nullptr) return std::nullopt;
  const Observation* failure = observed(context.machine, "container-cli-no-driver-library");
  for (const char* id : {"docker-unknown-runtime-nvidia", "docker-no-device-driver", "container-cli-driver-not-loaded"})
    if (failure == nullptr) failure = observed(context.machine, id);
  return failure != nullptr ? Result(text_finding(0.94, {snap, failure})) : std::nullopt;
}

/// A Jetson's toolkit mounts the host's cuDNN and TensorRT, and the image has its own.
Result jetson_image_with_libraries(const Context& context) {
  return finding_of_message(context.machine, "toolkit-library-file-exists", 0.9, "jetson", "use-image-of-this-l4t",
                            "head -1 /etc/nv_tegra_release; docker image inspect IMAGE --format '{{.RepoTags}}'");
}

/// CUDA came into the container, the libraries of the video codecs did not.
Result without_video(const Context& context) {
  const Observation* missing = observed(context.machine, "driver-part-not-found");
  if (missing == nullptr) return std::nullopt;
  const std::string_view library = value_of(*missing, "library");
  if (library != "libnvidia-encode.so.1" && library != "libnvcuvid.so.1") return std::nullopt;
  const Observation* given = nullptr;
  for (const Observation* o : all_observed(context.machine, "variable")) {
    const std::string_view value = value_of(*o, "value");
    if (value_of(*o, "name") == "NVIDIA_DRIVER_CAPABILITIES" && (value == "all" || value.find("video") != std::string_view::npos))
      return std::nullopt;
    if (value_of(*o, "name").starts_with("NVIDIA_")) given = o;
  }
  for (const Observation* o : all_observed(context.machine, "device-requests"))
    if (value_of(*o, "gpus") == "yes") given = o;
  for (const Observation* o : all_observed(context.machine, "container-command"))
    if (value_of(*o, "gpus") == "yes") given = o;
  if (given == nullptr && missing->place != "container" && !context.in(World::Container)) return std::nullopt;
  Finding finding = text_finding(given != nullptr ? 0.93 : 0.6, {missing, given});
  finding.variant = "video";
  finding.parameters = {{"library", std::string(library)}};
  finding.repair = {make_action("ask-for-video-capability")};
  finding.confirm = "echo \"$NVIDIA_DRIVER_CAPABILITIES\"; ldconfig -p | grep -e libnvidia-encode -e libnvcuvid";
  return finding;
}

/// A library of the driver beside libcuda.so.1 is missing: the driver's packages, or what a container was given, are not whole.
Result driver_part_missing(const Context& context) {
  for (const Observation* missing : all_observed(context.machine, "shared-library-not-found")) {
    const Signature* signature = signature_of(*missing);
    const std::string_view library = value_of(*missing, "library");
    if (signature == nullptr || signature->kind != "libcuda-missing" || !library.starts_with("lib") ||
        library.starts_with("libcuda.so"))
      continue;
    const bool container = missing->place == "container" || context.in(World::Container) ||
                           observed(context.machine, "container-command") != nullptr;
    Finding finding = text_finding(signature->weight, {missing});
    finding.variant = "part";
    finding.parameters = {{"library", std::string(library)}};
    finding.repair = {container ? make_action("inject-driver-libraries")
                                : make_action("install-missing-driver-library", {{"library", std::string(library)}})};
    finding.confirm = "ldconfig -p | grep -F " + std::string(library.substr(0, library.find(".so"))) + ".so";
    return finding;
  }
  return std::nullopt;
}

Result desktop_vm(const Context& context) {
  const Observation* desktop = observed(context.machine, "docker-desktop");
  if (desktop == nullptr || wsl2(context) || observed(context.machine, "windows") != nullptr) return std::nullopt;
  const Observation* failure = line_with(context, {"nvidia-container-cli"});
  if (failure == nullptr) failure = line_with(context, {"could not select device driver"});
  return text_finding(failure != nullptr ? 0.95 : 0.5, {desktop, failure});
}

Result lost_after_reload(const Context& context) {
  const Observation* unknown = line_with(context, {"NVML: Unknown Error"});
  if (unknown == nullptr) return std::nullopt;
  const bool in_container = unknown->place == "container" || container(context) != nullptr || context.in(World::Container);
  return text_finding(in_container ? 0.93 : 0.6, {unknown});
}

Result runtime_is_runc(const Context& context) {
  const Observation* runtime = observed(context.machine, "default-runtime", {{"runtime", "runc"}});
  const Observation* hint = line_with(context, {"default runtime to `nvidia`"});
  const Observation* plugin = line_with(context, {"could not load NVML library"});
  if (runtime == nullptr && hint == nullptr) return std::nullopt;
  if (runtime != nullptr && (hint != nullptr || plugin != nullptr)) return text_finding(0.96, {runtime, hint, plugin});
  if (hint != nullptr) return text_finding(0.85, {hint, plugin});
  return std::nullopt;
}

/// NVML is not found inside of a container: nothing that an update of the host's driver would mend.
/// The name without a number is a link for compiling.
Result nvml_link(const Context& context) {
  return finding_of_message(context.machine, "nvml-link-missing", 0.6, "unnumbered", "link-nvml-so-beside-driver",
                            "nvidia-smi -L; ldconfig -p | grep libnvidia-ml");
}

Result nvml_of_container(const Context& context) {
  const Observation* missing = observed(context.machine, "nvml-library-not-found");
  if (missing == nullptr || missing->place != "container" || missing->origin.text.find("NVIDIA-SMI") == std::string::npos)
    return std::nullopt;
  Finding finding = text_finding(0.6, {missing});
  finding.variant = "told-container";
  finding.repair = {make_action("ldconfig-in-container"), make_action("pass-gpu-into-container")};
  return finding;
}

/// NVIDIA's tool runs beside the container engine and finds no driver there.
Result nvml_of_engine(const Context& context) {
  const Observation* missing = observed(context.machine, "container-cli-no-driver-library");
  if (missing == nullptr || wsl2(context) || observed(context.machine, "windows") != nullptr) return std::nullopt;
  Finding finding = text_finding(0.6, {missing});
  finding.variant = "engine";
  finding.repair = {make_action("install-driver-where-engine-runs")};
  finding.confirm =
      "nvidia-smi; docker info --format \"{{.OperatingSystem}}\"; snap list docker; grep -n root "
      "/etc/nvidia-container-runtime/config.toml";
  return finding;
}

/// An engine that knows no CDI takes the device's name for a path.
Result engine_without_cdi(const Context& context) {
  const Observation* message = line_with(context, {"stat nvidia.com/gpu="});
  if (message == nullptr) return std::nullopt;
  Finding finding = text_finding(0.93, {message});
  finding.variant = "engine-without-cdi";
  finding.repair = {make_action("update-container-engine"), make_action("generate-cdi-specification")};
  return finding;
}

/// apt wants a newer C library for the driver's packages: they are of another release.
Result packages_of_newer_distribution(const Context& context) {
  const Observation* message = observed(context.machine, "apt-of-newer-distribution");
  const Observation* driver = observed(context.machine, "apt-nvidia-unmet-dependencies");
  if (message == nullptr || driver == nullptr) return std::nullopt;
  Finding finding = text_finding(0.92, {message, driver});
  finding.variant = "newer-distribution";
  finding.parameters = {{"wanted", std::string(value_of(*message, "wanted"))},
                        {"found", std::string(value_of(*message, "found"))}};
  finding.repair = {make_action("use-repository-of-this-release")};
  return finding;
}

/// A program's package asks for driver libraries that apt cannot give beside the driver.
Result program_wants_other_driver(const Context& context) {
  const Observation* message = observed(context.machine, "apt-package-wants-driver-library");
  if (message == nullptr) return std::nullopt;
  const std::string_view package = value_of(*message, "package");
  if (package.starts_with("nvidia-") || package.starts_with("libnvidia-") || package.starts_with("cuda")) return std::nullopt;
  Finding finding = text_finding(0.85, {message});
  finding.variant = "other-program";
  finding.parameters = {{"package", std::string(package)}, {"wanted", std::string(value_of(*message, "wanted"))}};
  finding.repair = {make_action("install-program-without-driver-packages")};
  return finding;
}

/// Driver libraries of several versions, or an empty file in the place of an injected one.
/// A library of the driver that is cut off: what docker commit leaves of a mount point.
Result empty_driver_library(const Context& context) {
  for (const Observation* damaged : all_observed(context.machine, "library-file-damaged")) {
    const std::string_view path = value_of(*damaged, "path");
    const std::string_view name = path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
    const bool of_driver = name.starts_with("libcuda.so") || name.starts_with("libnvidia-");
    if (!of_driver || value_of(*damaged, "error") == "invalid ELF header") continue;
    Finding finding = text_finding(container(context) != nullptr ? 0.9 : 0.7, {damaged});
    finding.variant = "empty";
    finding.parameters = {{"library", std::string(name)}};
    finding.repair = {make_action("pass-gpu-into-container"), make_action("remove-driver-libraries-from-image")};
    finding.confirm = "find / -xdev \\( -name 'libcuda.so*' -o -name 'libnvidia-*.so*' \\) -size 0";
    return finding;
  }
  return std::nullopt;
}

Result stale_libraries(const Context& context) {
  const Observation* empty = nullptr;
  const Observation* first = nullptr;
  std::set<std::string> versions;
  for (const Observation* library : all_observed(context.machine, "driver-library")) {
    if (value_of(*library, "size") == "0") empty = library;
    const std::string_view path = value_of(*library, "path");
    const std::size_t at = path.find(".so.");
    if (at == std::string_view::npos || path.substr(at + 4) == "1") continue;
    if (first == nullptr) first = library;
    versions.insert(std::string(path.substr(at + 4)));
  }
  const Observation* mismatch = line_with(context, {"river/library version mismatch"});
  const Observation* exists = observed(context.machine, "driver-library-file-exists");
  if (exists != nullptr && !wsl2(context)) return text_finding(0.9, {exists});
  if (empty != nullptr && (mismatch != nullptr || versions.size() > 1)) return text_finding(0.95, {empty, mismatch});
  if (versions.size() > 1 && mismatch != nullptr && container(context) != nullptr) return text_finding(0.9, {first, mismatch});
  return std::nullopt;
}

/// Windows drivers from 555 on have a library that an older toolkit does not bring into the container.
Result toolkit_too_old(const Context& context) {
  const Observation* error = observed_error(context.machine, 500);
  const Observation* folder = line_with(context, {"/usr/lib/wsl/"});
  if (error == nullptr || (!wsl2(context) && folder == nullptr)) return std::nullopt;
  const bool in_container = container(context) != nullptr || context.in(World::Container) || error->place == "container";
  return text_finding(in_container ? 0.93 : 0.6, {error, folder, observed(context.machine, "container-toolkit")});
}

/// The image has no nvidia-smi, it comes in with the driver: the variable alone asks nothing of Docker's own runtime.
Result variable_was_no_request(const Context& context) {
  const Observation* failed = line_with(context, {"exec: ", "nvidia-smi", "executable file not found"});
  if (failed == nullptr) return std::nullopt;
  for (const Observation* command : all_observed(context.machine, "container-command")) {
    const std::string& line = command->origin.text;
    const bool asks = line.find("--gpus") != std::string::npos || line.find("--runtime") != std::string::npos ||
                      line.find("nvidia.com/gpu") != std::string::npos || line.find("nvidia-docker") != std::string::npos;
    if (!asks && value_of(*command, "verb") == "run") return text_finding(0.85, {command, failed});
  }
  return std::nullopt;
}

/// Images for JetPack 4 have empty files where the runtime puts the host's libraries.
Result jetson_without_runtime(const Context& context) {
  const Observation* empty = line_with(context, {"/aarch64-linux-gnu/", "file too short"});
  if (empty == nullptr) return std::nullopt;
  const bool told = container(context) != nullptr || empty->place == "container" || context.in(World::Container);
  Finding finding = text_finding(told ? 0.85 : 0.4, {empty});
  finding.variant = "jetson";
  finding.repair = {make_action("start-container-with-nvidia-runtime")};
  finding.confirm =
      "ls -lL /usr/lib/aarch64-linux-gnu/libnvinfer.so.* /usr/lib/aarch64-linux-gnu/libcudnn.so.*   # in the container";
  return finding;
}

/// A container was started without asking for a GPU, and what runs in it sees none.
Result not_given(const Context& context) {
  if (const Observation* none = observed(context.machine, "device-requests", {{"gpus", "no"}}))
    return text_finding(cuda_failure(context) != nullptr ? 0.93 : 0.6, {none, cuda_failure(context)});
  // A failure belongs to the container command before it.
  const auto commands = all_observed(context.machine, "container-command");
  for (const Observation& o : observations(context.machine)) {
    const bool failed =
        is_cuda_failure(o) || (o.meaning == "shared-library-not-found" && value_of(o, "library") == "libcuda.so.1") ||
        (o.origin.text.find("nvidia-smi") != std::string::npos && o.origin.text.find("not found") != std::string::npos);
    if (!failed || o.origin.text.find("nvidia-container-cli") != std::string::npos) continue;
    const Observation* before = nullptr;
    // What `docker exec` finds is what `docker run` gave.
    for (const Observation* command : commands)
      if (command->origin.line < o.origin.line && (before == nullptr || value_of(*command, "verb") == "run")) before = command;
    if (before != nullptr && value_of(*before, "gpus") == "no" && value_of(*before, "verb") == "run")
      return text_finding(0.9, {before, &o});
  }
  return std::nullopt;
}

/// No module and no package of the driver, and a GPU on the bus.
Result driver_not_listed(const Context& context) {
  const Observation* absent = observed(context.machine, "driver-not-listed");
  if (absent == nullptr || wsl2(context)) return std::nullopt;
  const bool both = observed(context.machine, "driver-not-listed", {{"where", "modules"}}) != nullptr;
  return text_finding(both ? 0.93 : 0.6, {absent});
}

/// The .run file's log and the distribution's packages, of different releases.
Result runfile_and_packages(const Context& context) {
  const auto* packages = context.machine.packages.installed.get();
  const Observation* log = observed(context.machine, "runfile-log");
  if (packages == nullptr || log == nullptr) return std::nullopt;
  for (const Package& package : *packages) {
    const bool driver = package.name.starts_with("nvidia-driver") || package.name.starts_with("nvidia-dkms") ||
                        package.name.starts_with("kmod-nvidia") || package.name.starts_with("nvidia-kernel");
    if (!driver || package.version.empty() || package.version.find(value_of(*log, "version")) != std::string::npos) continue;
    Finding finding = text_finding(0.93, {log});
    finding.evidence.push_back(quote(package));
    return finding;
  }
  return std::nullopt;
}

/// `ls /dev/nvidia*` shows none although the module is loaded.
Result no_nodes(const Context& context) {
  const auto* nodes = context.machine.device_nodes.nodes.get();
  const auto* modules = context.machine.kernel_driver.loaded.get();
  const bool loaded =
      context.machine.kernel_driver.version.is_known() ||
      (modules != nullptr && std::ranges::any_of(*modules, [](const LoadedModule& m) { return m.name == "nvidia"; }));
  if (nodes == nullptr || !nodes->empty() || !loaded || wsl2(context)) return std::nullopt;
  Finding finding = text_finding(0.92, {cuda_failure(context)});
  finding.evidence.push_back(context.machine.device_nodes.nodes.origin());
  return finding;
}

// Messages that mean nothing: named where nothing else is.
Result link_warning(const Context& context) {
  const Observation* warning = line_with(context, {"libcuda.so.1", "is not a symbolic link"});
  return warning != nullptr ? Result(text_finding(0.6, {warning})) : std::nullopt;
}

Result dxcore_message(const Context& context) {
  const Observation* message = line_with(context, {"dxcore initialization failed"});
  return message != nullptr && !wsl2(context) ? Result(text_finding(0.6, {message})) : std::nullopt;
}

Result linux_driver_in_wsl(const Context& context) {
  const auto* packages = context.machine.packages.installed.get();
  if (!wsl2(context) || packages == nullptr) return std::nullopt;
  for (const Package& package : *packages) {
    const bool driver = package.name.starts_with("nvidia-dkms") || package.name.starts_with("nvidia-driver") ||
                        package.name.starts_with("libnvidia-compute") || package.name.starts_with("nvidia-kernel");
    if (!driver || package.status != "installed") continue;
    Finding finding = text_finding(0.92, {cuda_failure(context)});
    finding.evidence.push_back(quote(package));
    return finding;
  }
  return std::nullopt;
}

/// What was typed or printed shows that somebody installs a Linux driver into WSL.
const Observation* driver_installation(const Context& context) {
  if (const Observation* package = observed(context.machine, "linux-driver-package-set-up")) return package;
  if (const Observation* package = observed(context.machine, "linux-driver-package-installed")) return package;
  for (const Observation* o : all_observed(context.machine, "wsl-no-kernel-module"))
    if (!value_of(*o, "module").empty()) return o;
  return nullptr;
}

/// A command that installs a driver; what Ubuntu's shell proposes for a program that is not there is no such command.
const Observation* driver_command(const Context& context) {
  const Observation* proposal = line_with(context, {"but can be installed with"});
  for (const Observation* command : all_observed(context.machine, "driver-install-command")) {
    const bool proposed =
        proposal != nullptr && command->origin.line > proposal->origin.line && command->origin.line < proposal->origin.line + 12;
    if (!proposed) return command;
  }
  return nullptr;
}

Result linux_driver_told_in_wsl(const Context& context) {
  if (!wsl2(context)) return std::nullopt;
  const Observation* package = driver_installation(context);
  const Observation* headers = observed(context.machine, "wsl-no-kernel-module");
  if (package == nullptr && headers != nullptr) package = driver_command(context);
  double rank = 0.92;
  if (package == nullptr && observed(context.machine, "smi-works") == nullptr) {
    package = driver_command(context);
    rank = 0.7;
  }
  if (package == nullptr) return std::nullopt;
  if (headers == package) headers = nullptr;
  return text_finding(rank, {package, headers, cuda_failure(context)});
}

/// nvidia-smi comes with the driver of Windows; WSL puts its folder on PATH only for shells that wsl.exe starts.
const Observation* smi_not_found_in_wsl(const Context& context) {
  const Observation* missing = wsl2(context) ? observed(context.machine, "nvidia-smi-not-found") : nullptr;
  return missing != nullptr && missing->place != "container" && !context.in(World::Container) && container(context) == nullptr
             ? missing
             : nullptr;
}

Result smi_off_path_in_wsl(const Context& context) {
  const Observation* missing = smi_not_found_in_wsl(context);
  if (missing == nullptr) return std::nullopt;
  const Observation* elsewhere = observed(context.machine, "shell-by-ssh");
  const Observation* there = line_with(context, {"/usr/lib/wsl/lib/"});
  // sudo has a PATH of its own (secure_path).
  if (there == nullptr && missing->origin.text.find("sudo: ") != std::string::npos) there = missing;
  if (there == missing) elsewhere = missing;
  Finding finding = text_finding(elsewhere != nullptr || there != nullptr ? 0.9 : 0.45,
                                 {missing, elsewhere == missing ? nullptr : elsewhere, there == missing ? nullptr : there});
  finding.variant = "smi-off-path";
  finding.repair = {make_action("call-nvidia-smi-of-wsl")};
  finding.confirm = "ls -l /usr/lib/wsl/lib/nvidia-smi /usr/lib/wsl/lib/libcuda.so.1; echo \"$PATH\"";
  return finding;
}

Result no_driver_for_wsl(const Context& context) {
  const Observation* missing = smi_not_found_in_wsl(context);
  if (missing == nullptr) return std::nullopt;
  const Observation* failure = cuda_failure(context);
  if (failure == nullptr) failure = observed(context.machine, "no-driver-seen");
  Finding finding = text_finding(failure != nullptr ? 0.7 : 0.45, {missing, failure});
  finding.variant = "no-smi";
  finding.repair = {make_action("update-driver-in-windows")};
  finding.confirm = "ls -l /dev/dxg /usr/lib/wsl/lib/; nvidia-smi.exe";
  return finding;
}

Result windows_too_old(const Context& context) {
  const Observation* missing = observed(context.machine, "dxg-missing");
  if (missing != nullptr && wsl2(context)) return text_finding(0.88, {missing});
  const Observation* build = observed(context.machine, "windows-build-before-wsl-gpu");
  // Docker Desktop starts containers in WSL. Where NVIDIA's tool sees no WSL with a GPU there, it looks for a Linux driver.
  const Observation* desktop = observed(context.machine, "windows") != nullptr && !wsl2(context)
                                   ? observed(context.machine, "container-cli-no-driver-library")
                                   : nullptr;
  if (desktop != nullptr) {
    Finding finding = text_finding(build != nullptr ? 0.93 : 0.85, {build, desktop});
    finding.variant = "docker-desktop";
    finding.repair = {make_action("update-wsl"), make_action("update-driver-in-windows")};
    finding.confirm = "winver; wsl --version; docker run --rm -v /dev:/hostdev busybox ls -l /hostdev/dxg";
    return finding;
  }
  const bool told = observed(context.machine, "wsl-told") != nullptr || line_with(context, {"WSL"}) != nullptr;
  if (build == nullptr || (!wsl2(context) && !told)) return std::nullopt;
  const Observation* failure = cuda_failure(context);
  if (failure == nullptr) failure = observed(context.machine, "shared-library-not-found", {{"library", "libcuda.so.1"}});
  return text_finding(failure != nullptr ? 0.93 : 0.6, {build, failure});
}

// ---- WSL -------------------------------------------------------------------------------------------------------------

Result wsl1(const Context& context) {
  if (!context.in(World::Wsl1)) return std::nullopt;
  Finding finding = text_finding(0.96, {});
  finding.evidence.push_back(quote(context.machine.os.wsl, "text"));
  return finding;
}

Result tcc_mode(const Context& context) {
  if (!wsl2(context)) return std::nullopt;
  const Observation* tcc = observed(context.machine, "smi-gpu", {{"mode", "TCC"}});
  if (tcc == nullptr) return std::nullopt;
  return text_finding(0.94, {tcc, line_with(context, {"GPU access blocked"})});
}

Result libcuda_link(const Context& context) {
  // Told, and not told as the place where all is well; a kernel that the text shows decides it.
  const Observation* told = context.machine.os.kernel.is_known() ? nullptr : observed(context.machine, "wsl-told");
  if (told != nullptr && told->origin.text.find(" work") != std::string::npos) told = nullptr;
  if (!wsl2(context) && told == nullptr && line_with(context, {"/usr/lib/wsl/lib"}) == nullptr) return std::nullopt;
  const Observation* missing = observed(context.machine, "shared-library-not-found", {{"library", "libcuda.so"}});
  if (missing == nullptr) missing = observed(context.machine, "libcuda-so-missing");
  // libcuda.so.1 itself may be missing because Windows has no driver: only where it is shown to be there.
  if (missing == nullptr && line_with(context, {"/usr/lib/wsl/lib/libcuda"}) != nullptr)
    missing = observed(context.machine, "shared-library-not-found", {{"library", "libcuda.so.1"}});
  if (missing == nullptr) return std::nullopt;
  Finding finding = text_finding(0.93, {missing, line_with(context, {"/usr/lib/wsl/lib"}), told});
  // ldconfig caches the name libcuda.so.1 only, and who asks for libcuda.so is not helped by it.
  if (value_of(*missing, "library") != "libcuda.so.1") {
    finding.variant = "unversioned-name";
    finding.repair = {make_action("start-with-wsl-library-path")};
  }
  return finding;
}

Result libraries_in_image(const Context& context) {
  if (!wsl2(context)) return std::nullopt;
  const Observation* exists = observed(context.machine, "driver-library-file-exists");
  return exists != nullptr ? Result(text_finding(0.93, {exists})) : std::nullopt;
}

constexpr Rule rules[] = {
    {"no-nvidia-gpu-in-machine", no_gpu},
    {"amd-or-rocm-with-cuda-package", other_vendor},
    {"pcie-acs-iommu-p2p-hang", peer_to_peer},
    {"mixed-gpus-one-too-old", one_too_old},
    {"nvlink-bridge-seating", bridge_not_seated},
    {"driver-installed-twice", runfile_and_packages},
    {"device-nodes-missing", no_nodes},
    {"dkms-headers-missing", headers_missing},
    {"module-missing-for-running-kernel", module_of_other_kernel},
    {"nvidia-uvm-device-missing", uvm_node_missing},
    {"device-node-permissions", node_permissions},
    {"fabric-manager-not-running", fabric_manager_config},
    {"container-not-given-gpu", not_given},
    {"container-not-given-gpu", variable_was_no_request},
    {"container-not-given-gpu", jetson_without_runtime},
    {"container-not-given-gpu", device_rules_refused},
    {"container-not-given-gpu", told_to_write_no_rules},
    {"k8s-runtime-not-nvidia", runtime_is_runc},
    {"driver-capabilities-without-compute", without_compute},
    {"driver-capabilities-without-compute", without_video},
    {"container-toolkit-missing", no_container_program},
    {"container-toolkit-missing", no_lxd_hook},
    {"docker-snap-conflict", snap_docker},
    {"cdi-spec-stale", cdi_node_gone},
    {"device-major-mismatch", node_of_other_number},
    {"cuda-visible-devices-wrong", gpu_not_on_host},
    {"nvml-missing", slurm_without_nvml},
    {"container-lost-gpu-after-daemon-reload", lost_after_reload},
    {"container-toolkit-too-old-for-driver", toolkit_too_old},
    {"nvml-missing", nvml_of_container},
    {"nvml-missing", nvml_of_engine},
    {"nvml-missing", nvml_link},
    {"libcuda-missing", driver_part_missing},
    {"cdi-device-unresolvable", engine_without_cdi},
    {"package-manager-blocked", packages_of_newer_distribution},
    {"package-manager-blocked", program_wants_other_driver},
    {"docker-desktop-vm-no-gpu", desktop_vm},
    {"stale-driver-libs-in-container", stale_libraries},
    {"stale-driver-libs-in-container", jetson_image_with_libraries},
    {"stale-driver-libs-in-container", empty_driver_library},
    {"driver-not-installed", driver_not_listed},
    {"wsl-libcuda-not-symlink-warning", link_warning},
    {"wsl-dxcore-message-on-bare-metal", dxcore_message},
    {"wsl-linux-driver-installed-inside", linux_driver_in_wsl},
    {"wsl-linux-driver-installed-inside", linux_driver_told_in_wsl},
    {"wsl-libcuda-so-not-in-ldcache", smi_off_path_in_wsl},
    {"wsl-windows-driver-too-old", no_driver_for_wsl},
    {"wsl-windows-too-old", windows_too_old},
    {"wsl1-not-wsl2", wsl1},
    {"wsl-gpu-in-tcc-mode", tcc_mode},
    {"wsl-libcuda-so-not-in-ldcache", libcuda_link},
    {"wsl-driver-libs-in-image-or-distro", libraries_in_image},
};

}  // namespace

std::span<const Rule> observed_world_rules() { return rules; }

}  // namespace gpuvet
