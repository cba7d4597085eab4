#include "elf/loader_error.h"

#include <algorithm>

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::uint32_t segment_load = 1, segment_dynamic = 2;
constexpr std::uint16_t type_program = 2;
constexpr std::uint8_t abi_system_v = 0, abi_gnu = 3;
constexpr std::uint64_t page = 4096, flag_pie = 0x08000000;

/// e_ident as a little-endian loader of the file's own class sees it.
std::string_view ident_error(const ByteView& v) {
  if (v.u8(5) != 1) return "ELF file data encoding not little-endian";
  if (v.u8(6) != 1) return "ELF file version ident does not match current one";
  const auto abi = v.u8(7);
  if (abi != abi_system_v && abi != abi_gnu) return "ELF file OS ABI invalid";
  // Which versions of the GNU ABI a loader knows depends on its release and machine; none has ten yet.
  if (v.u8(8) != 0 && (abi != abi_gnu || v.u8(8) >= 10)) return "ELF file ABI version invalid";
  for (unsigned i = 9; i < 16; ++i)
    if (v.u8(i) != 0) return "nonzero padding in e_ident";
  return {};
}

}  // namespace

std::string_view header_loader_error(std::string_view first_bytes) {
  const bool elf = first_bytes.starts_with(
      "\x7f"
      "ELF"sv);
  const ByteView v{first_bytes};
  const bool narrow = elf && v.u8(4) == 1;
  const bool known_class = elf && (narrow || v.u8(4) == 2);
  if (first_bytes.size() < (narrow ? 52 : 64)) return "file too short";
  if (!elf) return "invalid ELF header";
  if (!known_class) return {};
  if (const auto error = ident_error(v); !error.empty()) return error;
  if (v.u32(20) != 1) return "ELF file version does not match current one";
  const auto type = v.u16(16);
  if (type != type_program && type != elf_type_shared) return "only ET_DYN and ET_EXEC can be loaded";
  if (v.u16(narrow ? 42 : 54) != (narrow ? 32 : 56)) return "ELF file's phentsize not the expected size";
  return {};
}

std::string_view segment_loader_error(const ElfFile& elf, std::uint64_t flags_1) {
  const auto& h = elf.header;
  const auto table = std::uint64_t{h.program_count} * h.program_entry;
  if (h.program_offset > elf.file.size() || table > elf.file.size() - h.program_offset) return "cannot read file data";
  const auto has_type = [](std::uint32_t type) { return [type](const ElfSegment& s) { return s.type == type; }; };
  for (const auto& s : elf.segments)
    if (s.type == segment_load && (s.address - s.offset) % page != 0) return "ELF load command address/offset not page-aligned";
  if (std::ranges::none_of(elf.segments, has_type(segment_load))) return "object file has no loadable segments";
  if (h.type == type_program) return "cannot dynamically load executable";
  // Separate debug information keeps the segment, empty.
  const auto dynamic = std::ranges::find_if(elf.segments, has_type(segment_dynamic));
  if (dynamic == elf.segments.end() || dynamic->file_size == 0) return "object file has no dynamic section";
  if (flags_1 & flag_pie) return "cannot dynamically load position-independent executable";
  return {};
}

}  // namespace gpuvet
