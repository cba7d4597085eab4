#pragma once
// Where an ELF file keeps its strings.

#include <cstdint>
#include <vector>

#include "elf/dynamic.h"

namespace gpuvet {

struct FileRange {
  std::uint64_t offset = 0, size = 0;
};

/// .rodata, else (section headers stripped) the loaded segments that are not written, first those that are not executable.
std::vector<FileRange> read_only_data(const ElfFile& elf);

}  // namespace gpuvet
