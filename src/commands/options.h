#pragma once
// The command line as data, and one function a sub-command.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "render/render.h"

namespace gpuvet {

struct Options {
  std::string command = "check";  ///< check, explain, run, scan, trace, snapshot, kb, rule, version
  std::string format = "text";
  std::string root, environ_file, kernel_log, snapshot, purpose, knowledge, output, color = "auto";
  std::string rule;
  std::vector<std::string> kb;
  std::vector<std::string> python_environments;  ///< --env
  std::vector<std::string> scan_paths, gpus;     ///< scan PATH…, --gpu
  std::string driver;                            ///< --driver
  std::string trace_target;                      ///< trace TARGET
  std::vector<std::string> without, with;        ///< trace --without NAME, --with NAME=VALUE
  bool no_symbols = false;                       ///< trace --no-symbols
  bool live = false;                             ///< trace --live -- COMMAND…
  std::vector<std::string> live_command;         ///< everything behind "--", untouched
  bool with_host = false;                        ///< explain --with-host
  bool trace_run = false;                        ///< run --trace
  bool sanitize = false, profile = false;        ///< run --sanitize, --profile
  std::string report = "auto";                   ///< run --report
  std::vector<std::string> variables;            ///< "NAME=value": what the judged process has set beside this environment
  std::vector<std::string> texts;                ///< explain FILE…; none or "-": standard input
  std::int64_t trace_pid = 0;                    ///< trace --pid; 0: not given
  std::optional<bool> redact;                    ///< not given: on for snapshots and for the machine inside JSON
  bool windows = false;                          ///< --windows
  bool timing = false, strict = false;
  int verbosity = 0;
  int width = 0;  ///< 0: the terminal's
  Language language = Language::English;
};

/// What the command line asked for, or what to print and the exit code when it is over already (help, errors).
struct ParseStop {
  int exit_code = 0;
  std::string output, error;
};
tl::expected<Options, ParseStop> parse_command_line(int argc, const char* const* argv);

RenderOptions render_options(const Options& options);

/// Prints "gpuvet: MESSAGE" and returns the exit code.
int fail(const std::string& message, int exit_code = 2);

int run_check(const Options& options);
int run_snapshot(const Options& options);
int run_kb(const Options& options);
int run_rule(const Options& options);
int run_scan(const Options& options);
int run_trace(const Options& options);
int run_explain(const Options& options);
/// Runs the user's command and ends as it ended. Only here and in trace --live may gpuvet run a program that the user names.
int run_user_command(const Options& options);
int run_version();

/// Parses and runs; never throws.
int run_command_line(int argc, const char* const* argv);

}  // namespace gpuvet
