// What the rules of versions and of packages both ask: who has which version, and what the package manager left undone.

#include "rules/kernel_module_versions.h"

#include <algorithm>

namespace gpuvet::kernel_module {
namespace {

/// In a container a library counts as the host's only when it was injected; the image's own is another rule's matter.
bool counts(const RuleContext& context, const DriverLibrary* library) {
  return library && library->kind == "driver" && (!context.in(World::Container) || library->bind_mounted);
}

bool unfinished(const Package& package) {
  return package.status == "half-configured" || package.status == "half-installed" || package.status == "unpacked" ||
         package.status == "triggers-pending" || package.status == "triggers-awaited";
}

}  // namespace

std::optional<DriverVersion> version_of(const DriverLibrary* library) {
  if (!library || library->kind != "driver") return std::nullopt;
  if (const auto* text = library->version.get()) return DriverVersion::parse(*text);
  return std::nullopt;
}

std::optional<DriverVersion> version_of(const ModuleFile* file) {
  if (!file || !file->version.is_known()) return std::nullopt;
  return DriverVersion::parse(*file->version.get());
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
  return quote(context.machine.kernel_driver.version, "/proc/driver/nvidia/version",
               context.loaded_driver ? context.loaded_driver->text : "");
}

/// Driver packages that the package manager left in the middle.
std::vector<const Package*> unfinished_packages(const RuleContext& context) {
  std::vector<const Package*> found;
  for (const auto& package : driver_packages(context.machine))
    if (unfinished(*package.package) && package.package->status.find("triggers") == std::string::npos)
      found.push_back(package.package);
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

bool half_done(const RuleContext& context) {
  const auto* last = last_driver_transaction(context);
  return !unfinished_packages(context).empty() || (last && last->failed);
}

Origin quote_transaction(const PackageTransaction& transaction) {
  Origin origin = transaction.origin;
  if (origin.text.empty()) origin.text = transaction.time + " " + transaction.command;
  return origin;
}

/// Module (loaded, else the one that would be) and winning library are known to differ.
bool uses_differ(const RuleContext& context) {
  if (differing_library(context)) return true;
  if (is_loaded(context)) return false;
  const auto disk = version_of(running_module_file(context)), user = version_of(context.libcuda);
  return disk && user && *disk != *user;
}

/// The kernel module packages and the libraries' version, by what is on disk.
std::optional<DriverVersion> packaged(const RuleContext& context, PackageRole role) {
  std::optional<DriverVersion> newest;
  for (const auto& package : driver_packages(context.machine))
    if (package.role == role && package.version && (!newest || *newest < *package.version)) newest = package.version;
  return newest;
}

}  // namespace gpuvet::kernel_module
