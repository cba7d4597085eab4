#pragma once
// `gpuvet trace --live` and `--pid`: what a loader did, beside what was forecast.

#include <cstdint>
#include <string>
#include <vector>

#include "loader/record_comparison.h"
#include "render/render.h"

namespace gpuvet {

struct ProcessReport {
  RecordedProcess process;
  bool forecasted = false;  ///< false: the program's file could not be read, or too many processes
  Forecast forecast;
  RecordComparison comparison;
};

/// Why a program's loader wrote nothing.
enum class NoRecord : std::uint8_t { Recorded, Static, Musl, Secure, OtherMachine, NotKnown };

struct LiveReport {
  std::vector<std::string> command;
  std::string program;  ///< file that was started
  std::int64_t pid = 0;
  int exit_code = 0, signal = 0;
  NoRecord no_record = NoRecord::Recorded;  ///< of the command itself
  bool cut = false;                         ///< records are missing
  std::vector<ProcessReport> processes;
};

/// A library that a running process has mapped.
struct RunningObject {
  std::string path;
  enum class State : std::uint8_t {
    Same,      ///< the file on disk is the one that is mapped
    Deleted,   ///< removed or replaced since: the process still runs the old one
    Replaced,  ///< the path leads to another file now
    Written    ///< written to after the process had started
  } state = State::Same;
  bool on_disk = false;  ///< Deleted: there is a (new) file of that name
  enum class Expected : std::uint8_t { StartUp, OtherPath, RunTime } expected = Expected::RunTime;
  std::string forecast;  ///< OtherPath: what a new start would take
};

struct RunningReport {
  std::int64_t pid = 0;
  std::string program;
  bool other_root = false;        ///< a container's process: its own root was looked at
  bool environment_seen = false;  ///< else the forecast had no LD_LIBRARY_PATH
  bool forecasted = false;
  std::vector<RunningObject> objects;
  std::vector<std::string> not_mapped;  ///< a new start would map these
  std::vector<std::string> missing;     ///< a new start would not find these
};

std::string render_live_text(const LiveReport& report, const RenderOptions& options);
std::string render_live_json(const LiveReport& report, const RenderOptions& options);
std::string render_running_text(const RunningReport& report, const RenderOptions& options);
std::string render_running_json(const RunningReport& report, const RenderOptions& options);

/// 1 when something is wrong that a restart or a repair would change; else 0.
int running_exit_code(const RunningReport& report);

}  // namespace gpuvet
