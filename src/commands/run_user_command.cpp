// run: the user's command as if gpuvet were not there; afterwards what its output, its loader and this machine say.

#include <algorithm>

#include "audit/embedded.h"
#include "collect/command_words.h"
#include "collect/process_plan.h"
#include "commands/explained.h"
#include "commands/output_file.h"
#include "commands/report_output.h"
#include "commands/terminal.h"
#include "loader/failed_loads.h"
#include "model/redact.h"
#include "render/host_words.h"
#include "render/messages.h"
#include "render/report.h"
#include "rules/observed.h"
#include "rules/software.h"
#include "system/child_process.h"
#include "system/traced_child.h"
#include "text/paste_collector.h"
#include "text/stream_lines.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_failed_loads = 8;
constexpr double worth_telling = 0.3;  // a hypothesis about a command that failed
constexpr int broken_pipe = 13, interrupted = 2;

std::string say(const Options& options, const char* english, const char* chinese) {
  return options.language == Language::Chinese ? chinese : english;
}

// ---- tools ---------------------------------------------------------------------------------------------------------------

std::map<std::string, std::string> own_environment(System& system) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : system.environment().value_or(std::vector<std::string>()))
    if (const std::size_t equals = entry.find('='); equals != std::string::npos)
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  return variables;
}

/// On PATH, then in the toolkits' usual places; empty: not there.
std::string find_tool(System& system, const std::map<std::string, std::string>& environment, const std::string& name) {
  if (const auto path = environment.find("PATH"); path != environment.end())
    if (std::string file = find_on_path(system, path->second, name); !file.empty()) return file;
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto value = environment.find(variable); value != environment.end()) folders.push_back(value->second + "/bin");
  folders.insert(folders.end(), {"/usr/local/cuda/bin", "/opt/cuda/bin"});
  const auto releases = system.list("/opt/nvidia/nsight-systems");
  for (auto release = releases ? releases->rbegin() : decltype(releases->rbegin())(); releases && release != releases->rend();
       ++release)
    folders.push_back("/opt/nvidia/nsight-systems/" + release->name + "/bin");
  for (const std::string& folder : folders)
    if (system.exists(folder + "/" + name) && !system.is_directory(folder + "/" + name)) return folder + "/" + name;
  return {};
}

/// The command with its tool before it; an error says why it was not run.
tl::expected<std::vector<std::string>, std::string> with_tool(const Options& options) {
  if (options.sanitize && options.profile)
    return tl::unexpected(say(options,
                              "--sanitize and --profile exclude each other: a profile under compute-sanitizer says nothing",
                              "--sanitize 与 --profile 不能同用：在 compute-sanitizer 下的性能分析没有意义"));
  if (!options.sanitize && !options.profile) return options.live_command;
  const auto system = make_live_system();
  const std::string name = options.sanitize ? "compute-sanitizer" : "nsys";
  const std::string tool = find_tool(*system, own_environment(*system), name);
  if (tool.empty()) {
    const std::string from = options.sanitize ? say(options, "it comes with the CUDA toolkit", "它随 CUDA 工具包提供")
                                              : say(options, "it comes with Nsight Systems, which the CUDA toolkit can bring",
                                                    "它属于 Nsight Systems，CUDA 工具包可以附带");
    return tl::unexpected(name +
                          say(options, " is not here (not on PATH, not in CUDA_HOME, /usr/local/cuda, /opt/cuda): ",
                              " 不存在（PATH、CUDA_HOME、/usr/local/cuda、/opt/cuda 中都没有）：") +
                          from + say(options, "; the command was not run", "；命令没有运行"));
  }
  std::vector<std::string> command{tool};
  if (options.profile) command.emplace_back("profile");
  command.insert(command.end(), options.live_command.begin(), options.live_command.end());
  return command;
}

// ---- the run -------------------------------------------------------------------------------------------------------------

struct Heard {
  RelayedRun run;
  PastedText text;
  LoadRecord loader;
};

std::string stream_name(StreamKind kind) {
  switch (kind) {
    case StreamKind::Pipe:
      return "pipe";
    case StreamKind::Terminal:
      return "terminal";
    case StreamKind::File:
      return "file";
    case StreamKind::Other:
      break;
  }
  return "not-heard";
}

Result<Heard> run_and_hear(const Options& options, const std::vector<std::string>& command, const SignatureMatcher& matcher) {
  PasteCollector::Limits limits;
  limits.may_be_utf16 = false;
  // What matters between both ends is kept whatever its place; the ends are read whole, which takes time after the command.
  limits.head = 256 << 10;
  limits.tail = 512 << 10;
  limits.middle = 1 << 20;
  PasteCollector collector(matcher.literals(), limits);
  StreamLines lines([&](std::string_view whole) { collector.feed(whole); });
  const HearOutput hear = [&](int stream, std::string_view bytes) { lines.feed(stream, bytes); };
  Heard heard;
  if (options.trace_run) {
    auto traced = run_traced(command, audit_library(), hear);
    if (!traced) return tl::unexpected(traced.error());
    heard.run = std::move(traced->run);
    heard.loader = parse_load_record(traced->records);
  } else {
    auto run = run_relayed(command, {}, hear);
    if (!run) return tl::unexpected(run.error());
    heard.run = std::move(*run);
  }
  lines.finish();
  heard.text = collector.finish(say(options, "output", "输出"));
  return heard;
}

