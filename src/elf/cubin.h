#pragma once
// Cubins: the ELF files (machine 190) that hold SASS, the machine code of one GPU architecture.

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuvet {

struct CubinHeader {
  unsigned arch = 0;       ///< 90 for sm_90
  char variant = 0;        ///< 'a' where the header tells; the newer layout does not tell any
  std::uint64_t size = 0;  ///< at least: where its tables end
};

/// From the first 64 bytes; nothing when they are no cubin's.
std::optional<CubinHeader> parse_cubin_header(std::string_view first_bytes);

struct CubinContent {
  bool code = false;       ///< has kernels or device functions, other than the empty one of CUB's headers
  char variant = 0;        ///< 'a', 'f', or 0: plain or not told
  std::uint64_t size = 0;  ///< of the cubin: where its last table or section ends
};

/// cub::EmptyKernel<void>, under any of the names that CUB's releases give its namespace: every source that includes Thrust or
/// CUB has it, to ask the runtime which target it would take. `symbol`: mangled.
bool is_empty_kernel(std::string_view symbol);

/// Looks through the sections of a cubin; nothing when its section table is damaged. When `size` is more than was given, the
/// rest of the answer needs the whole.
std::optional<CubinContent> look_into_cubin(std::string_view cubin);

}  // namespace gpuvet
