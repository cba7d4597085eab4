#pragma once
// The ELF header and the two tables that it leads to, in one widened form for both classes and byte orders.
// Format: System V ABI, chapters 4 (object files) and 5 (program loading).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "elf/bytes.h"
#include "system/system.h"

namespace gpuvet {

struct ElfHeader {
  bool wide = true;  ///< 64 bit
  bool big_endian = false;
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  std::uint64_t program_offset = 0, section_offset = 0;
  std::uint32_t program_count = 0, section_count = 0;  ///< section_count 0 may mean "in section 0"
  std::uint32_t program_entry = 0, section_entry = 0;  ///< bytes of one entry
  std::uint32_t name_section = 0;

  unsigned word() const { return wide ? 8 : 4; }
  ByteView view(std::string_view bytes) const { return {bytes, big_endian}; }
};

struct ElfSegment {
  std::uint32_t type = 0, flags = 0;
  std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0, align = 0;
};

struct ElfSection {
  std::uint32_t name = 0, type = 0, link = 0, info = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, size = 0, entry_size = 0;
};

inline constexpr std::uint16_t elf_type_relocatable = 1, elf_type_shared = 3;

/// The header in the first 64 bytes of a file; an error says what is wrong ("not an ELF file", "file too short").
tl::expected<ElfHeader, std::string> parse_elf_header(std::string_view first_bytes);
tl::expected<ElfHeader, std::string> read_elf_header(FileReader& file);

/// Program headers, at most 512.
std::vector<ElfSegment> read_segments(FileReader& file, const ElfHeader& header);
/// Section headers, at most 65536; empty when they are stripped or out of the file.
std::vector<ElfSection> read_sections(FileReader& file, const ElfHeader& header);
/// First section of this name.
std::optional<ElfSection> find_section(FileReader& file, const ElfHeader& header, std::string_view name);

/// "x86_64", "aarch64", "i386", …; "machine-N" for others.
std::string elf_machine_name(std::uint16_t machine);

}  // namespace gpuvet
