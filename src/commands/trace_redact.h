#pragma once
// `gpuvet trace --redact`: a report without what identifies a person or a host.

#include <deque>
#include <functional>

#include "render/trace.h"

namespace gpuvet {

/// Replaces names in every text of the report. Files are copied into `files`, which must live as long as the report.
void redact_trace(TraceReport& report, const std::function<void(std::string&)>& redact, std::deque<LibraryFile>& files);

}  // namespace gpuvet
