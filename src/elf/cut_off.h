#pragma once
// Is a file shorter than its own headers say? A download or a copy that broke off leaves such a file. glibc does not look: it
// maps what is not there, and the process ends with SIGBUS at the first touch.

#include <cstdint>

#include "elf/dynamic.h"

namespace gpuvet {

/// Least size of the whole file, where this one is shorter; 0: it is whole, or its headers say nothing sensible. Only what a
/// loader maps counts: sections that are there for debuggers may be missing, and separate debug information has none of it.
std::uint64_t whole_size_if_cut(const ElfFile& elf);

}  // namespace gpuvet
