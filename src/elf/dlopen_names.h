#pragma once
// Which libraries a file may open by name while it runs: strings in its read-only data that are sonames. A forecast from them is
// a guess: the file may never get there, or build other names at run time.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "system/system.h"

namespace gpuvet {

/// Sonames ("libcuda.so.1", "libnvrtc-builtins.so.12.4") that are whole strings in the read-only data, sorted, at most 256; those
/// that the file needs anyway and its own are left out. Reads at most 64 MiB.
std::vector<std::string> read_dlopen_names(FileReader& file);

/// Adds what a piece of data holds; a name must stand between two NULs.
void collect_sonames(std::string_view bytes, std::set<std::string, std::less<>>& names);

}  // namespace gpuvet
