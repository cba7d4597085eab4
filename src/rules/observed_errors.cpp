// CUDA errors in a text, weighed against what else it tells: driver, GPU, container, WSL, framework.

#include <algorithm>
#include <array>
#include <charconv>

#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/hardware.h"
#include "rules/observed.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Context = RuleContext;
using Result = std::optional<Finding>;

bool in_container(const Context& context) {
  return context.in(World::Container) || observed(context.machine, "container-command") != nullptr ||
         observed(context.machine, "container-image") != nullptr || observed(context.machine, "image-start-up") != nullptr;
}

bool in_wsl(const Context& context) { return context.in(World::Wsl2); }

/// A framework that the text names, in a traceback, a list or a message.
const PythonPackage* named_framework(const Context& context) {
  for (const JudgedEnvironment& judged : context.environments)
    for (const PythonPackage& package : judged.environment->packages)
      if (is_gpu_framework(package.name)) return &package;
  return nullptr;
}

bool names_framework(const Context& context) {
  if (named_framework(context) != nullptr) return true;
  return std::ranges::any_of(observations(context.machine), [](const Observation& o) {
    for (const char* name : {"torch", "tensorflow", "jax", "paddle", "mxnet", "onnxruntime", "cupy", "numba", "vllm"})
      if (o.origin.text.find(name) != std::string::npos) return true;
    return false;
  });
}

/// GPUs of the text for which forward compatibility does not exist: GeForce, TITAN and laptops' parts by their names.
bool has_consumer_gpu(const Context& context) {
  const auto consumer = [](std::string_view name) {
    return name.find("GeForce") != std::string_view::npos || name.find("TITAN") != std::string_view::npos ||
           name.find("Laptop") != std::string_view::npos;
  };
  return std::ranges::any_of(context.gpus, [&](const MachineGpu& gpu) { return consumer(gpu.identity.name); }) ||
         std::ranges::any_of(all_observed(context.machine, "gpu"),
                             [&](const Observation* o) { return consumer(value_of(*o, "name")); });
}

// ---- user-mode driver --------------------------------------------------------------------------------------------------

Result forward_compat(const Context& context) {
  const Observation* error = observed_error(context.machine, 804);
  if (error == nullptr) return std::nullopt;
  const Observation* image = observed(context.machine, "container-image");
  return text_finding(has_consumer_gpu(context) || in_container(context) ? 0.93 : 0.75, {error, image});
}

/// 803: the module and libcuda do not belong together. With a compat libcuda it is that one's doing, else a half-done upgrade.
Result compat_shadows(const Context& context) {
  const Observation* error = observed_error(context.machine, 803);
  if (error == nullptr) return std::nullopt;
  const bool compat = std::ranges::any_of(observations(context.machine),
                                          [](const Observation& o) {
                                            return o.origin.text.find("/compat") != std::string::npos ||
                                                   o.origin.text.find("cuda-compat") != std::string::npos;
                                          }) ||
                      variable(context.machine, "LD_LIBRARY_PATH").find("compat") != std::string_view::npos;
  return text_finding(compat ? 0.94 : in_container(context) ? 0.7 : 0.3, {error});
}

/// In a container the host's libcuda has the module's version; another one is the image's own. TensorFlow names both.
const Observation* own_libcuda(const Context& context, bool newer) {
  const Observation* told = observed(context.machine, "driver-library-mismatch");
  if (told == nullptr || !in_container(context)) return nullptr;
  const auto module = DriverVersion::parse(value_of(*told, "module")), library = DriverVersion::parse(value_of(*told, "library"));
  return module && library && *module != *library && (*library > *module) == newer ? told : nullptr;
}

Result newer_libcuda_in_image(const Context& context) {
  const Observation* told = own_libcuda(context, true);
  if (told == nullptr) return std::nullopt;
  Finding finding = text_finding(0.92, {told});
  finding.variant = "told-newer";
  finding.parameters = {{"module", std::string(value_of(*told, "module"))}, {"library", std::string(value_of(*told, "library"))}};
  return finding;
}

Result older_libcuda_in_image(const Context& context) {
  const Observation* told = own_libcuda(context, false);
  return told == nullptr ? Result() : text_finding(0.9, {told});
}

