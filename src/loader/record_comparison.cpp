#include "loader/record_comparison.h"

#include <algorithm>
#include <map>
#include <set>

namespace gpuvet {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

const RecordedObject* object_at(const RecordedProcess& process, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= process.objects.size()) return nullptr;
  return &process.objects[static_cast<std::size_t>(index)];
}

std::string path_at(const RecordedProcess& process, int index) {
  const RecordedObject* object = object_at(process, index);
  return object != nullptr ? object->path : std::string();
}

std::string inode_text(const FileIdentity& file) {
  return file.known() ? std::to_string(file.device) + ":" + std::to_string(file.inode) : std::string();
}

/// The forecast's objects by path and by what they were asked for; the program and the interpreter aside.
struct Forecasted {
  explicit Forecasted(const Forecast& forecast) {
    for (const LoadedObject& object : forecast.objects) {
      if (object.rule == "program" || object.rule == "loader") continue;
      objects.push_back(&object);
      by_path.emplace(object.path, &object);
      by_name.emplace(file_name(object.name), &object);
      if (object.file != nullptr && !object.file->inode.empty()) by_inode.emplace(object.file->inode, &object);
    }
  }

  const LoadedObject* same_file(const RecordedObject& recorded) const {
    if (const auto found = by_path.find(recorded.path); found != by_path.end()) return found->second;
    const auto found = by_inode.find(inode_text(recorded.file));
    return found != by_inode.end() ? found->second : nullptr;
  }

  std::vector<const LoadedObject*> objects;
  std::map<std::string_view, const LoadedObject*> by_path, by_name, by_inode;
};

/// What is compared at all: files of the program's own name space that stayed mapped.
bool is_compared(const RecordedObject& object) {
  return object.rule != "program" && object.rule != "loader" && !object.other_namespace;
}

/// A step of the plan for a thing that was handed to dlopen.
LoadStep step_of(const RecordedProcess& process, const std::string& name, int requester, bool optional) {
  LoadStep step;
  step.names = {name};
  step.caller = requester > 0 ? path_at(process, requester) : std::string();
  step.optional = optional;
  step.why = "recorded";
  return step;
}

struct Comparison {
  const RecordedProcess& process;
  const Forecast& forecast;
  Forecasted forecasted;
  RecordComparison result;
  std::set<const LoadedObject*> met;

  LoadDifference difference(LoadDifference::Kind kind, const RecordedObject& object) const {
    LoadDifference out;
    out.kind = kind;
    out.name = object.name;
    out.recorded = object.path;
    out.recorded_rule = object.rule;
    out.requested_by = path_at(process, object.requester);
    out.dlopen = object.dlopen;
    return out;
  }

  /// The forecast's own doubts about this name.
  const std::string* doubt(std::string_view name) const {
    for (const std::string& text : forecast.unknown) {
      if (has(text, file_name(name)) || has(text, "relative") || has(text, "$")) return &text;
    }
    return nullptr;
  }

  void explain(LoadDifference& difference, const RecordedObject* object) const {
    using Why = LoadDifference::Why;
    const bool relative = !difference.name.empty() && has(difference.name, "/") && difference.name.front() != '/';
    if (object != nullptr && object->rule == "LD_PRELOAD")
      difference.why = Why::Preload;
    else if (object == nullptr && !process.started && !process.forked)
      difference.why = Why::ProgramEnded;
    else if (relative && difference.dlopen)
      difference.why = Why::WorkingFolder;
    else if (object != nullptr && !object->file.known())
      difference.why = Why::FilesChanged;
    else if (difference.dlopen && std::ranges::any_of(process.objects, &RecordedObject::closed))
      difference.why = Why::ClosedBefore;
    else if (const std::string* text = doubt(difference.name))
      difference.why = Why::Undecided, difference.detail = *text;
  }

  void compare_object(const RecordedObject& object) {
    int& count = object.dlopen ? result.run_time : result.start_up;
    int& equal = object.dlopen ? result.run_time_equal : result.start_up_equal;
    const LoadedObject* same = forecasted.same_file(object);
    // What a failed or ended dlopen had mapped need not be in the end state.
    if (same == nullptr && object.closed) return;
    ++count;
    if (same != nullptr) {
      ++equal;
      met.insert(same);
      return;
    }
    const auto named = forecasted.by_name.find(file_name(object.name));
    const bool other = named != forecasted.by_name.end() && !object.name.empty();
    auto found = difference(other ? LoadDifference::Kind::OtherPath : LoadDifference::Kind::OnlyRecorded, object);
    if (other) {
      found.forecast = named->second->path;
      found.forecast_rule = named->second->rule;
      met.insert(named->second);
    }
    explain(found, &object);
    result.differences.push_back(std::move(found));
  }

