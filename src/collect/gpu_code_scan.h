#pragma once
// GPU code in files and whole trees: which files to read, on as many threads as there are cores, in a fixed order.

#include <cstdint>
#include <string>
#include <vector>

#include "elf/gpu_code_archive.h"
#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

struct GpuCodeScanOptions {
  unsigned threads = 0;  ///< 0: one a core
  ArchiveLimits archives;
  std::uint64_t most_files = 5'000'000;  ///< looked at
  int most_depth = 128;                  ///< of folders
};

struct ScanProblem {
  std::string path;
  std::string why;
};

struct GpuCodeScan {
  /// Files and members with GPU code (device-link stubs too), and those that had to hold some and could not be read to their end;
  /// files that the user named are listed in any case.
  std::vector<GpuCodeFile> files;
  std::vector<ScanProblem> problems;  ///< unreadable files and folders, archives that were not read to their end
  std::uint64_t files_seen = 0;       ///< regular files looked at
  std::uint64_t files_read = 0;       ///< read beyond their first bytes
  std::uint64_t bytes_read = 0;       ///< sizes of these
  bool stopped = false;               ///< most_files was reached
};

/// `paths`: absolute. Links are followed only when they are named themselves; of several names of one inode the first counts.
GpuCodeScan scan_gpu_code(System& system, const std::vector<std::string>& paths, const GpuCodeScanOptions& options = {});

}  // namespace gpuvet
