#include "elf/file_places.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "elf/bytes.h"
#include "elf/elf_header.h"

namespace gpuvet {
namespace {

constexpr std::size_t longest_name = 64;
constexpr std::uint64_t smallest_part = 16;  // no container is smaller

void add_part(std::string name, std::uint64_t offset, std::uint64_t size, std::uint64_t file_size, FileParts& parts) {
  if (offset >= file_size || size < smallest_part) return;
  const auto room = file_size - offset;
  parts.list.push_back({std::move(name), offset, std::min(size, room), size > room});
}

void add_elf_parts(FileReader& file, const ElfHeader& header, FileParts& parts) {
  constexpr std::uint32_t nobits = 8;
  constexpr std::uint64_t largest_names = std::uint64_t{4} << 20;
  const auto sections = read_sections(file, header);
  if (header.name_section >= sections.size()) return;
  const auto& names_section = sections[header.name_section];
  const auto names = file.read_at(names_section.offset, static_cast<std::size_t>(std::min(names_section.size, largest_names)));
  if (!names) return;
  for (const auto& section : sections) {
    if (section.type == 0 || section.type == nobits) continue;
    const auto name = ByteView{*names}.slice(section.name, longest_name);
    add_part(std::string(name.substr(0, name.find('\0'))), section.offset, section.size, file.size(), parts);
  }
}

/// PE: "MZ", at 60 the offset of "PE\0\0"; 20 bytes of COFF header, the optional header, then 40 bytes a section.
void add_pe_parts(FileReader& file, std::string_view head, FileParts& parts) {
  const auto coff = file.read_at(ByteView{head}.u32(60), 24);
  if (!coff || !coff->starts_with(std::string_view("PE\0\0", 4))) return;
  const ByteView header{*coff};
  const std::uint64_t table = std::uint64_t{ByteView{head}.u32(60)} + 24 + header.u16(20);
  const auto sections = file.read_at(table, std::size_t{header.u16(6)} * 40);
  if (!sections) return;
  for (std::size_t at = 0; at + 40 <= sections->size(); at += 40) {
    const ByteView section{*sections};
    const auto name = section.slice(at, 8);
    add_part(std::string(name.substr(0, name.find('\0'))), section.u32(at + 20), section.u32(at + 16), file.size(), parts);
  }
}

}  // namespace

const FilePart* FileParts::find(std::uint64_t offset) const {
  const auto after = std::ranges::upper_bound(list, offset, {}, &FilePart::offset);
  if (after == list.begin()) return nullptr;
  const auto& part = *std::prev(after);
  return offset < part.end() ? &part : nullptr;
}

FileParts read_file_parts(FileReader& file) {
  FileParts parts;
  const auto head = file.read_at(0, 64);
  if (!head) return parts;
  if (const auto header = parse_elf_header(*head); header)
    add_elf_parts(file, *header, parts);
  else if (head->starts_with("MZ") && head->size() == 64)
    add_pe_parts(file, *head, parts);
  std::ranges::stable_sort(parts.list, {}, &FilePart::offset);
  return parts;
}

}  // namespace gpuvet
