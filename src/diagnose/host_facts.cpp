#include "diagnose/host_facts.h"

#include <algorithm>
#include <array>

#include "rules/observed.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

constexpr std::size_t most = 8;

// ---- contradictions ------------------------------------------------------------------------------------------------------

/// CUDA errors that only a GPU at work gives: out of memory, no kernel image, PTX, and everything that a kernel ran into.
constexpr std::array<std::string_view, 11> errors_of_working_gpu = {"2",   "209", "218", "222", "700", "701",
                                                                    "702", "710", "715", "716", "719"};
/// Errors of a driver that cannot be reached: initialization, no device, driver too old or of another release, not ready,
/// unknown.
constexpr std::array<std::string_view, 9> errors_of_no_gpu = {"3", "35", "36", "100", "101", "802", "803", "804", "999"};
constexpr std::array<std::string_view, 16> means_no_gpu = {"no-gpu-seen",
                                                           "no-cuda-device",
                                                           "gpu-not-available",
                                                           "no-gpu-found",
                                                           "torch-cuda-unavailable",
                                                           "jax-no-gpu",
                                                           "cuinit-failed",
                                                           "cuda-initialization-failed",
                                                           "no-driver-seen",
                                                           "nvml-error",
                                                           "kernel-driver-not-loaded",
                                                           "bitsandbytes-no-gpu",
                                                           "tensorflow-no-cuda",
                                                           "onnxruntime-no-cuda",
                                                           "container-cli-no-driver",
                                                           "conda-sees-no-driver"};
