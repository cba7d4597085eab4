// The order in which musl looks for a name without a slash: load_library() and path_open() in ldso/dynlink.c.

#include <algorithm>
#include <array>

#include "loader/candidate.h"
#include "loader/tokens.h"

namespace gpuvet {
namespace {

/// musl knows $ORIGIN only; a list with any other '$' is left out as a whole. DT_RUNPATH counts instead of DT_RPATH.
std::string expanded_rpath(const LoadState& state, const LibraryFile& file, const std::string& origin) {
  const auto& list = file.runpath.empty() ? file.rpath : file.runpath;
  std::string result;
  for (std::size_t at = 0; at < list.size();) {
    if (list[at] != '$') {
      result += list[at++];
      continue;
    }
    const auto rest = std::string_view(list).substr(at);
    const std::size_t length = rest.starts_with("$ORIGIN") ? 7 : rest.starts_with("${ORIGIN}") ? 9 : 0;
    if (length == 0 || (state.rules.secure && !origin.starts_with('/'))) return {};
    result += origin;
    at += length;
  }
  return result;
}

/// Empty elements count for nothing.
std::vector<SearchPlace> places(LoadState& state, std::string_view list, std::string_view what) {
  std::string present;
  for (const auto element : split_list(list, ":\n"))
    if (!element.empty()) present.append(present.empty() ? "" : ":").append(element);
  return places_of(state, present, ":", -1, what);
}

const std::vector<SearchPlace>& rpath_of(LoadState& state, int object) {
  auto& memory = state.memory[static_cast<std::size_t>(object)];
  if (!memory.rpath) {
    const auto& file = *state.result.objects[static_cast<std::size_t>(object)].file;
    const auto& origin = memory.origin;
    const auto list = object == 0 && state.rules.secure && file.rpath.find('$') != std::string::npos
                          ? std::string()
                          : expanded_rpath(state, file, origin);
    memory.rpath = places(state, list, "RPATH");
  }
  return *memory.rpath;
}

}  // namespace

bool is_musl_itself(std::string_view name) {
  constexpr std::array<std::string_view, 7> reserved{"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."};
  return name.starts_with("lib") && std::ranges::any_of(reserved, [&](auto word) { return name.substr(3).starts_with(word); });
}

Found search_musl(LoadState& state, std::string_view name, int requester) {
  Search search(state, name);
  search.folders(state.library_path, "LD_LIBRARY_PATH");
  std::size_t steps = 0;
  for (int at = requester; at >= 0 && !search.done() && steps++ < max_objects;
       at = state.memory[static_cast<std::size_t>(at)].chain) {
    const auto& file = *state.result.objects[static_cast<std::size_t>(at)].file;
    const std::string tag = file.runpath.empty() ? "RPATH" : "RUNPATH";
    search.folders(rpath_of(state, at),
                   at == requester ? tag : tag + " of " + state.result.objects[static_cast<std::size_t>(at)].path);
  }
  if (!search.done()) search.folders(state.defaults, "musl path");
  return search.take();
}

}  // namespace gpuvet
