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

/// Thor: compute capability 10.1 in CUDA 12.8 and 12.9, 11.0 since 13.0 (PTX ISA 9.0: "sm_101 renamed to sm_110").
constexpr ComputeCapability thor_before{10, 1}, thor{11, 0};

bool renumbered(const ComputeCapability& made_for, const ComputeCapability& gpu) {
  return (made_for == thor_before && gpu == thor) || (made_for == thor && gpu == thor_before);
}

/// Members of the families whose relations were measured with ptxas 13.0 (docs/gpu-code.md).
Serves serves_family(const ComputeCapability& made_for, const ComputeCapability& gpu) {
  constexpr ComputeCapability families[][2] = {{{10, 0}, {10, 3}}, {{10, 1}, {10, 1}}, {{11, 0}, {11, 0}}, {{12, 0}, {12, 1}}};
  if (made_for == gpu) return Serves::Yes;
  bool known = false;
  for (const auto& family : families) {
    const auto member = [&](const ComputeCapability& c) { return c == family[0] || c == family[1]; };
    if (member(made_for) && member(gpu)) return made_for <= gpu ? Serves::Yes : Serves::No;
    known |= member(gpu);
  }
  if (known || made_for.major != gpu.major || gpu < made_for) return Serves::No;
  return Serves::Unknown;
}

Serves yes_or_no(bool answer) { return answer ? Serves::Yes : Serves::No; }

}  // namespace

Serves serves(const GpuTarget& target, const ComputeCapability& gpu) {
  const ComputeCapability& made_for = target.capability;
  const bool bound = target.variant != 0 || !target.ptx;
  if (bound && renumbered(made_for, gpu)) return Serves::Unknown;
  if (target.variant == 'a') return yes_or_no(made_for == gpu);
  if (target.variant == 'f') return serves_family(made_for, gpu);
  if (target.ptx) return yes_or_no(made_for <= gpu);
  // Integrated GPUs and the desktop GPUs of the same major do not run each other's machine code, nor integrated ones each
  // other's: "Binary compatibility is supported only for the desktop" (CUDA C++ Programming Guide, Binary Compatibility).
  if (is_tegra(made_for) || is_tegra(gpu)) return yes_or_no(made_for == gpu);
  return yes_or_no(made_for.major == gpu.major && made_for.minor <= gpu.minor);
}

std::optional<GpuTarget> parse_gpu_arch(std::string_view arch) {
  GpuTarget target;
  target.ptx = arch.starts_with("compute_");
  if (!target.ptx && !arch.starts_with("sm_")) return std::nullopt;
  if (arch.ends_with('a') || arch.ends_with('f')) {
    target.variant = arch.back();
    arch.remove_suffix(1);
  }
  const auto capability = ComputeCapability::parse(arch);
  if (!capability) return std::nullopt;
  target.capability = *capability;
  return target;
}

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
  bool all_older = true, all_newer = true, by_ptx = false, maybe = false;
  for (const GpuTarget& target : targets.list) {
    const Serves answer = serves(target, gpu);
    if (answer == Serves::Yes && !target.ptx) return GpuCode::Runs;
    by_ptx |= answer == Serves::Yes;
    maybe |= answer == Serves::Unknown;
    all_older &= target.capability < gpu;
    all_newer &= gpu < target.capability;
  }
  if (by_ptx) return GpuCode::RunsByPtx;
  if (maybe) return GpuCode::Unknown;
  if (all_older) return GpuCode::TooNew;
  return all_newer ? GpuCode::Dropped : GpuCode::NotIncluded;
}

}  // namespace gpuvet
