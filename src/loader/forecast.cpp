#include "loader/forecast.h"

#include <algorithm>

#include "loader/load_state.h"

namespace gpuvet {

void LoadState::note(std::string text) {
  constexpr std::size_t most = 64;
  auto& notes = result.unknown;
  if (notes.size() < most && std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

bool Forecast::starts() const {
  return std::ranges::none_of(missing, [](const MissingLibrary& m) { return m.step < 0 && !m.optional; });
}

namespace {

/// The file in the place of the main program. A library without a program that opens it stands there itself, as with
/// `ld.so --list`: then its own step is done with that.
struct Target {
  std::string path;
  bool is_library = false;
  bool by_first_step = false;
};

Target target_of(const ProcessPlan& plan) {
  const bool is_library = plan.kind == "library";
  if (!plan.program.empty()) return {plan.program, is_library, false};
  if (is_library && !plan.steps.empty() && !plan.steps[0].names.empty()) return {plan.steps[0].names[0], true, true};
  return {plan.name, is_library, false};
}

}  // namespace

Forecast forecast(ObjectSource& source, const LoaderRules& rules, const ProcessPlan& plan,
                  const std::map<std::string, std::string>& environment) {
  LoadState state(source, rules, environment);
  const Target target = target_of(plan);
  if (!load_main(state, target.path, target.is_library)) {
    state.result.steps.resize(plan.steps.size());
    return std::move(state.result);
  }
  const bool is_static = state.result.objects[0].file->needed.empty() && state.interpreter.empty();
  if (!is_static) load_preloads(state);
  load_needed(state, 0, -1, false);
  if (target.by_first_step) state.result.steps.push_back({true, plan.steps[0].names[0], 0, false});
  run_steps(state, plan, state.result.steps.size());
  sort_objects(state);
  return std::move(state.result);
}

}  // namespace gpuvet
