#pragma once
// Which named part of a file an offset lies in: sections of ELF and of PE files.

#include <cstdint>
#include <string>
#include <vector>

#include "system/system.h"

namespace gpuvet {

struct FilePart {
  std::string name;  ///< of the section
  std::uint64_t offset = 0, size = 0;
  std::uint64_t end() const { return offset + size; }  ///< never overflows: parts are cut at the end of the file
  bool cut = false;                                    ///< the section table claims more than the file has
};

struct FileParts {
  std::vector<FilePart> list;  ///< by offset; empty: no section table
  /// The part that holds this offset; nullptr: none does. O(log n).
  const FilePart* find(std::uint64_t offset) const;
};

/// Sections with content, of at least 16 bytes. Other kinds of files have none.
FileParts read_file_parts(FileReader& file);

}  // namespace gpuvet
