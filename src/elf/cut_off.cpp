#include "elf/cut_off.h"

#include <algorithm>

namespace gpuvet {
namespace {

constexpr std::uint32_t segment_load = 1, section_nothing = 0, section_no_bits = 8;
constexpr std::uint16_t type_core = 4;
/// More than this no library has: then the headers themselves are damaged.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

/// End of a range; 0 where it makes no sense.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t size) {
  return offset > most_bytes || size > most_bytes ? 0 : offset + size;
}

std::uint64_t end_of_segments(const ElfFile& elf) {
  std::uint64_t end = 0;
  for (const ElfSegment& s : elf.segments)
    if (s.type == segment_load && s.file_size > 0) end = std::max(end, end_of(s.offset, s.file_size));
  return end;
}

/// eu-strip leaves the program headers of separate debug information as they were; that the file holds nothing of what they map
/// is what its section headers say. They stand at the end: a file that is cut off has lost them.
bool holds_its_sections(const ElfFile& elf) {
  const auto& h = elf.header;
  const std::uint64_t table = std::uint64_t{h.section_count} * h.section_entry;
  if (h.section_offset == 0 || table == 0 || end_of(h.section_offset, table) == 0) return false;
  if (end_of(h.section_offset, table) > elf.file.size()) return false;
  const auto sections = read_sections(elf.file, h);
  return !sections.empty() && std::ranges::all_of(sections, [&](const ElfSection& s) {
    return s.type == section_nothing || s.type == section_no_bits || end_of(s.offset, s.size) <= elf.file.size();
  });
}

}  // namespace

std::uint64_t whole_size_if_cut(const ElfFile& elf) {
  const auto& h = elf.header;
  if (h.type == type_core) return 0;
  const auto headers = end_of(h.program_offset, std::uint64_t{h.program_count} * h.program_entry);
  const auto needed = std::max(headers, end_of_segments(elf));
  if (needed <= elf.file.size() || holds_its_sections(elf)) return 0;
  return needed;
}

}  // namespace gpuvet
