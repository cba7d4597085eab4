#pragma once
// Running one of the few programs that gpuvet may run.

#include <string>
#include <vector>

#include "system/system.h"

namespace gpuvet {

/// Runs `program` (absolute path) with `arguments`, no shell: stdin and stderr are /dev/null, the environment is a fixed small
/// one and `more` ("NAME=value"). It gets its own process group, which is killed at the deadline or when `limit` bytes were read.
Result<CommandOutput> run_command(const std::string& program, const std::vector<std::string>& arguments, int timeout_ms,
                                  std::size_t limit, const std::vector<std::string>& more = {});

}  // namespace gpuvet
