#pragma once
// Why glibc's loader ends its search with an error at a file, in its own words: the tests of open_verify and
// _dl_map_object_from_fd (elf/dl-load.c) in their order.

#include <string>
#include <string_view>

#include "elf/dynamic.h"

namespace gpuvet {

/// From the first 64 bytes. Empty: the header is fine, or the file is passed over silently (another class).
std::string_view header_loader_error(std::string_view first_bytes);
/// From the program headers and the dynamic section, for an object that is loaded as a library; `flags_1` is DT_FLAGS_1.
std::string_view segment_loader_error(const ElfFile& elf, std::uint64_t flags_1);

}  // namespace gpuvet
