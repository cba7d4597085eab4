#pragma once
// What the loader did against what was forecast for the same program, object by object, and why they differ. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loader/forecast.h"
#include "loader/load_record.h"

namespace gpuvet {

/// Who opens libraries at run time without the program listing them.
enum class DlopenReason : std::uint8_t {
  Program,      ///< the program's own code (or a library's): nothing more is known
  NameService,  ///< the C library: users, groups and hosts by /etc/nsswitch.conf
  Conversion,   ///< the C library: character sets (iconv)
  Unwinder,     ///< the C library: libgcc_s for thread cancellation and backtraces
  Python,       ///< import of an extension module
  Perl,         ///< use of an XS module
  Plugin,       ///< a folder of plug-ins: OpenSSL, GTK, PAM, …
  Driver        ///< the NVIDIA driver's library
};
DlopenReason dlopen_reason(const RecordedObject& object, const RecordedProcess& process);

/// The process as a plan: start-up, then each thing that it asked its loader for at run time, in the recorded order.
ProcessPlan plan_of(const RecordedProcess& process);

struct LoadDifference {
  enum class Kind : std::uint8_t {
    OnlyRecorded,  ///< mapped, but not forecast
    OnlyForecast,  ///< forecast, but not mapped
    OtherPath,     ///< another file of that name
    OtherOrder     ///< the same files at start-up, in another order (it decides which definition of a symbol wins)
  } kind = Kind::OnlyRecorded;
  enum class Why : std::uint8_t {
    NotKnown,      ///< no reason was found: the forecast has a gap, please report it
    ProgramEnded,  ///< the loader stopped before it came to that
    Undecided,     ///< the forecast said itself that something was not decided (LoadDifference::detail)
    FilesChanged,  ///< the file is not there (any more): it came or went between the run and the forecast
    ClosedBefore,  ///< a library that would have been taken again had been unmapped (dlclose) before
    Preload,       ///< preloaded by a variable or by /etc/ld.so.preload that the forecast did not see
    WorkingFolder  ///< a relative path, asked for after the program had changed its working folder
  } why = Why::NotKnown;
  std::string name;
  std::string recorded, forecast;  ///< paths
  std::string recorded_rule, forecast_rule;
  std::string requested_by;  ///< path of who asked for it in the record
  bool dlopen = false;
  std::string detail;
};

struct RecordComparison {
  std::vector<LoadDifference> differences;
  int start_up = 0, start_up_equal = 0;       ///< recorded objects, the program and the loader aside
  int run_time = 0, run_time_equal = 0;       ///< the same after start-up; what dlopen was called with is given to the forecast
  int failures = 0, failures_equal = 0;       ///< searches that found nothing
  std::vector<std::string> failed_otherwise;  ///< names that were recorded as not found and are forecast, or the reverse
};

/// `forecast` is that of plan_of(process).
RecordComparison compare_record(const RecordedProcess& process, const Forecast& forecast);

}  // namespace gpuvet
