#include "elf/elf_header.h"

#include <algorithm>

namespace gpuvet {
namespace {

constexpr std::uint64_t max_segments = 512;
constexpr std::uint64_t max_sections = 65536;
constexpr std::size_t max_name_table = std::size_t{4} << 20;

/// `count` whole entries of a table, fewer where the file ends.
FilePiece read_table(FileReader& file, std::uint64_t offset, std::uint64_t count, std::uint64_t entry) {
  if (offset >= file.size() || entry == 0) return {};
  const auto fits = std::min(count, (file.size() - offset) / entry);
  return piece_of(file, offset, static_cast<std::size_t>(fits * entry));
}

ElfSection parse_section(const ByteView& v, std::uint64_t at, const ElfHeader& h) {
  const unsigned w = h.word();
  ElfSection s;
  s.name = v.u32(at);
  s.type = v.u32(at + 4);
  s.flags = v.number(at + 8, w);
  s.address = v.number(at + 8 + w, w);
  s.offset = v.number(at + 8 + 2 * w, w);
  s.size = v.number(at + 8 + 3 * w, w);
  s.link = v.u32(at + 8 + 4 * w);
  s.info = v.u32(at + 12 + 4 * w);
  s.entry_size = v.number(at + 16 + 5 * w, w);
  return s;
}

}  // namespace

tl::expected<ElfHeader, std::string> parse_elf_header(std::string_view first_bytes) {
  using namespace std::string_view_literals;
  if (!first_bytes.starts_with("\x7f"
                               "ELF"sv))
    return failure("not an ELF file");
  if (first_bytes.size() < 52) return failure("file too short");
  const auto elf_class = first_bytes[4], order = first_bytes[5];
  if (elf_class < 1 || elf_class > 2 || order < 1 || order > 2) return failure("invalid ELF class or byte order");
  ElfHeader h;
  h.wide = elf_class == 2;
  h.big_endian = order == 2;
  if (h.wide && first_bytes.size() < 64) return failure("file too short");
  const auto v = h.view(first_bytes);
  const unsigned w = h.word();
  h.type = v.u16(16);
  h.machine = v.u16(18);
  h.program_offset = v.number(24 + w, w);
  h.section_offset = v.number(24 + 2 * w, w);
  const unsigned counts = 24 + 3 * w + 4;  // behind e_flags
  h.program_entry = v.u16(counts + 2);
  h.program_count = v.u16(counts + 4);
  h.section_entry = v.u16(counts + 6);
  h.section_count = v.u16(counts + 8);
  h.name_section = v.u16(counts + 10);
  return h;
}

tl::expected<ElfHeader, std::string> read_elf_header(FileReader& file) {
  if (const auto all = file.bytes(); !all.empty()) return parse_elf_header(all.substr(0, 64));
  const auto bytes = file.read_at(0, 64);
  if (!bytes) return tl::unexpected(bytes.error().message);
  return parse_elf_header(*bytes);
}

std::vector<ElfSegment> read_segments(FileReader& file, const ElfHeader& header) {
  std::vector<ElfSegment> segments;
  if (header.program_entry < (header.wide ? 56u : 32u)) return segments;
  const auto table =
      read_table(file, header.program_offset, std::min<std::uint64_t>(header.program_count, max_segments), header.program_entry);
  const auto v = header.view(table);
  for (std::uint64_t at = 0; v.has(at, header.program_entry); at += header.program_entry) {
    ElfSegment s;
    s.type = v.u32(at);
    // p_flags stands behind p_type in the 64-bit form and behind p_memsz in the 32-bit one.
    s.flags = header.wide ? v.u32(at + 4) : v.u32(at + 24);
    s.offset = header.wide ? v.u64(at + 8) : v.u32(at + 4);
    s.address = header.wide ? v.u64(at + 16) : v.u32(at + 8);
    s.file_size = header.wide ? v.u64(at + 32) : v.u32(at + 16);
    s.memory_size = header.wide ? v.u64(at + 40) : v.u32(at + 20);
    s.align = header.wide ? v.u64(at + 48) : v.u32(at + 28);
    segments.push_back(s);
  }
  return segments;
}

std::vector<ElfSection> read_sections(FileReader& file, const ElfHeader& header) {
  std::vector<ElfSection> sections;
  if (header.section_offset == 0 || header.section_entry < (header.wide ? 64u : 40u)) return sections;
  std::uint64_t count = header.section_count;
  if (count == 0) {  // more than 0xff00 sections: the number stands in sh_size of section 0
    const auto first = read_table(file, header.section_offset, 1, header.section_entry);
    count = parse_section(header.view(first), 0, header).size;
  }
  const auto table = read_table(file, header.section_offset, std::min(count, max_sections), header.section_entry);
  const auto v = header.view(table);
  for (std::uint64_t at = 0; v.has(at, header.section_entry); at += header.section_entry)
    sections.push_back(parse_section(v, at, header));
  return sections;
}

std::optional<ElfSection> find_section(FileReader& file, const ElfHeader& header, std::string_view name) {
  const auto sections = read_sections(file, header);
  if (sections.empty()) return std::nullopt;
  // SHN_XINDEX: the index does not fit and stands in sh_link of section 0.
  const auto index = header.name_section == 0xffff ? sections[0].link : header.name_section;
  if (index >= sections.size()) return std::nullopt;
  const auto& names = sections[index];
  if (names.size > max_name_table) return std::nullopt;
  const auto table = piece_of(file, names.offset, static_cast<std::size_t>(names.size));
  for (const auto& section : sections)
    if (header.view(table).c_string(section.name) == name) return section;
  return std::nullopt;
}

std::string elf_machine_name(std::uint16_t machine) {
  switch (machine) {
    case 3:
      return "i386";
    case 21:
      return "ppc64";
    case 22:
      return "s390x";
    case 40:
      return "arm";
    case 62:
      return "x86_64";
    case 183:
      return "aarch64";
    case 243:
      return "riscv";
    case 258:
      return "loongarch";
    default:
      return "machine-" + std::to_string(machine);
  }
}

}  // namespace gpuvet
