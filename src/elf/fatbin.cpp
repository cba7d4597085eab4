#include "elf/fatbin.h"

#include "elf/bytes.h"

namespace gpuvet {
namespace {

// Seen: 64 to 144. The tail holds names and compiler options.
constexpr std::uint32_t largest_entry_header = 1 << 16;

}  // namespace

std::optional<std::uint64_t> parse_fatbin_container(std::string_view first_bytes) {
  const ByteView view{first_bytes};
  if (!view.has(0, fatbin_container_header)) return std::nullopt;
  if (view.u32(0) != fatbin_magic || view.u16(4) != 1 || view.u16(6) != fatbin_container_header) return std::nullopt;
  return view.u64(8);
}

std::optional<FatbinEntry> parse_fatbin_entry(std::string_view first_bytes, std::uint64_t room) {
  const ByteView view{first_bytes};
  if (!view.has(0, fatbin_entry_header) || room < fatbin_entry_header) return std::nullopt;
  FatbinEntry entry;
  entry.kind = FatbinKind{view.u16(0)};
  entry.header_size = view.u32(4);
  entry.stored_size = view.u64(8);
  entry.compressed_size = view.u32(16);
  entry.minor = view.u16(24);
  entry.major = view.u16(26);
  entry.arch = view.u32(28);
  entry.flags = view.u64(40);
  entry.plain_size = view.u64(56);
  const bool header_fits = entry.header_size >= fatbin_entry_header && entry.header_size <= largest_entry_header &&
                           entry.header_size % 8 == 0 && entry.header_size <= room;
  if (!header_fits || entry.stored_size > room - entry.header_size) return std::nullopt;
  if (view.u16(0) == 0 || entry.arch > 0xffff) return std::nullopt;
  return entry;
}

}  // namespace gpuvet
