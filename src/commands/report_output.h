#pragma once
// Where the report about a command goes that was run: standard error, or the file of -o. Standard output is the command's own.

#include <string>

#include "commands/options.h"

namespace gpuvet {

/// 0, or 2 when the report cannot be written.
int put_report(const Options& options, const std::string& text);
/// Does it go to standard error?
bool report_to_error_output(const Options& options);

}  // namespace gpuvet
