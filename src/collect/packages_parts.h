#pragma once
// Parts of collect_packages: one reader a package manager, and what logs tell of their work.

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Packages that a rule or a repair may ask for: NVIDIA's, CUDA's, kernels with their headers, DKMS, container tools, switchers.
bool relevant_package(std::string_view name);

/// All read*_packages: nullopt-like error NotFound when the manager's data is not there at all.
Result<std::vector<Package>> read_dpkg_packages(System& system);
Result<std::vector<Package>> read_rpm_packages(System& system);
Result<std::vector<Package>> read_pacman_packages(System& system);

/// Stanzas of a dpkg status file → relevant packages. Linear; tolerant of anything.
std::vector<Package> parse_dpkg_status(std::string_view text, std::string_view source);

/// The newest transactions of apt, dnf, pacman or zypper that touched relevant packages; oldest first, at most 20.
std::vector<PackageTransaction> read_package_history(System& system, std::string_view manager);
std::vector<PackageTransaction> parse_apt_history(std::string_view text, std::string_view source);
std::vector<PackageTransaction> parse_dnf_rpm_log(std::string_view text, std::string_view source);
std::vector<PackageTransaction> parse_pacman_log(std::string_view text, std::string_view source);
std::vector<PackageTransaction> parse_zypp_history(std::string_view text, std::string_view source);

/// Version of the driver that NVIDIA's runfile installer says it installed; absent: never, or uninstalled since.
Fact<std::string> read_runfile_driver(System& system);

/// Lines of package sources that name NVIDIA's driver or CUDA repositories, RPM Fusion or the graphics-drivers PPA.
std::vector<Origin> read_driver_repositories(System& system);

}  // namespace gpuvet
