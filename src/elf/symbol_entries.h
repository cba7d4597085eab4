#pragma once
// Entries of a dynamic symbol table and their versions. Internal to elf/: symbol_table.cpp reads all, symbol_index.cpp some.

#include <optional>
#include <string_view>
#include <vector>

#include "elf/dynamic.h"
#include "elf/symbol_table.h"

namespace gpuvet {

inline std::uint64_t symbol_size(const ElfFile& elf) { return elf.header.wide ? 24 : 16; }

/// How many symbols fit between the table and the end of the file.
std::uint64_t symbol_room(const ElfFile& elf, const DynamicSection& dynamic);
/// How many there are, by DT_HASH, DT_GNU_HASH or the tables around; never more than the room.
std::uint64_t symbol_count(const ElfFile& elf, const DynamicSection& dynamic);

struct SymbolVersion {
  std::string_view name, file;
};

/// By index of DT_VERSYM.
using SymbolVersions = std::vector<SymbolVersion>;
SymbolVersions read_symbol_versions(const ElfFile& elf, const DynamicSection& dynamic, const ByteView& strings);
void set_symbol_version(DynamicSymbol& symbol, std::uint16_t entry, const SymbolVersions& versions);

/// One entry of the symbol table; nothing for a local symbol.
std::optional<DynamicSymbol> parse_symbol(const ByteView& table, std::uint64_t at, bool wide, const ByteView& strings);

}  // namespace gpuvet
