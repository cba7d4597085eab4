// Loaded module and libraries are of different versions: the story of how that came about decides the repair.

#include <algorithm>

#include "model/module_name.h"
#include "rules/kernel_module_versions.h"

namespace gpuvet::kernel_module {
namespace {

/// A copy of the same library in the module's version that lost: then the winner is the stray one.
const DriverLibrary* matching_loser(const RuleContext& context, const DriverLibrary& winner) {
  for (const auto& library : *context.machine.user_driver.libraries.get()) {
    if (&library == &winner || library.wins || library.name != winner.name || library.elf_class != winner.elf_class) continue;
    if (library.real_path == winner.real_path) continue;
    if (auto version = version_of(&library); version && *version == *context.loaded_driver) return &library;
  }
  return nullptr;
}

enum class Story { TwoInstallations, Unknown, PendingReboot, Initramfs, HalfUpgraded, StaleCopy, AnotherBuild };

bool other_module_file_matches(const RuleContext& context, const DriverVersion& version) {
  const auto* files = context.machine.kernel_driver.module_files.get();
  const auto* first = running_module_file(context);
  return files && std::ranges::any_of(*files, [&](const ModuleFile& file) {
           return &file != first && file.kernel == running_kernel(context) && first && file.name == first->name &&
                  version_of(&file) == version;
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
  if (matching_loser(context, library) && (library.package.is_absent() || library.found_by == "LD_LIBRARY_PATH" || packages_fit))
    return Story::StaleCopy;
  if (disk && *disk == user) {
    if (other_module_file_matches(context, loaded)) return Story::AnotherBuild;
    return upgraded_before_boot(context, user) ? Story::Initramfs : Story::PendingReboot;
  }
  if (half_done(context)) return Story::HalfUpgraded;
  if (waits_for_the_next_boot(context) && (library.package.is_known() || packaged(context, PackageRole::Compute) == user))
    return Story::PendingReboot;
  if (disk && *disk == loaded) {
    if (other_module_file_matches(context, user)) return Story::AnotherBuild;
    if (library.package.is_absent() && packaged(context, PackageRole::Compute) == loaded) return Story::StaleCopy;
    return Story::HalfUpgraded;
  }
  const auto module_package = packaged(context, PackageRole::Module);
  if (module_package && *module_package == user)
    return surely_no_module_for_running_kernel(context) ? Story::HalfUpgraded : Story::PendingReboot;
  const auto* last = last_driver_transaction(context);
  const auto* boot = context.machine.os.boot_time.get();
  if (last && boot && last->epoch > *boot) return Story::PendingReboot;
  return Story::Unknown;
}

std::string variant_of(Story story) {
  switch (story) {
    case Story::PendingReboot:
      return "pending-reboot";
    case Story::Initramfs:
      return "initramfs";
    case Story::HalfUpgraded:
      return "half-upgraded";
    case Story::StaleCopy:
      return "stale-copy";
    case Story::AnotherBuild:
      return "another-build";
    case Story::TwoInstallations:
      return "two-installers";
    case Story::Unknown:
      break;
  }
  return "";
}

std::vector<Action> repair_of(const RuleContext& context, Story story, const DriverLibrary* library) {
  if (context.in(World::Container)) return {make_action("reboot-host")};
  const auto finish = make_action("finish-package-upgrade");
  const auto reboot = make_action("reboot");
  switch (story) {
    case Story::PendingReboot:
      return {reboot};
    case Story::Initramfs:
      return {make_action("rebuild-initramfs"), reboot};
    case Story::HalfUpgraded:
      return {finish, build_module_action(context, running_kernel(context)), reboot};
    case Story::StaleCopy:
      if (library->found_by == "LD_LIBRARY_PATH") {
        const std::string folder = library->path.substr(0, library->path.rfind('/'));
        return {make_action("remove-from-ld-library-path", {{"folder", folder}})};
      }
      return {make_action("move-stray-library", {{"path", library->real_path.empty() ? library->path : library->real_path}}),
              make_action("run-ldconfig")};
    case Story::AnotherBuild:
      return {make_action("reinstall-driver"), make_action("rebuild-initramfs"), reboot};
    case Story::TwoInstallations:
      return {make_action("reinstall-driver"), reboot};
    case Story::Unknown:
      break;
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
    if (const auto version = packaged(context, role); version && (!context.loaded_driver || *version != *context.loaded_driver))
      return version->text;
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
    // Two branches or two installers side by side have a rule of their own; here only its effect is told.
    if (driver_installed_twice(context) || driver_package_branches_mixed(context)) story = Story::TwoInstallations;
    finding.parameters = {
        {"loaded", context.loaded_driver->text}, {"library", version_of(library)->text}, {"path", library->path}};
    add(finding.evidence, quote_loaded(context));
    add(finding.evidence, quote_library(*library));
    if (const auto* loser = matching_loser(context, *library)) add(finding.evidence, quote_library(*loser));
  } else {
    finding.rank = 0.9;
    const std::string loaded = !mismatch.module.empty() ? mismatch.module
                               : context.loaded_driver  ? context.loaded_driver->text
                                                        : "?";
    finding.parameters = {{"loaded", loaded}, {"library", client_version(context, mismatch.client)}, {"path", "libcuda.so.1"}};
    if (context.loaded_driver) add(finding.evidence, quote_loaded(context));
    if (nvml) add(finding.evidence, quote(*nvml));
  }
  if (const auto* file = running_module_file(context); file && file->version.is_known())
    add(finding.evidence, quote_file(*file, "version " + *file->version.get()));
  if (mismatch.event) add(finding.evidence, quote(*mismatch.event));
  for (const auto* package : unfinished_packages(context)) add(finding.evidence, quote(*package));
  if (const auto* last = last_driver_transaction(context); last && library) add(finding.evidence, quote_transaction(*last));
  finding.variant = context.in(World::Container) ? "container" : variant_of(story);
  finding.repair = repair_of(context, story, library);
  // Libraries older than the module: the host has finished its upgrade, the container still has what it was started with.
  if (const auto version = library ? version_of(library) : std::nullopt;
      finding.variant == "container" && version && *version < *context.loaded_driver) {
    finding.variant = "container-older";
    finding.repair = {make_action("recreate-container-after-upgrade")};
  }
  return finding;
}

}  // namespace gpuvet::kernel_module
