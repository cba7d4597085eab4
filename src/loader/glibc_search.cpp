// The order in which glibc looks for a name without a slash: _dl_map_object() in elf/dl-load.c.

#include <algorithm>

#include "loader/candidate.h"
#include "loader/search_path.h"

namespace gpuvet {
namespace {

ObjectMemory& memory_of(LoadState& state, int object) { return state.memory[static_cast<std::size_t>(object)]; }
const LibraryFile& file_of(const LoadState& state, int object) {
  return *state.result.objects[static_cast<std::size_t>(object)].file;
}

const std::vector<SearchPlace>& rpath_of(LoadState& state, int object) {
  auto& memory = memory_of(state, object);
  const auto& file = file_of(state, object);
  if (!memory.rpath)
    memory.rpath = has_runpath(file) ? std::vector<SearchPlace>{} : places_of(state, file.rpath, ":", object, "RPATH");
  return *memory.rpath;
}

const std::vector<SearchPlace>& runpath_of(LoadState& state, int object) {
  auto& memory = memory_of(state, object);
  if (!memory.runpath) memory.runpath = places_of(state, file_of(state, object).runpath, ":", object, "RUNPATH");
  return *memory.runpath;
}

/// DT_RPATH of the requester, of what loaded it, and so on up; at last the program's, whether or not it is in that chain.
void rpath_chain(LoadState& state, Search& search, int requester) {
  bool did_main = false;
  std::size_t steps = 0;
  for (int at = requester; at >= 0 && !search.done() && steps++ < max_objects; at = memory_of(state, at).chain) {
    const auto& places = rpath_of(state, at);
    if (places.empty()) continue;
    const auto rule =
        at == requester ? std::string("RPATH") : "RPATH of " + state.result.objects[static_cast<std::size_t>(at)].path;
    search.folders(places, rule);
    did_main |= at == 0;
  }
  if (!did_main && !search.done() && requester != 0)
    search.folders(rpath_of(state, 0), "RPATH of " + state.result.objects[0].path);
}

bool in_default_folder(const LoaderRules& rules, const std::string& path) {
  return std::ranges::any_of(rules.defaults, [&](const auto& folder) { return path.starts_with(folder + "/"); });
}

/// Rank of an entry's hwcaps level: 0 the best; nothing for a level that this CPU does not serve.
std::optional<std::size_t> level_rank(const LoaderRules& rules, const LoaderCacheEntry& entry) {
  const auto level = std::ranges::find(rules.hwcaps, entry.hwcaps);
  if (level == rules.hwcaps.end()) return std::nullopt;
  return static_cast<std::size_t>(level - rules.hwcaps.begin());
}

/// The entry that _dl_load_cache_lookup() answers with: the best glibc-hwcaps level, else the first for this kind of library.
const LoaderCacheEntry* best_entry(const LoadState& state, const std::vector<LoaderCacheEntry>& entries) {
  const auto wanted = cache_flags(state.elf_class, state.machine);
  const LoaderCacheEntry* best = nullptr;
  std::size_t best_rank = 0;
  for (const auto& entry : entries) {
    if (wanted && entry.flags != *wanted) continue;
    if (entry.hwcaps.empty()) {
      // Sub-folders of the old kind; their bits are a CPU's own.
      if (entry.hwcap != 0) continue;
      if (best == nullptr) return &entry;  // levels stand in front of the plain entry
      return best;
    }
    const auto rank = level_rank(state.rules, entry);
    if (!rank || (best != nullptr && *rank >= best_rank)) continue;
    best = &entry;
    best_rank = *rank;
  }
  return best;
}

void cache(LoadState& state, Search& search, std::string_view name, bool no_default_folders) {
  const auto* entries = state.source.cache_entries(name);
  if (entries == nullptr) return;
  const auto* best = best_entry(state, *entries);
  const auto consider = [&](const LoaderCacheEntry& entry) {
    if (no_default_folders && in_default_folder(state.rules, entry.path))
      search.passed_over(entry.path, "ld.so.cache", "default folder, and the library says nodefaultlib");
    else
      search.at(entry.path, "ld.so.cache", "");
  };
  if (best != nullptr) consider(*best);
  if (!search.decided()) return;
  const auto wanted = cache_flags(state.elf_class, state.machine);
  for (const auto& entry : *entries)  // shadowed copies; files for another machine are none
    if (&entry != best && !search.done() && (!wanted || entry.flags == *wanted)) consider(entry);
}

}  // namespace

Found search_glibc(LoadState& state, std::string_view name, int requester) {
  constexpr std::int64_t no_default_library = 0x800;  // DF_1_NODEFLIB
  Search search(state, name);
  const auto& file = file_of(state, requester);
  if (!has_runpath(file)) rpath_chain(state, search, requester);
  if (!search.done()) search.folders(state.library_path, "LD_LIBRARY_PATH");
  if (!search.done()) search.folders(runpath_of(state, requester), "RUNPATH");
  const bool no_default_folders = (file.flags_1 & no_default_library) != 0;
  if (!search.done()) cache(state, search, name, no_default_folders);
  if (!search.done() && !no_default_folders) search.folders(state.defaults, "default");
  return search.take();
}

}  // namespace gpuvet
