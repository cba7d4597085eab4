#pragma once
// Runs the user's own command under an rtld-audit library and collects what that library writes. The command keeps gpuvet's
// standard streams, terminal, working directory and environment (two variables more); gpuvet only waits.

#include <string>
#include <string_view>
#include <vector>

#include "system/system.h"

namespace gpuvet {

struct TracedRun {
  std::int64_t pid = 0;
  std::string program;  ///< absolute path of the file that was started
  int exit_code = 0;    ///< as a shell tells it: 128 + signal when one ended the command
  int signal = 0;       ///< that ended it; 0: none
  std::string records;
  bool full = false;   ///< the record file was full, so later records are missing
  std::string folder;  ///< for the two files, removed again; empty: both were held in memory
};

/// Looks `command.front()` up in PATH as a shell does. NotFound or Denied when it cannot be started (nothing ran then).
/// `library` is the audit library's content. Returns when the command has ended; processes that it left behind write no more.
Result<TracedRun> run_traced(const std::vector<std::string>& command, std::string_view library);

/// Ends gpuvet as its command ended: by the same signal (without a core file of its own). Returns when that is not possible.
void die_by_signal(int signal);

}  // namespace gpuvet
