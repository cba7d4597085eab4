#pragma once
// Where fetch_vendor_packages.sh puts genuine files.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuvet::test {

inline std::filesystem::path cache_folder() {
  namespace fs = std::filesystem;
  if (const char* set = std::getenv("GPUVET_CACHE")) return set;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME")) return fs::path(xdg) / "gpuvet";
  const char* home = std::getenv("HOME");
  return fs::path(home ? home : "/nonexistent") / ".cache/gpuvet";
}

/// Real files of an unpacked package whose name passes `wanted`, sorted; empty without the package.
template <typename Wanted>
std::vector<std::filesystem::path> cached_files(const std::string& package, Wanted wanted) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(cache_folder() / "unpacked" / package, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file() && !it->is_symlink() && wanted(it->path())) found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gpuvet::test