/// "550.127" is what nvidia-smi says of 550.127.05.
bool may_be_same_version(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b == a || (b.starts_with(a) && b[a.size()] == '.');
}

/// The libraries' version is that of the packages that bring them, or of others that follow them.
void take_library_of_packages(const Machine& machine, Finding& finding) {
  const auto loaded = finding.parameters.find("loaded");
  if (loaded == finding.parameters.end() || finding.parameters.contains("library")) return;
  const DriverPackage* taken = nullptr;
  const std::vector<DriverPackage> packages = driver_packages(machine);
  for (const DriverPackage& package : packages) {
    if (!package.version || package.role == PackageRole::Module || package.version->text == loaded->second) continue;
    if (taken == nullptr || (package.role == PackageRole::Compute && taken->role != PackageRole::Compute)) taken = &package;
  }
  if (taken == nullptr) return;
  finding.parameters["library"] = taken->version->text;
  finding.evidence.push_back(quote(*taken->package));
}

/// Both versions, where the text tells them: the module's of /proc or the kernel log, the libraries' of NVML, the log or a
/// program.
Result told_versions(const Context& context) {
  const Machine& machine = context.machine;
  const Observation* sign = observed(machine, "nvml-error", {{"code", "18"}});
  if (sign == nullptr) sign = observed(machine, "nvrm-api-mismatch");
  if (sign == nullptr) sign = observed(machine, "driver-library-mismatch");
  if (sign == nullptr || in_container(context)) return std::nullopt;
  Finding finding = text_finding(0.95, {sign});
  const auto take = [&](const char* name, const Observation& told, const char* value) {
    if (!value_of(told, value).empty() && finding.parameters.try_emplace(name, value_of(told, value)).second)
      finding.evidence.push_back(told.origin);
  };
  for (const char* meaning : {"driver-library-mismatch", "nvrm-api-mismatch", "nvml-library-version"}) {
    for (const Observation* told : all_observed(machine, meaning)) {
      take("library", *told, "library");
      take("loaded", *told, "loaded");
      take("loaded", *told, "module");
    }
  }
  const auto& version = machine.kernel_driver.version;
  if (version.is_known() && finding.parameters.try_emplace("loaded", *version.get()).second)
    finding.evidence.push_back(version.origin());
  take_library_of_packages(machine, finding);
  const auto loaded = finding.parameters.find("loaded"), library = finding.parameters.find("library");
  if (loaded == finding.parameters.end() || library == finding.parameters.end()) return std::nullopt;
  if (may_be_same_version(loaded->second, library->second)) return std::nullopt;
  finding.variant = "told";
  return finding;
}

/// Driver libraries of another branch than the loaded module's were installed with some other program.
Result libraries_of_other_branch(const Context& context) {
  const Machine& machine = context.machine;
  const auto loaded = context.loaded_driver;
  const Observation* sign = observed(machine, "nvml-error", {{"code", "18"}});
  if (!loaded || sign == nullptr || in_container(context)) return std::nullopt;
  Finding finding = text_finding(0.96, {sign});
  std::string packages;
  for (const PackageTransaction& transaction : machine.packages.history) {
    for (const PackageChange& change : transaction.changes) {
      const auto branch = branch_in_package_name(change.name);
      const bool library = driver_package_role(change.name, "dpkg") == PackageRole::Compute;
      if (change.action != "install" || !library || !branch || *branch == loaded->branch) continue;
      packages += (packages.empty() ? "" : " ") + change.name;
      if (finding.evidence.size() == 1) finding.evidence.push_back(transaction.origin);
    }
  }
  if (packages.empty()) return std::nullopt;
  finding.evidence.push_back(machine.kernel_driver.version.origin());
  finding.variant = "other-branch-installed";
  const std::string branch = std::to_string(loaded->branch);
  finding.parameters = {{"packages", packages}, {"loaded", loaded->text}, {"branch", branch}};
  finding.repair = {make_action("remove-driver-packages", {{"packages", packages}}),
                    make_action("install-driver-branch", {{"branch", branch}, {"flavor", recommended_flavor(context)}}),
                    make_action("reboot")};
  return finding;
}

