#pragma once
// Streaming decompression of xz, zstd and gzip files, bounded in memory, in output and in ratio.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "system/system.h"

namespace gpuvet {

enum class Compression : std::uint8_t { None, Xz, Zstd, Gzip };

/// Told from the first bytes of the file.
Compression compression_of(std::string_view first_bytes);
/// "", "xz", "zst", "gz"
std::string compression_name(Compression compression);

struct DecompressResult {
  bool finished = false;  ///< the whole stream was decompressed; false: the receiver wanted no more
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_out = 0;
};

/// Gives the decompressed bytes to `receive` in pieces of at most 128 KiB until it returns false. Errors: damaged or truncated
/// streams, more than `limit` bytes, or an expansion no real file has.
tl::expected<DecompressResult, std::string> decompress(FileReader& file, Compression compression, std::uint64_t limit,
                                                       const std::function<bool(std::string_view)>& receive);

}  // namespace gpuvet
