#include "elf/dynamic.h"

#include <algorithm>

#include "elf/versions.h"

namespace gpuvet {
namespace {

constexpr std::uint32_t segment_load = 1, segment_dynamic = 2;
constexpr std::size_t max_dynamic = std::size_t{64} << 10;
constexpr std::size_t max_needed = 512, max_filters = 16;
constexpr std::size_t max_string = 4096;

enum Tag : std::uint64_t {
  Null = 0,
  Needed = 1,
  Hash = 4,
  StringTable = 5,
  SymbolTable = 6,
  Rela = 7,
  StringSize = 10,
  Soname = 14,
  Rpath = 15,
  Rel = 17,
  Runpath = 29,
  Flags = 30,
  GnuHash = 0x6ffffef5,
  VersionSymbols = 0x6ffffff0,
  Flags1 = 0x6ffffffb,
  VersionDefinition = 0x6ffffffc,
  VersionDefinitionCount = 0x6ffffffd,
  VersionNeed = 0x6ffffffe,
  VersionNeedCount = 0x6fffffff,
  Auxiliary = 0x7ffffffd,
  Filter = 0x7fffffff
};

void apply(const ElfFile& elf, DynamicSection& d, std::uint64_t tag, std::uint64_t value) {
  switch (tag) {
    case Needed:
      if (d.needed.size() < max_needed) d.needed.push_back(value);
      break;
    case Auxiliary:
      if (d.auxiliaries.size() < max_filters) d.auxiliaries.push_back(value);
      break;
    case Filter:
      if (d.filters.size() < max_filters) d.filters.push_back(value);
      break;
    case Soname:
      d.soname = value;
      break;
    case Rpath:
      d.rpath = value;
      break;
    case Runpath:
      d.runpath = value;
      break;
    case Flags:
      d.flags = value;
      break;
    case Rela:
    case Rel:
      d.relocations = elf.offset_of(value);
      break;
    case VersionSymbols:
      d.symbol_versions = elf.offset_of(value);
      break;
    case Flags1:
      d.flags_1 = value;
      break;
    case StringTable:
      d.strings = elf.offset_of(value);
      break;
    case StringSize:
      d.strings_size = value;
      break;
    case SymbolTable:
      d.symbols = elf.offset_of(value);
      break;
    case GnuHash:
      d.gnu_hash = elf.offset_of(value);
      break;
    case Hash:
      d.hash = elf.offset_of(value);
      break;
    case VersionDefinition:
      d.version_definitions = elf.offset_of(value);
      break;
    case VersionDefinitionCount:
      d.version_definition_count = value;
      break;
    case VersionNeed:
      d.version_needs = elf.offset_of(value);
      break;
    case VersionNeedCount:
      d.version_need_count = value;
      break;
    default:
      break;
  }
}

}  // namespace

std::uint64_t ElfFile::offset_of(std::uint64_t address) const {
  for (const auto& s : segments)
    if (s.type == segment_load && address >= s.address && address - s.address < s.file_size)
      return s.offset + (address - s.address);
  return 0;
}

std::optional<DynamicSection> read_dynamic_section(const ElfFile& elf) {
  const auto segment = std::ranges::find_if(elf.segments, [](const ElfSegment& s) { return s.type == segment_dynamic; });
  if (segment == elf.segments.end()) return std::nullopt;
  const auto bytes =
      elf.read(segment->offset, static_cast<std::size_t>(std::min<std::uint64_t>(segment->file_size, max_dynamic)));
  const auto v = elf.header.view(bytes);
  const unsigned w = elf.header.word();
  DynamicSection dynamic;
  for (std::uint64_t at = 0; v.has(at, 2 * w); at += 2 * w) {
    const auto tag = v.number(at, w);
    if (tag == Null) break;
    apply(elf, dynamic, tag, v.number(at + w, w));
  }
  return dynamic;
}

std::string dynamic_string(const ElfFile& elf, const DynamicSection& dynamic, std::uint64_t offset) {
  if (dynamic.strings == 0 || offset >= dynamic.strings_size) return {};
  const auto room = std::min<std::uint64_t>(dynamic.strings_size - offset, max_string);
  // Most strings are short: a second read only where the first piece does not end.
  for (const std::uint64_t length : {std::min<std::uint64_t>(room, 128), room}) {
    const auto bytes = elf.read(dynamic.strings + offset, static_cast<std::size_t>(length));
    const auto text = bytes.text();
    if (const auto end = text.find('\0'); end != std::string_view::npos) return std::string(text.substr(0, end));
  }
  return {};
}

std::vector<std::string> read_version_definitions(const ElfFile& elf, const DynamicSection& dynamic) {
  std::vector<std::string> versions;
  for (const auto& record : version_definition_records(elf, dynamic))
    if (!record.is_base()) versions.push_back(dynamic_string(elf, dynamic, record.name));
  return versions;
}

std::vector<std::string> read_version_needs(const ElfFile& elf, const DynamicSection& dynamic) {
  std::vector<std::string> versions;
  std::string file;
  std::uint32_t file_at = 0;
  for (const auto& record : version_need_records(elf, dynamic)) {
    if (versions.empty() || record.file != file_at) file = dynamic_string(elf, dynamic, file_at = record.file);
    versions.push_back(file + ":" + dynamic_string(elf, dynamic, record.name));
    if (record.is_weak()) versions.back() += " (weak)";
  }
  return versions;
}

}  // namespace gpuvet
