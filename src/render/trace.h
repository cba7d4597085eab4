#pragma once
// `gpuvet trace`: what the loader maps for a target, why those files, and what does not fit, for people and for programs.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loader/forecast.h"
#include "loader/symbol_conflicts.h"
#include "render/render.h"

namespace gpuvet {

/// Everything that is told about one target in one environment.
struct TraceReport {
  std::string target;  ///< as the user named it
  ProcessPlan plan;
  Forecast forecast;
  ConflictReport conflicts;
  std::map<std::string, std::vector<OtherCopy>> copies;  ///< by name of a missing library: where a copy lies unused
  std::string library_path;                              ///< LD_LIBRARY_PATH
  bool is_static = false;                                ///< a statically linked program: there is nothing to load
  LoaderRules::Kind loader = LoaderRules::Kind::Glibc;
};

/// A variable that is changed for comparison.
struct ChangedVariable {
  std::string name;
  bool set = false;  ///< false: unset
  std::string value;
};

/// Objects whose file is cut off: the loader maps them, and the process ends with SIGBUS.
std::vector<const LoadedObject*> cut_off_objects(const TraceReport& report);

enum class TraceVerdict : std::uint8_t { Fits, Static, Broken, NotSeen };
TraceVerdict trace_verdict(const TraceReport& report);
/// Exit code: 0, 1 or 3.
int trace_exit_code(const TraceReport& report);

std::string render_trace_text(const TraceReport& report, const RenderOptions& options);
std::string render_trace_json(const TraceReport& report, const RenderOptions& options);
std::string render_trace_dot(const TraceReport& report, const RenderOptions& options);
std::string render_trace_markdown(const TraceReport& report, const RenderOptions& options);

/// What is different in the changed environment.
std::string render_comparison_text(const TraceReport& before, const TraceReport& after,
                                   const std::vector<ChangedVariable>& changes, const RenderOptions& options);
std::string render_comparison_json(const TraceReport& before, const TraceReport& after,
                                   const std::vector<ChangedVariable>& changes, const RenderOptions& options);

}  // namespace gpuvet
