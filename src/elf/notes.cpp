#include "elf/notes.h"

#include <algorithm>
#include <bit>

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::uint32_t segment_note = 4, segment_property = 0x6474e553;
constexpr std::uint32_t note_build_id = 3, note_property = 5, property_x86_isa_needed = 0xc0008002;
constexpr std::size_t max_segment = std::size_t{64} << 10;
constexpr unsigned max_segments = 16;
constexpr std::uint16_t machine_i386 = 3, machine_x86_64 = 62;

std::uint64_t aligned(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

std::string hexadecimal(std::string_view bytes) {
  constexpr auto digits = "0123456789abcdef"sv;
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

/// Properties are sorted by type; one that is out of order ends glibc's reading.
std::int64_t isa_needed(const ByteView& v, unsigned word) {
  std::uint32_t last = 0;
  for (std::uint64_t at = 0; v.has(at, 8);) {
    const auto type = v.u32(at), size = v.u32(at + 4);
    if (type < last || !v.has(at + 8, size)) return 0;
    last = type;
    // One bit a level: 1 baseline, 2 v2, 4 v3, 8 v4; the highest counts.
    if (type == property_x86_isa_needed && size == 4) return std::bit_width(v.u32(at + 8));
    at += 8 + aligned(size, word);
  }
  return 0;
}

void read_segment(const ElfFile& elf, const ElfSegment& segment, ElfNotes& notes) {
  const auto bytes = elf.read(segment.offset, static_cast<std::size_t>(std::min<std::uint64_t>(segment.file_size, max_segment)));
  const auto v = elf.header.view(bytes);
  const std::uint64_t align = segment.align == 8 ? 8 : 4;
  const bool x86 = elf.header.machine == machine_x86_64 || elf.header.machine == machine_i386;
  for (std::uint64_t at = 0; v.has(at, 12);) {
    const std::uint64_t name_size = v.u32(at), size = v.u32(at + 4), type = v.u32(at + 8);
    const auto content = at + aligned(12 + name_size, align);
    if (!v.has(content, size)) return;
    if (v.slice(at + 12, name_size) == "GNU\0"sv) {
      const auto description = v.slice(content, size);
      if (type == note_build_id && notes.build_id.empty()) notes.build_id = hexadecimal(description.substr(0, 64));
      // glibc takes the note only with the alignment of its class.
      if (type == note_property && x86 && notes.isa_needed == 0 && align == elf.header.word())
        notes.isa_needed = isa_needed(elf.header.view(description), elf.header.word());
    }
    at = content + aligned(size, align);
  }
}

}  // namespace

ElfNotes read_notes(const ElfFile& elf) {
  ElfNotes notes;
  unsigned read = 0;
  for (const auto& segment : elf.segments)
    if ((segment.type == segment_note || segment.type == segment_property) && segment.file_size != 0 && read++ < max_segments)
      read_segment(elf, segment, notes);
  return notes;
}

}  // namespace gpuvet
