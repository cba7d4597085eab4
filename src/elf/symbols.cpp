// Exported symbols by hash table, as a loader looks them up: a handful of small reads instead of the whole symbol table.
// DT_HASH: System V ABI chapter 5; DT_GNU_HASH: described in binutils' bfd/elflink.c and glibc's dl-lookup.c.

#include <algorithm>

#include "elf/dynamic.h"
#include "elf/symbol_hash.h"

namespace gpuvet {
namespace {

constexpr unsigned max_chain = 4096;

struct Symbol {
  std::string name;
  SymbolPlace place;
  bool defined = false;
};

Symbol read_symbol(const ElfFile& elf, const DynamicSection& dynamic, std::uint64_t index) {
  const std::uint64_t size = elf.header.wide ? 24 : 16;
  if (index > elf.file.size() / size) return {};
  const auto bytes = elf.read(dynamic.symbols + index * size, static_cast<std::size_t>(size));
  const auto v = elf.header.view(bytes);
  if (!v.has(0, size)) return {};
  const auto section = elf.header.wide ? v.u16(6) : v.u16(14);
  const bool wide = elf.header.wide;
  return {dynamic_string(elf, dynamic, v.u32(0)), {wide ? v.u64(8) : v.u32(4), wide ? v.u64(16) : v.u32(8)}, section != 0};
}

std::uint32_t read_u32(const ElfFile& elf, std::uint64_t offset) {
  const auto bytes = elf.read(offset, 4);
  return elf.header.view(bytes).u32(0);
}

std::optional<SymbolPlace> find_by_gnu_hash(const ElfFile& elf, const DynamicSection& dynamic, std::string_view name) {
  const auto bytes = elf.read(dynamic.gnu_hash, 16);
  const auto head = elf.header.view(bytes);
  const std::uint64_t buckets = head.u32(0), first = head.u32(4), bloom_words = head.u32(8);
  if (buckets == 0) return std::nullopt;
  const auto hash = gnu_symbol_hash(name);
  const auto bucket_table = dynamic.gnu_hash + 16 + bloom_words * elf.header.word();
  std::uint64_t index = read_u32(elf, bucket_table + 4 * (hash % buckets));
  if (index < first) return std::nullopt;
  const auto chains = bucket_table + 4 * buckets;
  for (unsigned step = 0; step < max_chain; ++step, ++index) {
    const auto entry = read_u32(elf, chains + 4 * (index - first));
    // The lowest bit marks the end of a chain and is no part of the hash.
    if ((entry | 1) == (hash | 1)) {
      const auto symbol = read_symbol(elf, dynamic, index);
      if (symbol.name == name) return symbol.defined ? std::optional(symbol.place) : std::nullopt;
    }
    if (entry & 1) break;
  }
  return std::nullopt;
}

std::optional<SymbolPlace> find_by_sysv_hash(const ElfFile& elf, const DynamicSection& dynamic, std::string_view name) {
  const std::uint64_t buckets = read_u32(elf, dynamic.hash), symbols = read_u32(elf, dynamic.hash + 4);
  if (buckets == 0) return std::nullopt;
  std::uint64_t index = read_u32(elf, dynamic.hash + 8 + 4 * (sysv_symbol_hash(name) % buckets));
  for (unsigned step = 0; step < max_chain && index != 0 && index < symbols; ++step) {
    const auto symbol = read_symbol(elf, dynamic, index);
    if (symbol.name == name) return symbol.defined ? std::optional(symbol.place) : std::nullopt;
    index = read_u32(elf, dynamic.hash + 8 + 4 * (buckets + index));
  }
  return std::nullopt;
}

}  // namespace

std::optional<SymbolPlace> find_symbol_place(const ElfFile& elf, const DynamicSection& dynamic, std::string_view name) {
  if (dynamic.symbols == 0 || dynamic.strings == 0) return std::nullopt;
  if (dynamic.gnu_hash != 0) return find_by_gnu_hash(elf, dynamic, name);
  if (dynamic.hash != 0) return find_by_sysv_hash(elf, dynamic, name);
  return std::nullopt;
}

std::optional<std::uint64_t> find_symbol(const ElfFile& elf, const DynamicSection& dynamic, std::string_view name) {
  const auto place = find_symbol_place(elf, dynamic, name);
  return place ? std::optional(place->address) : std::nullopt;
}

}  // namespace gpuvet
