#include "loader/resolve.h"

#include <algorithm>
#include <optional>

#include "loader/search_path.h"

namespace gpuvet {
namespace {

enum class Outcome : std::uint8_t { GoOn, Found, Stops };

/// One search for one soname.
struct Search {
  const LoaderView& view;
  std::string_view soname, elf_class, machine;
  Resolution result;

  bool decided() const { return result.file != nullptr || result.blocked_by != nullptr; }

  bool fits(const LibraryFile& file) const {
    return file.state == "elf" && (elf_class.empty() || file.elf_class == elf_class) &&
           (machine.empty() || file.machine == machine);
  }

  const LibraryFile* at(std::string_view path) const {
    const auto found = std::ranges::find_if(view.files, [&](const LibraryFile& f) { return f.path == path; });
    return found == view.files.end() ? nullptr : &*found;
  }

  /// open_verify() of glibc: what cannot be opened or has another class or machine is passed over; what is no ELF file at all
  /// ends the search with an error ("file too short", "invalid ELF header").
  void consider(const LibraryFile* file, std::string_view rule) {
    if (file == nullptr || file->state == "dangling" || file->state == "unreadable") return;
    if (file->state != "elf") {
      if (!decided()) result.blocked_by = file, result.rule = rule;
      return;
    }
    if (!fits(*file)) return;
    if (!decided())
      result.file = file, result.rule = rule;
    else if (!known(*file))
      result.shadowed.push_back(file);
  }

  /// The winner or a shadowed copy already, perhaps by another path.
  bool known(const LibraryFile& file) const {
    const auto same = [&](const LibraryFile* other) { return other != nullptr && other->real_path == file.real_path; };
    return same(result.file) || std::ranges::any_of(result.shadowed, same);
  }

  void folder(const std::string& path, std::string_view rule) {
    if (path.empty() || path.front() != '/') return;  // relative to a current folder that nobody knows
    if (std::ranges::find(result.tried, path) != result.tried.end()) return;
    result.tried.push_back(path);
    const std::string prefix = path == "/" ? path : path + "/";
    for (const auto& level : view.hwcaps) consider(at(prefix + "glibc-hwcaps/" + level + "/" + std::string(soname)), rule);
    consider(at(prefix + std::string(soname)), rule);
  }

  /// Of the entries for this machine glibc takes the first, the best hwcaps folder before the plain one; when that file is gone
  /// it does not try the next entry but goes on to the default folders (_dl_load_cache_lookup).
  void cache(const std::vector<LoaderCacheEntry>& entries) {
    const auto wanted = cache_flags(elf_class, machine);
    const LoaderCacheEntry* best = nullptr;
    std::size_t best_rank = 0;
    for (const auto& entry : entries) {
      if (entry.soname != soname || (wanted && entry.flags != *wanted)) continue;
      const auto rank = hwcaps_rank(entry.path);
      if (!rank || (best != nullptr && *rank >= best_rank)) continue;
      best = &entry;
      best_rank = *rank;
    }
    if (best != nullptr) consider(at(best->path), "ld.so.cache");
    for (const auto& entry : entries)
      if (&entry != best && entry.soname == soname && decided()) consider(at(entry.path), "ld.so.cache");
  }

  /// 0 the best level of this CPU … `view.hwcaps.size()` a plain folder; nothing for a level that this CPU does not serve.
  std::optional<std::size_t> hwcaps_rank(std::string_view path) const {
    constexpr std::string_view mark = "/glibc-hwcaps/";
    const auto start = path.find(mark);
    if (start == std::string_view::npos) return view.hwcaps.size();
    const auto rest = path.substr(start + mark.size());
    const auto level = std::ranges::find(view.hwcaps, rest.substr(0, rest.find('/')));
    if (level == view.hwcaps.end()) return std::nullopt;
    return static_cast<std::size_t>(level - view.hwcaps.begin());
  }
};

}  // namespace

std::optional<std::int64_t> cache_flags(std::string_view elf_class, std::string_view machine) {
  // FLAG_ELF_LIBC6 (3) with the machine's bits of glibc's sysdeps/generic/ldconfig.h.
  if (machine == "x86_64") return elf_class == "64" ? 0x0303 : 0x0803;
  if (machine == "i386") return 0x0003;
  if (machine == "aarch64") return 0x0a03;
  if (machine == "ppc64") return 0x0503;
  if (machine == "s390x") return 0x0403;
  return std::nullopt;
}

std::vector<std::string> split_library_path(std::string_view value) {
  std::vector<std::string> folders;
  if (value.empty()) return folders;  // set to nothing is as good as not set
  while (true) {
    const auto end = value.find_first_of(":;");
    auto folder = std::string(value.substr(0, end));
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    folders.push_back(folder.empty() ? "." : folder);
    if (end == std::string_view::npos) return folders;
    value.remove_prefix(end + 1);
  }
}

Resolution resolve_library(const LoaderView& view, const std::map<std::string, std::string>& environment, std::string_view soname,
                           std::string_view elf_class, std::string_view machine) {
  Search search{view, soname, elf_class, machine, {}};
  if (const auto path = environment.find("LD_LIBRARY_PATH"); path != environment.end())
    for (const auto& folder : split_library_path(path->second)) search.folder(folder, "LD_LIBRARY_PATH");
  if (const auto* entries = view.cache.get()) {
    search.cache(*entries);
  } else {
    for (const auto& folder : view.folders)
      if (folder.rule == "ld.so.conf") search.folder(folder.path, "ld.so.conf");
  }
  for (const auto& folder : view.folders)
    if (folder.rule == "default") search.folder(folder.path, "default");
  return std::move(search.result);
}

}  // namespace gpuvet
