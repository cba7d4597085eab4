// Loaded module, module on disk, libraries and packages: do they belong together, and if not, how did it come about.

#include <algorithm>
#include <set>

#include "model/module_name.h"
#include "rules/kernel_module.h"

namespace gpuvet::kernel_module {
namespace {

std::optional<DriverVersion> version_of(const DriverLibrary* library) {
  if (!library || library->kind != "driver") return std::nullopt;
  if (const auto* text = library->version.get()) return DriverVersion::parse(*text);
  return std::nullopt;
}

std::optional<DriverVersion> version_of(const ModuleFile* file) {
  if (!file || !file->version.is_known()) return std::nullopt;
  return DriverVersion::parse(*file->version.get());
}

/// In a container a library counts as the host's only when it was injected; the image's own is another rule's matter.
bool counts(const RuleContext& context, const DriverLibrary* library) {
  return library && library->kind == "driver" && (!context.in(World::Container) || library->bind_mounted);
}

/// The winning library that differs from the loaded module, libcuda first; null: none does.
const DriverLibrary* differing_library(const RuleContext& context) {
  if (!context.loaded_driver) return nullptr;
  for (const auto* library : {context.libcuda, context.libnvml}) {
    if (!counts(context, library)) continue;
    const auto version = version_of(library);
    if (version && *version != *context.loaded_driver) return library;
  }
  return nullptr;
}

Origin quote_library(const DriverLibrary& library) {
  std::string text = library.version.is_known() ? "version " + *library.version.get() : "version not read";
  if (library.package.is_known()) text += ", package " + *library.package.get();
  if (library.package.is_absent()) text += ", of no package";
  return {library.real_path.empty() ? library.path : library.real_path, 0, text};
}

Origin quote_loaded(const RuleContext& context) {
  return quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version", context.loaded_driver ? context.loaded_driver->text : "");
}

/// A copy of the same library in the module's version that lost: then the winner is the stray one.
const DriverLibrary* matching_loser(const RuleContext& context, const DriverLibrary& winner) {
  for (const auto& library : *context.machine.user_driver.libraries.get()) {
    if (&library == &winner || library.wins || library.name != winner.name || library.elf_class != winner.elf_class) continue;
    if (library.real_path == winner.real_path) continue;
    if (auto version = version_of(&library); version && *version == *context.loaded_driver) return &library;
  }
  return nullptr;
}

bool unfinished(const Package& package) {
  return package.status == "half-configured" || package.status == "half-installed" || package.status == "unpacked" || package.status == "triggers-pending" ||
         package.status == "triggers-awaited";
}

/// Driver packages that the package manager left in the middle.
std::vector<const Package*> unfinished_packages(const RuleContext& context) {
  std::vector<const Package*> found;
  for (const auto& package : driver_packages(context.machine))
    if (unfinished(*package.package) && package.package->status.find("triggers") == std::string::npos) found.push_back(package.package);
  return found;
}

/// The newest transaction that touched a driver package.
const PackageTransaction* last_driver_transaction(const RuleContext& context) {
  const std::string manager = context.machine.packages.manager.value_or("dpkg");
  const auto& history = context.machine.packages.history;
  for (auto at = history.rbegin(); at != history.rend(); ++at)
    for (const auto& change : at->changes)
      if (driver_package_role(change.name, manager) != PackageRole::NoDriver) return &*at;
  return nullptr;
}

bool last_transaction_failed(const RuleContext& context) {
  const auto* last = last_driver_transaction(context);
  return last && last->failed;
}

bool half_done(const RuleContext& context) { return !unfinished_packages(context).empty() || last_transaction_failed(context); }

Origin quote_transaction(const PackageTransaction& transaction) {
  Origin origin = transaction.origin;
  if (origin.text.empty()) origin.text = transaction.time + " " + transaction.command;
  return origin;
}

/// NVIDIA's repositories name the release: ".../repos/ubuntu2204/x86_64/" on a machine that is not Ubuntu 22.04.
bool of_another_release(const RuleContext& context, std::string_view repository) {
  const auto at = repository.find("/repos/");
  const auto& os = context.machine.os;
  if (at == std::string_view::npos || !os.id.is_known() || !os.version_id.is_known()) return false;
  auto name = repository.substr(at + 7);
  name = name.substr(0, name.find('/'));
  const auto digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos || !os_is_like(context, {name.substr(0, digits)})) return false;
  std::string version = *os.version_id.get();
  std::erase(version, '.');
  return !version.starts_with(name.substr(digits));
}

std::set<std::uint32_t> branches_of(const std::vector<DriverPackage>& packages, PackageRole role) {
  std::set<std::uint32_t> branches;
  for (const auto& package : packages) {
    if (package.role != role) continue;
    const auto named = branch_in_package_name(package.package->name);
    if (package.version) branches.insert(package.version->branch);
    else if (named) branches.insert(*named);
  }
  return branches;
}

/// RPM Fusion's, NVIDIA's own and ELRepo's packages replace each other's files.
std::string packager_of(std::string_view name) {
  if (name.starts_with("akmod-nvidia") || name.starts_with("xorg-x11-drv-nvidia")) return "RPM Fusion";
  if (name.starts_with("kmod-nvidia-latest-dkms") || name.starts_with("kmod-nvidia-open-dkms") || name.starts_with("nvidia-driver") || name == "libnvidia-ml") return "NVIDIA";
  if (name.starts_with("nvidia-x11-drv")) return "ELRepo";
  return "";
}

/// Two complete sets: each brings a module and the compute libraries.
bool two_package_sets(const RuleContext& context, std::vector<Origin>& evidence) {
  const auto packages = driver_packages(context.machine);
  std::set<std::uint32_t> modules = branches_of(packages, PackageRole::Module), compute = branches_of(packages, PackageRole::Compute), both;
  std::ranges::set_intersection(modules, compute, std::inserter(both, both.end()));
  std::set<std::string> packagers;
  for (const auto& package : packages)
    if (auto packager = packager_of(package.package->name); !packager.empty() && package.role == PackageRole::Module) packagers.insert(packager);
  if (both.size() < 2 && packagers.size() < 2) return false;
  for (const auto& package : packages)
    if (evidence.size() < 6 && (package.role == PackageRole::Module || package.role == PackageRole::Compute)) evidence.push_back(quote(*package.package));
  return true;
}

/// Module (loaded, else the one that would be) and winning library are known to differ.
bool uses_differ(const RuleContext& context) {
  if (differing_library(context)) return true;
  if (is_loaded(context)) return false;
  const auto disk = version_of(running_module_file(context)), user = version_of(context.libcuda);
  return disk && user && *disk != *user;
}

enum class Story { Unknown, PendingReboot, Initramfs, HalfUpgraded, StaleCopy, AnotherBuild };

/// The kernel module packages and the libraries' version, by what is on disk.
std::optional<DriverVersion> packaged(const RuleContext& context, PackageRole role) {
  std::optional<DriverVersion> newest;
  for (const auto& package : driver_packages(context.machine))
    if (package.role == role && package.version && (!newest || *newest < *package.version)) newest = package.version;
  return newest;
}

bool other_module_file_matches(const RuleContext& context, const DriverVersion& version) {
  const auto* files = context.machine.kernel_driver.module_files.get();
  const auto* first = running_module_file(context);
  return files && std::ranges::any_of(*files, [&](const ModuleFile& file) {
    return &file != first && file.kernel == running_kernel(context) && first && file.name == first->name && version_of(&file) == version;
  });
}

/// The upgrade is older than this boot, and still the old module was loaded: it comes out of the initramfs.
bool upgraded_before_boot(const RuleContext& context, const DriverVersion& library) {
  const auto* boot = context.machine.os.boot_time.get();
  const auto* last = last_driver_transaction(context);
  if (!boot || !last || last->epoch == 0 || last->epoch >= *boot) return false;
  return std::ranges::any_of(last->changes, [&](const PackageChange& change) {
    const auto version = driver_version_in_package_version(change.new_version);
    return version && *version == library;
  });
}

/// A kernel newer than the running one has an NVIDIA module: the update prepared the next boot, not this one.
bool next_kernel_has_module(const RuleContext& context) {
  const auto running = KernelVersion::parse(running_kernel(context));
  const auto* files = context.machine.kernel_driver.module_files.get();
  return running && files && std::ranges::any_of(*files, [&](const ModuleFile& file) {
    const auto release = KernelVersion::parse(file.kernel);
    return release && *running < *release && nvidia_module_role(file.name) == "nvidia";
  });
}

/// The running kernel was replaced, or another one is ready: a reboot brings a module that fits the new packages.
bool waits_for_the_next_boot(const RuleContext& context) {
  const bool folder_gone = context.machine.kernel_driver.kernels.is_known() && !running_kernel_folder(context);
  return folder_gone || next_kernel_has_module(context);
}

Story story_of(const RuleContext& context, const DriverLibrary& library) {
  const DriverVersion loaded = *context.loaded_driver;
  const DriverVersion user = *version_of(&library);
  const auto disk = version_of(running_module_file(context));
  // A library that no package owns, or that LD_LIBRARY_PATH brings, beside a right one.
  const bool packages_fit = packaged(context, PackageRole::Compute) == loaded;
  if (matching_loser(context, library) && (library.package.is_absent() || library.found_by == "LD_LIBRARY_PATH" || packages_fit)) return Story::StaleCopy;
  if (disk && *disk == user) {
    if (other_module_file_matches(context, loaded)) return Story::AnotherBuild;
    return upgraded_before_boot(context, user) ? Story::Initramfs : Story::PendingReboot;
  }
  if (half_done(context)) return Story::HalfUpgraded;
  if (waits_for_the_next_boot(context) && (library.package.is_known() || packaged(context, PackageRole::Compute) == user)) return Story::PendingReboot;
  if (disk && *disk == loaded) {
    if (other_module_file_matches(context, user)) return Story::AnotherBuild;
    if (library.package.is_absent() && packaged(context, PackageRole::Compute) == loaded) return Story::StaleCopy;
    return Story::HalfUpgraded;
  }
  const auto module_package = packaged(context, PackageRole::Module);
  if (module_package && *module_package == user) return surely_no_module_for_running_kernel(context) ? Story::HalfUpgraded : Story::PendingReboot;
  const auto* last = last_driver_transaction(context);
  const auto* boot = context.machine.os.boot_time.get();
  if (last && boot && last->epoch > *boot) return Story::PendingReboot;
  return Story::Unknown;
}

std::string variant_of(Story story) {
  switch (story) {
    case Story::PendingReboot: return "pending-reboot";
    case Story::Initramfs: return "initramfs";
    case Story::HalfUpgraded: return "half-upgraded";
    case Story::StaleCopy: return "stale-copy";
    case Story::AnotherBuild: return "another-build";
    case Story::Unknown: break;
  }
  return "";
}

std::vector<Action> repair_of(const RuleContext& context, Story story, const DriverLibrary* library) {
  if (context.in(World::Container)) return {make_action("reboot-host")};
  const auto finish = make_action("finish-package-upgrade");
  const auto reboot = make_action("reboot");
  switch (story) {
    case Story::PendingReboot: return {reboot};
    case Story::Initramfs: return {make_action("rebuild-initramfs"), reboot};
    case Story::HalfUpgraded: return {finish, build_module_action(context, running_kernel(context)), reboot};
    case Story::StaleCopy:
      if (library->found_by == "LD_LIBRARY_PATH") {
        const std::string folder = library->path.substr(0, library->path.rfind('/'));
        return {make_action("remove-from-ld-library-path", {{"folder", folder}})};
      }
      return {make_action("move-stray-library", {{"path", library->real_path.empty() ? library->path : library->real_path}}), make_action("run-ldconfig")};
    case Story::AnotherBuild: return {make_action("reinstall-driver"), make_action("rebuild-initramfs"), reboot};
    case Story::Unknown: break;
  }
  return {reboot, finish};
}

/// "NVRM: API mismatch: the client has the version A, but NVRM: this kernel module has the version B."
struct ApiMismatch {
  const LogEvent* event = nullptr;
  std::string client, module;
};

std::string version_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return "";
  auto rest = text.substr(at + words.size());
  rest = rest.substr(0, rest.find_first_not_of("0123456789."));
  while (rest.ends_with('.')) rest.remove_suffix(1);
  return std::string(rest);
}