Result version_mismatch(const Context& context) {
  if (auto other = libraries_of_other_branch(context)) return other;
  if (auto told = told_versions(context)) return told;
  const Observation* error = observed_error(context.machine, 803);
  if (error == nullptr) return std::nullopt;
  return text_finding(in_container(context) ? 0.35 : 0.65, {error});
}

/// Error 35, or "found version N": who brought the runtime decides which of the three kinds it is.
const Observation* too_old(const Context& context) {
  for (const int code : {35, 36}) {
    if (const Observation* error = observed_error(context.machine, code)) return error;
  }
  return observed(context.machine, "driver-too-old");
}

Result too_old_for_image(const Context& context) {
  const Observation* error = too_old(context);
  const Observation* image = observed(context.machine, "container-image");
  if (error == nullptr || (!in_container(context) && image == nullptr)) return std::nullopt;
  return text_finding(names_framework(context) ? 0.45 : 0.85, {error, image});
}

Result too_old_for_wheel(const Context& context) {
  const Observation* error = too_old(context);
  if (error == nullptr || !names_framework(context)) return std::nullopt;
  return text_finding(0.88, {error, observed(context.machine, "driver-cuda")});
}

/// Error 500 of a driver that lacks a function. A kernel that the program's own module lacks is told with the same number.
const Observation* entry_point_not_found(const Context& context) {
  const Observation* error = observed_error(context.machine, 500);
  if (error == nullptr) return nullptr;
  for (const char* word : {" when loading ", "cuModuleGet", "cuLibraryGet", "cuModuleLoad"})
    if (error->origin.text.find(word) != std::string::npos) return nullptr;
  return error;
}

Result too_old_for_app(const Context& context) {
  const Observation* error = too_old(context);
  // A container of WSL: the driver is not too old there, its part in the container is incomplete.
  const bool wsl = in_wsl(context) || std::ranges::any_of(observations(context.machine), [](const Observation& o) {
                     return o.origin.text.find("/usr/lib/wsl/") != std::string::npos;
                   });
  if (error == nullptr) {
    // The number alone does not tell whether the driver lacks a function or a module its kernel.
    error = entry_point_not_found(context);
    return error == nullptr || wsl ? std::nullopt : Result(text_finding(0.45, {error}));
  }
  if (wsl) return std::nullopt;
  return text_finding(names_framework(context) ? 0.4 : 0.8, {error});
}

/// Neither libcuda.so nor the driver's OpenCL is found: the driver's user-mode part is not there, not a link to it.
Result no_user_mode_driver(const Context& context) {
  const Observation* opencl = observed(context.machine, "opencl-no-platform");
  const Observation* library = observed(context.machine, "shared-library-not-found", {{"library", "libcuda.so"}});
  if (opencl == nullptr || library == nullptr) return std::nullopt;
  return text_finding(0.75, {library, opencl});
}

Result newer_ptx(const Context& context) {
  const Observation* error = observed_error(context.machine, 222);
  if (error == nullptr) return std::nullopt;
  return text_finding(0.93, {error, observed(context.machine, "driver-cuda")});
}

Result stub(const Context& context) {
  if (const Observation* error = observed_error(context.machine, 34)) return text_finding(0.95, {error});
  // The path says it: a folder "stubs" before the driver's.
  const auto path = context.machine.environment.find("LD_LIBRARY_PATH");
  const Observation* failed = nullptr;
  for (const Observation& o : observations(context.machine))
    if (failed == nullptr && (o.meaning == "cuda-error" || o.meaning == "gpu-not-available" || o.meaning == "failure"))
      failed = &o;
  if (path == context.machine.environment.end() || path->second.find("/stubs") == std::string::npos || failed == nullptr)
    return std::nullopt;
  Finding finding = text_finding(0.9, {failed});
  finding.evidence.push_back(quote_variable(context.machine, "LD_LIBRARY_PATH"));
  return finding;
}

const Observation* fabric_in_progress(const Context& context) {
  return observed(context.machine, "smi-field", {{"section", "Fabric"}, {"key", "State"}, {"value", "In Progress"}});
}

