// Lists of GPU targets, and which GPU runs them (design §5, measured and read rules in gpu-code-format.md).

#include "knowledge/gpu_targets.h"

#include <algorithm>

namespace gpuvet {
namespace {

bool is_separator(char c) { return c == ';' || c == ',' || c == ' ' || c == '\t'; }

std::string_view next_word(std::string_view& rest) {
  while (!rest.empty() && is_separator(rest.front())) rest.remove_prefix(1);
  std::size_t length = 0;
  while (length < rest.size() && !is_separator(rest[length])) ++length;
  const std::string_view word = rest.substr(0, length);
  rest.remove_prefix(length);
  return word;
}

bool drop_suffix(std::string_view& word, std::string_view suffix) {
  if (!word.ends_with(suffix)) return false;
  word.remove_suffix(suffix.size());
  return true;
}

void add(GpuTargets& targets, const GpuTarget& target) {
  if (std::find(targets.list.begin(), targets.list.end(), target) == targets.list.end()) targets.list.push_back(target);
}

/// "8.0", "9.0a", "12.0+PTX", "sm_86", "compute_90", "75-real". False: no target.
bool add_word(GpuTargets& targets, std::string_view word) {
  const bool plus = drop_suffix(word, "+PTX") || drop_suffix(word, "+");
  const bool real = drop_suffix(word, "-real"), only_ptx = drop_suffix(word, "-virtual");
  const bool both = plus || (word.starts_with("compute_") && !real);
  char variant = 0;
  if (!word.empty() && (word.back() == 'a' || word.back() == 'f')) {
    variant = word.back();
    word.remove_suffix(1);
  }
  const auto capability = ComputeCapability::parse(word);
  if (!capability) return false;
  if (!only_ptx) add(targets, {*capability, false, variant});
  if (both || only_ptx) add(targets, {*capability, true, variant});
  return true;
}

/// Takes "(inferred from …)" off the end; true: it says inferred.
bool drop_marker(std::string_view& cell) {
  const std::size_t open = cell.find(" (");
  if (open == std::string_view::npos || !cell.ends_with(')')) return false;
  const bool inferred = cell.substr(open).find("inferred") != std::string_view::npos;
  cell = cell.substr(0, open);
  return inferred;
}

bool serves(const GpuTarget& target, const ComputeCapability& gpu) {
  const ComputeCapability& made_for = target.capability;
  if (target.variant == 'a') return made_for == gpu;
  const bool same_family = made_for.major == gpu.major && made_for.minor <= gpu.minor;
  if (target.variant == 'f') return same_family;
  if (target.ptx) return made_for <= gpu;
  // Integrated GPUs and the desktop GPUs of the same major do not run each other's machine code.
  if (is_tegra(made_for) || is_tegra(gpu)) return made_for == gpu;
  return same_family;
}

}  // namespace

bool is_tegra(const ComputeCapability& capability) {
  constexpr ComputeCapability integrated[] = {{3, 2}, {5, 3}, {6, 2}, {7, 2}, {8, 7}, {8, 8}, {10, 1}, {11, 0}};
  return std::find(std::begin(integrated), std::end(integrated), capability) != std::end(integrated);
}

std::string GpuTargets::text() const {
  std::string out;
  for (const GpuTarget& target : list) {
    if (target.ptx) continue;
    out += (out.empty() ? "" : " ") + target.capability.text();
    if (target.variant != 0) out += target.variant;
    GpuTarget with_ptx = target;
    with_ptx.ptx = true;
    if (std::find(list.begin(), list.end(), with_ptx) != list.end()) out += "+PTX";
  }
  for (const GpuTarget& target : list) {
    GpuTarget code = target;
    code.ptx = false;
    if (!target.ptx || std::find(list.begin(), list.end(), code) != list.end()) continue;
    out += (out.empty() ? "" : " ") + target.capability.text();
    if (target.variant != 0) out += target.variant;
    out += "(PTX)";
  }
  return out;
}

GpuTargets parse_targets(std::string_view cell) {
  GpuTargets targets;
  targets.inferred = drop_marker(cell);
  bool after_plus = false;
  for (std::string_view word = next_word(cell); !word.empty(); word = next_word(cell)) {
    if (word == "+") {
      after_plus = true;
    } else if (word == "PTX" && after_plus && !targets.list.empty()) {
      GpuTarget last = targets.list.back();
      last.ptx = true;
      add(targets, last);
    } else if (!add_word(targets, word)) {
      return {};
    }
  }
  return targets;
}

GpuCode code_for(const GpuTargets& targets, const ComputeCapability& gpu) {
  if (!targets.known() || gpu.major == 0) return GpuCode::Unknown;
  bool all_older = true, all_newer = true, by_ptx = false;
  for (const GpuTarget& target : targets.list) {
    if (serves(target, gpu)) {
      if (!target.ptx) return GpuCode::Runs;
      by_ptx = true;
    }
    all_older &= target.capability < gpu;
    all_newer &= gpu < target.capability;
  }
  if (by_ptx) return GpuCode::RunsByPtx;
  if (all_older) return GpuCode::TooNew;
  return all_newer ? GpuCode::Dropped : GpuCode::NotIncluded;
}

}  // namespace gpuvet
