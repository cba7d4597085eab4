#include "elf/symbol_table.h"

#include <algorithm>
#include <optional>

#include "elf/symbol_entries.h"
#include "elf/versions.h"
#include "elf/window_reader.h"

namespace gpuvet {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;
constexpr std::size_t hash_piece = std::size_t{64} << 10;
constexpr std::uint32_t section_dynamic_symbols = 11;

/// The greatest number in a table of 32-bit ones.
std::uint32_t greatest(const ElfFile& elf, std::uint64_t offset, std::uint64_t count) {
  std::uint32_t most = 0;
  for (std::uint64_t left = count * 4; left != 0;) {
    const auto bytes = elf.read(offset, static_cast<std::size_t>(std::min<std::uint64_t>(left, hash_piece)));
    const auto v = elf.header.view(bytes);
    if (bytes.size() < 4) break;
    for (std::uint64_t at = 0; v.has(at, 4); at += 4) most = std::max(most, v.u32(at));
    offset += bytes.size();
    left -= bytes.size();
  }
  return most;
}

/// One more than the last index of a chain, whose end has the lowest bit set; `most` where the chain does not end before.
std::uint64_t end_of_chain(const ElfFile& elf, std::uint64_t chains, std::uint64_t first, std::uint64_t index,
                           std::uint64_t most) {
  while (index < most) {
    const auto bytes = elf.read(chains + 4 * (index - first), 1024);
    const auto v = elf.header.view(bytes);
    if (bytes.size() < 4) return index;
    for (std::uint64_t at = 0; v.has(at, 4) && index < most; at += 4, ++index)
      if (v.u32(at) & 1) return index + 1;
  }
  return most;
}

/// By DT_GNU_HASH: undefined symbols come first, then the hashed ones in the order of their buckets. Nothing when none is hashed:
/// GNU ld then writes 1 for the first hashed symbol, however many undefined ones there are.
std::optional<std::uint64_t> count_by_gnu_hash(const ElfFile& elf, const DynamicSection& dynamic) {
  const auto bytes = elf.read(dynamic.gnu_hash, 16);
  const auto head = elf.header.view(bytes);
  const std::uint64_t buckets = head.u32(0), first = head.u32(4), bloom_words = head.u32(8);
  const auto bucket_table = dynamic.gnu_hash + 16 + bloom_words * elf.header.word();
  const std::uint64_t last_chain = greatest(elf, bucket_table, std::min(buckets, elf.file.size() / 4));
  if (last_chain == 0 || last_chain < first) return std::nullopt;
  return end_of_chain(elf, bucket_table + 4 * buckets, first, last_chain, symbol_room(elf, dynamic));
}

/// Without a useful hash table: the section header's size, else up to the next table that the dynamic section knows.
std::uint64_t count_by_neighbours(const ElfFile& elf, const DynamicSection& dynamic) {
  for (const auto& section : read_sections(elf.file, elf.header))
    if (section.type == section_dynamic_symbols && section.offset == dynamic.symbols) return section.size / symbol_size(elf);
  auto end = elf.file.size();
  for (const auto other : {dynamic.strings, dynamic.gnu_hash, dynamic.hash, dynamic.symbol_versions, dynamic.version_definitions,
                           dynamic.version_needs, dynamic.relocations})
    if (other > dynamic.symbols) end = std::min(end, other);
  return (end - std::min(end, dynamic.symbols)) / symbol_size(elf);
}

void add_versions(const std::vector<VersionRecord>& records, const ByteView& strings, SymbolVersions& versions) {
  for (const auto& record : records) {
    const std::size_t index = record.index & 0x7fffu;
    if (record.is_base() && record.file == 0) continue;
    if (index >= versions.size()) versions.resize(index + 1);
    versions[index] = {strings.c_string(record.name), record.file != 0 ? strings.c_string(record.file) : std::string_view{}};
  }
}

/// False: the names overlap so much that reading them would take long; no linker does that.
bool read_symbols(const ElfFile& elf, const DynamicSection& dynamic, std::uint64_t count, SymbolTable& table) {
  // Up to the last NUL, so that no search for the end of a name runs on in vain.
  const ByteView strings{std::string_view(table.strings).substr(0, table.strings.rfind('\0') + 1)};
  std::size_t length = 0;
  const auto versions = read_symbol_versions(elf, dynamic, strings);
  const auto size = symbol_size(elf);
  const auto bytes = elf.read(dynamic.symbols, static_cast<std::size_t>(count * size));
  const auto indices = versions.empty() ? FilePiece() : elf.read(dynamic.symbol_versions, static_cast<std::size_t>(count * 2));
  const auto v = elf.header.view(bytes), index = elf.header.view(indices);
  table.symbols.reserve(static_cast<std::size_t>(bytes.size() / size));
  for (std::uint64_t i = 1; v.has(i * size, size); ++i) {
    auto symbol = parse_symbol(v, i * size, elf.header.wide, strings);
    if (!symbol) continue;
    length += symbol->name.size();
    if (length / 8 > table.strings.size()) return false;
    set_symbol_version(*symbol, index.u16(i * 2), versions);
    table.symbols.push_back(*symbol);
  }
  return true;
}

}  // namespace