constexpr std::array<std::string_view, 8> means_not_loaded = {
    "shared-library-not-found", "undefined-symbol",        "symbol-version-not-found", "library-wrong-architecture",
    "library-not-mappable",     "cuda-library-not-loaded", "torch-library-not-found",  "compiled-part-missing"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool shows_gpu_at_work(const Observation& observation) {
  if (observation.meaning == "out-of-memory" || observation.meaning == "no-kernel-image") return true;
  return observation.meaning == "cuda-error" && is_one_of(errors_of_working_gpu, value_of(observation, "code"));
}

bool denies_gpu(const Observation& observation) {
  return is_one_of(means_no_gpu, observation.meaning) ||
         (observation.meaning == "cuda-error" && is_one_of(errors_of_no_gpu, value_of(observation, "code")));
}

/// The device is there for nobody: not a version that does not fit.
bool sees_no_device(const Observation& observation) {
  return denies_gpu(observation) && (observation.meaning != "cuda-error" || value_of(observation, "code") == "100");
}

bool speaks_of_container(const Machine& text) {
  return text.os.container.is_known() || observed(text, "container-command") != nullptr ||
         observed(text, "container-image") != nullptr ||
         std::ranges::any_of(observations(text), [](const Observation& o) { return o.place == "container"; });
}

std::string label(const MachineGpu& gpu) {
  std::string name = gpu.identity.name.empty() ? "NVIDIA GPU" : gpu.identity.name;
  return gpu.identity.compute_capability ? name + " (" + gpu.identity.compute_capability->text() + ")" : name;
}

Origin origin_of(const MachineGpu& gpu) {
  if (!gpu.device->origin.source.empty()) return gpu.device->origin;
  return {"/sys/bus/pci/devices/" + gpu.device->address, 0, ""};
}

class Comparison {
 public:
  Comparison(const Machine& text, const Machine& host, const Knowledge& knowledge)
      : text_(text), host_(host), text_gpus_(nvidia_gpus(text, knowledge)), host_gpus_(nvidia_gpus(host, knowledge)) {}

  std::vector<Contradiction> all() {
    driver();
    gpus();
    gpu_at_work();
    gpu_not_seen();
    differ("kernel", text_.os.kernel, host_.os.kernel, true);
    differ("architecture", text_.os.architecture, host_.os.architecture, true);
    distribution();
    wsl();
    frameworks();
    if (found_.size() > most) found_.resize(most);
    return std::move(found_);
  }

 private:
  bool host_is_wsl() const { return host_.os.wsl.is_known(); }
  bool host_bus_seen() const { return host_.pci.is_known() && !host_is_wsl() && !host_.os.jetson.is_known(); }

  void add(std::string what, const Origin& text, std::string text_value, const Origin& host, std::string host_value, bool other) {
    found_.push_back({std::move(what), std::move(text_value), std::move(host_value), text, host, other});
  }
  void differ(const char* what, const Fact<std::string>& text, const Fact<std::string>& host, bool other) {
    if (text.is_known() && host.is_known() && *text.get() != *host.get())
      add(what, text.origin(), *text.get(), host.origin(), *host.get(), other);
  }

  /// Inside WSL the driver is Windows' own, which the kernel does not tell.
  void driver() {
    const Fact<std::string>&text = text_.kernel_driver.version, &host = host_.kernel_driver.version;
    if (host_is_wsl() || text_.os.wsl.is_known()) return;
    differ("driver", text, host, true);
    if (text.is_known() && host.is_absent()) add("no-driver", text.origin(), *text.get(), host.origin(), "", true);
  }

  void gpus() {
    if (!host_bus_seen()) return;
    for (const MachineGpu& gpu : text_gpus_) {
      const auto& wanted = gpu.identity.compute_capability;
      const auto same = [&](const MachineGpu& here) {
        return !wanted || !here.identity.compute_capability || here.identity.compute_capability == wanted;
      };
      if (host_gpus_.empty()) return add("no-gpu", origin_of(gpu), label(gpu), host_.pci.origin(), "", true);
      if (std::ranges::any_of(host_gpus_, same)) continue;
      return add("gpu", origin_of(gpu), label(gpu), origin_of(host_gpus_.front()), label(host_gpus_.front()), true);
    }
  }

  void gpu_at_work() {
    if (!host_bus_seen() || !host_gpus_.empty() || !text_gpus_.empty()) return;
    const auto list = observations(text_);
    const auto sign = std::ranges::find_if(list, shows_gpu_at_work);
    if (sign != list.end()) add("no-gpu-at-work", sign->origin, "", host_.pci.origin(), "", true);
  }

  /// No other machine: a process that does not see what is here.
  void gpu_not_seen() {
    if (host_gpus_.empty() || !host_.kernel_driver.version.is_known()) return;
    const auto list = observations(text_);
    const auto sign = std::ranges::find_if(list, sees_no_device);
    if (sign != list.end())
      add("gpu-not-seen", sign->origin, "", origin_of(host_gpus_.front()),
          label(host_gpus_.front()) + ", " + *host_.kernel_driver.version.get(), false);
  }

  void distribution() {
    const auto *id = text_.os.id.get(), *version = text_.os.version_id.get();
    const auto *here = host_.os.id.get(), *version_here = host_.os.version_id.get();
    if (id == nullptr || here == nullptr) return;
    const bool same = *id == *here && (version == nullptr || version_here == nullptr || *version == *version_here);
    const auto with = [](const std::string& name, const std::string* number) {
      return number == nullptr ? name : name + " " + *number;
    };
    // An image has a distribution of its own.
    if (!same)
      add("distribution", text_.os.id.origin(), with(*id, version), host_.os.id.origin(), with(*here, version_here),
          !speaks_of_container(text_));
  }

  void wsl() {
    if (text_.os.wsl.is_known() && host_.os.wsl.is_absent())
      add("wsl", text_.os.wsl.origin(), "WSL " + std::to_string(*text_.os.wsl.get()), host_.os.wsl.origin(), "", true);
  }

  /// A framework of the text in a release that no environment here has.
  void frameworks() {
    const auto *told = text_.python.environments.get(), *here = host_.python.environments.get();
    const PythonEnvironment* active = active_environment(host_);
    if (told == nullptr || here == nullptr || active == nullptr) return;
    for (const PythonEnvironment& environment : *told) {
      for (const PythonPackage& package : environment.packages) {
        if (!is_gpu_framework(package.name) || package.version.empty()) continue;
        const auto has_it = [&](const PythonEnvironment& other) {
          const PythonPackage* found = find_package(other, package.name);
          return found != nullptr && (found->version == package.version || found->version.starts_with(package.version + "+") ||
                                      package.version.starts_with(found->version + "+"));
        };
        const PythonPackage* other = find_package(*active, package.name);
        if (other == nullptr || std::ranges::any_of(*here, has_it)) continue;
        return add("framework", package.origin, package.name + " " + package.version, {other->folder, 0, ""},
                   other->name + " " + other->version, false);
      }
    }
  }

  const Machine& text_;
  const Machine& host_;
  std::vector<MachineGpu> text_gpus_, host_gpus_;
  std::vector<Contradiction> found_;
};

// ---- joining -------------------------------------------------------------------------------------------------------------

template <class T>
void fill(Fact<T>& fact, const Fact<T>& other) {
  if (fact.is_not_seen() && other.is_known()) fact = other;
}

void join_operating_system(OperatingSystem& os, const OperatingSystem& text) {
  fill(os.id, text.id);
  fill(os.version_id, text.version_id);
  fill(os.architecture, text.architecture);
  fill(os.glibc, text.glibc);
  fill(os.kernel, text.kernel);
  fill(os.secure_boot, text.secure_boot);
}

void join_kernel_log(KernelLog& log, const KernelLog& text) {
  const auto* told = text.events.get();
  if (told == nullptr || told->empty()) return;
  if (!log.events.is_known()) {
    log.events = text.events;
    return;
  }
  auto& events = *log.events.get();
  events.insert(events.end(), told->begin(), told->end());
}

/// The text's environment is the failing process' own, where it is none of this machine's.
void join_python(Python& python, const Python& text, const Machine& host) {
  const auto* told = text.environments.get();
  if (told == nullptr || told->empty()) return;
  const auto here = python.environments.get();
  if (here == nullptr) {
    python.environments = text.environments;
    return;
  }
  const PythonEnvironment& environment = told->front();
  const auto is_here = [&](const PythonPackage& package) {
    const PythonEnvironment* active = active_environment(host);
    const PythonPackage* found = active == nullptr ? nullptr : find_package(*active, package.name);
    return !is_gpu_framework(package.name) || (found != nullptr && found->version.starts_with(package.version));
  };
  if (std::ranges::all_of(environment.packages, is_here)) return;
  for (PythonEnvironment& other : *here) other.active = false;
  here->insert(here->begin(), environment);
}

}  // namespace

