#include "collect/loader_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "collect/cpu_levels.h"
#include "collect/ldconf.h"
#include "elf/elf.h"
#include "elf/elf_header.h"
#include "elf/ldso_cache.h"
#include "loader/search_path.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

struct Family {
  std::string_view prefix, soname;
};
constexpr std::array families{Family{"libcuda.so"sv, "libcuda.so.1"sv}, Family{"libnvidia-ml.so"sv, "libnvidia-ml.so.1"sv},
                              Family{"libnvidia-ptxjitcompiler.so"sv, "libnvidia-ptxjitcompiler.so.1"sv},
                              Family{"libnvidia-nvvm.so"sv, "libnvidia-nvvm.so.4"sv}};

constexpr std::array cached_prefixes{"libcuda"sv,  "libcudnn"sv,  "libcublas"sv,   "libcufft"sv,    "libcufile"sv,
                                     "libcupti"sv, "libcurand"sv, "libcusolver"sv, "libcusparse"sv, "libcutensor"sv,
                                     "libnccl"sv,  "libnpp"sv,    "libnv"sv};
// What a search folder is asked for beside the driver's own: the libraries of CUDA and of its kin. No libnv*: graphics has those.
constexpr std::array cuda_prefixes{"libcudart."sv, "libcudnn"sv,    "libcublas"sv,   "libcufft"sv,
                                   "libcurand."sv, "libcusolver"sv, "libcusparse"sv, "libcupti."sv,
                                   "libnvrtc"sv,   "libnccl."sv,    "libnpp"sv,      "libnvJitLink."sv,
                                   "libnvjpeg."sv, "libnvinfer"sv,  "libcutensor"sv, "libnvToolsExt."sv};
constexpr std::size_t max_cached = 4096;
constexpr std::size_t max_cache_file = std::size_t{16} << 20;
constexpr std::size_t max_files = 1024;
constexpr std::size_t max_search_folders = 256;
constexpr std::size_t max_cuda_libraries = 256;

bool starts_with_any(std::string_view text, const auto& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

/// Reads each file once, however many names and links lead to it.
class FileCollector {
 public:
  FileCollector(System& system, LoaderView& view, std::vector<std::string>& problems)
      : system_(system), view_(view), problems_(problems) {}

  /// Adds every driver library of a folder, and of its glibc-hwcaps subfolders. A folder counts by its own name: the loader
  /// looks for paths, not for what they lead to.
  void folder(const std::string& path) {
    if (!path.starts_with('/') || !folders_.insert(path).second) return;
    const auto real = system_.real_path(path);
    if (!real) {
      if (real.error().code != ErrorCode::NotFound) problems_.push_back(real.error().message);
      return;
    }
    const std::string prefix = path == "/" ? path : path + "/";
    for (const auto& name : names_in(*real)) {
      if (is_driver_library_name(name)) file(prefix + name);
      if (name == "glibc-hwcaps")
        for (const auto& level : view_.hwcaps) folder(prefix + "glibc-hwcaps/" + level);
    }
  }

  /// CUDA libraries in a folder, by file name.
  std::vector<std::string> cuda_libraries(const std::string& path) {
    const auto real = path.starts_with('/') ? system_.real_path(path) : tl::unexpected(SystemError{});
    std::vector<std::string> found;
    if (!real) return found;
    for (const auto& name : names_in(*real))
      if (found.size() < max_cuda_libraries && starts_with_any(name, cuda_prefixes)) found.push_back(name);
    return found;
  }

  /// A folder that is no part of any search path: only its real name, and only once.
  void usual_folder(const std::string& path) {
    const auto real = system_.real_path(path);
    if (real && !names_.contains(*real)) folder(*real);
  }

  void file(const std::string& path) {
    if (view_.files.size() >= max_files || !paths_.insert(path).second) return;
    LibraryFile library = describe(path);
    library.path = path;
    view_.files.push_back(std::move(library));
  }

 private:
  /// Names in a folder that matter. /lib and /usr/lib are often the same one, with thousands of files: it is listed once.
  const std::vector<std::string>& names_in(const std::string& real) {
    auto [it, added] = names_.try_emplace(real);
    if (!added) return it->second;
    const auto entries = system_.list(real);
    if (!entries) {
      problems_.push_back(entries.error().message);
      return it->second;
    }
    for (const auto& entry : *entries)
      if (is_driver_library_name(entry.name) || entry.name == "glibc-hwcaps" ||
          (starts_with_any(entry.name, cuda_prefixes) && entry.name.find(".so.") != std::string::npos))
        it->second.push_back(entry.name);
    return it->second;
  }

  LibraryFile describe(const std::string& path) {
    const auto real = system_.real_path(path);
    if (!real) {
      LibraryFile missing;
      missing.state = real.error().code == ErrorCode::Denied ? "unreadable" : "dangling";
      // Its own place, so that one link seen by way of /lib and of /usr/lib stays one.
      const auto slash = path.rfind('/');
      if (const auto folder = system_.real_path(path.substr(0, slash))) missing.real_path = *folder + path.substr(slash);
      return missing;
    }
    auto [it, added] = by_real_path_.try_emplace(*real);
    if (added) it->second = read(*real);
    return it->second;
  }

  LibraryFile read(const std::string& real) {
    LibraryFile library;
    const auto file = system_.open(real);
    if (file) {
      library = read_library_file(**file);
    } else {
      library.state = file.error().code == ErrorCode::NotFound     ? "dangling"
                      : file.error().code == ErrorCode::NotRegular ? "not-elf"
                                                                   : "unreadable";
      if (library.state == "unreadable") problems_.push_back(file.error().message);
    }
    library.real_path = real;
    if (const auto status = system_.status(real)) {
      library.inode = std::to_string(status->device) + ":" + std::to_string(status->inode);
      library.size = static_cast<std::int64_t>(status->size);
    }
    return library;
  }

  System& system_;
  LoaderView& view_;
  std::vector<std::string>& problems_;
  std::set<std::string> folders_, paths_;
  std::map<std::string, std::vector<std::string>> names_;  // by real folder
  std::map<std::string, LibraryFile> by_real_path_;
};

Fact<std::vector<LoaderCacheEntry>> read_cache(System& system) {
  using Entries = Fact<std::vector<LoaderCacheEntry>>;
  const Origin origin{"/etc/ld.so.cache", 0, ""};
  const auto bytes = system.read_file(origin.source, max_cache_file);
  if (!bytes) {
    if (bytes.error().code == ErrorCode::NotFound) return Entries::absent(origin);
    return Entries::not_seen(bytes.error().message, origin);
  }
  auto entries = read_loader_cache(*bytes);
  if (!entries) return Entries::not_seen("/etc/ld.so.cache: " + entries.error(), origin);
  std::erase_if(*entries, [](const LoaderCacheEntry& e) { return !starts_with_any(e.soname, cached_prefixes); });
  entries->resize(std::min(entries->size(), max_cached));
  return Entries::known(std::move(*entries), origin);
}

/// Names in /etc/ld.so.preload, separated by white space or colons.
Fact<std::vector<std::string>> read_preload(System& system) {
  using Names = Fact<std::vector<std::string>>;
  const Origin origin{"/etc/ld.so.preload", 0, ""};
  const auto text = system.read_file(origin.source, std::size_t{64} << 10);
  if (!text) {
    if (text.error().code == ErrorCode::NotFound) return Names::absent(origin);
    return Names::not_seen(text.error().message, origin);
  }
  std::vector<std::string> names;
  constexpr auto separators = " \t\r\n:"sv;
  for (std::size_t at = text->find_first_not_of(separators); at != std::string::npos;) {
    const auto end = std::min(text->find_first_of(separators, at), text->size());
    names.push_back(text->substr(at, end - at));
    at = text->find_first_not_of(separators, end);
  }
  return Names::known(std::move(names), origin);
}

void add_library_path(System& system, Machine& machine) {
  const auto found = machine.environment.find("LD_LIBRARY_PATH");
  if (found == machine.environment.end()) return;
  for (const auto& folder : split_library_path(found->second)) {
    if (machine.loader.folders.size() >= max_search_folders) return;
    Origin origin{"environment", 0, "LD_LIBRARY_PATH=" + found->second.substr(0, 300)};
    if (folder == ".") origin.text += " (an empty element is the current folder)";
    machine.loader.folders.push_back(
        {folder, "LD_LIBRARY_PATH", origin, folder.starts_with('/') && system.is_directory(folder), {}});
  }
}

}  // namespace

