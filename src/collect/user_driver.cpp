// Copies of the user-mode driver's libraries: what each is, which one wins, where it comes from.

#include <algorithm>
#include <map>
#include <set>

#include "collect/loader_view.h"
#include "collect/mounts.h"
#include "collect/package_owner.h"
#include "loader/find_library.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/')); }
std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "535.129.03" of "libcuda.so.535.129.03"; empty for "libcuda.so.1" and "libcuda.so.1.1".
std::string version_in_name(std::string_view path) {
  const auto name = name_of(path);
  const auto at = name.find(".so."sv);
  if (at == std::string_view::npos) return "";
  const auto version = name.substr(at + 4);
  const bool numbers = version.find_first_not_of("0123456789."sv) == std::string_view::npos;
  return numbers && version.find('.') >= 3 && version.find('.') != std::string_view::npos ? std::string(version) : "";
}

/// A cuda-compat package's folder: …/compat, or a copy of it under a telling name.
bool is_compat_path(std::string_view path) {
  for (auto rest = folder_of(path); !rest.empty();) {
    const auto slash = rest.rfind('/');
    const auto component = rest.substr(slash == std::string_view::npos ? 0 : slash + 1);
    if (component == "compat"sv || component.starts_with("compat."sv) || component.starts_with("cuda-compat"sv)) return true;
    if (slash == std::string_view::npos) break;
    rest = rest.substr(0, slash);
  }
  return false;
}

std::string kind_of(const LibraryFile& file) {
  if (file.state == "empty" || file.state == "dangling") return file.state;
  if (file.state != "elf") return file.state == "unreadable" ? "driver" : "not-elf";
  if (file.whole_size != 0) return "cut-off";
  if (file.stub) return "stub";
  if (file.real_path.starts_with("/usr/lib/wsl/"sv) || file.path.starts_with("/usr/lib/wsl/"sv)) return "wsl";
  if (is_compat_path(file.real_path) || is_compat_path(file.path)) return "compat";
  return "driver";
}

/// The same library under several names in one folder (libcuda.so, libcuda.so.1, libcuda.so.550.120) is one copy; WSL even has
/// three equal files there.
using CopyKey = std::string;
CopyKey copy_key(const LibraryFile& file, const std::string& soname) {
  if (file.state == "dangling" || file.state == "unreadable")
    return soname + "|" + (file.real_path.empty() ? file.path : file.real_path);
  return soname + "|" + std::string(folder_of(file.real_path)) + "|" + file.driver_version.value_or("?") + "|" +
         std::to_string(file.size) + "|" + file.elf_class;
}

/// Prefers the name that a process asks for, then the real file.
int name_rank(const LibraryFile& file, const std::string& soname) {
  if (name_of(file.path) == soname) return 0;
  return file.path == file.real_path ? 1 : 2;
}

DriverLibrary describe(const LibraryFile& file, const std::string& soname) {
  DriverLibrary library;
  library.name = soname;
  library.path = file.path;
  library.real_path = file.real_path;
  library.kind = kind_of(file);
  library.elf_class = file.elf_class;
  library.machine = file.machine;
  library.version = file.driver_version;
  if (library.version.is_not_seen() && library.version.why().empty() && file.state != "elf")
    library.version = Fact<std::string>::not_seen("the file is " + file.state);
  library.version.origin().source = file.real_path.empty() ? file.path : file.real_path;
  library.version_in_name = version_in_name(file.real_path.empty() ? file.path : file.real_path);
  return library;
}

/// One entry a copy, in the order of the search path, then the usual places.
class Copies {
 public:
  void add(const LibraryFile& file) {
    const auto soname = driver_soname(name_of(file.path));
    const auto key = copy_key(file, soname);
    const auto [it, added] = index_.try_emplace(key, libraries.size());
    if (added) {
      libraries.push_back(describe(file, soname));
      ranks_.push_back(name_rank(file, soname));
    } else if (name_rank(file, soname) < ranks_[it->second]) {
      libraries[it->second].path = file.path;
      ranks_[it->second] = name_rank(file, soname);
    }
  }

