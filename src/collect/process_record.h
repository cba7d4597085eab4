#pragma once
// Forecasts beside records: for each recorded process, and for a running one by its /proc folder.

#include "loader/load_record.h"
#include "loader/record_comparison.h"
#include "system/system.h"

namespace gpuvet {

/// A program file that a process mapped, read as the loader reads it. False: it cannot be read.
struct JudgedProcess {
  bool forecasted = false;
  Forecast forecast;
  RecordComparison comparison;
};

/// Forecasts the recorded processes on the live machine, at most `limit` of them; one entry each.
std::vector<JudgedProcess> judge_records(System& system, const std::vector<RecordedProcess>& processes, std::size_t limit);

/// What a program file is, for a loader's audit interface.
enum class ProgramKind : std::uint8_t { Dynamic, Static, Musl, Secure, OtherMachine, Unknown };
ProgramKind program_kind_of(System& system, const std::string& path);

/// A line of /proc/PID/maps that maps a file; neighbours of the same file are one.
struct MappedFile {
  std::string path;
  bool deleted = false;
  bool executable = false;  ///< some part of it
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
};
/// Any text is taken. In the order of addresses, each file once.
std::vector<MappedFile> parse_maps(std::string_view text);

struct RunningProcess {
  std::string program;
  bool other_root = false, environment_seen = false, forecasted = false;
  struct Object {
    MappedFile file;
    bool on_disk = false, replaced = false, written = false;
    bool start_up = false;
    std::string forecast;  ///< another path that a new start would take
  };
  std::vector<Object> objects;
  std::vector<std::string> not_mapped, missing;
};
/// Only reads. NotFound: there is no such process (or a kernel thread); Denied: it is another user's.
Result<RunningProcess> read_running_process(System& system, std::int64_t pid);

}  // namespace gpuvet
