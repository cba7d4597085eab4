// Which copy of libcuda and libnvidia-ml a new process gets: none, the toolkit's stub, or one of several.

#include <algorithm>

#include "rules/evidence.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

Origin quote(const DriverLibrary& library, std::string text) { return {library.path, 0, std::move(text)}; }

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Copies of `name` that a 64-bit process of this machine could load, the winner first.
std::vector<const DriverLibrary*> native_copies(const RuleContext& context, std::string_view name) {
  std::vector<const DriverLibrary*> copies;
  const auto* libraries = context.machine.user_driver.libraries.get();
  if (libraries == nullptr) return copies;
  for (const DriverLibrary& library : *libraries) {
    if (library.name == name && library.elf_class == "64") copies.push_back(&library);
  }
  std::ranges::stable_partition(copies, [](const DriverLibrary* library) { return library->wins; });
  return copies;
}

/// The whole search path was looked at, so "none" means none.
bool search_was_complete(const RuleContext& context) {
  return context.machine.user_driver.libraries.is_known() && !context.machine.user_driver.search_complete.is(false);
}

/// The kernel side of the driver is there: without it a missing library is no news.
bool kernel_side_is_there(const RuleContext& context) {
  if (context.machine.kernel_driver.version.is_known()) return true;
  return !context.in(World::Container) && context.installed_driver.has_value() && !context.gpus.empty();
}

/// In a container the nodes show that a GPU was passed in.
bool gpu_was_asked_for(const RuleContext& context) { return !context.in(World::Container) || device_node(context.machine, "/dev/nvidiactl") != nullptr; }

/// A usable copy that lies where the loader does not look.
const DriverLibrary* stray_copy(const RuleContext& context, std::string_view name) {
  for (const DriverLibrary* copy : native_copies(context, name)) {
    if (copy->kind == "driver" && !copy->wins) return copy;
  }
  return nullptr;
}

/// Kubernetes' GPU operator runs the driver in a container of its own: the host's programs are not meant to find its libraries.
bool driver_lives_in_a_container(const RuleContext& context, std::string_view name) {
  return std::ranges::any_of(native_copies(context, name), [](const DriverLibrary* copy) { return copy->path.starts_with("/run/nvidia/driver/"); });
}

std::optional<Finding> missing_library(const RuleContext& context, std::string_view name, const DriverLibrary* winner) {
  if (winner != nullptr || !search_was_complete(context) || !kernel_side_is_there(context) || !gpu_was_asked_for(context)) return std::nullopt;
  if (driver_lives_in_a_container(context, name)) return std::nullopt;
  Finding finding;
  const auto driver = context.loaded_driver ? context.loaded_driver : context.installed_driver;
  finding.parameters = {{"library", std::string(name)}, {"version", driver ? driver->text : "?"}, {"path", ""}};
  if (context.machine.kernel_driver.version.is_known()) finding.evidence.push_back(gpuvet::quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version"));
  if (const DriverLibrary* stray = stray_copy(context, name)) {
    finding.variant = "off-path";
    finding.parameters["path"] = stray->path;
    finding.evidence.push_back(quote(*stray, "not on the loader's search path"));
    finding.repair = {make_action("add-loader-folder", {{"folder", folder_of(stray->path)}})};
    return finding;
  }
  std::string searched;
  for (const SearchFolder& folder : context.machine.loader.folders) searched += (searched.empty() ? "" : ", ") + folder.path;
  finding.evidence.push_back({"loader search path", 0, "no " + std::string(name) + " in " + searched});
  if (context.in(World::Container)) finding.repair = {make_action("recreate-container")};
  else finding.repair = {make_action("install-compute-libraries", {{"version", finding.parameters["version"]}, {"branch", driver ? std::to_string(driver->branch) : ""}})};
  if (context.in(World::Container)) finding.variant = "container";
  return finding;
}

/// The LD_LIBRARY_PATH entry that leads to this folder, as the user wrote it.
std::string library_path_entry(const RuleContext& context, const DriverLibrary& library) {
  for (const SearchFolder& folder : context.machine.loader.folders) {
    if (folder.rule == "LD_LIBRARY_PATH" && folder_of(library.path) == folder.path) return folder.path;
  }
  return folder_of(library.path);
}

/// NVIDIA_DRIVER_CAPABILITIES=compute leaves NVML out on purpose.
bool left_out_on_purpose(const RuleContext& context) {
  const auto variable = context.machine.environment.find("NVIDIA_DRIVER_CAPABILITIES");
  if (!context.in(World::Container) || variable == context.machine.environment.end()) return false;
  return variable->second.find("utility") == std::string::npos && variable->second.find("all") == std::string::npos;
}

}  // namespace

