#pragma once
// The dynamic section of a shared library, read through its program headers: section headers may be stripped.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_header.h"

namespace gpuvet {

/// What the dynamic section says, with addresses as file offsets.
struct DynamicSection {
  std::vector<std::uint64_t> needed;  ///< offsets into the string table
  std::optional<std::uint64_t> soname, rpath, runpath;
  std::vector<std::uint64_t> filters, auxiliaries;  ///< offsets too
  std::uint64_t flags = 0, flags_1 = 0;             ///< DT_FLAGS, DT_FLAGS_1
  std::uint64_t strings = 0, strings_size = 0;
  std::uint64_t symbols = 0, gnu_hash = 0, hash = 0;
  std::uint64_t symbol_versions = 0;  ///< DT_VERSYM
  std::uint64_t relocations = 0;      ///< DT_RELA or DT_REL
  std::uint64_t version_definitions = 0, version_definition_count = 0;
  std::uint64_t version_needs = 0, version_need_count = 0;
};

/// An open library file with its headers: what the readers below pass on.
struct ElfFile {
  FileReader& file;
  ElfHeader header;
  std::vector<ElfSegment> segments;

  /// File offset of a virtual address; 0 where no loaded segment has it.
  std::uint64_t offset_of(std::uint64_t address) const;
  /// Bytes at a file offset in the file's byte order; shorter, or empty, at the end of the file.
  FilePiece read(std::uint64_t offset, std::size_t length) const { return piece_of(file, offset, length); }
};

/// Nothing when the file has no dynamic section (an object file, a static program).
std::optional<DynamicSection> read_dynamic_section(const ElfFile& elf);

/// String at `offset` of the dynamic string table, at most 4096 bytes; empty when out of range.
std::string dynamic_string(const ElfFile& elf, const DynamicSection& dynamic, std::uint64_t offset);

/// "GLIBC_2.27" of the versions that the library defines (its base version, which is its soname, left out).
std::vector<std::string> read_version_definitions(const ElfFile& elf, const DynamicSection& dynamic);
/// "libc.so.6:GLIBC_2.27"; " (weak)" behind those that may be missing.
std::vector<std::string> read_version_needs(const ElfFile& elf, const DynamicSection& dynamic);

struct SymbolPlace {
  std::uint64_t address = 0, size = 0;
};

/// An exported symbol, by DT_GNU_HASH or DT_HASH; nothing when it is undefined or not there.
std::optional<SymbolPlace> find_symbol_place(const ElfFile& elf, const DynamicSection& dynamic, std::string_view name);
/// Its address alone.
std::optional<std::uint64_t> find_symbol(const ElfFile& elf, const DynamicSection& dynamic, std::string_view name);

}  // namespace gpuvet
