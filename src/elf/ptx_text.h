#pragma once
// PTX text: the directives at its head tell its language version and its target.

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuvet {

struct PtxHead {
  std::uint16_t major = 0, minor = 0;  ///< .version 8.7
  std::uint16_t arch = 0;              ///< .target sm_90a
  char variant = 0;
};

/// From the beginning of a text (64 KiB are enough); nothing when it is no PTX.
std::optional<PtxHead> parse_ptx_head(std::string_view text);

/// Is this whole text without kernels and functions, but for the empty kernel of CUB's headers? So nvcc compiles sources that
/// start no kernel of their own.
bool is_empty_ptx(std::string_view text);

}  // namespace gpuvet