// ---- what it means -------------------------------------------------------------------------------------------------------

std::string message_of(const FailedLoad& load) {
  return load.name + ": cannot open shared object file: No such file or directory";
}

/// The loader's own words for what a process ended of or what the output names too: facts like those of the output.
void add_loader_facts(const std::vector<FailedLoad>& loads, const Heard& heard, const SignatureMatcher& matcher,
                      const Knowledge& knowledge, Machine& text) {
  std::string lines;
  for (const FailedLoad& load : loads)
    if (load.at_start && load.stopped_at.empty()) lines += message_of(load) + "\n";
  if (lines.empty()) return;
  const Machine told = machine_of_text(make_pasted_text("loader record", lines), matcher, knowledge);
  auto* list = text.observations.get();
  for (const Observation& observation : observations(told)) {
    const bool known = std::ranges::any_of(*list, [&](const Observation& o) { return o.parameters == observation.parameters; });
    if (known) continue;
    list->push_back(observation);
    list->back().origin = {heard.run.program, 0, observation.origin.text};
  }
}

std::vector<FailedLoad> loads_that_failed(const Heard& heard) {
  const auto named = [&](std::string_view name) {
    return std::ranges::any_of(heard.text.lines,
                               [&](const PasteLine& line) { return line.text.find(name) != std::string::npos; });
  };
  return failed_loads(heard.loader, named, most_failed_loads);
}

std::vector<Origin> origins_of(const std::vector<FailedLoad>& loads) {
  std::vector<Origin> origins;
  for (const FailedLoad& load : loads)
    origins.push_back({load.requested_by.empty() ? load.program : load.requested_by, 0,
                       load.stopped_at.empty() ? load.name : load.name + " (" + load.stopped_at + ")"});
  return origins;
}

/// A framework that the output names, where the command's own words do not.
void ask_for_named_framework(const Machine& text, CommandPurpose& command) {
  const auto* environments = text.python.environments.get();
  if (command.kind != CommandWords::Kind::Python || command.purpose.asked() || environments == nullptr) return;
  for (const PythonEnvironment& environment : *environments)
    for (const PythonPackage& package : environment.packages) {
      if (!is_gpu_framework(package.name)) continue;
      const std::string framework = framework_of_package(package.name);
      if (auto purpose = parse_purpose(command.environment.empty() ? framework : framework + "@" + command.environment))
        command.purpose = std::move(*purpose);
      return;
    }
}

/// What the user asked for with --for stands before what the command tells.
tl::expected<CommandPurpose, std::string> purpose_of(const Options& options, const Machine& text) {
  const auto system = make_live_system();
  CommandPurpose command = command_purpose(*system, own_environment(*system), options.live_command);
  if (!options.purpose.empty()) {
    auto asked = parse_purpose(options.purpose);
    if (!asked) return tl::unexpected(asked.error());
    command.purpose = std::move(*asked);
  }
  ask_for_named_framework(text, command);
  return command;
}

Explained judge(const Options& options, const Machine& text, const Knowledge& knowledge) {
  const auto command = purpose_of(options, text);
  // What another machine printed says nothing about this one.
  if (!command || command->kind == CommandWords::Kind::Remote) return explained(options, text, knowledge);
  Options here = options;
  here.variables = command->variables;
  if (command->environment.starts_with('/')) here.python_environments.push_back(command->environment);
  if (auto both = explained_here(here, text, command->purpose, true, knowledge)) return std::move(*both);
  if (auto both = explained_here(here, text, {}, true, knowledge)) return std::move(*both);
  return explained(options, text, knowledge);
}

RunOutcome outcome_of(const Options& options, const Heard& heard, const std::vector<FailedLoad>& loads) {
  RunOutcome outcome;
  outcome.command = options.live_command;
  outcome.program = heard.run.program;
  outcome.exit_code = heard.run.exit_code;
  outcome.signal = heard.run.signal;
  outcome.output = stream_name(heard.run.output);
  outcome.error = stream_name(heard.run.error);
  outcome.traced = options.trace_run;
  if (heard.run.exit_code != 0) outcome.loader_failures = origins_of(loads);
  return outcome;
}

void redact_outcome(const Machine& machine, RunOutcome& outcome) {
  const auto hide = text_redaction(machine);
  for (std::string& word : outcome.command) hide(word);
  hide(outcome.program);
  for (Origin& origin : outcome.loader_failures) hide(origin.source), hide(origin.text);
}

/// Somebody ended it: the reader of its output, or who pressed Ctrl-C.
bool was_ended(const RelayedRun& run) {
  return run.reader_gone || run.signal == broken_pipe || run.signal == interrupted || (run.asked_to_end && run.exit_code != 0);
}