std::vector<Contradiction> contradictions(const Machine& text, const Machine& host, const Knowledge& knowledge) {
  return Comparison(text, host, knowledge).all();
}

bool shows_break_of(const Observation& observation, Layer layer) {
  const bool driver = layer <= Layer::UserDriver || layer == Layer::Container || layer == Layer::Wsl;
  const bool library = layer == Layer::RuntimeLibrary || layer == Layer::Framework || layer == Layer::Application;
  if (denies_gpu(observation)) return driver || layer == Layer::Framework;
  if (!is_one_of(means_not_loaded, observation.meaning)) return false;
  const std::string_view name = value_of(observation, "library");
  return library || (layer == Layer::UserDriver && (name.starts_with("libcuda.so") || name.starts_with("libnvidia-")));
}

Machine joined(const Machine& text, const Machine& host) {
  Machine machine = host;
  machine.redacted = text.redacted && host.redacted;
  machine.observations = text.observations;
  for (const auto& [name, value] : text.environment) machine.environment[name] = value;
  join_operating_system(machine.os, text.os);
  fill(machine.kernel_driver.version, text.kernel_driver.version);
  fill(machine.kernel_driver.flavor, text.kernel_driver.flavor);
  fill(machine.pci, text.pci);
  fill(machine.packages.installed, text.packages.installed);
  fill(machine.services, text.services);
  join_kernel_log(machine.kernel_log, text.kernel_log);
  join_python(machine.python, text.python, host);
  return machine;
}

}  // namespace gpuvet
