#pragma once
// Text of a kernel log → LogEvents. The same parser reads the live ring buffer, log files of a root, and pasted text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"

namespace gpuvet {

struct KernelLogOptions {
  std::int64_t boot_time = 0;  ///< of the running boot, seconds since the epoch; 0: not known
  bool one_boot = false;       ///< all of it is of the running boot, as the ring buffer is
  bool programs_only = false;  ///< keep lines of programs (kinds "user" and "audit"), drop the kernel's
};

/// Collects the events of one log, which may come in several pieces (a rotated file, then the current one).
class KernelLogParser {
 public:
  explicit KernelLogParser(KernelLogOptions options = {}) : options_(options) {}

  /// `name` becomes the events' origin. `line_numbers`: false when `text` is only the end of a file.
  void feed(std::string_view name, std::string_view text, bool line_numbers = true);

  /// Events oldest first, boots counted back from the newest one. Call once.
  std::vector<LogEvent> finish();

  /// Lines of the kernel itself (not of programs) were seen.
  bool has_kernel_lines() const { return kernel_lines_; }
  /// The newest boot's first line ("Linux version …") was seen.
  bool has_boot_start() const { return boot_start_; }

 private:
  void take_line(std::string_view line, std::uint32_t number);
  void take_part(const struct LogLine& line, std::string_view raw, std::uint32_t number);
  void start_boot(const struct LogLine& line);
  bool join(const struct LogLine& line, std::uint32_t number);
  void push(LogEvent event);
  bool fold(const LogEvent& event);
  void shift_older_boots(std::vector<LogEvent>& events) const;

  KernelLogOptions options_;
  std::string name_;
  bool line_numbers_ = true;
  std::vector<LogEvent> events_;
  std::int64_t boot_ = 0;   ///< counted from the log's beginning
  bool separator_ = false;  ///< a "-- Boot" line of journalctl just started a boot
  double last_seconds_ = -1;
  double header_seconds_ = -1;  ///< of the last line that told its time
  std::string header_time_;
  std::int64_t repeats_ = 1;  ///< how often syslog says the line at hand came
  bool kernel_lines_ = false;
  bool boot_start_ = false;
  // the event that further NVRM lines may continue
  std::uint32_t open_line_ = 0;
  bool open_has_header_ = false;
  bool open_ = false;
};

/// One piece of text, all defaults: for pasted logs.
std::vector<LogEvent> parse_kernel_log(std::string_view name, std::string_view text, const KernelLogOptions& options = {});

}  // namespace gpuvet