  /// Marks the copy that the loader takes, be it a broken one.
  void mark_winner(const FoundLibrary& resolution, const std::string& soname) {
    const auto* file = resolution.file != nullptr ? resolution.file : resolution.blocked_by;
    if (file == nullptr) return;
    const auto found = index_.find(copy_key(*file, soname));
    if (found == index_.end()) return;
    auto& winner = libraries[found->second];
    winner.path = file->path;
    winner.real_path = file->real_path;
    winner.wins = true;
    winner.found_by = resolution.rule;
  }

  std::vector<DriverLibrary> libraries;

 private:
  std::map<CopyKey, std::size_t> index_;
  std::vector<int> ranks_;
};

void fill_owners(System& system, const Machine& machine, std::vector<DriverLibrary>& libraries) {
  PackageOwners owners(system, machine);
  for (auto& library : libraries) {
    library.package = owners.owner(library.real_path);
    if (const auto* package = library.package.get(); package && library.kind == "driver" && package->starts_with("cuda-compat"))
      library.kind = "compat";
  }
  // Lists may be cut short (a slim image drops them): what lies beside an owned library of the same version is not without owner.
  for (auto& library : libraries) {
    if (!library.package.is_absent()) continue;
    const bool sibling = std::ranges::any_of(libraries, [&](const DriverLibrary& other) {
      return other.package.is_known() && folder_of(other.real_path) == folder_of(library.real_path) &&
             other.version_in_name == library.version_in_name;
    });
    if (sibling) library.package = Fact<std::string>::not_seen("the file lists name only a part of this driver's libraries");
  }
}

/// A root may hold logs only: where no library folder and no loader configuration is, nothing can be said of libraries.
bool nothing_to_search(const LoaderView& view) {
  const auto exists = [](const SearchFolder& folder) { return folder.exists && folder.rule != "LD_LIBRARY_PATH"; };
  return view.files.empty() && !view.cache.is_known() && std::ranges::none_of(view.folders, exists);
}

}  // namespace

void collect_user_driver(System& system, const CollectOptions& /*options*/, Machine& machine) {
  std::vector<std::string> problems;
  collect_loader_view(system, machine, problems);
  const auto& view = machine.loader;
  auto& driver = machine.user_driver;
  if (nothing_to_search(view)) {
    driver.libraries = Fact<std::vector<DriverLibrary>>::not_seen("no library folder there");
    driver.libcuda_dev_link = Fact<bool>::not_seen("no library folder there");
    driver.search_complete = Fact<bool>::known(false, {"loader", 0, "no library folder there"});
    return;
  }

  Copies copies;
  std::set<std::string> sonames;
  for (const auto& file : view.files) {
    copies.add(file);
    sonames.insert(driver_soname(name_of(file.path)));
  }
  const auto kind = program_kind(system, machine);
  for (const auto& soname : sonames)
    copies.mark_winner(find_library(machine, machine.environment, soname, kind.elf_class, kind.machine), soname);

  std::set<std::string_view> points;
  const MountTable mounts = read_mounts(system);
  for (const Mount& mount : mounts.mounts) points.insert(mount.point);
  for (auto& library : copies.libraries)
    library.bind_mounted = points.contains(library.path) || points.contains(library.real_path);
  fill_owners(system, machine, copies.libraries);

  driver.libraries = Fact<std::vector<DriverLibrary>>::known(std::move(copies.libraries));
  const auto link = find_library(machine, machine.environment, "libcuda.so", kind.elf_class, kind.machine);
  driver.libcuda_dev_link = Fact<bool>::known(link.file != nullptr, {link.file ? link.file->path : "loader", 0, ""});
  driver.search_complete =
      Fact<bool>::known(problems.empty(), {problems.empty() ? "" : "loader", 0, problems.empty() ? "" : problems.front()});
}

}  // namespace gpuvet
