// Packages of the machine: the manager is the one whose database is there.
#include "collect/collect.h"
#include "collect/lines.h"
#include "collect/packages_parts.h"

namespace gpuvet {
namespace {

struct Manager {
  const char* name;
  const char* place;
  Result<std::vector<Package>> (*read)(System&);
};

constexpr Manager managers[] = {
    {"dpkg", "/var/lib/dpkg", read_dpkg_packages},
    {"rpm", "/var/lib/rpm", read_rpm_packages},
    {"pacman", "/var/lib/pacman/local", read_pacman_packages},
};

/// Packages that the manager has left half done, in its own words.
std::vector<Origin> half_done(const std::vector<Package>& packages) {
  std::vector<Origin> problems;
  for (const Package& package : packages) {
    const bool unfinished = package.status == "half-installed" || package.status == "unpacked" ||
                            package.status == "half-configured" || package.status == "triggers-pending";
    if (unfinished && package.name.find("nvidia") != std::string::npos) problems.push_back(package.origin);
  }
  return problems;
}

}  // namespace

void collect_packages(System& system, const CollectOptions&, Machine& machine) {
  Packages& packages = machine.packages;
  packages.runfile_driver = read_runfile_driver(system);
  packages.installed = Fact<std::vector<Package>>::not_seen("no package database of dpkg, rpm or pacman");
  for (const Manager& manager : managers) {
    auto found = manager.read(system);
    if (!found && found.error().code == ErrorCode::NotFound) continue;
    // Debian has rpm's tools and Fedora dpkg's: a database without packages of interest gives way to one that has some.
    const bool first = !packages.manager.is_known();
    if (!first && (!found || found->empty())) continue;
    packages.manager = Fact<std::string>::known(manager.name, origin_of(manager.place));
    if (!found) {
      packages.installed = not_seen_because<std::vector<Package>>(found.error(), manager.place);
      break;
    }
    packages.problems = half_done(*found);
    packages.installed = Fact<std::vector<Package>>::known(std::move(*found), origin_of(manager.place));
    if (!packages.installed.get()->empty()) break;
  }
  if (!packages.installed.is_known()) return;
  packages.history = read_package_history(system, *packages.manager.get());
  packages.repositories = read_driver_repositories(system);
}

}  // namespace gpuvet
