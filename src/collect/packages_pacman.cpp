// pacman's local database: one folder NAME-VERSION-RELEASE a package, with a `desc` file of %FIELD% blocks.
#include "collect/lines.h"
#include "collect/packages_parts.h"

namespace gpuvet {
namespace {

/// "nvidia-open-570.133.07-1" → "nvidia-open": version and release are the last two parts.
std::string_view name_of_folder(std::string_view folder) {
  for (int i = 0; i < 2; ++i) {
    const auto dash = folder.rfind('-');
    if (dash == std::string_view::npos) return {};
    folder = folder.substr(0, dash);
  }
  return folder;
}

Package parse_desc(std::string_view text, const std::string& path) {
  Package package;
  package.manager = "pacman";
  package.status = "installed";
  std::string_view field;
  for_each_line(text, [&](std::string_view line, std::uint32_t) {
    if (line.starts_with('%')) {
      field = line;
    } else if (!line.empty()) {
      if (field == "%NAME%") package.name = line;
      if (field == "%VERSION%") package.version = line;
      if (field == "%ARCH%") package.architecture = line;
    }
    return true;
  });
  package.origin = origin_of(path, package.name + " " + package.version);
  return package;
}

}  // namespace

Result<std::vector<Package>> read_pacman_packages(System& system) {
  const std::string folder = "/var/lib/pacman/local";
  const auto entries = system.list(folder);
  if (!entries) return tl::unexpected(entries.error());
  std::vector<Package> packages;
  for (const DirectoryEntry& entry : *entries) {
    const auto name = name_of_folder(entry.name);
    if (name.empty() || !relevant_package(name)) continue;
    const std::string path = folder + "/" + entry.name + "/desc";
    const auto text = system.read_file(path);
    if (!text) continue;
    Package package = parse_desc(*text, path);
    if (!package.name.empty()) packages.push_back(std::move(package));
  }
  return packages;
}

}  // namespace gpuvet
