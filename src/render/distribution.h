#pragma once
// What this machine's distribution calls things: its family, and the packages that bring an NVIDIA driver branch.
// Names and their sources are in data/distribution_packages.tsv; nothing is guessed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"

namespace gpuvet {

/// os-release ID, then families from the closest to the widest: {"rocky", "rhel", "fedora"}, {"linuxmint", "ubuntu", "debian"}.
/// Keys of data/actions' [commands].
std::vector<std::string> distribution_keys(const Machine& machine);

/// How to install a driver here.
struct DriverInstallation {
  std::vector<std::string> setup;   ///< commands before: enable a module stream, pin a branch, add the repository
  std::string packages;             ///< space-separated; empty when `install` stands for everything
  std::string install;              ///< a whole command where the package manager alone cannot do it (AUR)
  std::vector<std::string> finish;  ///< commands after: build the module now
  std::string where;                ///< when nothing is known: where to look it up
  bool known() const { return !packages.empty() || !install.empty(); }
};

/// `branch` 0: any. `flavor` "open", "proprietary", or empty (as loaded or installed now; else as NVIDIA's default is).
/// Prefers the repository that the machine's driver came from.
DriverInstallation driver_installation(const Machine& machine, std::uint32_t branch, std::string_view flavor);

}  // namespace gpuvet
