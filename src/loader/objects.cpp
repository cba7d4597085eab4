// Objects as they come into a process: by name, by search, with what they need.

#include <algorithm>

#include "loader/load_state.h"
#include "loader/tokens.h"

namespace gpuvet {
namespace {

constexpr std::int64_t no_open = 0x40;  // DF_1_NOOPEN

LoadedObject& object_at(LoadState& state, int index) { return state.result.objects[static_cast<std::size_t>(index)]; }

/// The interpreter is there from the start, but stands in the list only once something needs it.
int take_interpreter(LoadState& state, const std::string& name, const Request& request) {
  static const LibraryFile not_seen;
  if (state.interpreter_object >= 0) return state.interpreter_object;
  LoadedObject object;
  object.name = name;
  object.path = state.interpreter;
  object.file = state.source.open(state.interpreter);
  if (object.file == nullptr) object.file = &not_seen;
  object.rule = "loader";
  object.loader = request.by;
  object.step = request.step;
  state.interpreter_object = add_object(state, std::move(object), {-1, folder_of(state.interpreter), {}, {}});
  return state.interpreter_object;
}

std::optional<int> already_loaded(LoadState& state, const Request& request) {
  const auto named = state.by_name.find(request.name);
  const bool itself = state.musl() && is_musl_itself(request.name);
  if (!itself && named == state.by_name.end()) return std::nullopt;
  // musl does not look among its names for one that is a path.
  if (state.musl() && !itself && request.name.find('/') != std::string::npos && named->second != interpreter_index)
    return std::nullopt;
  if (itself || named->second == interpreter_index) return take_interpreter(state, request.name, request);
  return named->second;
}

void tell_missing(LoadState& state, const Request& request, Found& found) {
  MissingLibrary missing;
  missing.name = request.name;
  missing.needed_by = request.dlopen ? -1 : request.by;
  missing.step = request.step;
  missing.optional = request.optional;
  if (missing.needed_by >= 0) missing.needed_by_path = object_at(state, request.by).path;
  missing.tried = std::move(found.tried);
  if (!found.error.empty()) missing.blocked_by = found.path;
  missing.error = std::move(found.error);
  state.result.missing.push_back(std::move(missing));
}

/// Errors that come when a file is mapped, after it was chosen.
std::string mapping_error(const LoadState& state, const LibraryFile& file, const Request& request) {
  if (state.musl()) return {};
  if (request.step >= 0 && (file.flags_1 & no_open) != 0) return "shared object cannot be dlopen()ed";
  if (state.rules.isa_level > 0 && file.isa_needed > state.rules.isa_level) return "CPU ISA level is lower than required";
  return {};
}

Found find(LoadState& state, const Request& request) {
  if (request.name.find('/') != std::string::npos) return open_path(state, request.name);
  if (state.musl()) return search_musl(state, request.name, request.by);
  if (request.by < 0 && state.result.objects.empty()) return {};
  return search_glibc(state, request.name, std::max(request.by, 0));
}

/// $ORIGIN of an object: the folder of the path by which it was opened, links not followed.
std::string origin_of(const LoadState& state, const std::string& path) { return folder_of(absolute_path(state, path)); }

/// musl: a file is known by the name under which a search found it, not by its soname; one opened by path gets that name when a
/// search comes to it.
void remember_names(LoadState& state, int index, const Request& request) {
  const auto& object = object_at(state, index);
  if (!state.musl()) {
    for (const auto& name : {object.name, object.path, object.file->soname})
      if (!name.empty()) state.by_name.try_emplace(name, index);
  } else if (request.name.find('/') == std::string::npos) {
    state.by_name.try_emplace(object.path.substr(object.path.rfind('/') + 1), index);
  }
}

std::optional<int> same_file(LoadState& state, const Found& found, const Request& request) {
  if (found.file->inode.empty()) return std::nullopt;
  const auto known = state.by_inode.find(found.file->inode);
  if (known == state.by_inode.end()) return std::nullopt;
  if (!state.musl()) state.by_name.try_emplace(request.name, known->second);
  if (state.musl()) remember_names(state, known->second, request);
  return known->second;
}

/// DT_NEEDED may carry tokens; empty: the entry is left out.
std::string needed_name(LoadState& state, int by, const std::string& written) {
  if (state.musl() || !has_tokens(written)) return written;
  const auto& rules = state.rules;
  return expand_tokens(written, {state.memory[static_cast<std::size_t>(by)].origin, rules.platform, rules.lib, rules.secure})
      .text;
}

/// One walk over what objects need, breadth first (_dl_map_object_deps).
struct NeededWalk {
  LoadState& state;
  int step;
  bool optional;
  std::vector<int> queue;
  std::vector<bool> done;  // by object