ApiMismatch api_mismatch(const RuleContext& context) {
  ApiMismatch found;
  for (const auto* event : events_with(context.machine, {"API mismatch"})) {
    found.event = event;
    found.client = version_after(event->text, "client has the version ");
    if (found.client.empty()) found.client = version_after(event->text, "client' has version ");
    found.module = version_after(event->text, "kernel module has the version ");
  }
  return found;
}

/// What the log says of the client, else what the packages other than the module's are.
std::string client_version(const RuleContext& context, const std::string& told) {
  if (!told.empty()) return told;
  for (auto role : {PackageRole::Compute, PackageRole::Other})
    if (const auto version = packaged(context, role); version && (!context.loaded_driver || *version != *context.loaded_driver)) return version->text;
  return "?";
}

}  // namespace

Judged driver_library_version_mismatch(const RuleContext& context) {
  const DriverLibrary* library = differing_library(context);
  const ApiMismatch mismatch = api_mismatch(context);
  // Without the libraries, what the driver or NVML said of them: "Driver/library version mismatch" is NVML's error 18.
  const bool unseen = !library && context.machine.user_driver.libraries.is_not_seen();
  const auto* nvml = unseen ? first_event_with(context.machine, {"Driver/library version mismatch"}) : nullptr;
  if (!library && !(unseen && (nvml || (mismatch.event && !mismatch.client.empty())))) return std::nullopt;

  Finding finding;
  Story story = Story::Unknown;
  if (library) {
    story = context.in(World::Container) ? Story::PendingReboot : story_of(context, *library);
    finding.parameters = {{"loaded", context.loaded_driver->text}, {"library", version_of(library)->text}, {"path", library->path}};
    add(finding.evidence, quote_loaded(context));
    add(finding.evidence, quote_library(*library));
    if (const auto* loser = matching_loser(context, *library)) add(finding.evidence, quote_library(*loser));
  } else {
    finding.rank = 0.9;
    const std::string loaded = !mismatch.module.empty() ? mismatch.module : context.loaded_driver ? context.loaded_driver->text : "?";
    finding.parameters = {{"loaded", loaded}, {"library", client_version(context, mismatch.client)}, {"path", "libcuda.so.1"}};
    if (context.loaded_driver) add(finding.evidence, quote_loaded(context));
    if (nvml) add(finding.evidence, quote(*nvml));
  }
  if (const auto* file = running_module_file(context); file && file->version.is_known()) add(finding.evidence, quote_file(*file, "version " + *file->version.get()));
  if (mismatch.event) add(finding.evidence, quote(*mismatch.event));
  for (const auto* package : unfinished_packages(context)) add(finding.evidence, quote(*package));
  if (const auto* last = last_driver_transaction(context); last && library) add(finding.evidence, quote_transaction(*last));
  finding.variant = context.in(World::Container) ? "container" : variant_of(story);
  finding.repair = repair_of(context, story, library);
  return finding;
}

