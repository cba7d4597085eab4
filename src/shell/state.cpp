#include "shell/state.h"

#include <algorithm>

namespace gpuvet::shell {

const std::vector<std::string> reported_names = {
    "PATH",      "LD_LIBRARY_PATH", "LIBRARY_PATH",         "CPATH",     "CUDA_HOME", "CUDA_PATH",
    "CUDA_ROOT", "CUDACXX",         "CUDA_VISIBLE_DEVICES", "PYTHONPATH"};

bool is_reported(std::string_view name) {
  return std::find(reported_names.begin(), reported_names.end(), name) != reported_names.end();
}

namespace {

Value merged(const Value& a, const Value& b, const std::string& why) {
  if (a == b) return a;
  const auto filled = [](const Value& v) { return v.not_empty || (v.is_known() && !v.text.empty()); };
  const bool not_empty = filled(a) && filled(b);
  if (a.is_unknown()) return Value::unknown(a.text, not_empty);
  if (b.is_unknown()) return Value::unknown(b.text, not_empty);
  return Value::unknown(why, not_empty);
}

std::vector<Origin> merged(const std::vector<Origin>& a, const std::vector<Origin>& b) {
  std::vector<Origin> all = a;
  for (const Origin& origin : b) {
    if (std::find(all.begin(), all.end(), origin) == all.end()) all.push_back(origin);
  }
  return all;
}

Variable merged(const Variable& a, const Variable& b, const std::string& why) {
  if (a == b) return a;
  Variable both = a;
  both.value = merged(a.value, b.value, why);
  if (a.is_array != b.is_array || a.items != b.items || a.unique != b.unique) {
    if (!both.value.is_unknown()) both.value = Value::unknown(why);
    both.is_array = false;
    both.items.clear();
  }
  both.exported = a.exported || b.exported;
  both.export_unknown = a.export_unknown || b.export_unknown || a.exported != b.exported;
  both.unique = a.unique || b.unique;
  both.set_by = merged(a.set_by, b.set_by);
  return both;
}

/// Merges two maps key by key; a key on one side only meets `nothing(key)` of the other.
template <class Map, class Merge>
Map merged_maps(const Map& a, const Map& b, Merge&& merge) {
  Map all;
  const typename Map::mapped_type nothing{};
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    all.emplace(name, merge(value, other == b.end() ? nothing : other->second));
  }
  for (const auto& [name, value] : b) {
    if (!a.contains(name)) all.emplace(name, merge(nothing, value));
  }
  return all;
}

}  // namespace

State merged(const State& a, const State& b, const std::string& why) {
  State all = a;
  all.variables = merged_maps(a.variables, b.variables, [&](const Variable& x, const Variable& y) { return merged(x, y, why); });
  all.functions = merged_maps(a.functions, b.functions, [](const Function& x, const Function& y) {
    if (x == y) return x;
    Function both = x.body ? x : y;
    both.unknown = true;
    return both;
  });
  all.aliases =
      merged_maps(a.aliases, b.aliases, [&](const Value& x, const Value& y) { return x == y ? x : Value::unknown(why); });
  all.ties.insert(b.ties.begin(), b.ties.end());
  if (a.arguments != b.arguments || !b.arguments_known) all.arguments_known = false;
  if (a.last.code != b.last.code) all.last = Status::unknown();
  if (all.everything.empty()) all.everything = b.everything;
  all.no_unset = a.no_unset || b.no_unset;
  all.null_glob = a.null_glob || b.null_glob;
  // Options that differ would change what later lines do: nothing after that is sure.
  if (a.export_all != b.export_all || a.word_splitting != b.word_splitting || a.null_glob != b.null_glob) all.everything = why;
  return all;
}

}  // namespace gpuvet::shell
