#pragma once
// What CUDA's compiler driver (nvcc) says of itself in its read-only data: its release, and the architectures that it targets.
// The file is read, never run.

#include <string>
#include <string_view>
#include <vector>

#include "system/system.h"

namespace gpuvet {

struct CompilerStrings {
  std::string release;                     ///< "13.0", of "Cuda compilation tools, release 13.0, V13.0.88"
  std::string version;                     ///< "13.0.88"; empty: not told
  std::vector<std::string> architectures;  ///< "7.5", "8.0" … in ascending order: what `nvcc --list-gpu-code` prints
};

/// Adds what a piece of read-only data holds. Strings that the piece cuts are left to the next one, which should overlap.
void collect_compiler_strings(std::string_view bytes, CompilerStrings& found);

/// Reads an nvcc (or ptxas, which has the release only) by positioned reads, at most some megabytes of its read-only data.
CompilerStrings read_compiler_strings(FileReader& file);

}  // namespace gpuvet
