#include "image/keep_rule.h"

#include <algorithm>
#include <array>

namespace gpuvet {
namespace {

constexpr std::uint64_t small = std::uint64_t{1} << 20;
constexpr std::uint64_t database = std::uint64_t{192} << 20;  ///< of packages
constexpr std::uint64_t library = std::uint64_t{96} << 20;

constexpr std::array databases = {"var/lib/dpkg/status", "var/lib/rpm/", "usr/lib/sysimage/rpm/", "var/lib/dpkg/status.d/"};
// Large, many, and read by nobody.
constexpr std::array bulk = {"usr/share/doc/",   "usr/share/man/",     "usr/share/locale/", "usr/share/zoneinfo/",
                             "usr/share/icons/", "usr/share/fonts/",   "usr/share/perl/",   "usr/share/i18n/",
                             "var/cache/",       "var/lib/apt/lists/", "usr/lib/firmware/", "lib/firmware/",
                             "usr/share/info/",  "usr/share/mime/"};
constexpr std::array bulk_endings = {".pyc", ".h",   ".hpp", ".cuh", ".html", ".js", ".css",
                                     ".png", ".svg", ".gz",  ".a",   ".o",    ".rst"};
// Python files that tell a version or where an editable package lies.
constexpr std::array python_names = {"version.py",       "_version.py",   "versions.py",
                                     "sitecustomize.py", "build_info.py", "cuda_version.py"};
constexpr std::array header_names = {"cudnn_version.h", "cudnn.h", "cuda.h",          "cuda_runtime_api.h",
                                     "host_config.h",   "nccl.h",  "NvInferVersion.h"};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_shared_object(std::string_view name) { return name.ends_with(".so") || name.find(".so.") != std::string_view::npos; }

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool keeps_content(std::string_view path, std::uint64_t size) {
  const auto begins = [&](const char* folder) { return path.starts_with(folder); };
  const auto ends = [&](const char* ending) { return path.ends_with(ending); };
  const std::string_view name = file_name(path);
  if (std::ranges::any_of(databases, begins)) return size <= database;
  if (is_shared_object(name) || path.find("/bin/") != std::string_view::npos || begins("bin/") || begins("sbin/") ||
      path.find("/sbin/") != std::string_view::npos)
    return size <= library;
  if (size > small) return false;
  if (std::ranges::any_of(bulk, begins)) return false;
  if (is_one_of(header_names, name)) return true;
  if (std::ranges::any_of(bulk_endings, ends)) return false;
  return !name.ends_with(".py") || is_one_of(python_names, name);
}

}  // namespace gpuvet
