#include "collect/package_owner.h"

#include <algorithm>
#include <string_view>

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_packages = 200;
constexpr std::size_t max_list = std::size_t{2} << 20;

/// Merged /usr: a list may say /lib/… for what lies in /usr/lib/…, and the other way round.
std::string without_usr(std::string_view path) {
  if (path.starts_with("/usr/lib"sv)) path.remove_prefix(4);
  return std::string(path);
}

/// Only packages that may bring libraries of the driver; toolkit packages have long lists and none of these files.
bool may_bring_driver(std::string_view name) {
  if (name.starts_with("cuda-compat"sv) || name.starts_with("cuda-driver"sv)) return true;
  return name.find("nvidia"sv) != std::string_view::npos || name.find("libcuda"sv) != std::string_view::npos;
}

bool is_on_disk(const Package& package) { return package.status != "config-files" && package.status != "not-installed"; }

}  // namespace

void PackageOwners::add_list(const std::string& package, const std::string& list_path) {
  const auto text = system_.read_file(list_path, max_list);
  if (!text) {
    if (not_seen_.empty()) not_seen_ = text.error().message;
    return;
  }
  const bool pacman = list_path.ends_with("/files");
  for (std::string_view rest = *text; !rest.empty();) {
    const auto end = rest.find('\n');
    auto line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (line.find(".so"sv) == std::string_view::npos) continue;
    if (pacman) line = line.substr(0, line.find('\t'));
    const auto path = pacman ? "/" + std::string(line) : std::string(line);
    owners_.emplace(without_usr(path), package);
  }
}

void PackageOwners::load() {
  loaded_ = true;
  const auto* installed = machine_.packages.installed.get();
  const auto manager = machine_.packages.manager.value_or("");
  if (installed == nullptr || (manager != "dpkg" && manager != "pacman")) {
    not_seen_ = manager == "rpm" ? "rpm's file lists are not read" : "no package database was read";
    return;
  }
  std::size_t count = 0;
  for (const auto& package : *installed) {
    if (!may_bring_driver(package.name) || !is_on_disk(package) || ++count > max_packages) continue;
    if (manager == "pacman") {
      add_list(package.name, "/var/lib/pacman/local/" + package.name + "-" + package.version + "/files");
      continue;
    }
    // Packages that may be installed for several architectures have the architecture in the name of their list.
    const auto base = "/var/lib/dpkg/info/" + package.name;
    const auto with_architecture = base + ":" + package.architecture + ".list";
    add_list(package.name,
             !package.architecture.empty() && system_.exists(with_architecture) ? with_architecture : base + ".list");
  }
}

Fact<std::string> PackageOwners::owner(const std::string& real_path) {
  if (!loaded_) load();
  const auto manager = machine_.packages.manager.value_or("");
  if (const auto found = owners_.find(without_usr(real_path)); found != owners_.end())
    return Fact<std::string>::known(found->second,
                                    {manager == "dpkg" ? "/var/lib/dpkg/info" : "/var/lib/pacman/local", 0, real_path});
  if (!not_seen_.empty()) return Fact<std::string>::not_seen(not_seen_);
  return Fact<std::string>::absent({manager == "dpkg" ? "/var/lib/dpkg/info" : "/var/lib/pacman/local", 0, ""});
}

}  // namespace gpuvet
