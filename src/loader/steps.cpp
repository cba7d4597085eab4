// What a running process asks its loader for: dlopen() calls in order.

#include <algorithm>

#include "loader/load_state.h"
#include "loader/tokens.h"

namespace gpuvet {
namespace {

/// What a failed dlopen takes away again.
struct Mark {
  std::size_t objects, missing;
  int interpreter_object;
};

Mark mark(const LoadState& state) { return {state.result.objects.size(), state.result.missing.size(), state.interpreter_object}; }

void take_back(LoadState& state, const Mark& before) {
  const auto is_new = [&](const auto& entry) { return entry.second >= static_cast<int>(before.objects); };
  std::erase_if(state.by_name, is_new);
  std::erase_if(state.by_inode, is_new);
  state.result.objects.resize(before.objects);
  state.memory.resize(before.objects);
  std::erase_if(state.order, [&](int index) { return index >= static_cast<int>(before.objects); });
  state.interpreter_object = before.interpreter_object;
  for (auto i = before.missing; i < state.result.missing.size(); ++i)
    if (state.result.missing[i].needed_by >= static_cast<int>(before.objects)) state.result.missing[i].needed_by = -1;
}

/// RTLD_GLOBAL reaches everything that the object needs, also what was there before.
void make_global(LoadState& state, int root) {
  std::vector<int> open{root};
  std::vector<bool> seen(state.result.objects.size());
  while (!open.empty()) {
    const auto at = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    auto& object = state.result.objects[at];
    object.global = true;
    for (const int needed : object.needed)
      if (needed >= 0) open.push_back(needed);
  }
}

/// Index of the object that calls: its RPATH or RUNPATH counts. The program where it is not named or not loaded.
int caller_of(LoadState& state, const std::string& path) {
  if (path.empty()) return 0;
  const auto& objects = state.result.objects;
  const auto is_it = [&](const LoadedObject& o) { return o.path == path || o.file->path == path || o.file->real_path == path; };
  const auto found = std::ranges::find_if(objects, is_it);
  if (found != objects.end()) return static_cast<int>(found - objects.begin());
  state.note(path + " is not loaded, so a search that it asks for is taken as the program's");
  return 0;
}

struct Opening {
  std::string name;
  std::string caller;
  bool global = false;
  int step = 0;
  bool optional = false;
};

/// One dlopen(): index of the object, or -1 with everything as before, but for what is missing.
int open_library(LoadState& state, const Opening& opening) {
  if (state.result.objects.empty()) return -1;
  const auto before = mark(state);
  Request request;
  request.name = opening.name;
  request.by = state.musl() ? 0 : caller_of(state, opening.caller);
  if (!state.musl() && has_tokens(request.name)) {
    const auto& origin = state.memory[static_cast<std::size_t>(request.by)].origin;
    request.name = expand_tokens(request.name, {origin, state.rules.platform, state.rules.lib, state.rules.secure}).text;
  }
  if (request.name.empty()) return opening.name.empty() ? 0 : -1;
  request.step = opening.step;
  request.dlopen = true;
  request.optional = opening.optional;
  request.only_search = !state.musl();
  const int index = load(state, request);
  for (auto i = before.objects; i < state.result.objects.size(); ++i) state.result.objects[i].global = false;
  if (index >= 0) load_needed(state, before.objects, opening.step, opening.optional);
  if (index < 0 || state.result.missing.size() > before.missing) {
    take_back(state, before);
    return -1;
  }
  for (auto i = before.objects; i < state.result.objects.size(); ++i) state.result.objects[i].global = false;
  if (opening.global) make_global(state, index);
  return index;
}

/// The first of the step's names that loads; what its other names lacked is told only when none does.
bool first_that_loads(LoadState& state, const LoadStep& step, int number, StepOutcome& outcome) {
  const auto missing_before = state.result.missing.size();
  for (const auto& name : step.names) {
    const int index = open_library(state, {name, step.caller, step.global, number, step.optional});
    if (index < 0) continue;
    outcome.loaded = true;
    outcome.name = name;
    outcome.object = index;
    state.result.missing.resize(missing_before);
    return true;
  }
  return false;
}

StepOutcome run_step(LoadState& state, const LoadStep& step, int number) {
  StepOutcome outcome;
  const auto missing_before = state.result.missing.size();
  if (first_that_loads(state, step, number, outcome) || step.after_failure.empty()) return outcome;
  state.result.missing.resize(missing_before);
  for (const auto& path : step.after_failure) open_library(state, {path, "", true, number, true});
  // What those files lack matters only when the step fails once more.
  const auto helpers =
      std::vector(state.result.missing.begin() + static_cast<std::ptrdiff_t>(missing_before), state.result.missing.end());
  state.result.missing.resize(missing_before);
  outcome.by_after_failure = first_that_loads(state, step, number, outcome);
  if (!outcome.loaded) state.result.missing.insert(state.result.missing.end(), helpers.begin(), helpers.end());
  return outcome;
}

}  // namespace

void run_steps(LoadState& state, const ProcessPlan& plan, std::size_t first_step) {
  for (auto i = first_step; i < plan.steps.size(); ++i)
    state.result.steps.push_back(run_step(state, plan.steps[i], static_cast<int>(i)));
}

}  // namespace gpuvet