std::optional<Finding> stub_libcuda_loaded(const RuleContext& context) {
  const DriverLibrary* stub = context.libcuda;
  if (stub == nullptr || stub->kind != "stub") return std::nullopt;
  Finding finding;
  finding.parameters = {{"path", stub->path}, {"folder", library_path_entry(context, *stub)}};
  finding.evidence.push_back(quote(*stub, "the toolkit's link-time stub (no driver version inside); found by " + stub->found_by));
  const auto variable = context.machine.environment.find("LD_LIBRARY_PATH");
  const bool by_variable = stub->found_by == "LD_LIBRARY_PATH";
  if (by_variable && variable != context.machine.environment.end()) finding.evidence.push_back({"environment", 0, "LD_LIBRARY_PATH=" + variable->second});
  for (const DriverLibrary* copy : native_copies(context, "libcuda.so.1")) {
    if (copy->kind != "driver" || copy->wins) continue;
    finding.evidence.push_back(quote(*copy, "the real driver library " + copy->version.value_or("") + ", not reached"));
    break;
  }
  if (by_variable) finding.repair.push_back(make_action("remove-from-ld-library-path", {{"folder", finding.parameters["folder"]}}));
  else finding.repair.push_back(make_action("move-stray-library", {{"path", stub->path}}));
  return finding;
}

std::optional<Finding> libcuda_missing(const RuleContext& context) { return missing_library(context, "libcuda.so.1", context.libcuda); }

std::optional<Finding> nvml_missing(const RuleContext& context) {
  auto finding = missing_library(context, "libnvidia-ml.so.1", context.libnvml);
  // Programs that compute need only libcuda; nvidia-smi, NCCL and monitoring need this one.
  if (finding && context.libcuda != nullptr) finding->severity = left_out_on_purpose(context) ? Severity::Note : Severity::Warning;
  return finding;
}

std::optional<Finding> libcuda_so_symlink_missing(const RuleContext& context) {
  const bool usable = context.libcuda != nullptr && context.libcuda->kind == "driver";
  if (!usable || !context.machine.user_driver.libcuda_dev_link.is(false)) return std::nullopt;
  Finding finding;
  finding.severity = Severity::Note;
  finding.parameters = {{"folder", folder_of(context.libcuda->path)}};
  finding.evidence.push_back(quote(*context.libcuda, "no libcuda.so beside it or elsewhere on the loader's path"));
  finding.repair = {make_action("link-libcuda-so", {{"folder", finding.parameters["folder"]}})};
  return finding;
}

std::optional<Finding> multiple_libcuda(const RuleContext& context) {
  if (context.libcuda == nullptr || context.libcuda->kind != "driver") return std::nullopt;
  Finding finding;
  finding.severity = Severity::Note;
  for (const DriverLibrary* copy : native_copies(context, "libcuda.so.1")) {
    const bool other = copy->kind == "driver" && copy->real_path != context.libcuda->real_path && copy->machine == context.libcuda->machine;
    const bool differs = copy->version.is_known() && context.libcuda->version.is_known() && *copy->version.get() != *context.libcuda->version.get();
    if (other && differs && finding.evidence.size() < 4) finding.evidence.push_back(quote(*copy, "libcuda " + *copy->version.get() + ", not the one that a new process gets"));
  }
  if (finding.evidence.empty()) return std::nullopt;
  finding.parameters = {{"path", context.libcuda->path}, {"version", *context.libcuda->version.get()}, {"other", finding.evidence.front().source}};
  finding.evidence.insert(finding.evidence.begin(), quote(*context.libcuda, "libcuda " + *context.libcuda->version.get() + ", found by " + context.libcuda->found_by));
  finding.repair = {make_action("move-stray-library", {{"path", finding.parameters["other"]}})};
  return finding;
}

}  // namespace gpuvet::user_driver
