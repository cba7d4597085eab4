// JSON of `trace --live` and `trace --pid`.

#include "model/json_writer.h"
#include "render/trace_live.h"
#include "render/trace_live_words.h"

namespace gpuvet {
namespace {

std::string path_at(const RecordedProcess& process, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < process.objects.size()
             ? process.objects[static_cast<std::size_t>(index)].path
             : std::string();
}

void text_or_null(JsonWriter& json, std::string_view name, std::string_view value) {
  json.key(name);
  if (value.empty())
    json.null();
  else
    json.string(value);
}

void write_object(JsonWriter& json, const RecordedObject& object, const RecordedProcess& process) {
  json.begin_object();
  text_or_null(json, "name", object.name);
  json.field("path", object.path);
  json.field("rule", object.rule);
  text_or_null(json, "requested_by", path_at(process, object.requester));
  json.field("kind", object.dlopen ? "dlopen" : "start-up");
  if (object.dlopen) json.field_bool("asked_for", object.root);
  if (object.dlopen && object.root) json.field("why", reason_key(dlopen_reason(object, process)));
  if (object.closed) json.field_bool("closed", true);
  if (object.other_namespace) json.field_bool("other_namespace", true);
  json.end_object();
}

void write_failure(JsonWriter& json, const RecordedFailure& failure, const RecordedProcess& process) {
  json.begin_object();
  json.field("name", failure.name);
  text_or_null(json, "requested_by", path_at(process, failure.requester));
  json.field("kind", failure.dlopen ? "dlopen" : "start-up");
  text_or_null(json, "stopped_at", failure.stopped_at);
  json.key("tried");
  json.begin_array();
  for (const RecordedTry& tried : failure.tried) {
    json.begin_object();
    json.field("path", tried.path);
    json.field("rule", tried.rule);
    json.field_bool("there", tried.file.known());
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_difference(JsonWriter& json, const LoadDifference& difference, Language language) {
  json.begin_object();
  json.field("kind", difference_key(difference.kind));
  json.field("why", why_key(difference.why));
  json.field("name", difference.name);
  text_or_null(json, "recorded", difference.recorded);
  text_or_null(json, "recorded_rule", difference.recorded_rule);
  text_or_null(json, "forecast", difference.forecast);
  text_or_null(json, "forecast_rule", difference.forecast_rule);
  text_or_null(json, "requested_by", difference.requested_by);
  json.field("explanation", difference_text(difference, language));
  json.end_object();
}

void write_comparison(JsonWriter& json, const RecordComparison& comparison) {
  json.key("compared");
  json.begin_object();
  json.key("start_up"), json.integer(comparison.start_up);
  json.key("start_up_equal"), json.integer(comparison.start_up_equal);
  json.key("run_time"), json.integer(comparison.run_time);
  json.key("run_time_equal"), json.integer(comparison.run_time_equal);
  json.key("failures"), json.integer(comparison.failures);
  json.key("failures_equal"), json.integer(comparison.failures_equal);
  json.end_object();
}

void write_process(JsonWriter& json, const ProcessReport& report, Language language) {
  const RecordedProcess& process = report.process;
  json.begin_object();
  json.key("pid"), json.integer(process.pid);
  json.key("parent"), json.integer(process.parent);
  json.field("program", process.program);
  json.field_bool("started", process.started);
  json.field_bool("forked", process.forked);
  json.key("objects");
  json.begin_array();
  for (const RecordedObject& object : process.objects) write_object(json, object, process);
  json.end_array();
  json.key("failures");
  json.begin_array();
  for (const RecordedFailure& failure : process.failures) write_failure(json, failure, process);
  json.end_array();
  if (report.forecasted) write_comparison(json, report.comparison);
  json.key("differences");
  if (!report.forecasted) {
    json.null();
  } else {
    json.begin_array();
    for (const LoadDifference& difference : report.comparison.differences) write_difference(json, difference, language);
    json.end_array();
  }
  json.end_object();
}

void write_strings(JsonWriter& json, std::string_view name, const std::vector<std::string>& values) {
  json.key(name);
  json.begin_array();
  for (const std::string& value : values) json.string(value);
  json.end_array();
}

}  // namespace

std::string render_live_json(const LiveReport& report, const RenderOptions& options) {
  JsonWriter json;
  json.begin_object();
  json.key("schema"), json.integer(1);
  json.field("document", "trace-live");
  write_strings(json, "command", report.command);
  json.field("program", report.program);
  json.key("pid"), json.integer(report.pid);
  json.key("exit_code"), json.integer(report.exit_code);
  json.key("signal");
  if (report.signal != 0)
    json.integer(report.signal);
  else
    json.null();
  json.field("record", no_record_key(report.no_record));
  json.field_bool("complete", !report.cut);
  json.key("processes");
  json.begin_array();
  for (const ProcessReport& process : report.processes) write_process(json, process, options.language);
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

std::string render_running_json(const RunningReport& report, const RenderOptions&) {
  JsonWriter json;
  json.begin_object();
  json.key("schema"), json.integer(1);
  json.field("document", "trace-pid");
  json.key("pid"), json.integer(report.pid);
  json.field("program", report.program);
  json.field_bool("own_root", report.other_root);
  json.field_bool("environment_seen", report.environment_seen);
  json.field_bool("forecast", report.forecasted);
  json.key("objects");
  json.begin_array();
  for (const RunningObject& object : report.objects) {
    json.begin_object();
    json.field("path", object.path);
    json.field("state", state_key(object.state));
    json.field("expected", report.forecasted ? expected_key(object.expected) : "not-forecast");
    text_or_null(json, "forecast", object.forecast);
    json.end_object();
  }
  json.end_array();
  write_strings(json, "not_mapped", report.not_mapped);
  write_strings(json, "missing", report.missing);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace gpuvet
