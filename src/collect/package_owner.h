#pragma once
// Which package brought a file, where the package manager's database says so cheaply.

#include <map>
#include <string>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// File lists of the installed NVIDIA and CUDA packages, read on first use. dpkg and pacman keep plain text; rpm keeps its lists
/// inside its database, so there the owner is not seen.
class PackageOwners {
 public:
  PackageOwners(System& system, const Machine& machine) : system_(system), machine_(machine) {}

  /// Owner of the file by its real path: a runfile points a package's links to files of its own, which no package brought.
  /// Absent: all lists were read and none has it.
  Fact<std::string> owner(const std::string& real_path);

 private:
  void load();
  void add_list(const std::string& package, const std::string& list_path);

  System& system_;
  const Machine& machine_;
  bool loaded_ = false;
  std::string not_seen_;                                    ///< why the lists are not complete; empty: they are
  std::map<std::string, std::string, std::less<>> owners_;  ///< path without "/usr" in front → package
};

}  // namespace gpuvet