Judged driver_installed_twice(const RuleContext& context) {
  Finding finding;
  const auto packages = driver_packages(context.machine);
  const bool has_packages = std::ranges::any_of(packages, [](const DriverPackage& p) { return p.role == PackageRole::Module || p.role == PackageRole::Compute; });
  const auto* runfile = context.machine.packages.runfile_driver.get();
  if (runfile && has_packages) {
    add(finding.evidence, quote(context.machine.packages.runfile_driver, "/var/log/nvidia-installer.log", "installed " + *runfile));
    for (const auto& package : packages)
      if (finding.evidence.size() < 4 && (package.role == PackageRole::Module || package.role == PackageRole::Compute)) add(finding.evidence, quote(*package.package));
    // The log alone may be a relic: something of that version must still be in use or on the disk.
    const auto installed = DriverVersion::parse(*runfile);
    const auto is_runfile = [&](const std::optional<DriverVersion>& version) { return installed && version && *version == *installed; };
    bool present = is_runfile(context.loaded_driver) || is_runfile(version_of(running_module_file(context)));
    if (const auto* libraries = context.machine.user_driver.libraries.get())
      for (const auto& library : *libraries)
        if (!library.package.is_known() && is_runfile(version_of(&library))) present = true, add(finding.evidence, quote_library(library));
    if (!present) return std::nullopt;
    finding.variant = "runfile";
    finding.parameters = {{"runfile", *runfile}, {"packages", driver_version_of_packages(context.machine) ? driver_version_of_packages(context.machine)->text : "?"}};
    finding.repair = {make_action("uninstall-runfile-driver"), make_action("reinstall-driver"), make_action("reboot")};
  } else if (two_package_sets(context, finding.evidence)) {
    finding.repair = {make_action("keep-one-driver-branch"), make_action("reboot")};
  } else {
    return std::nullopt;
  }
  if (context.loaded_driver) add(finding.evidence, quote_loaded(context));
  if (!uses_differ(context)) finding.severity = Severity::Note;  // untidy, not broken
  return finding;
}