  void compare_rest() {
    for (const LoadedObject* object : forecasted.objects) {
      if (met.contains(object)) continue;
      LoadDifference found;
      found.kind = LoadDifference::Kind::OnlyForecast;
      found.name = object->name;
      found.forecast = object->path;
      found.forecast_rule = object->rule;
      found.dlopen = object->step >= 0;
      if (object->loader >= 0) found.requested_by = forecast.objects[static_cast<std::size_t>(object->loader)].path;
      explain(found, nullptr);
      result.differences.push_back(std::move(found));
    }
  }

  /// Only where the same files are mapped: else the difference is told already.
  void compare_order() {
    if (result.start_up != result.start_up_equal || !process.started || process.forked) return;
    std::vector<const LoadedObject*> recorded, expected;
    for (const RecordedObject& object : process.objects) {
      if (is_compared(object) && !object.dlopen) recorded.push_back(forecasted.same_file(object));
    }
    for (const LoadedObject* object : forecasted.objects) {
      if (object->step < 0) expected.push_back(object);
    }
    const auto [left, right] = std::ranges::mismatch(recorded, expected);
    if (left == recorded.end() || right == expected.end()) return;
    LoadDifference found;
    found.kind = LoadDifference::Kind::OtherOrder;
    found.name = found.recorded = (*left)->path;
    found.forecast = (*right)->path;
    result.differences.push_back(std::move(found));
  }

  void compare_failures() {
    for (const RecordedFailure& failure : process.failures) {
      if (!failure.stopped_at.empty()) continue;
      ++result.failures;
      const bool missing = std::ranges::any_of(forecast.missing, [&](const MissingLibrary& m) { return m.name == failure.name; });
      if (missing)
        ++result.failures_equal;
      else
        result.failed_otherwise.push_back(failure.name);
    }
  }
};

}  // namespace

DlopenReason dlopen_reason(const RecordedObject& object, const RecordedProcess& process) {
  const std::string_view name = file_name(object.path), path = object.path;
  const std::string by = path_at(process, object.requester);
  const bool of_libc = file_name(by).starts_with("libc.so") || file_name(by).starts_with("libc-2.");
  if (name.starts_with("libcuda.so") || name.starts_with("libnvidia-") || name.starts_with("libnvcuvid.so"))
    return DlopenReason::Driver;
  if (name.starts_with("libnss_") && (of_libc || by.empty())) return DlopenReason::NameService;
  if (has(path, "/gconv/")) return DlopenReason::Conversion;
  if (name.starts_with("libgcc_s.so") && of_libc) return DlopenReason::Unwinder;
  const bool by_python = has(file_name(by), "python") || has(file_name(process.program), "python");
  const bool module = has(path, "/lib-dynload/") || has(path, "/site-packages/") || has(path, "/dist-packages/") ||
                      has(name, ".cpython-") || has(name, ".abi3.so");
  if (by_python && module) return DlopenReason::Python;
  if (has(path, "/auto/") && (has(path, "/perl") || has(by, "perl"))) return DlopenReason::Perl;
  for (const std::string_view folder :
       {"/ossl-modules/", "/engines-", "/security/pam_", "/gio/modules/", "/plugins/", "/sasl2/"}) {
    if (has(path, folder)) return DlopenReason::Plugin;
  }
  return DlopenReason::Program;
}

ProcessPlan plan_of(const RecordedProcess& process) {
  ProcessPlan plan;
  plan.name = process.argument0;
  plan.kind = "program";
  plan.program = process.program;
  std::size_t next_failure = 0;
  const auto add_failures = [&](std::size_t before) {
    for (; next_failure < process.failures.size(); ++next_failure) {
      const RecordedFailure& failure = process.failures[next_failure];
      if (static_cast<std::size_t>(failure.after_objects) > before) return;
      if (failure.root && failure.stopped_at.empty())
        plan.steps.push_back(step_of(process, failure.name, failure.requester, true));
    }
  };
  for (std::size_t i = 0; i < process.objects.size(); ++i) {
    add_failures(i);
    const RecordedObject& object = process.objects[i];
    if (object.root && !object.other_namespace)
      plan.steps.push_back(step_of(process, object.name, object.requester, object.closed));
  }
  add_failures(process.objects.size());
  return plan;
}

RecordComparison compare_record(const RecordedProcess& process, const Forecast& forecast) {
  Comparison comparison{process, forecast, Forecasted(forecast), {}, {}};
  std::set<std::string_view> seen;
  for (const RecordedObject& object : process.objects) {
    if (is_compared(object) && seen.insert(object.path).second) comparison.compare_object(object);
  }
  comparison.compare_rest();
  comparison.compare_order();
  comparison.compare_failures();
  return std::move(comparison.result);
}

}  // namespace gpuvet
