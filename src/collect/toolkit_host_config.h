#pragma once
// crt/host_config.h → which host compilers nvcc accepts. The header is a chain of #if … #error; it is read the way a preprocessor
// reads it, once for each release of gcc and clang that its comparisons name.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/fact.h"

namespace gpuvet {

struct HostCompilerRange {
  /// Absent: the header has no such limit. Not seen: an expression that is not understood decides it.
  Fact<std::int64_t> gcc_max, gcc_min, clang_max, clang_min;
};

/// `path` is only quoted in the origins.
HostCompilerRange read_host_config(std::string_view text, const std::string& path);

/// Does crt/math_functions.h declare these functions with an exception specification? glibc declares them with one in C++ since
/// the release that has them, and a compiler takes two unequal declarations for an error. Not seen: the header has none of them.
Fact<bool> read_math_declarations(std::string_view text, const std::string& path, std::span<const std::string_view> functions);

/// Functions of C23 that both sides declare, by the glibc release that began to (glibc NEWS 2.41 and 2.42).
inline constexpr std::array<std::string_view, 4> functions_of_glibc_2_41{" sinpi(double", " sinpif(float", " cospi(double",
                                                                         " cospif(float"};
inline constexpr std::array<std::string_view, 2> functions_of_glibc_2_42{" rsqrt(double", " rsqrtf(float"};

}  // namespace gpuvet