/// The service runs and the GPUs still wait for it: they were not reset after it was started again.
Result fabric_restarted(const Context& context) {
  const Observation* error = observed_error(context.machine, 802);
  const Observation* service = observed(context.machine, "service", {{"unit", "nvidia-fabricmanager"}, {"state", "active"}});
  const Observation* state = fabric_in_progress(context);
  if (service == nullptr || (error == nullptr && state == nullptr)) return std::nullopt;
  return text_finding(state != nullptr ? 0.93 : 0.6, {service, state, error});
}

Result fabric(const Context& context) {
  const Observation* error = observed_error(context.machine, 802);
  if (error == nullptr) return std::nullopt;
  const Observation* state = fabric_in_progress(context);
  if (observed(context.machine, "service", {{"unit", "nvidia-fabricmanager"}, {"state", "active"}}) != nullptr)
    return text_finding(0.3, {error});
  // The GPU itself says what it waits for.
  if (state == nullptr && observed(context.machine, "conf-compute-not-ready") != nullptr) return text_finding(0.1, {error});
  return text_finding(state != nullptr ? 0.93 : 0.7, {error, state});
}

/// The daemon's own words tell both versions: the driver's is the one to install.
Result fabric_of_other_version(const Context& context) {
  for (const Observation* message : all_observed(context.machine, "fabric-manager-interface-version")) {
    const auto driver = DriverVersion::parse(value_of(*message, "driver"));
    if (!driver) continue;
    Finding finding = text_finding(0.95, {message, observed_error(context.machine, 802)});
    finding.parameters = {{"version", std::string(value_of(*message, "version"))}, {"driver", driver->text}};
    finding.repair = {
        make_action("install-fabric-manager", {{"version", driver->text}, {"branch", std::to_string(driver->branch)}}),
        make_action("start-fabric-manager")};
    return finding;
  }
  return std::nullopt;
}

Result confidential(const Context& context) {
  const Observation* error = observed_error(context.machine, 802);
  const Observation* state = observed(context.machine, "conf-compute-not-ready");
  if (error == nullptr && state == nullptr) return std::nullopt;
  if (state != nullptr) return text_finding(0.95, {state, error});
  return text_finding(0.2, {error});
}

Result mps(const Context& context) {
  for (int code = 805; code <= 810; ++code)
    if (const Observation* error = observed_error(context.machine, code)) return text_finding(0.9, {error});
  return std::nullopt;
}

Result unlicensed(const Context& context) {
  if (const Observation* error = observed_error(context.machine, 102)) return text_finding(0.9, {error});
  for (const Observation* field : all_observed(context.machine, "smi-field"))
    if (value_of(*field, "key") == "License Status" && value_of(*field, "value").starts_with("Unlicensed"))
      return text_finding(0.94, {field, observed_error(context.machine, 46)});
  return std::nullopt;
}

Result exclusive_mode(const Context& context) {
  const Observation* busy = observed_error(context.machine, 46);
  if (busy == nullptr) busy = observed_error(context.machine, 216);
  const Observation* mode = nullptr;
  for (const Observation* memory : all_observed(context.machine, "smi-memory")) {
    const std::string_view value = value_of(*memory, "compute-mode");
    if (mode == nullptr && (value.starts_with("E.") || value.starts_with("Exclusive") || value == "Prohibited")) mode = memory;
  }
  for (const Observation* field : all_observed(context.machine, "smi-field"))
    if (value_of(*field, "key") == "Compute Mode" && value_of(*field, "value") != "Default") mode = field;
  if (busy == nullptr && observed_error(context.machine, 100) == nullptr) return std::nullopt;
  if (mode != nullptr) return text_finding(0.93, {mode, busy});
  if (busy == nullptr) return std::nullopt;
  return text_finding(observed_error(context.machine, 216) != nullptr ? 0.7 : 0.4, {busy});
}

// ---- hardware --------------------------------------------------------------------------------------------------------------

Result uncorrectable(const Context& context) {
  if (const Observation* error = observed_error(context.machine, 214)) return text_finding(0.9, {error});
  return std::nullopt;
}

