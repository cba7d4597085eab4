#pragma once
// The driver version inside a user-mode driver library: read from its bytes, never from its name.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "elf/dynamic.h"
#include "model/fact.h"

namespace gpuvet {

/// Versions found in read-only data. A driver library holds more versions than its own: libcuda also names the releases at which
/// an interface changed (libcuda.so.535.309.01 has 450.36.05, 470.57.01, 535.86.06 …), so a bare version decides only when there
/// is no other.
struct VersionStrings {
  std::set<std::string> anchored;  ///< in a context that only the library's own version has
  std::set<std::string> bare;      ///< a whole string by itself
};

/// Adds what `bytes` hold; `bytes` may begin and end in the middle of a string.
void collect_version_strings(std::string_view bytes, VersionStrings& found);

/// `thorough` searches all read-only data (up to 64 MiB) when the likely places at its ends have nothing.
Fact<std::string> find_driver_version(const ElfFile& elf, bool thorough);

}  // namespace gpuvet