Judged driver_package_branches_mixed(const RuleContext& context) {
  if (half_done(context)) return std::nullopt;  // an upgrade that stopped half-way, not a choice of packages
  const auto packages = driver_packages(context.machine);
  const auto modules = branches_of(packages, PackageRole::Module), compute = branches_of(packages, PackageRole::Compute);
  if (modules.empty() || compute.empty()) return std::nullopt;
  std::vector<std::uint32_t> common;
  std::ranges::set_intersection(modules, compute, std::back_inserter(common));
  if (!common.empty()) return std::nullopt;

  Finding finding;
  finding.parameters = {{"module", std::to_string(*modules.rbegin())}, {"library", std::to_string(*compute.rbegin())}};
  for (auto role : {PackageRole::Module, PackageRole::Compute}) {
    std::size_t quoted = 0;
    for (const auto& package : packages)
      if (package.role == role && quoted++ < 3) add(finding.evidence, quote(*package.package));
  }
  if (context.loaded_driver) add(finding.evidence, quote_loaded(context));
  if (context.libcuda) add(finding.evidence, quote_library(*context.libcuda));
  const bool agrees = context.loaded_driver && context.libcuda && !differing_library(context);
  if (agrees) finding.severity = Severity::Note;
  finding.repair = {make_action("keep-one-driver-branch"), make_action("reboot")};
  return finding;
}

