#pragma once
// Which file one soname leads to for a program without a path of its own: the forecast's search, without a process.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loader/object_source.h"
#include "model/machine.h"

namespace gpuvet {

struct FoundLibrary {
  const LibraryFile* file = nullptr;  ///< null: the loader finds none, or ends with an error
  std::string rule;                   ///< "LD_LIBRARY_PATH", "ld.so.cache", "ld.so.conf" (no cache seen), "default"
  /// A file at which the loader ends with an error instead of going on. Then `file` is null.
  const LibraryFile* blocked_by = nullptr;
  std::vector<const LibraryFile*> shadowed;  ///< usable copies later on the path
};

/// For a dlopen or DT_NEEDED of `soname` by a glibc program of the class ("64") and machine ("x86_64") given, by what a machine's
/// loader view has. Where no cache was seen, the folders of ld.so.conf stand for it.
FoundLibrary find_library(const Machine& machine, const std::map<std::string, std::string>& environment, std::string_view soname,
                          std::string_view elf_class, std::string_view elf_machine);

}  // namespace gpuvet
