#pragma once
// crt/host_config.h → which host compilers nvcc accepts. The header is a chain of #if … #error; it is read the way a preprocessor
// reads it, once for each release of gcc and clang that its comparisons name.

#include <cstdint>
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

/// Does crt/math_functions.h declare sinpi, sinpif, cospi and cospif with an exception specification? glibc 2.41 declares them
/// with one in C++, and a compiler takes two unequal declarations for an error. Not seen: the header has none of them.
Fact<bool> read_math_declarations(std::string_view text, const std::string& path);

}  // namespace gpuvet
