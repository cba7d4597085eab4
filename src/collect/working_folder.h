#pragma once
// The folder that relative paths count from.

#include <string>

#include "system/system.h"

namespace gpuvet {

/// Of this process on a live host; empty: a root has none, or /proc is not there.
inline std::string working_folder(System& system) {
  return system.is_live() ? system.read_link("/proc/self/cwd").value_or("") : std::string();
}

}  // namespace gpuvet
