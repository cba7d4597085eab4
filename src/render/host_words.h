#pragma once
// Sentences about a text beside this machine, and about a command that was run, in both languages.

#include <string>

#include "model/finding.h"
#include "render/render.h"

namespace gpuvet {

/// "The text: driver 535.129.03; this machine: driver 580.65.06". Safe to print.
std::string contradiction_text(const Contradiction& contradiction, Language language);
/// Whether this machine's chain holds, and whether its facts were used.
std::string host_text(const HostSide& host, Language language);
/// How the command ended and what its output says.
std::string run_verdict(const Diagnosis& diagnosis, Language language);
/// "libcudnn.so.9, asked for by /opt/app"
std::string loader_failure_text(const Origin& failure, Language language);
/// "exit code 1", "signal 11 (Segmentation fault)"
std::string run_end(const RunOutcome& run, Language language);

/// One line for a command that failed without a known message, or (success) that succeeded in spite of one; without line end.
std::string run_line(const Diagnosis& diagnosis, Language language);

}  // namespace gpuvet
