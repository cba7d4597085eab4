// The JSON document of `check`: docs/json.md describes it, tests/unit/render/json_test.cpp holds it to that.

#include "model/json.h"

#include "model/json_writer.h"
#include "model/redact.h"
#include "render/host_words.h"
#include "render/messages.h"
#include "render/render.h"
#include "render/report.h"
#include "render/software.h"

namespace gpuvet {
namespace {

constexpr std::int64_t document_schema = 1;

void write_strings(JsonWriter& w, std::string_view key, const std::vector<std::string>& list) {
  w.key(key);
  w.begin_array();
  for (const std::string& item : list) w.string(item);
  w.end_array();
}

void write_origin(JsonWriter& w, const Origin& origin) {
  w.begin_object();
  w.field("origin", origin.source);
  w.key("line");
  w.natural(origin.line);
  w.field("text", origin.text);
  w.end_object();
}

void write_evidence(JsonWriter& w, const std::vector<Origin>& evidence) {
  w.key("evidence");
  w.begin_array();
  for (const Origin& origin : evidence) write_origin(w, origin);
  w.end_array();
}

/// What the step works on, when the parameters name it.
const std::string* target_of(const Action& action) {
  for (const char* name : {"target", "path", "file", "folder", "node", "unit", "service", "package", "module", "variable"}) {
    if (const auto found = action.parameters.find(name); found != action.parameters.end()) return &found->second;
  }
  return nullptr;
}

void write_alternatives(JsonWriter& w, const std::vector<RenderedWay>& alternatives) {
  w.key("alternatives");
  w.begin_array();
  for (const RenderedWay& way : alternatives) {
    w.begin_object();
    if (!way.installer.empty()) w.field("installer", way.installer);
    if (!way.distributions.empty()) w.field("distributions", way.distributions);
    write_strings(w, "commands", way.commands);
    w.end_object();
  }
  w.end_array();
}

void write_action(JsonWriter& w, const Action& action, const Machine& machine, Language language) {
  const RenderedAction rendered = render_action(action, machine, language);
  w.begin_object();
  w.field("type", action.type);
  if (action.when == StepWhen::Instead) w.field("when", "instead");
  if (action.when == StepWhen::IfNotEnough) w.field("when", "if-not-enough");
  if (const std::string* target = target_of(action)) w.field("target", *target);
  w.key("parameters");
  w.begin_object();
  for (const auto& [name, value] : action.parameters) w.field(name, value);
  w.end_object();
  w.field("risk", rendered.risk);
  w.field_bool("reversible", rendered.reversible);
  w.field_bool("reboot", rendered.reboot);
  w.field("text", rendered.text);
  if (!rendered.backup.empty()) w.field("backup", rendered.backup);
  write_strings(w, "commands", rendered.commands);
  if (!rendered.alternatives.empty()) write_alternatives(w, rendered.alternatives);
  w.end_object();
}

void write_finding(JsonWriter& w, const Finding& finding, const Machine& machine, Language language, bool of_text) {
  const FindingText text = finding_text(finding, language);
  w.begin_object();
  w.field("kind", finding.kind);
  w.field("layer", layer_name(finding.layer));
  w.field("severity", severity_name(finding.severity));
  w.key("rank");
  w.number(finding.rank);
  w.field("title", text.title);
  w.field("explanation", text.explanation);
  if (!finding.variant.empty()) w.field("variant", finding.variant);
  w.key("parameters");
  w.begin_object();
  for (const auto& [name, value] : finding.parameters) w.field(name, value);
  w.end_object();
  write_evidence(w, finding.evidence);
  w.key("repair");
  w.begin_array();
  for (const Action& action : finding.repair) write_action(w, action, machine, language);
  w.end_array();
  write_strings(w, "explains", finding.explains);
  if (of_text) w.field("confirm", confirming_command(finding));
  w.end_object();
}

void write_root_cause(JsonWriter& w, const Diagnosis& diagnosis, Language language) {
  w.key("root_cause");
  const Report report = make_report(diagnosis);
  if (report.root == nullptr) return w.null();
  w.begin_object();
  w.field("kind", report.root->kind);
  w.field("layer", layer_name(report.root->layer));
  w.field("severity", severity_name(report.root->severity));
  w.field("title", finding_text(*report.root, language).title);
  if (!report.root->variant.empty()) w.field("variant", report.root->variant);
  w.end_object();
}

void write_chain(JsonWriter& w, const Diagnosis& diagnosis) {
  w.key("chain");
  w.begin_array();
  for (const ChainLink& link : diagnosis.chain) {
    w.begin_object();
    w.field("link", layer_name(link.layer));
    w.field("state", link_state_name(link.state));
    w.field("detail", link.detail);
    w.end_object();
  }
  w.end_array();
}

void write_not_seen(JsonWriter& w, const Diagnosis& diagnosis, const Machine& machine, Language language) {
  w.key("not_seen");
  w.begin_array();
  for (const NotSeen& entry : diagnosis.not_seen) {
    w.begin_object();
    w.field("what", entry.what);
    w.field("why", entry.why);
    w.field("advice", not_seen_advice(entry, machine, language));
    w.end_object();
  }
  w.end_array();
}

void write_red_herrings(JsonWriter& w, const Diagnosis& diagnosis, Language language) {
  w.key("red_herrings");
  w.begin_array();
  for (const RedHerring& herring : diagnosis.red_herrings) {
    w.begin_object();
    w.field("origin", herring.origin.source);
    w.key("line");
    w.natural(herring.origin.line);
    w.field("text", herring.origin.text);
    w.field("why", language == Language::Chinese ? herring.why_zh : herring.why_en);
    w.end_object();
  }
  w.end_array();
}

/// One side of a contradiction.
void write_side(JsonWriter& w, std::string_view key, const std::string& value, const Origin& origin) {
  w.key(key);
  w.begin_object();
  w.field("value", value);
  w.field("origin", origin.source);
  w.key("line");
  w.natural(origin.line);
  w.field("text", origin.text);
  w.end_object();
}

void write_host(JsonWriter& w, const Diagnosis& diagnosis, Language language) {
  const HostSide& host = *diagnosis.host;
  w.key("host");
  w.begin_object();
  w.field("verdict", verdict_name(host.verdict));
  w.field("purpose", host.purpose);
  w.field("root_cause", host.root_cause);
  w.field_bool("used", host.used);
  w.field("text", host_text(host, language));
  w.end_object();
  w.key("contradictions");
  w.begin_array();
  for (const Contradiction& contradiction : diagnosis.contradictions) {
    w.begin_object();
    w.field("what", contradiction.what);
    w.field_bool("other_machine", contradiction.other_machine);
    w.field("sentence", contradiction_text(contradiction, language));
    write_side(w, "text", contradiction.text_value, contradiction.text);
    write_side(w, "host", contradiction.host_value, contradiction.host);
    w.end_object();
  }
  w.end_array();
}

void write_codes(JsonWriter& w, const Diagnosis& diagnosis, Language language) {
  w.key("codes");
  w.begin_array();
  for (const CodeMeaning& code : diagnosis.codes) {
    const CodeMeaning::Words& words = language == Language::Chinese ? code.zh : code.en;
    w.begin_object();
    w.field("code", code.code);
    w.field("name", code.name);
    w.field("meaning", words.meaning);
    w.field("causes", words.causes);
    w.field("advice", words.advice);
    w.field("origin", code.origin.source);
    w.key("line");
    w.natural(code.origin.line);
    w.field("text", code.origin.text);
    w.end_object();
  }
  w.end_array();
}

void write_run(JsonWriter& w, const RunOutcome& run) {
  write_strings(w, "command", run.command);
  w.field("program", run.program);
  w.key("signal");
  if (run.signal == 0)
    w.null();
  else
    w.integer(run.signal);
  w.field("output", run.output);
  w.field("error_output", run.error);
  w.field_bool("traced", run.traced);
  w.key("loader_failures");
  w.begin_array();
  for (const Origin& origin : run.loader_failures) write_origin(w, origin);
  w.end_array();
}

}  // namespace

std::string render_json(const Diagnosis& diagnosis, const Machine& machine, const Knowledge&, const RenderOptions& options) {
  JsonWriter w;
  w.begin_object();
  w.key("schema");
  w.integer(document_schema);
  w.field("document", diagnosis.run ? "run" : diagnosis.of_text ? "explain" : "check");
  w.field("verdict", verdict_name(diagnosis.verdict));
  w.key("exit_code");
  w.integer(diagnosis.run ? diagnosis.run->exit_code : exit_code(diagnosis, options.strict));
  if (diagnosis.run) write_run(w, *diagnosis.run);
  if (!diagnosis.purpose.empty()) w.field("purpose", diagnosis.purpose);
  write_root_cause(w, diagnosis, options.language);
  w.key("findings");
  w.begin_array();
  for (const Finding& finding : diagnosis.findings) write_finding(w, finding, machine, options.language, diagnosis.of_text);
  w.end_array();
  write_chain(w, diagnosis);
  write_not_seen(w, diagnosis, machine, options.language);
  if (diagnosis.of_text) write_red_herrings(w, diagnosis, options.language);
  if (diagnosis.host) write_host(w, diagnosis, options.language);
  write_codes(w, diagnosis, options.language);
  const bool hide = options.redact && !machine.redacted;
  const Machine hidden = hide ? redact(machine) : Machine{};
  write_toolkit_choices(w, hide ? hidden : machine);
  w.key("machine");
  w.raw(machine_to_json(hide ? hidden : machine));
  w.end_object();
  return w.take() + "\n";
}

}  // namespace gpuvet
