// Payloads of fatbin entries: plain, LZ4 blocks (until CUDA 12.x) and zstd frames (since 12.8).

#include <algorithm>

#include <lz4.h>
#include <zstd.h>

#include "elf/bytes.h"
#include "elf/fatbin.h"

namespace gpuvet {
namespace {

constexpr std::uint64_t flag_old = 0x1000, flag_lz4 = 0x2000, flag_zstd = 0x8000;
constexpr std::uint64_t flag_scrambled = 0x10000;  // LTO-IR: set together with zstd, and the payload is no zstd frame

using Payload = tl::expected<std::string, std::string>;

Payload lz4_block(std::string_view stored, std::size_t plain_size) {
  std::string plain(plain_size, '\0');
  const int got =
      LZ4_decompress_safe(stored.data(), plain.data(), static_cast<int>(stored.size()), static_cast<int>(plain.size()));
  if (got < 0) return failure("damaged LZ4 block");
  plain.resize(static_cast<std::size_t>(got));
  return plain;
}

Payload zstd_frame(std::string_view stored, std::size_t plain_size) {
  std::string plain(plain_size, '\0');
  // The padding behind the frame is no frame: only the first one is read.
  const auto frame = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
  if (ZSTD_isError(frame)) return failure("damaged zstd frame");
  const auto got = ZSTD_decompress(plain.data(), plain.size(), stored.data(), frame);
  if (ZSTD_isError(got)) return failure("damaged zstd frame");
  plain.resize(got);
  return plain;
}

}  // namespace

Payload fatbin_payload(const FatbinEntry& entry, std::string_view stored, std::size_t limit) {
  stored = stored.substr(0, entry.stored_size);
  if (!entry.compressed()) {
    if (stored.size() > limit) return failure("larger than " + std::to_string(limit) + " bytes");
    return std::string(stored);
  }
  if ((entry.flags & (flag_old | flag_scrambled)) != 0) return failure("compressed in a way that is not documented");
  constexpr std::uint64_t largest = std::uint64_t{1} << 30;  // what LZ4's int sizes hold
  if (entry.plain_size > std::min<std::uint64_t>(limit, largest) || stored.size() > largest)
    return failure("decompresses to " + std::to_string(entry.plain_size) + " bytes");
  if (entry.compressed_size != 0) stored = stored.substr(0, entry.compressed_size);
  const auto plain_size = static_cast<std::size_t>(entry.plain_size);
  if ((entry.flags & flag_zstd) != 0) return zstd_frame(stored, plain_size);
  if ((entry.flags & flag_lz4) != 0) return lz4_block(stored, plain_size);
  return failure("compressed in an unknown way");
}

}  // namespace gpuvet
