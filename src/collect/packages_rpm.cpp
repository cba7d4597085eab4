// rpm's database in whichever of its formats is there.
#include <memory>

#include "collect/lines.h"
#include "collect/packages_parts.h"
#include "collect/rpm_header.h"

namespace gpuvet {
namespace {

struct Place {
  const char* file;
  tl::expected<void, std::string> (*read)(FileReader&, const RpmFound&);
};

// rpm 4.16 on: sqlite (or ndb on SUSE), below /usr/lib/sysimage on newer distributions; before: Berkeley DB.
constexpr Place places[] = {
    {"/usr/lib/sysimage/rpm/rpmdb.sqlite", read_rpm_sqlite}, {"/var/lib/rpm/rpmdb.sqlite", read_rpm_sqlite},
    {"/usr/lib/sysimage/rpm/Packages.db", read_rpm_ndb},     {"/var/lib/rpm/Packages.db", read_rpm_ndb},
    {"/usr/lib/sysimage/rpm/Packages", read_rpm_bdb},        {"/var/lib/rpm/Packages", read_rpm_bdb},
};

Package to_package(const RpmPackage& rpm, const std::string& path) {
  Package package;
  package.name = rpm.name;
  package.version =
      (rpm.epoch ? std::to_string(*rpm.epoch) + ":" : "") + rpm.version + (rpm.release.empty() ? "" : "-" + rpm.release);
  package.architecture = rpm.architecture;
  package.manager = "rpm";
  package.status = "installed";
  package.origin = origin_of(path, package.name + "-" + package.version + "." + package.architecture);
  return package;
}

}  // namespace

Result<std::vector<Package>> read_rpm_packages(System& system) {
  for (const Place& place : places) {
    auto file = system.open(place.file);
    if (!file && file.error().code == ErrorCode::NotFound) continue;
    if (!file) return tl::unexpected(file.error());
    std::vector<Package> packages;
    const auto read = place.read(**file, [&](const RpmPackage& rpm) { packages.push_back(to_package(rpm, place.file)); });
    if (!read) return tl::unexpected(SystemError{ErrorCode::Other, std::string(place.file) + ": " + read.error()});
    return packages;
  }
  return tl::unexpected(SystemError{ErrorCode::NotFound, "/var/lib/rpm: no rpm database"});
}

}  // namespace gpuvet
