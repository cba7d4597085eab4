#pragma once
// The two forms of `trace` that look at processes instead of files.

#include "commands/options.h"

namespace gpuvet {

/// Runs the user's command and ends as it ended. Only here may gpuvet run a program that the user names.
int run_trace_live(const Options& options);
int run_trace_pid(const Options& options);

}  // namespace gpuvet
