#pragma once
// What a dynamic loader asks of the CPU: glibc-hwcaps levels and the older names of sub-folders.

#include <string>
#include <vector>

#include "system/system.h"

namespace gpuvet {

struct CpuLevels {
  std::vector<std::string> hwcaps;  ///< glibc-hwcaps levels, best first: "x86-64-v3"; empty: none, or the CPU was not seen
  int isa_level = 0;                ///< x86-64: 1 … 4; 0: not seen, or another machine
  std::string platform;             ///< what glibc's $PLATFORM is: "x86_64", "haswell", "xeon_phi"; "aarch64", …
  std::vector<std::string> legacy;  ///< sub-folders of glibc before 2.37 beside tls/ and $PLATFORM: "avx512_1", "x86_64"
};

/// From /proc/cpuinfo; `machine`: "x86_64", "aarch64", … as in LibraryFile.
CpuLevels read_cpu_levels(System& system, const std::string& machine);

}  // namespace gpuvet
