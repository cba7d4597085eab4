#pragma once
// Runs one reader over a text, for tests.

#include <string_view>

#include "text/text_readers.h"

namespace gpuvet {

inline std::string lines_of(const PastedText& text) {
  std::string all;
  for (const PasteLine& line : text.lines) all += line.text + "\n";
  return all;
}

inline Machine read_with(TextReader reader, std::string_view text) {
  static const Knowledge knowledge;
  Machine machine;
  reader(make_pasted_text("text", text), knowledge, machine);
  return machine;
}

/// The first observation with this meaning; null: none.
inline const Observation* seen(const Machine& machine, std::string_view meaning) {
  const auto* list = machine.observations.get();
  if (list == nullptr) return nullptr;
  for (const Observation& observation : *list)
    if (observation.meaning == meaning) return &observation;
  return nullptr;
}

inline int count_seen(const Machine& machine, std::string_view meaning) {
  int count = 0;
  if (const auto* list = machine.observations.get())
    for (const Observation& observation : *list) count += observation.meaning == meaning ? 1 : 0;
  return count;
}

inline std::string value(const Observation* observation, const char* name) {
  if (observation == nullptr) return "(none)";
  const auto at = observation->parameters.find(name);
  return at == observation->parameters.end() ? "(no value)" : at->second;
}

}  // namespace gpuvet
