
#include "render/trace.h"

#include <deque>
#include <functional>

#include "commands/input.h"
#include "commands/output_file.h"
#include "commands/plan_words.h"
#include "commands/trace_parts.h"
#include "commands/trace_redact.h"
#include "model/redact.h"
#include "render/messages.h"

namespace gpuvet {
namespace {

using Environment = std::map<std::string, std::string>;

std::string say(const Options& options, const char* english, const char* chinese) {
  return options.language == Language::Chinese ? chinese : english;
}

/// --without and --with, in the order: first what is unset.
tl::expected<std::vector<ChangedVariable>, std::string> changed_variables(const Options& options) {
  std::vector<ChangedVariable> changes;
  for (const std::string& name : options.without) changes.push_back({name, false, ""});
  for (const std::string& setting : options.with) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return tl::unexpected("--with " + printable(setting) +
                            say(options, ": not of the form NAME=VALUE", "：不是 NAME=VALUE 的形式"));
    changes.push_back({setting.substr(0, equals), true, setting.substr(equals + 1)});
  }
  return changes;
}

Environment changed(Environment environment, const std::vector<ChangedVariable>& changes) {
  for (const ChangedVariable& change : changes) {
    if (change.set)
      environment[change.name] = change.value;
    else
      environment.erase(change.name);
  }
  return environment;
}

std::string render(const Options& options, const TraceReport& report) {
  const RenderOptions how = render_options(options);
  if (options.format == "json") return render_trace_json(report, how);
  if (options.format == "dot") return render_trace_dot(report, how);
  if (options.format == "markdown") return render_trace_markdown(report, how);
  return render_trace_text(report, how);
}

/// --redact hides names in all that is told.
class Hiding {
 public:
  Hiding(const Options& options, Tracer& tracer) {
    if (options.redact.value_or(false)) redact_ = text_redaction(tracer.machine());
  }
  void apply(TraceReport& report) {
    if (redact_) redact_trace(report, redact_, files_);
  }
  void apply(std::vector<ChangedVariable>& changes) const {
    for (ChangedVariable& change : changes)
      if (redact_) redact_(change.value);
  }

 private:
  std::function<void(std::string&)> redact_;
  std::deque<LibraryFile> files_;
};

int compare(const Options& options, Tracer& tracer, const Environment& environment, std::vector<ChangedVariable> changes) {
  TraceReport before = tracer.trace(environment);
  TraceReport after = tracer.trace(changed(environment, changes));
  Hiding hiding(options, tracer);
  hiding.apply(before);
  hiding.apply(after);
  hiding.apply(changes);
  const RenderOptions how = render_options(options);
  if (options.format == "dot") {
    const int printed = print(render_trace_dot(after, how));
    return printed != 0 ? printed : trace_exit_code(after);
  }
  const int printed = print(options.format == "json" ? render_comparison_json(before, after, changes, how)
                                                     : render_comparison_text(before, after, changes, how));
  return printed != 0 ? printed : trace_exit_code(after);
}

}  // namespace

int run_trace(const Options& options) {
  if (options.trace_target.empty())
    return fail(say(options, "trace needs a target: a program, a library, or python:NAME@ENV",
                    "trace 需要一个目标：程序、库，或 python:名称@环境"));
  const auto changes = changed_variables(options);
  if (!changes) return fail(changes.error());
  // An environment's folder behind @ is looked at wherever it lies.
  Options with_environment = options;
  const std::size_t at = options.trace_target.find("@/");
  if (options.trace_target.starts_with("python:") && at != std::string::npos)
    with_environment.python_environments.push_back(options.trace_target.substr(at + 1));
  const auto inspected = open_inspected(with_environment);
  if (!inspected) return fail(inspected.error());
  const Environment& environment = inspected->collect.environment;

  Tracer tracer(*inspected->system, inspected->collect, !options.no_symbols);
  if (const auto error = tracer.open(options.trace_target))
    return fail(plan_error_text(*error, options.language), plan_error_code(*error));
  if (!changes->empty()) return compare(options, tracer, environment, *changes);
  TraceReport report = tracer.trace(environment);
  Hiding hiding(options, tracer);
  hiding.apply(report);
  const int printed = print(render(options, report));
  return printed != 0 ? printed : trace_exit_code(report);
}

}  // namespace gpuvet
