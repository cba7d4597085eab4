#pragma once
// One line of a log, taken apart: what syslog, journalctl, dmesg and /dev/kmsg put in front of a message.

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuvet {

struct LogLine {
  std::string_view text;    ///< the message
  std::string_view tag;     ///< "kernel", or the program's name without its pid; empty: the line names none, as dmesg's
  std::string_view time;    ///< wall clock as written; empty where not told
  double seconds = -1;      ///< since boot, where told
  bool has_header = false;  ///< some time, host or tag stood in front

  bool from_kernel() const { return tag.empty() || tag == "kernel"; }
};

/// Knows: `dmesg` (plain, -T, -r, -x, -d, with caller ids), kmsg records, journalctl short, short-precise, short-iso, short-full,
/// short-monotonic and short-unix, syslog of RFC 3164 and RFC 5424, rsyslog's ISO form, and lines of audit.log.
/// A line in no such form is all message. O(length).
LogLine parse_log_line(std::string_view line);

/// A wall clock time of a log as seconds since the epoch.
struct WallClock {
  std::int64_t epoch = 0;
  std::int64_t uncertainty = 0;  ///< seconds: 14 h where the time zone is not told
};

/// ISO times, RFC 3164 ("May 27 09:10:00", in the year that brings it nearest to `near`), "Tue May 27 09:10:00 2025", and plain
/// epochs.
std::optional<WallClock> parse_wall_clock(std::string_view time, std::int64_t near);

}  // namespace gpuvet