Judged package_manager_blocked(const RuleContext& context) {
  const auto& packages = context.machine.packages;
  const auto broken = unfinished_packages(context);
  const auto* last = last_driver_transaction(context);
  // A failure long mended leaves its line in the history: it counts while the driver is not whole.
  const auto disk = version_of(running_module_file(context)), packaged_module = packaged(context, PackageRole::Module);
  const bool old_module = disk && packaged_module && *disk != *packaged_module;
  const bool incomplete = differing_library(context) || (surely_unloaded(context) && (!running_module_file(context) || old_module));
  const bool failed = last && last->failed && incomplete;
  if (broken.empty() && !failed) return std::nullopt;
  Finding finding;
  for (const auto* package : broken)
    if (finding.evidence.size() < 4) add(finding.evidence, quote(*package));
  if (failed) add(finding.evidence, quote_transaction(*last));
  for (const auto& repository : packages.repositories)
    if (finding.evidence.size() < 6 && of_another_release(context, repository.text)) add(finding.evidence, repository);
  finding.parameters = {{"manager", packages.manager.value_or("package manager")}, {"package", broken.empty() ? last->command : broken.front()->name}};
  // With a driver that runs and fits, an unfinished package is something to tidy up; with its module on disk, not the reason.
  if (is_loaded(context) && !differing_library(context)) finding.severity = Severity::Note;
  else if (!incomplete) finding.severity = Severity::Warning;
  finding.repair = {make_action("finish-package-upgrade"), make_action("reboot")};
  return finding;
}

}  // namespace gpuvet::kernel_module