Result nvlink(const Context& context) {
  if (const Observation* error = observed_error(context.machine, 220)) return text_finding(0.85, {error});
  return std::nullopt;
}

// ---- application -----------------------------------------------------------------------------------------------------------

/// Xids that follow from a program's fault, or stand for it.
bool is_of_program(std::int64_t xid) { return xid == 13 || xid == 31 || xid == 43 || xid == 45 || xid == 69; }

/// After the program's fault the GPU reports one of its own: it has to be reset, whoever began.
void add_fault_of_gpu(const std::vector<LogEvent>& events, const LogEvent& first, Finding& finding) {
  const auto own = std::ranges::find_if(events, [&](const LogEvent& event) {
    return event.kind == "xid" && event.pci == first.pci && event.boot == first.boot && !is_of_program(event.code);
  });
  if (own == events.end() || first.pci.empty()) return;
  finding.variant = "then-gpu";
  finding.parameters = {{"first", std::to_string(first.code)}, {"code", std::to_string(own->code)}};
  finding.evidence.push_back(quote(*own));
  finding.repair = {make_action("reset-gpu", {{"address", first.pci + (first.pci.find('.') == std::string::npos ? ".0" : "")}}),
                    make_action("find-faulting-kernel"), make_action("report-gpu-failure")};
}

Result illegal_access(const Context& context) {
  for (const int code : {700, 710, 715, 716, 717, 718, 714, 719}) {
    const Observation* error = observed_error(context.machine, code);
    if (error != nullptr) return text_finding(code == 719 || code == 714 ? 0.65 : 0.85, {error});
  }
  // The kernel's side of it, where the first Xid of the log is a program's fault: 13 and 31 name it, 43 and 45 follow from one.
  const auto* events = context.machine.kernel_log.events.get();
  if (events == nullptr) return std::nullopt;
  const auto first = std::ranges::find(*events, "xid", &LogEvent::kind);
  if (first == events->end() || (first->code != 13 && first->code != 31 && first->code != 43 && first->code != 45))
    return std::nullopt;
  // 45 alone is also how any program ends that was killed.
  Finding finding = text_finding(first->code == 13 || first->code == 31 ? 0.75 : first->code == 43 ? 0.55 : 0.35, {});
  finding.evidence.push_back(quote(*first));
  add_fault_of_gpu(*events, *first, finding);
  return finding;
}

Result memory(const Context& context) {
  const Observation* error = observed_error(context.machine, 2);
  if (error == nullptr) return std::nullopt;
  // At initialisation nothing was allocated yet.
  const bool init = error->origin.text.find("cudaGetDeviceCount") != std::string::npos ||
                    error->origin.text.find("cuInit") != std::string::npos;
  return text_finding(init ? 0.25 : 0.85, {error});
}

/// NCCL asked for peer access that these GPUs do not have.
Result nccl_without_peer_access(const Context& context) {
  const Observation* error = observed_error(context.machine, 217);
  const Observation* nccl = observed(context.machine, "nccl-error");
  if (error == nullptr || (nccl == nullptr && error->origin.text.find("NCCL") == std::string::npos)) return std::nullopt;
  Finding finding = text_finding(0.85, {error, nccl});
  finding.variant = "peer-access";
  finding.repair = {make_action("keep-nccl-from-peer-access")};
  finding.confirm = "nvidia-smi topo -p2p r";
  return finding;
}

Result many_gpus_in_wsl(const Context& context) {
  const Observation* error = observed_error(context.machine, 2);
  const Observation* told = context.machine.os.kernel.is_known() ? nullptr : observed(context.machine, "wsl-told");
  if (error == nullptr || (!in_wsl(context) && told == nullptr)) return std::nullopt;
  const bool init = error->origin.text.find("cudaGetDeviceCount") != std::string::npos ||
                    error->origin.text.find("cuInit") != std::string::npos;
  if (!init) return std::nullopt;
  return text_finding(context.gpus.size() >= 3 ? 0.94 : 0.6, {error, in_wsl(context) ? nullptr : told});
}

