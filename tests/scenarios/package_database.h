#pragma once
// Package databases for scenarios, as the package managers write them.

#include <string>
#include <vector>

#include "system/recorded.h"

namespace gpuvet::test {

struct TestPackage {
  std::string name, version, status = "install ok installed", architecture;
};

/// "dpkg": /var/lib/dpkg/status; "rpm": /var/lib/rpm/rpmdb.sqlite; "pacman": /var/lib/pacman/local.
void write_package_database(RecordedTree& tree, const std::string& manager, const std::vector<TestPackage>& packages);

}  // namespace gpuvet::test