/// Does the text itself speak for something (not only this machine)?
bool tells_something(const Diagnosis& diagnosis, const Diagnosis& of_text) {
  if (!diagnosis.root_cause.empty()) return true;
  return std::ranges::any_of(of_text.findings,
                             [](const Finding& f) { return f.rank >= worth_telling && f.severity != Severity::Note; });
}

enum class Report { None, Line, Full };

Report what_to_report(const Options& options, const RelayedRun& run, const Diagnosis& diagnosis, bool told) {
  if (options.report == "never") return Report::None;
  if (options.report == "always" || options.format == "json") return Report::Full;
  const bool broken = diagnosis.verdict == Verdict::Broken;
  if (run.exit_code == 0) return broken ? Report::Line : Report::None;
  if (was_ended(run)) return broken ? Report::Full : Report::None;
  if (told || !diagnosis.run->loader_failures.empty()) return Report::Full;
  return Report::Line;
}

RenderOptions how_to_render(const Options& options) {
  RenderOptions how = render_options(options);
  const bool terminal = report_to_error_output(options) && error_is_terminal();
  how.color = options.color == "always" || (options.color == "auto" && terminal && !color_unwanted());
  if (options.width == 0) how.width = error_width();
  return how;
}

int write_report(const Options& options, Explained& explained, const RelayedRun& run, bool told, const Knowledge& knowledge) {
  const RenderOptions how = how_to_render(options);
  const Report report = what_to_report(options, run, explained.diagnosis, told);
  const bool to_file = !report_to_error_output(options);
  if (report == Report::Line && options.format != "markdown")
    return put_report(options, "gpuvet: " + run_line(explained.diagnosis, options.language) + "\n");
  // A file that was asked for is written in any case: who reads it need not ask whether there is one.
  if (report == Report::None && !(to_file && options.report != "never")) return 0;
  std::string text = render_explained(options, explained, knowledge, how);
  if (options.format == "text" && !to_file) text = "\n" + std::string(how.ascii ? "-- gpuvet --" : "── gpuvet ──") + "\n" + text;
  return put_report(options, text);
}

int cannot_start(const Options& options, const SystemError& error) {
  fail(printable(error.message) + say(options, ": the command was not run", "：命令没有运行"));
  return error.code == ErrorCode::NotFound ? 127 : 126;
}

bool has_message(const PastedText& text, const SignatureMatcher& matcher) {
  return std::ranges::any_of(text.lines, [&](const PasteLine& line) {
    return matcher.literals().find(line.text, 0).position != std::string_view::npos && !matcher.match(line.text).empty();
  });
}

/// Nothing to be said: a command that succeeded, whose output has no known message.
bool is_silent(const Options& options, const Heard& heard, const SignatureMatcher& matcher) {
  const bool asked = options.report == "always" || options.format == "json" || !report_to_error_output(options);
  if (options.report == "never") return true;
  return heard.run.exit_code == 0 && !asked && !has_message(heard.text, matcher);
}

/// 0, or 2 when a report could not be written.
int report_on(const Options& options, const Heard& heard, const SignatureMatcher& matcher, const Knowledge& knowledge) {
  if (is_silent(options, heard, matcher)) return 0;
  Machine text = machine_of_text(heard.text, matcher, knowledge);
  const std::vector<FailedLoad> loads = loads_that_failed(heard);
  if (heard.run.exit_code != 0) add_loader_facts(loads, heard, matcher, knowledge, text);
  const Diagnosis of_text = explain(text, knowledge);
  if (heard.run.exit_code == 0 && of_text.verdict != Verdict::Broken && options.format != "json" && options.report == "auto" &&
      report_to_error_output(options))
    return 0;
  Explained both = judge(options, text, knowledge);
  const bool told = tells_something(both.diagnosis, of_text);
  both.diagnosis.run = outcome_of(options, heard, loads);
  if (is_redacted(options)) redact_outcome(both.machine, *both.diagnosis.run);
  return write_report(options, both, heard.run, told, knowledge);
}

}  // namespace

int run_user_command(const Options& options) {
  if (options.live_command.empty())
    return fail(say(options, "run needs a command behind --: gpuvet run -- python train.py",
                    "run 需要在 -- 之后给出命令：gpuvet run -- python train.py"));
  if (options.trace_run && audit_library().empty())
    return fail(say(options, "this gpuvet was built without the audit library: its compiler could not make one",
                    "此 gpuvet 未带审计库：编译它的编译器无法生成"));
  const auto command = with_tool(options);
  if (!command) return fail(command.error());
  const auto knowledge = load_knowledge(options);
  if (!knowledge) return fail(knowledge.error());
  if (auto purpose = parse_purpose(options.purpose); !purpose)
    return fail(message(Message::BadPurpose, options.language, {{"why", printable(purpose.error())}}));
  const SignatureMatcher matcher(*knowledge);
  const auto heard = run_and_hear(options, *command, matcher);
  if (!heard) return cannot_start(options, heard.error());
  report_on(options, *heard, matcher, *knowledge);
  if (heard->run.signal != 0) die_by_signal(heard->run.signal);
  return heard->run.exit_code;
}

}  // namespace gpuvet