/// CUDA_VISIBLE_DEVICES against the number of GPUs that the text shows.
Result visible_devices(const Context& context) {
  const auto at = context.machine.environment.find("CUDA_VISIBLE_DEVICES");
  const Observation* no_device = observed_error(context.machine, 100);
  const Observation* ordinal = observed_error(context.machine, 101);
  const Observation* absent = observed(context.machine, "gpu-not-available");
  const Observation* failed = no_device != nullptr ? no_device : ordinal != nullptr ? ordinal : absent;
  if (at == context.machine.environment.end()) {
    if (ordinal != nullptr) return text_finding(0.7, {ordinal});
    return std::nullopt;
  }
  const std::string& value = at->second;
  std::size_t shown = context.gpus.size();
  shown = std::max(shown, all_observed(context.machine, "smi-gpu").size());
  bool wrong = value.empty() || value == "-1" || value == "NoDevFiles" || value == "none";
  std::string_view rest = value;
  while (!rest.empty() && !wrong) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_number = error == std::errc{} && end == part.data() + part.size();
    if (is_number && shown > 0 && number >= shown) wrong = true;
  }
  if (!wrong && ordinal == nullptr) return std::nullopt;
  if (failed == nullptr && !wrong) return std::nullopt;
  Finding finding = text_finding(wrong ? (failed != nullptr ? 0.95 : 0.6) : 0.6, {failed});
  finding.evidence.push_back(quote_variable(context.machine, "CUDA_VISIBLE_DEVICES"));
  return finding;
}

/// Slurm's word for a job without GPU.
Result no_gpu_from_slurm(const Context& context) {
  return finding_of_message(context.machine, "slurm-no-gpu-given", 0.96, "slurm", "request-gpu-from-slurm");
}

/// Under WSL2 the driver is Windows' one, whoever asks for a newer.
Result windows_driver_too_old(const Context& context) {
  if (!in_wsl(context)) return std::nullopt;
  const Observation* error = too_old(context);
  for (const Observation& o : observations(context.machine))
    if (error == nullptr && o.origin.text.find("unsatisfied condition: cuda") != std::string::npos) error = &o;
  if (error == nullptr) return std::nullopt;
  return text_finding(0.96, {error, observed(context.machine, "windows-driver")});
}

Result mig_without_instance(const Context& context) {
  const Observation* none = observed(context.machine, "mig-no-instances");
  return none != nullptr ? Result(text_finding(0.92, {none, observed_error(context.machine, 100)})) : std::nullopt;
}

/// CUDA_VISIBLE_DEVICES with several MIG instances: a process gets the first.
Result two_instances(const Context& context) {
  const std::string_view value = variable(context.machine, "CUDA_VISIBLE_DEVICES");
  const std::size_t first = value.find("MIG-");
  if (first == std::string_view::npos || value.find("MIG-", first + 4) == std::string_view::npos) return std::nullopt;
  const Observation* failed = observed_error(context.machine, 101);
  Finding finding = text_finding(0.95, {failed != nullptr ? failed : observed(context.machine, "device-index-beyond")});
  finding.evidence.push_back(quote_variable(context.machine, "CUDA_VISIBLE_DEVICES"));
  return finding;
}

const Observation* unknown_error(const Context& context) {
  if (const Observation* error = observed_error(context.machine, 999)) return error;
  for (const Observation& o : observations(context.machine))
    if (o.origin.text.find("CUDA unknown error") != std::string::npos) return &o;
  return nullptr;
}

Result after_resume(const Context& context) {
  const Observation* error = unknown_error(context);
  if (error == nullptr) return std::nullopt;
  if (const auto* events = context.machine.kernel_log.events.get()) {
    for (const LogEvent& event : *events) {
      if (event.kind != "resume" && event.kind != "suspend") continue;
      Finding finding = text_finding(0.93, {error});
      finding.evidence.push_back(quote(event));
      return finding;
    }
  }
  // Nobody pastes the kernel's line of a resume; who tells of it means it.
  const Observation* told = observed(context.machine, "suspend-told");
  return told != nullptr ? Result(text_finding(0.8, {error, told})) : std::nullopt;
}

