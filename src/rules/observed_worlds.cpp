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
  if (missing == nullptr || context.in(World::Wsl1)) return std::nullopt;
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
Result nvml_of_container(const Context& context) {
  const Observation* missing = observed(context.machine, "nvml-library-not-found");
  if (missing == nullptr || missing->place != "container" || missing->origin.text.find("NVIDIA-SMI") == std::string::npos)
    return std::nullopt;
  Finding finding = text_finding(0.6, {missing});
  finding.variant = "told-container";
  finding.repair = {make_action("ldconfig-in-container"), make_action("pass-gpu-into-container")};
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

Result windows_too_old(const Context& context) {
  const Observation* missing = observed(context.machine, "dxg-missing");
  if (missing != nullptr && wsl2(context)) return text_finding(0.88, {missing});
  const Observation* build = observed(context.machine, "windows-build-before-wsl-gpu");
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
  if (value_of(*missing, "library") != "libcuda.so.1")
    finding.repair = {make_action("start-with-wsl-library-path"), make_action("add-wsl-library-folder")};
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
    {"k8s-runtime-not-nvidia", runtime_is_runc},
    {"driver-capabilities-without-compute", without_compute},
    {"driver-capabilities-without-compute", without_video},
    {"container-toolkit-missing", no_container_program},
    {"container-lost-gpu-after-daemon-reload", lost_after_reload},
    {"container-toolkit-too-old-for-driver", toolkit_too_old},
    {"nvml-missing", nvml_of_container},
    {"libcuda-missing", driver_part_missing},
    {"cdi-device-unresolvable", engine_without_cdi},
    {"package-manager-blocked", packages_of_newer_distribution},
    {"package-manager-blocked", program_wants_other_driver},
    {"docker-desktop-vm-no-gpu", desktop_vm},
    {"stale-driver-libs-in-container", stale_libraries},
    {"driver-not-installed", driver_not_listed},
    {"wsl-libcuda-not-symlink-warning", link_warning},
    {"wsl-dxcore-message-on-bare-metal", dxcore_message},
    {"wsl-linux-driver-installed-inside", linux_driver_in_wsl},
    {"wsl-windows-too-old", windows_too_old},
    {"wsl1-not-wsl2", wsl1},
    {"wsl-gpu-in-tcc-mode", tcc_mode},
    {"wsl-libcuda-so-not-in-ldcache", libcuda_link},
    {"wsl-driver-libs-in-image-or-distro", libraries_in_image},
};

}  // namespace

std::span<const Rule> observed_world_rules() { return rules; }

}  // namespace gpuvet
