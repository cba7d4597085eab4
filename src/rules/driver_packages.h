#pragma once
// Which packages of a distribution are parts of the NVIDIA driver, and which part. Names only; nothing is judged here.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "model/version.h"

namespace gpuvet {

enum class PackageRole : std::uint8_t {
  NoDriver,  ///< toolkit, container toolkit, settings, prime, modprobe … : has a version of its own or does not matter
  Module,    ///< brings or builds the kernel module (nvidia-dkms-550, kmod-nvidia, akmod-nvidia, nvidia-open,
             ///< linux-modules-nvidia-550-…)
  Compute,   ///< brings libcuda / libnvidia-ml (libnvidia-compute-550, libcuda1, nvidia-utils of Arch,
             ///< xorg-x11-drv-nvidia-cuda-libs, nvidia-driver-cuda-libs)
  Other      ///< another part that must have the driver's version: firmware, utils, GL, decoder, kernel-common
};

/// Role of a package by its name. `manager` is "dpkg", "rpm" or "pacman": nvidia-utils is something else on Arch than on Debian.
/// O(length).
PackageRole driver_package_role(std::string_view name, std::string_view manager);

/// The branch that a name carries: 550 of "libnvidia-compute-550-server", 470 of "nvidia-470xx-utils"; nothing otherwise.
std::optional<std::uint32_t> branch_in_package_name(std::string_view name);

struct DriverPackage {
  const Package* package = nullptr;
  PackageRole role = PackageRole::NoDriver;
  std::optional<DriverVersion> version;  ///< upstream driver version; nothing for metapackages of another numbering
};

/// Installed (not merely remembered) packages of the native architecture that are part of the driver, in database order.
/// i386 copies are left out. Pointers lead into `machine`.
std::vector<DriverPackage> driver_packages(const Machine& machine);

/// The driver that the packages bring: of a module package, else of a compute package; the newest when several.
std::optional<DriverVersion> driver_version_of_packages(const Machine& machine);

/// The module file that modprobe takes for `name` ("nvidia", "nvidia-uvm"; Debian's "nvidia-current" is "nvidia" too) under
/// `kernel`: updates/ before extra/ before the rest (depmod.d(5)). Null: none seen.
const ModuleFile* module_file_for(const Machine& machine, std::string_view kernel, std::string_view name);

}  // namespace gpuvet
