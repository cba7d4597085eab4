// Lists of folders → places to search.

#include <algorithm>

#include "loader/load_state.h"
#include "loader/tokens.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_places = 4096;

SearchedFolder* folder_at(LoadState& state, const std::string& prefix) {
  auto [it, added] = state.folders.try_emplace(prefix);
  if (added) {
    it->second.prefix = prefix;
    it->second.absolute = absolute_path(state, prefix);
  }
  return &it->second;
}

void add_place(LoadState& state, std::vector<SearchPlace>& places, std::string_view folder, std::string_view written) {
  auto* at = folder_at(state, folder_prefix(folder));
  if (places.size() >= max_places || std::ranges::find(places, at, &SearchPlace::folder) != places.end()) return;
  places.push_back({at, std::string(written)});
}

/// A path with its tokens replaced; nothing where glibc would drop it.
std::optional<std::string> expanded(LoadState& state, std::string_view element, int object, std::string_view what) {
  if (element.find('$') == std::string_view::npos) return std::string(element);
  const auto& rules = state.rules;
  TokenValues values{object >= 0 ? state.memory[static_cast<std::size_t>(object)].origin : "", rules.platform, rules.lib,
                     rules.secure};
  Expanded result = expand_tokens(element, values);
  if (!result.without_value.empty()) {
    if (!rules.secure || result.without_value != "ORIGIN")
      state.note(std::string(what) + " element " + std::string(element) + ": $" + result.without_value + " is not known");
    return std::nullopt;
  }
  if (rules.secure && result.has_origin && object == 0 && !lies_in_one_of(result.text, rules.defaults)) return std::nullopt;
  return result.text;
}

/// Numbers from all bits set down to none give the old order: "tls/haswell/x86_64", "tls/haswell", "tls/x86_64", "tls", …
void add_legacy(const LoaderRules& rules, std::vector<std::string>& folders) {
  std::vector<std::string> names{"tls"};
  if (!rules.platform.empty()) names.push_back(rules.platform);
  names.insert(names.end(), rules.legacy_hwcaps.begin(), rules.legacy_hwcaps.end());
  names.resize(std::min<std::size_t>(names.size(), 6));
  for (unsigned chosen = (1u << names.size()) - 1; chosen > 0; --chosen) {
    std::string folder;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (chosen >> (names.size() - 1 - i) & 1u) folder += names[i] + "/";
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
}

}  // namespace

std::string absolute_path(const LoadState& state, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  const auto& here = state.rules.working_directory;
  if (here.empty()) return {};
  return (here == "/" ? here : here + "/") + std::string(path);
}

std::vector<SearchPlace> places_of(LoadState& state, std::string_view list, std::string_view separators, int object,
                                   std::string_view what) {
  std::vector<SearchPlace> places;
  if (list.empty()) return places;
  for (const auto element : split_list(list, separators)) {
    const auto folder = expanded(state, element, object, what);
    // An element that was written empty is the current folder; one that became empty is dropped.
    if (!folder || (folder->empty() && !element.empty())) continue;
    if (!folder->starts_with('/') && state.rules.working_directory.empty())
      state.note(std::string(what) + " element \"" + std::string(element) +
                 "\" depends on the current folder, which is not known");
    else
      add_place(state, places, *folder, element);
  }
  return places;
}

std::vector<SearchPlace> places_of(LoadState& state, const std::vector<std::string>& paths) {
  std::vector<SearchPlace> places;
  for (const auto& path : paths)
    if (path.starts_with('/')) add_place(state, places, path, path);
  return places;
}

std::vector<std::string> hwcaps_folders(const LoaderRules& rules) {
  std::vector<std::string> folders;
  if (rules.kind == LoaderRules::Kind::Musl) return {""};
  if (rules.glibc_minor == 0 || rules.glibc_minor >= 33)
    for (const auto& level : rules.hwcaps) folders.push_back("glibc-hwcaps/" + level + "/");
  if (rules.glibc_minor > 0 && rules.glibc_minor <= 36) add_legacy(rules, folders);
  folders.emplace_back();
  return folders;
}

const std::vector<std::string>& existing_below(LoadState& state, SearchedFolder& folder) {
  if (folder.probed) return folder.below;
  folder.probed = true;
  if (folder.absolute.empty() || !state.source.is_folder(folder.absolute)) return folder.below;
  std::map<std::string_view, bool> first_parts;  // most folders have none of them: one question each is enough
  for (const auto& below : state.hwcaps_folders) {
    if (!below.empty()) {
      const auto part = std::string_view(below).substr(0, below.find('/'));
      auto [it, added] = first_parts.try_emplace(part, false);
      if (added) it->second = state.source.is_folder(folder.absolute + std::string(part));
      if (!it->second || !state.source.is_folder(folder.absolute + below)) continue;
    }
    folder.below.push_back(below);
  }
  return folder.below;
}

}  // namespace gpuvet
