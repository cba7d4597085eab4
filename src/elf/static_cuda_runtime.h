#pragma once
// The CUDA runtime that nvcc links into programs by default (-cudart static): which release it is of, also where all symbol names
// are stripped.

#include <string>
#include <string_view>

#include "model/fact.h"
#include "system/system.h"

namespace gpuvet {

/// "13.0"; absent: no CUDA runtime is in this file. Not seen: there is one, but its release is not told (AArch64, a file that is
/// too big). Reads the read-only data and, only where a runtime is, the code; at most 512 MiB. NVIDIA's own libraries have
/// a runtime inside too.
Fact<std::string> read_static_cuda_runtime(FileReader& file);

/// CUDA releases ("13.0") that functions in this piece of x86-64 code hand out through their argument, as cudaRuntimeGetVersion
/// does; separated by blanks, each once.
std::string releases_handed_out(std::string_view code);

}  // namespace gpuvet
