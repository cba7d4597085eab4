#pragma once
// The fat binary format: containers of entries, each entry one GPU program for one target. docs/gpu-code.md has the layout.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace gpuvet {

inline constexpr std::uint32_t fatbin_magic = 0xba55ed50;
inline constexpr std::size_t fatbin_container_header = 16;
inline constexpr std::size_t fatbin_entry_header = 64;  ///< the fixed part; entries tell their own header size

enum class FatbinKind : std::uint16_t { Ptx = 1, Cubin = 2, LtoIr = 8 };  ///< others exist: 4 (old cubins), 0x10, 0x40

struct FatbinEntry {
  FatbinKind kind{};
  std::uint32_t header_size = 0;
  std::uint64_t stored_size = 0;       ///< of the payload, padding included
  std::uint32_t compressed_size = 0;   ///< 0: not compressed, or not told
  std::uint64_t plain_size = 0;        ///< after decompression; 0 when not compressed
  std::uint16_t major = 0, minor = 0;  ///< PTX: its ISA version
  std::uint32_t arch = 0;              ///< 90 for sm_90 and compute_90
  std::uint64_t flags = 0;

  std::uint64_t size() const { return header_size + stored_size; }
  bool compressed() const { return (flags & 0xf000) != 0; }
  /// 'a': exactly this architecture, 'f': its family, 0: plain.
  char variant() const { return (flags & 0x100000) != 0 ? 'a' : (flags & 0x200000) != 0 ? 'f' : '\0'; }
};

/// Size of all entries of the container whose first 16 bytes these are.
std::optional<std::uint64_t> parse_fatbin_container(std::string_view first_bytes);

/// The entry whose first 64 bytes these are and that has `room` bytes until its container ends.
std::optional<FatbinEntry> parse_fatbin_entry(std::string_view first_bytes, std::uint64_t room);

/// The payload as the compiler made it; at most `limit` bytes, more is an error.
tl::expected<std::string, std::string> fatbin_payload(const FatbinEntry& entry, std::string_view stored, std::size_t limit);

}  // namespace gpuvet
