#pragma once
// Small rules of the search path that the loader's search and the collector share.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// Folders of LD_LIBRARY_PATH: separated by ':' or ';'; an empty element means the current folder and becomes ".".
std::vector<std::string> split_library_path(std::string_view value);

/// Flags that ld.so.cache gives to libraries of this class and machine; nothing for one that we have no number for.
std::optional<std::int64_t> cache_flags(std::string_view elf_class, std::string_view machine);

}  // namespace gpuvet
