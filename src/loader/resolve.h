#pragma once
// Which file a new process' dynamic loader takes for a soname: a pure function of (loader view, environment).
// Rules: ld.so(8) of glibc; data/facts/loader_facts.tsv has measurements. Chains of RPATH/RUNPATH follow later.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"

namespace gpuvet {

struct Resolution {
  const LibraryFile* file = nullptr;  ///< null: the loader finds none
  std::string rule;                   ///< "LD_LIBRARY_PATH", "ld.so.cache", "ld.so.conf" (no cache seen), "default"
  std::vector<std::string> tried;     ///< folders looked at, in order
  /// An empty or non-ELF file of the right name: ld.so does not pass it over, it fails on it. Then `file` is null.
  const LibraryFile* blocked_by = nullptr;
  std::vector<const LibraryFile*> shadowed;  ///< usable copies later on the path
};

/// For a dlopen or DT_NEEDED of `soname` by a program without RPATH, of the class ("64") and machine ("x86_64") given.
/// Files of another class or machine, unreadable ones and dangling links are passed over; an empty or non-ELF file ends the
/// search.
Resolution resolve_library(const LoaderView& view, const std::map<std::string, std::string>& environment, std::string_view soname,
                           std::string_view elf_class, std::string_view machine);

}  // namespace gpuvet
