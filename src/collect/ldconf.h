#pragma once
// /etc/ld.so.conf and what it includes: the folders that ldconfig puts into the loader's cache.

#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// One line of a configuration file, taken apart.
struct LdConfLine {
  std::vector<std::string> includes;  ///< patterns, relative ones made absolute
  std::string folder;                 ///< empty for includes, comments and "hwcap" lines
};

/// `including` is the path of the file that the line stands in.
LdConfLine parse_ldconf_line(std::string_view line, std::string_view including);

/// Does a file name match a pattern of '*', '?' and '[…]'? A leading dot wants a dot in the pattern. O(name × pattern).
bool glob_match(std::string_view pattern, std::string_view name);

/// Folders of ld.so.conf in order, each once; includes are followed at most 8 deep, 256 files in all. `problems` receives files
/// that could not be read.
std::vector<SearchFolder> read_ldconf(System& system, std::vector<std::string>& problems);

}  // namespace gpuvet