std::uint64_t symbol_room(const ElfFile& elf, const DynamicSection& dynamic) {
  return dynamic.symbols < elf.file.size() ? (elf.file.size() - dynamic.symbols) / symbol_size(elf) : 0;
}

std::uint64_t symbol_count(const ElfFile& elf, const DynamicSection& dynamic) {
  std::optional<std::uint64_t> count;
  if (dynamic.hash != 0) {
    const auto bytes = elf.read(dynamic.hash, 8);
    count = elf.header.view(bytes).u32(4);  // the chain table has one entry a symbol
  } else if (dynamic.gnu_hash != 0) {
    count = count_by_gnu_hash(elf, dynamic);
  }
  return std::min(count ? *count : count_by_neighbours(elf, dynamic), symbol_room(elf, dynamic));
}

SymbolVersions read_symbol_versions(const ElfFile& elf, const DynamicSection& dynamic, const ByteView& strings) {
  SymbolVersions versions;
  if (dynamic.symbol_versions == 0) return versions;
  add_versions(version_definition_records(elf, dynamic), strings, versions);
  add_versions(version_need_records(elf, dynamic), strings, versions);
  return versions;
}

std::optional<DynamicSymbol> parse_symbol(const ByteView& v, std::uint64_t at, bool wide, const ByteView& strings) {
  constexpr unsigned bind_local = 0, bind_weak = 2;
  const auto info = v.u8(at + (wide ? 4 : 12));
  if (info >> 4 == bind_local) return std::nullopt;
  DynamicSymbol symbol;
  symbol.name = strings.c_string(v.u32(at));
  symbol.weak = info >> 4 == bind_weak;
  symbol.type = info & 15;
  symbol.visibility = v.u8(at + (wide ? 5 : 13)) & 3;
  symbol.defined = v.u16(at + (wide ? 6 : 14)) != 0;
  return symbol;
}

void set_symbol_version(DynamicSymbol& symbol, std::uint16_t entry, const SymbolVersions& versions) {
  constexpr std::uint16_t hidden = 0x8000, first_named = 2;
  const std::size_t index = entry & 0x7fffu;
  if (index < first_named || index >= versions.size()) return;
  symbol.version = versions[index].name;
  symbol.file = versions[index].file;
  symbol.hidden_version = symbol.defined && (entry & hidden) != 0;
}

tl::expected<SymbolTable, std::string> read_symbol_table(FileReader& file, std::size_t limit) {
  WindowReader windows(file);
  const auto header = read_elf_header(windows);
  if (!header) return failure(header.error());
  const ElfFile elf{windows, *header, read_segments(windows, *header)};
  const auto dynamic = read_dynamic_section(elf);
  if (!dynamic) return failure("no dynamic section");
  SymbolTable table;
  if (dynamic->symbols == 0 || dynamic->strings == 0) return table;
  const auto count = std::min<std::uint64_t>(symbol_count(elf, *dynamic), std::uint64_t{limit} + 1);
  if (dynamic->strings_size > file.size()) return failure("the string table is larger than the file");
  if (dynamic->strings_size + count * symbol_size(elf) > max_bytes) return failure("the symbol table is too large");
  table.strings = elf.read(dynamic->strings, static_cast<std::size_t>(dynamic->strings_size)).text();
  table.strings.reserve(64);  // on the heap, so that views stay where they are when the table is moved
  if (!read_symbols(elf, *dynamic, count, table)) return failure("the names of its symbols overlap");
  return table;
}

}  // namespace gpuvet
