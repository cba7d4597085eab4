// Packages of the driver: two installations, two branches, a package manager that stopped.

#include <algorithm>
#include <iterator>
#include <set>

#include "rules/kernel_module_versions.h"

namespace gpuvet::kernel_module {
namespace {

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
    if (package.version)
      branches.insert(package.version->branch);
    else if (named)
      branches.insert(*named);
  }
  return branches;
}

/// RPM Fusion's, NVIDIA's own and ELRepo's packages replace each other's files.
std::string packager_of(std::string_view name) {
  if (name.starts_with("akmod-nvidia") || name.starts_with("xorg-x11-drv-nvidia")) return "RPM Fusion";
  if (name.starts_with("kmod-nvidia-latest-dkms") || name.starts_with("kmod-nvidia-open-dkms") ||
      name.starts_with("nvidia-driver") || name == "libnvidia-ml")
    return "NVIDIA";
  if (name.starts_with("nvidia-x11-drv")) return "ELRepo";
  return "";
}

/// Two complete sets: each brings a module and the compute libraries.
bool two_package_sets(const RuleContext& context, std::vector<Origin>& evidence) {
  const auto packages = driver_packages(context.machine);
  std::set<std::uint32_t> modules = branches_of(packages, PackageRole::Module),
                          compute = branches_of(packages, PackageRole::Compute), both;
  std::ranges::set_intersection(modules, compute, std::inserter(both, both.end()));
  std::set<std::string> packagers;
  for (const auto& package : packages)
    if (auto packager = packager_of(package.package->name); !packager.empty() && package.role == PackageRole::Module)
      packagers.insert(packager);
  if (both.size() < 2 && packagers.size() < 2) return false;
  for (const auto& package : packages)
    if (evidence.size() < 6 && (package.role == PackageRole::Module || package.role == PackageRole::Compute))
      evidence.push_back(quote(*package.package));
  return true;
}

/// With the names of all driver packages here, for package managers that have to be told what to remove.
Action keep_one_branch(const RuleContext& context) {
  std::vector<std::string> names;
  for (const auto& package : driver_packages(context.machine))
    if (names.size() < 60) names.push_back(package.package->name);
  return make_action("keep-one-driver-branch", {{"packages", join(names, " ")}});
}

}  // namespace

Judged driver_installed_twice(const RuleContext& context) {
  Finding finding;
  const auto packages = driver_packages(context.machine);
  const bool has_packages = std::ranges::any_of(
      packages, [](const DriverPackage& p) { return p.role == PackageRole::Module || p.role == PackageRole::Compute; });
  const auto* runfile = context.machine.packages.runfile_driver.get();
  if (runfile && has_packages) {
    add(finding.evidence,
        quote(context.machine.packages.runfile_driver, "/var/log/nvidia-installer.log", "installed " + *runfile));
    for (const auto& package : packages)
      if (finding.evidence.size() < 4 && (package.role == PackageRole::Module || package.role == PackageRole::Compute))
        add(finding.evidence, quote(*package.package));
    // The log alone may be a relic: something of that version must still be in use or on the disk.
    const auto installed = DriverVersion::parse(*runfile);
    const auto is_runfile = [&](const std::optional<DriverVersion>& version) {
      return installed && version && *version == *installed;
    };
    bool present = is_runfile(context.loaded_driver) || is_runfile(version_of(running_module_file(context)));
    if (const auto* libraries = context.machine.user_driver.libraries.get())
      for (const auto& library : *libraries)
        if (!library.package.is_known() && is_runfile(version_of(&library)))
          present = true, add(finding.evidence, quote_library(library));
    if (!present) return std::nullopt;
    finding.variant = "runfile";
    finding.parameters = {
        {"runfile", *runfile},
        {"packages", driver_version_of_packages(context.machine) ? driver_version_of_packages(context.machine)->text : "?"}};
    finding.repair = {make_action("uninstall-runfile-driver"), make_action("reinstall-driver"), make_action("reboot")};
  } else if (two_package_sets(context, finding.evidence)) {
    finding.repair = {keep_one_branch(context), make_action("reboot")};
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
  finding.repair = {keep_one_branch(context), make_action("reboot")};
  return finding;
}

Judged package_manager_blocked(const RuleContext& context) {
  const auto& packages = context.machine.packages;
  const auto broken = unfinished_packages(context);
  const auto* last = last_driver_transaction(context);
  // A failure long mended leaves its line in the history: it counts while the driver is not whole.
  const auto disk = version_of(running_module_file(context)), packaged_module = packaged(context, PackageRole::Module);
  const bool old_module = disk && packaged_module && *disk != *packaged_module;
  const bool incomplete =
      differing_library(context) || (surely_unloaded(context) && (!running_module_file(context) || old_module));
  const bool failed = last && last->failed && incomplete;
  if (broken.empty() && !failed) return std::nullopt;
  Finding finding;
  for (const auto* package : broken)
    if (finding.evidence.size() < 4) add(finding.evidence, quote(*package));
  if (failed) add(finding.evidence, quote_transaction(*last));
  for (const auto& repository : packages.repositories)
    if (finding.evidence.size() < 6 && of_another_release(context, repository.text)) add(finding.evidence, repository);
  finding.parameters = {{"manager", packages.manager.value_or("package manager")},
                        {"package", !broken.empty() ? broken.front()->name
                                    : last          ? last->command
                                                    : std::string("NVIDIA")}};
  // With a driver that runs and fits, an unfinished package is something to tidy up; with its module on disk, not the reason.
  if (is_loaded(context) && !differing_library(context))
    finding.severity = Severity::Note;
  else if (!incomplete)
    finding.severity = Severity::Warning;
  finding.repair = {make_action("finish-package-upgrade"), make_action("reboot")};
  return finding;
}

}  // namespace gpuvet::kernel_module
