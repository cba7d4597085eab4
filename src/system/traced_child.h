#pragma once
// Runs the user's own command under an rtld-audit library and collects what that library writes. The command keeps gpuvet's
// standard streams, terminal, working directory and environment (two variables more); gpuvet only waits.

#include <string>
#include <string_view>
#include <vector>

#include "system/relayed_child.h"

namespace gpuvet {

struct TracedRun {
  RelayedRun run;
  std::string records;
  bool full = false;  ///< the record file was full, so later records are missing
};

/// As run_relayed. `library` is the audit library's content. Processes that the command left behind write no more.
Result<TracedRun> run_traced(const std::vector<std::string>& command, std::string_view library, const HearOutput& hear);

}  // namespace gpuvet
