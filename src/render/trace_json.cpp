// `gpuvet trace --format json`. docs/json.md describes the document.

#include "loader/library_family.h"
#include "model/json_writer.h"
#include "render/trace.h"
#include "render/trace_compare.h"
#include "render/trace_words.h"

namespace gpuvet {
namespace {

constexpr std::int64_t document_schema = 1;

void string_or_null(JsonWriter& w, std::string_view key, std::string_view value) {
  w.key(key);
  if (value.empty())
    w.null();
  else
    w.string(value);
}

std::string path_of(const TraceReport& report, int object) {
  return object < 0 || static_cast<std::size_t>(object) >= report.forecast.objects.size()
             ? std::string()
             : report.forecast.objects[static_cast<std::size_t>(object)].path;
}

std::string why_of(const TraceReport& report, int step) {
  return step < 0 || static_cast<std::size_t>(step) >= report.plan.steps.size()
             ? std::string()
             : report.plan.steps[static_cast<std::size_t>(step)].why;
}

void write_copies(JsonWriter& w, std::string_view key, const std::vector<OtherCopy>& copies) {
  w.key(key);
  w.begin_array();
  for (const OtherCopy& copy : copies) {
    w.begin_object();
    w.field("path", copy.path);
    string_or_null(w, "version", copy.version);
    w.end_object();
  }
  w.end_array();
}

void write_tried(JsonWriter& w, const std::vector<TriedPlace>& tried) {
  w.key("tried");
  w.begin_array();
  for (const TriedPlace& place : tried) {
    w.begin_object();
    w.field("path", place.path);
    w.field("rule", place.rule);
    w.field("why", place.why);
    w.end_object();
  }
  w.end_array();
}

void write_object(JsonWriter& w, const TraceReport& report, const LoadedObject& object) {
  w.begin_object();
  w.field("name", object.name);
  w.field("path", object.path);
  string_or_null(w, "real_path", object.file == nullptr ? "" : object.file->real_path);
  w.field("rule", object.rule);
  string_or_null(w, "rule_detail", object.rule_detail);
  string_or_null(w, "needed_by", path_of(report, object.loader));
  string_or_null(w, "opened_by", why_of(report, object.step));
  string_or_null(w, "version", object.file == nullptr ? "" : release_of(*object.file));
  w.key("shadows");
  w.begin_array();
  for (const ShadowedCopy& copy : object.shadows) {
    w.begin_object();
    w.field("path", copy.path);
    string_or_null(w, "version", copy.file == nullptr ? "" : release_of(*copy.file));
    w.field("rule", copy.rule);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_cut_off(JsonWriter& w, const TraceReport& report) {
  w.key("cut_off");
  w.begin_array();
  for (const LoadedObject* object : cut_off_objects(report)) {
    w.begin_object();
    w.field("path", object->path);
    w.key("whole_size");
    w.natural(static_cast<std::uint64_t>(object->file->whole_size));
    w.key("size");
    w.natural(static_cast<std::uint64_t>(object->file->size));
    w.end_object();
  }
  w.end_array();
}

void write_missing(JsonWriter& w, const TraceReport& report, const MissingLibrary& library) {
  w.begin_object();
  w.field("name", library.name);
  w.key("path");
  w.null();
  w.key("rule");
  w.null();
  const std::string by = path_of(report, library.needed_by);
  string_or_null(w, "needed_by", by.empty() ? library.needed_by_path : by);
  string_or_null(w, "opened_by", why_of(report, library.step));
  w.field_bool("optional", library.optional);
  string_or_null(w, "blocked_by", library.blocked_by);
  string_or_null(w, "error", library.error);
  w.key("shadows");
  w.begin_array();
  w.end_array();
  write_tried(w, library.tried);
  const auto copies = report.copies.find(library.name);
  write_copies(w, "copies", copies == report.copies.end() ? std::vector<OtherCopy>() : copies->second);
  w.end_object();
}

void write_strings(JsonWriter& w, std::string_view key, const std::vector<std::string>& values) {
  w.key(key);
  w.begin_array();
  for (const std::string& value : values) w.string(value);
  w.end_array();
}

void write_conflict(JsonWriter& w, const TraceReport& report, const SymbolConflict& conflict, Language language) {
  w.begin_object();
  w.field("kind", conflict_kind(conflict.kind));
  w.field_bool("note", conflict.note);
  string_or_null(w, "symbol", conflict.symbols.empty() ? "" : conflict.symbols.front());
  write_strings(w, "symbols", conflict.symbols);
  w.key("count");
  w.natural(conflict.count);
  string_or_null(w, "version", conflict.version);
  string_or_null(w, "newest", conflict.newest);
  string_or_null(w, "wanted_by", path_of(report, conflict.wanted_by));
  string_or_null(w, "expected_in", path_of(report, conflict.expected_in));
  string_or_null(w, "expected_name", conflict.expected_name);
  w.field_bool("at_load", conflict.at_load);
  w.field_bool("cxx11_abi", conflict.cxx11_abi);
  std::vector<std::string> objects;
  for (const int object : conflict.objects) objects.push_back(path_of(report, object));
  write_strings(w, "objects", objects);
  write_copies(w, "found_in", conflict.found_in);
  w.field("text", conflict_text(report, conflict, language).title);
  w.end_object();
}

void write_host(JsonWriter& w, const TraceReport& report) {
  w.key("provided_by_program");
  w.begin_array();
  for (const HostSymbols& host : report.conflicts.host) {
    w.begin_object();
    w.field("wanted_by", path_of(report, host.wanted_by));
    string_or_null(w, "program", host.host);
    write_strings(w, "symbols", host.symbols);
    w.key("count");
    w.natural(host.count);
    w.end_object();
  }
  w.end_array();
}

std::string_view verdict_key(const TraceReport& report) {
  switch (trace_verdict(report)) {
    case TraceVerdict::Fits:
      return "fits";
    case TraceVerdict::Static:
      return "static";
    case TraceVerdict::NotSeen:
      return "not-seen";
    case TraceVerdict::Broken:
      break;
  }
  if (!cut_off_objects(report).empty()) return "cut-off";
  return required_missing(report).empty() ? "conflict" : "missing";
}

/// Everything that the loader maps beside the target itself and the interpreter.
bool is_listed(const LoadedObject& object) { return object.rule != "program" && object.rule != "loader"; }

/// What a program may open by names in its bytes is a guess: it is kept apart from what start-up maps for sure.
bool is_later(const TraceReport& report, int step) { return step >= 0 && report.plan.kind != "python"; }

/// The members of the report, without the braces.
void write_report(JsonWriter& w, const TraceReport& report, Language language) {
  string_or_null(w, "program", report.forecast.objects.empty() ? "" : report.forecast.objects.front().path);
  w.field_bool("static", report.is_static);
  for (const bool later : {false, true}) {
    w.key(later ? "may_open" : "libraries");
    w.begin_array();
    for (const LoadedObject& object : report.forecast.objects)
      if (is_listed(object) && is_later(report, object.step) == later) write_object(w, report, object);
    for (const MissingLibrary& library : report.forecast.missing)
      if (is_later(report, library.step) == later) write_missing(w, report, library);
    w.end_array();
  }
  write_cut_off(w, report);
  w.key("conflicts");
  w.begin_array();
  for (const SymbolConflict& conflict : report.conflicts.conflicts) write_conflict(w, report, conflict, language);
  w.end_array();
  write_host(w, report);
  w.field_bool("symbols_compared", report.conflicts.symbols_seen);
  write_strings(w, "unknown", report.forecast.unknown);
  w.field("verdict", verdict_key(report));
  w.field("verdict_text", verdict_text(report, language));
}

void begin_document(JsonWriter& w, const TraceReport& report) {
  w.begin_object();
  w.key("schema");
  w.integer(document_schema);
  w.field("document", "trace");
  w.field("target", report.target);
}

void write_place(JsonWriter& w, std::string_view key, const ChangedLibrary::Place& place) {
  w.key(key);
  if (place.path.empty()) return w.null();
  w.begin_object();
  w.field("path", place.path);
  w.field("rule", place.rule);
  w.end_object();
}

}  // namespace

std::string render_trace_json(const TraceReport& report, const RenderOptions& options) {
  JsonWriter w;
  begin_document(w, report);
  write_report(w, report, options.language);
  w.end_object();
  return w.take() + "\n";
}

std::string render_comparison_json(const TraceReport& before, const TraceReport& after,
                                   const std::vector<ChangedVariable>& changes, const RenderOptions& options) {
  JsonWriter w;
  begin_document(w, after);
  w.key("variables");
  w.begin_array();
  for (const ChangedVariable& change : changes) {
    w.begin_object();
    w.field("name", change.name);
    w.key("value");
    if (change.set)
      w.string(change.value);
    else
      w.null();
    w.end_object();
  }
  w.end_array();
  w.key("changes");
  w.begin_array();
  for (const ChangedLibrary& library : changed_libraries(before, after)) {
    w.begin_object();
    w.field("name", library.name);
    write_place(w, "before", library.before);
    write_place(w, "after", library.after);
    w.end_object();
  }
  w.end_array();
  w.key("before");
  w.begin_object();
  write_report(w, before, options.language);
  w.end_object();
  write_report(w, after, options.language);
  w.end_object();
  return w.take() + "\n";
}

}  // namespace gpuvet