bool is_driver_library_name(std::string_view file_name) { return !driver_soname(file_name).empty(); }

std::string driver_soname(std::string_view file_name) {
  for (const auto& family : families)
    if (file_name.starts_with(family.prefix) &&
        (file_name.size() == family.prefix.size() || file_name[family.prefix.size()] == '.'))
      return std::string(family.soname);
  return "";
}

ProgramKind program_kind(System& system, const Machine& machine) {
  const auto architecture = machine.os.architecture.value_or("");
  if (architecture == "x86_64" || architecture == "amd64") return {"64", "x86_64"};
  if (architecture == "aarch64" || architecture == "arm64") return {"64", "aarch64"};
  if (architecture == "ppc64le") return {"64", "ppc64"};
  if (architecture == "i686" || architecture == "i386") return {"32", "i386"};
  for (const auto* program : {"/usr/bin/env", "/bin/sh", "/usr/bin/bash"}) {
    const auto bytes = system.read_head(program, 64);
    if (!bytes) continue;
    if (const auto header = parse_elf_header(*bytes)) return {header->wide ? "64" : "32", elf_machine_name(header->machine)};
  }
  return {};
}

void collect_loader_view(System& system, Machine& machine, std::vector<std::string>& problems) {
  auto& view = machine.loader;
  view.cache = read_cache(system);
  view.preload = read_preload(system);
  view.hwcaps = read_cpu_levels(system, "x86_64").hwcaps;
  add_library_path(system, machine);
  for (auto& folder : read_ldconf(system, problems)) view.folders.push_back(std::move(folder));
  for (const auto& path : default_folders(system, machine))
    view.folders.push_back({path, "default", {"loader", 0, "built-in folder"}, system.is_directory(path), {}});

  FileCollector files(system, view, problems);
  for (auto& folder : view.folders) {
    files.folder(folder.path);
    folder.cuda_libraries = files.cuda_libraries(folder.path);
  }
  if (const auto* entries = view.cache.get())
    for (const auto& entry : *entries)
      if (is_driver_library_name(entry.soname)) files.file(entry.path);
  for (const auto& path : usual_folders(system)) files.usual_folder(path);
}

}  // namespace gpuvet