/// Error 999 although module, nodes and library were looked at and are there.
Result unexplained(const Context& context) {
  const Observation* error = unknown_error(context);
  if (error == nullptr) return std::nullopt;
  const Observation* uvm = observed(context.machine, "device-node", {{"path", "/dev/nvidia-uvm"}});
  const bool module = context.machine.kernel_driver.version.is_known();
  return text_finding(uvm != nullptr && module ? 0.6 : 0.25, {error, uvm});
}

/// nvidia-smi numbers by the bus, CUDA the fastest first, unless CUDA_DEVICE_ORDER says otherwise.
Result renumbered(const Context& context) {
  const Observation* order = observed(context.machine, "variable", {{"name", "CUDA_DEVICE_ORDER"}, {"value", "PCI_BUS_ID"}});
  if (order == nullptr || context.gpus.size() < 2 || observed_error(context.machine, 100) != nullptr) return std::nullopt;
  const bool different = std::ranges::any_of(
      context.gpus, [&](const MachineGpu& gpu) { return gpu.identity.name != context.gpus.front().identity.name; });
  return different ? Result(text_finding(0.85, {order})) : std::nullopt;
}

Result forked(const Context& context) {
  const Observation* error = observed_error(context.machine, 3);
  const Observation* fork = observed(context.machine, "forked-process");
  if (fork != nullptr && error != nullptr) return text_finding(0.9, {error, fork});
  if (error == nullptr) return std::nullopt;
  return text_finding(names_framework(context) ? 0.5 : 0.35, {error});
}

/// CUDA does not start, and does once nvidia-uvm is loaded without HMM.
Result without_hmm(const Context& context) {
  const Observation* error = observed_error(context.machine, 3);
  if (error == nullptr) error = unknown_error(context);
  const Observation* disabled = observed(context.machine, "hmm-disabled");
  if (error == nullptr || disabled == nullptr) return std::nullopt;
  return text_finding(0.9, {error, disabled});
}

constexpr Rule rules[] = {
    {"uvm-hmm-init-failure", without_hmm},
    {"ecc-uncorrectable-memory", uncorrectable},
    {"xid-nvlink-fabric-error", nvlink},
    {"nccl-transport-or-shm", nccl_without_peer_access},
    {"driver-library-version-mismatch", version_mismatch},
    {"compute-mode-exclusive", exclusive_mode},
    {"stub-libcuda-loaded", stub},
    {"driver-too-old-for-container-image", too_old_for_image},
    {"driver-too-old-for-wheel", too_old_for_wheel},
    {"driver-too-old-for-app", too_old_for_app},
    {"libcuda-missing", no_user_mode_driver},
    {"ptx-newer-than-driver", newer_ptx},
    {"forward-compat-on-unsupported-gpu", forward_compat},
    {"compat-libcuda-shadows-driver-in-container", compat_shadows},
    {"compat-libcuda-shadows-driver-in-container", newer_libcuda_in_image},
    {"stale-driver-libs-in-container", older_libcuda_in_image},
    {"fabric-manager-not-running", fabric},
    {"fabric-manager-restarted-without-gpu-reset", fabric_restarted},
    {"wsl-windows-driver-too-old", windows_driver_too_old},
    {"mig-enabled-no-instance", mig_without_instance},
    {"mig-only-one-instance-per-process", two_instances},
    {"uvm-broken-after-suspend", after_resume},
    {"cuinit-error-unexplained", unexplained},
    {"cuda-visible-devices-renumbered", renumbered},
    {"confidential-compute-not-ready", confidential},
    {"fabric-manager-version-mismatch", fabric_of_other_version},
    {"vgpu-unlicensed", unlicensed},
    {"mps-daemon-problem", mps},
    {"cuda-visible-devices-wrong", visible_devices},
    {"cuda-visible-devices-wrong", no_gpu_from_slurm},
    {"fork-after-cuda-init", forked},
    {"out-of-memory", memory},
    {"illegal-memory-access", illegal_access},
    {"wsl-many-gpus-oom-at-init", many_gpus_in_wsl},
};

}  // namespace

std::span<const Rule> observed_error_rules() { return rules; }

}  // namespace gpuvet
