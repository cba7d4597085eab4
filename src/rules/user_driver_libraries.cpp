// Which copy of libcuda and libnvidia-ml a new process gets: none, the toolkit's stub, or one of several.

#include <algorithm>
#include <array>

#include "rules/driver_packages.h"
#include "rules/evidence.h"
#include "rules/process_repair.h"
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
  std::stable_partition(copies.begin(), copies.end(), [](const DriverLibrary* library) { return library->wins; });
  return copies;
}

/// The same, and copies whose class is not known because they are no files at all (dangling links).
std::vector<const DriverLibrary*> native_or_broken_copies(const RuleContext& context, std::string_view name) {
  std::vector<const DriverLibrary*> copies = native_copies(context, name);
  const auto* libraries = context.machine.user_driver.libraries.get();
  for (std::size_t i = 0; libraries != nullptr && i < libraries->size(); ++i) {
    if ((*libraries)[i].name == name && (*libraries)[i].elf_class.empty()) copies.push_back(&(*libraries)[i]);
  }
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
bool gpu_was_asked_for(const RuleContext& context) {
  return !context.in(World::Container) || device_node(context.machine, "/dev/nvidiactl") != nullptr;
}

bool is_usable(const DriverLibrary& library) {
  return library.kind == "driver" || library.kind == "wsl" || library.kind == "compat";
}

/// A usable copy that lies where the loader does not look.
const DriverLibrary* stray_copy(const RuleContext& context, std::string_view name) {
  for (const DriverLibrary* copy : native_copies(context, name)) {
    if (copy->kind == "driver" && !copy->wins) return copy;
  }
  return nullptr;
}

/// Folders of drivers that serve others than the programs of this host: containers (GPU Operator, GKE), snaps, NixOS' own
/// programs.
bool is_private_folder(std::string_view path) {
  constexpr std::array folders = {"/run/nvidia/driver/", "/home/kubernetes/bin/nvidia/", "/var/lib/snapd/",
                                  "/run/opengl-driver/"};
  return std::ranges::any_of(folders, [&](std::string_view folder) { return path.starts_with(folder); });
}

/// Debian keeps the libraries in …/nvidia/current and leads to them by links of its alternatives system (nvidia-alternative).
bool is_debian_alternative(std::string_view path) { return path.find("-linux-gnu/nvidia/") != std::string_view::npos; }

/// How the libraries get into this kind of container.
std::string container_variant(const RuleContext& context) {
  const std::string kind = context.machine.os.container.value_or("");
  if (kind == "lxc" || kind == "nspawn") return "system-container";
  return kind == "apptainer" || kind == "singularity" ? "apptainer" : "container";
}

/// "550", or "550-server" where Ubuntu's server packages of that branch are installed: the two kinds exclude each other.
std::string package_branch(const RuleContext& context, const std::optional<DriverVersion>& driver) {
  if (!driver) return {};
  const std::string branch = std::to_string(driver->branch), server = branch + "-server";
  for (const DriverPackage& part : driver_packages(context.machine)) {
    if (part.package->name.find(server) != std::string::npos) return server;
  }
  return branch;
}

/// openSUSE's name for a generation of drivers (data/distribution_packages.tsv); older ones name their packages otherwise.
std::string suse_generation(const std::optional<DriverVersion>& driver) {
  if (!driver || driver->branch < 515) return {};
  return driver->branch >= 590 ? "G07" : "G06";
}

/// The driver was put here by NVIDIA's .run file: packages must not be mixed into it.
bool came_from_runfile(const RuleContext& context, const std::optional<DriverVersion>& driver) {
  const auto* text = context.machine.packages.runfile_driver.get();
  const auto version = text != nullptr ? DriverVersion::parse(*text) : std::nullopt;
  return version && driver && *version == *driver;
}

Action bring_library(const RuleContext& context, const std::string& variant, const std::optional<DriverVersion>& driver,
                     const std::string& version) {
  if (variant == "container") return make_action("inject-driver-libraries");
  if (variant == "apptainer") return make_action("start-apptainer-with-nv");
  if (variant == "system-container") return make_action("install-driver-libraries-in-lxc", {{"version", version}});
  if (came_from_runfile(context, driver)) return make_action("run-installer-again", {{"version", version}});
  std::map<std::string, std::string> parameters = {{"version", version}, {"branch", package_branch(context, driver)}};
  if (const std::string generation = suse_generation(driver); !generation.empty()) parameters["suse_generation"] = generation;
  return make_action("install-compute-libraries", parameters);
}

/// The copy exists, off the loader's path.
std::optional<Finding> off_path(const RuleContext& context, Finding finding, const DriverLibrary& stray) {
  finding.parameters["path"] = stray.path;
  finding.evidence.push_back(quote(stray, "not on the loader's search path"));
  if (is_private_folder(stray.real_path) || is_private_folder(stray.path)) {
    if (context.machine.os.id.is("nixos")) return std::nullopt;  // its programs carry the folder in their own path
    finding.variant = "private-folder";
    finding.severity = Severity::Note;
    return finding;
  }
  finding.variant = "off-path";
  if (is_debian_alternative(stray.real_path))
    finding.repair = {make_action("restore-nvidia-alternative")};
  else
    finding.repair = {make_action("add-loader-folder", {{"folder", folder_of(stray.path)}})};
  return finding;
}

/// The record of the file itself, or null.
const LibraryFile* file_of(const RuleContext& context, const DriverLibrary& library) {
  const auto& files = context.machine.loader.files;
  const auto file = std::ranges::find(files, library.path, &LibraryFile::path);
  return file == files.end() ? nullptr : &*file;
}

/// The first copy on the path is shorter than its headers say. In a container only what the host lent can be repaired by advice
/// about the driver.
std::optional<Finding> cut_off(const RuleContext& context, Finding finding, const DriverLibrary& winner) {
  if (context.in(World::Container) && !winner.bind_mounted) return std::nullopt;
  const LibraryFile* file = file_of(context, winner);
  finding.variant = "cut-off";
  finding.parameters["path"] = winner.path;
  finding.evidence.push_back(quote(winner, file != nullptr ? words_of_cut(*file) : "cut off"));
  finding.repair = {make_action("reinstall-driver")};
  return finding;
}

/// A file of that name stands first, but is empty or no library: the loader stops there.
std::optional<Finding> unusable(const RuleContext& context, Finding finding, const DriverLibrary& winner) {
  // Empty files in an image are a matter of the container (stale-driver-libs-in-container).
  if (context.in(World::Container) || (winner.kind != "empty" && winner.kind != "not-elf")) return std::nullopt;
  finding.variant = "unusable";
  finding.parameters["path"] = winner.path;
  finding.evidence.push_back(quote(winner, winner.kind == "empty" ? "an empty file" : "not an ELF library"));
  finding.repair = {make_action("reinstall-driver")};
  return finding;
}

std::optional<Finding> missing_library(const RuleContext& context, std::string_view name, const DriverLibrary* winner) {
  const bool bad_winner = winner != nullptr && !is_usable(*winner) && winner->kind != "stub";
  if ((winner != nullptr && !bad_winner) || !search_was_complete(context) || !kernel_side_is_there(context) ||
      !gpu_was_asked_for(context))
    return std::nullopt;
  Finding finding;
  const auto driver = context.loaded_driver ? context.loaded_driver : context.installed_driver;
  finding.parameters = {{"library", std::string(name)}, {"version", driver ? driver->text : "?"}, {"path", ""}};
  if (context.machine.kernel_driver.version.is_known())
    finding.evidence.push_back(gpuvet::quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version"));
  if (bad_winner && winner->kind == "cut-off") return cut_off(context, std::move(finding), *winner);
  if (bad_winner) return unusable(context, std::move(finding), *winner);
  if (const LoadedModule* manager = loaded_module(context.machine, "nvidia_vgpu_vfio");
      manager != nullptr && name == "libcuda.so.1") {
    // The vGPU manager's driver has no CUDA at all: its GPUs are for the guests.
    finding.variant = "vgpu-host";
    finding.severity = Severity::Note;
    finding.evidence.push_back(gpuvet::quote(*manager));
    return finding;
  }
  for (const DriverLibrary* copy : native_or_broken_copies(context, name)) {
    if (copy->kind == "dangling") finding.evidence.push_back(quote(*copy, "a link that leads nowhere"));
  }
  if (const DriverLibrary* stray = stray_copy(context, name)) return off_path(context, std::move(finding), *stray);
  std::string searched;
  for (const SearchFolder& folder : context.machine.loader.folders) searched += (searched.empty() ? "" : ", ") + folder.path;
  finding.evidence.push_back({"loader search path", 0, "no " + std::string(name) + " in " + searched});
  if (context.in(World::Container)) finding.variant = container_variant(context);
  const auto capabilities = context.machine.environment.find("NVIDIA_DRIVER_CAPABILITIES");
  if (finding.variant == "container" && capabilities != context.machine.environment.end())
    finding.evidence.push_back({"environment", 0, "NVIDIA_DRIVER_CAPABILITIES=" + capabilities->second});
  finding.repair = {bring_library(context, finding.variant, driver, finding.parameters["version"])};
  return finding;
}

/// The entry of a loader configuration that leads to this folder, or null.
const SearchFolder* configured_folder(const RuleContext& context, const std::string& path) {
  for (const SearchFolder& folder : context.machine.loader.folders) {
    if (folder.rule == "ld.so.conf" && folder.path == path) return &folder;
  }
  return nullptr;
}

/// What leads to a stub: the variable, a line of ld.so.conf (then the toolkit's file stays where it is), or a copy in a system
/// folder.
Action away_with_stub(const RuleContext& context, const DriverLibrary& stub) {
  const std::string folder = folder_of(stub.path);
  if (stub.found_by == "LD_LIBRARY_PATH") return make_action("remove-from-ld-library-path", {{"folder", folder}});
  if (configured_folder(context, folder) != nullptr && folder.find("stubs") != std::string::npos)
    return make_action("remove-loader-folder", {{"folder", folder}});
  return make_action("move-stray-library", {{"path", stub.path}});
}

/// Programs that ask for "libcuda.so" by that name (numba, linking) get the stub, though libcuda.so.1 is the driver's.
std::optional<Finding> stub_by_dev_name(const RuleContext& context) {
  const auto& link = context.machine.user_driver.libcuda_dev_link;
  if (context.libcuda == nullptr || !is_usable(*context.libcuda) || !link.is(true)) return std::nullopt;
  const auto file = std::ranges::find(context.machine.loader.files, link.origin().source, &LibraryFile::path);
  if (file == context.machine.loader.files.end() || !file->stub) return std::nullopt;
  Finding finding;
  finding.severity = Severity::Note;
  finding.variant = "dev-name";
  finding.parameters = {{"path", file->path}, {"folder", folder_of(file->path)}};
  finding.evidence = {{file->path, 0, "what a program gets that asks for libcuda.so"},
                      quote(*context.libcuda, "what a program gets that asks for libcuda.so.1")};
  const auto variable = context.machine.environment.find("LD_LIBRARY_PATH");
  if (variable != context.machine.environment.end() && variable->second.find("stubs") != std::string::npos) {
    finding.evidence.push_back({"environment", 0, "LD_LIBRARY_PATH=" + variable->second});
    finding.repair = {make_action("remove-from-ld-library-path", {{"folder", finding.parameters["folder"]}})};
  }
  return finding;
}

/// A program whose own RPATH (or a variable) leads to the stub, though other programs get the driver's library.
std::optional<Finding> stub_in_process(const RuleContext& context) {
  if (context.libcuda == nullptr || !is_usable(*context.libcuda)) return std::nullopt;
  for (const ProcessView& view : sure_forecasts(context)) {
    for (const LoadedObject* object : loaded_libraries(view.now, "libcuda")) {
      if (!object->file->stub) continue;
      Finding finding;
      finding.variant = "program";
      finding.parameters = {{"path", object->path}, {"folder", folder_of_object(*object)}, {"process", view.label()}};
      finding.evidence = {gpuvet::quote(view, *object),
                          quote(*context.libcuda, "the driver's library, not reached by this process")};
      if (!object->rule_detail.empty()) finding.evidence.push_back({view.label(), 0, object->rule + " " + object->rule_detail});
      finding.repair = {
          by_variable(*object)
              ? make_action("remove-from-ld-library-path", {{"folder", finding.parameters["folder"]}})
              : make_action("remove-stubs-from-rpath", {{"folder", finding.parameters["folder"]}, {"program", view.label()}})};
      return finding;
    }
  }
  return std::nullopt;
}

/// What leads a process to this copy.
Action away_with_copy(const ProcessView& view, const LoadedObject& copy) {
  const std::string folder = folder_of_object(copy);
  if (by_variable(copy)) return make_action("remove-from-ld-library-path", {{"folder", folder}});
  if (copy.rule == "RUNPATH" || copy.rule.starts_with("RPATH"))
    return make_action("remove-folder-from-rpath", {{"folder", folder}, {"program", asked_by(view, copy)}});
  return make_action("move-stray-library", {{"path", copy.path}});
}

/// One process that maps two different drivers' libraries: by two names, or by paths.
std::optional<Finding> two_in_process(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    auto copies = loaded_libraries(view.now, "libcuda");
    std::erase_if(copies, [](const LoadedObject* o) { return o->file->stub || !o->file->driver_version.is_known(); });
    const auto other = std::ranges::find_if(copies, [&](const LoadedObject* o) {
      return *o->file->driver_version.get() != *copies.front()->file->driver_version.get();
    });
    if (other == copies.end()) continue;
    Finding finding;
    finding.severity = Severity::Warning;
    finding.variant = "process";
    finding.parameters = {{"process", view.label()},
                          {"path", copies.front()->path},
                          {"version", *copies.front()->file->driver_version.get()},
                          {"other", (*other)->path},
                          {"other_version", *(*other)->file->driver_version.get()}};
    finding.evidence = {gpuvet::quote(view, *copies.front()), gpuvet::quote(view, **other)};
    const bool first_is_right = !context.loaded_driver || copies.front()->file->driver_version.is(context.loaded_driver->text);
    finding.repair = {away_with_copy(view, first_is_right ? **other : *copies.front())};
    return finding;
  }
  return std::nullopt;
}

/// A machine that only builds: no kernel driver, no GPU passed in, no real library. There the stub is what it is made for.
bool only_builds(const RuleContext& context) {
  if (context.machine.source == "text") return false;
  const bool driverless = context.machine.kernel_driver.version.is_absent() && context.gpus.empty();
  if (!driverless && gpu_was_asked_for(context)) return false;
  return std::ranges::none_of(native_copies(context, "libcuda.so.1"), [](const DriverLibrary* copy) { return is_usable(*copy); });
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
  if (stub == nullptr || stub->kind != "stub") {
    if (auto finding = stub_in_process(context)) return finding;
    return stub_by_dev_name(context);
  }
  Finding finding;
  finding.parameters = {{"path", stub->path}, {"folder", folder_of(stub->path)}};
  if (only_builds(context)) finding.severity = Severity::Note;
  finding.evidence.push_back(quote(*stub, "the toolkit's link-time stub (no driver version inside); found by " + stub->found_by));
  const auto variable = context.machine.environment.find("LD_LIBRARY_PATH");
  if (stub->found_by == "LD_LIBRARY_PATH" && variable != context.machine.environment.end())
    finding.evidence.push_back({"environment", 0, "LD_LIBRARY_PATH=" + variable->second});
  if (const SearchFolder* folder = configured_folder(context, finding.parameters["folder"]);
      folder != nullptr && !folder->origin.source.empty())
    finding.evidence.push_back({folder->origin.source, folder->origin.line, folder->path});
  for (const DriverLibrary* copy : native_copies(context, "libcuda.so.1")) {
    if ((copy->kind != "driver" && copy->kind != "wsl") || copy->wins) continue;
    finding.evidence.push_back(quote(*copy, "the real driver library " + copy->version.value_or("") + ", not reached"));
    break;
  }
  finding.repair = {away_with_stub(context, *stub)};
  return finding;
}

std::optional<Finding> libcuda_missing(const RuleContext& context) {
  return missing_library(context, "libcuda.so.1", context.libcuda);
}

std::optional<Finding> nvml_missing(const RuleContext& context) {
  auto finding = missing_library(context, "libnvidia-ml.so.1", context.libnvml);
  if (!finding || context.libcuda == nullptr || !is_usable(*context.libcuda)) return finding;
  // Programs that compute need only libcuda; nvidia-smi, NCCL and monitoring need this one. A container may leave it out on
  // purpose.
  const bool left_out = finding->variant == "container" && left_out_on_purpose(context);
  finding->severity = std::min(finding->severity, left_out ? Severity::Note : Severity::Warning);
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
  if (auto finding = two_in_process(context)) return finding;
  if (context.libcuda == nullptr || context.libcuda->kind != "driver") return std::nullopt;
  Finding finding;
  finding.severity = Severity::Note;
  for (const DriverLibrary* copy : native_copies(context, "libcuda.so.1")) {
    const bool other = copy->kind == "driver" && copy->real_path != context.libcuda->real_path &&
                       !is_private_folder(copy->real_path) && copy->machine == context.libcuda->machine;
    const bool differs = copy->version.is_known() && context.libcuda->version.is_known() &&
                         *copy->version.get() != *context.libcuda->version.get();
    if (other && differs && finding.evidence.size() < 4)
      finding.evidence.push_back(quote(*copy, "libcuda " + *copy->version.get() + ", not the one that a new process gets"));
  }
  if (finding.evidence.empty()) return std::nullopt;
  finding.parameters = {
      {"path", context.libcuda->path}, {"version", *context.libcuda->version.get()}, {"other", finding.evidence.front().source}};
  finding.evidence.insert(finding.evidence.begin(), quote(*context.libcuda, "libcuda " + *context.libcuda->version.get() +
                                                                                ", found by " + context.libcuda->found_by));
  return finding;
}

}  // namespace gpuvet::user_driver
