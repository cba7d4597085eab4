#include "collect/cpu_levels.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

bool has_flag(std::string_view flags, std::string_view flag) {
  for (std::size_t at = 0; (at = flags.find(flag, at)) != std::string_view::npos; ++at) {
    const char after = at + flag.size() < flags.size() ? flags[at + flag.size()] : ' ';
    if (at > 0 && flags[at - 1] == ' ' && (after == ' ' || after == '\n')) return true;
  }
  return false;
}

bool has_all(std::string_view flags, const auto& wanted) {
  return std::ranges::all_of(wanted, [&](auto flag) { return has_flag(flags, flag); });
}

// Levels of the x86-64 psABI by the kernel's names of their features (glibc's sysdeps/x86/dl-hwcap.h has the same list).
constexpr std::array v2{"cx16"sv, "lahf_lm"sv, "popcnt"sv, "sse4_1"sv, "sse4_2"sv, "ssse3"sv};
constexpr std::array v3{"avx"sv, "avx2"sv, "bmi1"sv, "bmi2"sv, "f16c"sv, "fma"sv, "abm"sv, "movbe"sv, "xsave"sv};
constexpr std::array v4{"avx512f"sv, "avx512bw"sv, "avx512cd"sv, "avx512dq"sv, "avx512vl"sv};
// What makes glibc call a CPU of Intel "haswell" or "xeon_phi" (sysdeps/x86/cpu-features.c).
constexpr std::array haswell{"avx2"sv, "fma"sv, "bmi1"sv, "bmi2"sv, "abm"sv, "movbe"sv, "popcnt"sv};
constexpr std::array avx512_1{"avx512cd"sv, "avx512bw"sv, "avx512dq"sv, "avx512vl"sv};
constexpr std::array xeon_phi{"avx512cd"sv, "avx512er"sv, "avx512pf"sv};

void fill_levels(std::string_view flags, CpuLevels& levels) {
  levels.isa_level = 1;
  const auto next = [&](const auto& wanted, const char* name) {
    if (!has_all(flags, wanted)) return false;
    levels.hwcaps.insert(levels.hwcaps.begin(), name);
    ++levels.isa_level;
    return true;
  };
  if (next(v2, "x86-64-v2") && next(v3, "x86-64-v3")) next(v4, "x86-64-v4");
}

}  // namespace

CpuLevels read_cpu_levels(System& system, const std::string& machine) {
  CpuLevels levels;
  levels.platform = machine == "i386" ? "i686" : machine;
  if (machine == "aarch64") levels.legacy = {"atomics"};
  if (machine != "x86_64") return levels;
  levels.legacy = {"x86_64"};
  // The first CPU tells; the kernel takes its time over each.
  const auto text = system.read_head("/proc/cpuinfo", std::size_t{4} << 10);
  if (!text) return levels;
  const auto start = text->find("\nflags");
  if (start == std::string::npos) return levels;
  const auto flags = std::string_view(*text).substr(start + 1, text->find('\n', start + 1) - start);
  fill_levels(flags, levels);
  if (text->find("GenuineIntel") == std::string::npos) return levels;
  if (has_all(flags, xeon_phi))
    levels.platform = "xeon_phi";
  else if (has_all(flags, haswell))
    levels.platform = "haswell";
  if (!has_flag(flags, "avx512er") && has_all(flags, avx512_1)) levels.legacy = {"avx512_1", "x86_64"};
  return levels;
}

}  // namespace gpuvet