  bool is_done(int object) const {
    return static_cast<std::size_t>(object) < done.size() && done[static_cast<std::size_t>(object)];
  }
  void visit(std::size_t at);
  int need(int by, const std::string& written, bool may_be_missing);
  void filter(std::size_t at, int by, int loaded);
};

/// A new object goes to the end of the queue.
int NeededWalk::need(int by, const std::string& written, bool may_be_missing) {
  Request request;
  request.name = needed_name(state, by, written);
  request.by = by;
  request.step = step;
  request.optional = optional;
  if (request.name.empty()) return -1;
  const auto objects = state.result.objects.size(), missing = state.result.missing.size();
  const int index = load(state, request);
  if (may_be_missing) state.result.missing.resize(missing);
  if (state.result.objects.size() > objects) queue.push_back(index);
  return index;
}

/// A filter stands before the object that names it, wherever it came in; one that is before it already stays.
void NeededWalk::filter(std::size_t at, int by, int loaded) {
  const auto behind = std::find(queue.begin() + static_cast<std::ptrdiff_t>(at), queue.end(), loaded);
  if (behind == queue.end() || loaded == by) return;
  queue.erase(behind);
  queue.insert(std::ranges::find(queue, by), loaded);
  std::erase(state.order, loaded);
  state.order.insert(std::ranges::find(state.order, by), loaded);
}

void NeededWalk::visit(std::size_t at) {
  const int by = queue[at];
  done.resize(std::max(done.size(), state.result.objects.size()));
  done[static_cast<std::size_t>(by)] = true;
  if (by == state.interpreter_object) return;
  const LibraryFile& file = *object_at(state, by).file;
  for (const auto& written : file.needed) {
    const int index = need(by, written, false);
    object_at(state, by).needed.push_back(index);
  }
  if (state.musl()) return;
  constexpr std::string_view mark = " (optional)";
  for (const auto& written : file.filters) {
    const bool may_be_missing = written.ends_with(mark);
    const int index = need(by, written.substr(0, written.size() - (may_be_missing ? mark.size() : 0)), may_be_missing);
    if (index >= 0) filter(at, by, index);
    if (index >= 0 || !may_be_missing) object_at(state, by).needed.push_back(index);
  }
}

}  // namespace

int add_object(LoadState& state, LoadedObject object, ObjectMemory memory) {
  const int index = static_cast<int>(state.result.objects.size());
  if (!state.rules.want_tried) object.tried.clear();
  state.result.objects.push_back(std::move(object));
  state.memory.push_back(std::move(memory));
  state.order.push_back(index);
  return index;
}

int load(LoadState& state, const Request& request) {
  if (const auto index = already_loaded(state, request)) return *index;
  Found found = find(state, request);
  if (found.file == nullptr || !found.error.empty()) {
    tell_missing(state, request, found);
    return -1;
  }
  if (const auto index = same_file(state, found, request)) return *index;
  found.error = mapping_error(state, *found.file, request);
  if (!found.error.empty() || state.result.objects.size() >= max_objects) {
    if (found.error.empty()) found.error = "too many objects";
    tell_missing(state, request, found);
    return -1;
  }
  LoadedObject object;
  object.name = request.name;
  object.path = found.path;
  object.file = found.file;
  object.rule = request.rule.empty() ? found.rule : std::string(request.rule);
  object.rule_detail = request.rule.empty() ? found.detail : found.rule;
  object.loader = request.dlopen ? -1 : request.by;
  object.step = request.step;
  object.tried = std::move(found.tried);
  object.shadows = std::move(found.shadows);
  const int chain = request.only_search ? -1 : request.by;
  const int index = add_object(state, std::move(object), {chain, origin_of(state, found.path), {}, {}});
  remember_names(state, index, request);
  if (!found.file->inode.empty()) state.by_inode.try_emplace(found.file->inode, index);
  return index;
}

bool has_runpath(const LibraryFile& file) { return file.has_runpath || !file.runpath.empty(); }

void load_needed(LoadState& state, std::size_t first, int step, bool optional) {
  NeededWalk walk{state, step, optional, {}, {}};
  for (auto i = first; i < state.result.objects.size(); ++i) walk.queue.push_back(static_cast<int>(i));
  for (std::size_t at = 0; at < walk.queue.size();) {
    if (walk.is_done(walk.queue[at]))
      ++at;
    else
      walk.visit(at);
  }
}

void sort_objects(LoadState& state) {
  if (std::ranges::is_sorted(state.order)) return;
  std::vector<int> place(state.order.size());
  std::vector<LoadedObject> sorted;
  for (const int index : state.order) {
    place[static_cast<std::size_t>(index)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(object_at(state, index)));
  }
  const auto move = [&](int& index) {
    if (index >= 0) index = place[static_cast<std::size_t>(index)];
  };
  for (auto& object : sorted) {
    move(object.loader);
    for (int& needed : object.needed) move(needed);
  }
  for (auto& missing : state.result.missing) move(missing.needed_by);
  for (auto& step : state.result.steps) move(step.object);
  state.result.objects = std::move(sorted);
}

}  // namespace gpuvet
