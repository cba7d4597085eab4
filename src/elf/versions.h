#pragma once
// Version definitions and needs of a library (DT_VERDEF, DT_VERNEED), with their names as offsets into the dynamic string table.
// Format: the LSB core specification, "Symbol Versioning".

#include <cstdint>
#include <vector>

#include "elf/dynamic.h"

namespace gpuvet {

struct VersionRecord {
  std::uint32_t file = 0;  ///< needs: name of the library that must define it
  std::uint32_t name = 0;
  std::uint16_t index = 0;  ///< as DT_VERSYM names it
  std::uint16_t flags = 0;

  bool is_base() const { return (flags & 1) != 0; }  ///< definitions: the library's own name, no version
  bool is_weak() const { return (flags & 2) != 0; }
};

/// At most 4096 each.
std::vector<VersionRecord> version_definition_records(const ElfFile& elf, const DynamicSection& dynamic);
std::vector<VersionRecord> version_need_records(const ElfFile& elf, const DynamicSection& dynamic);

}  // namespace gpuvet
