// The small commands, and the way from the command line to a command.

#include <exception>

#include "commands/input.h"
#include "commands/kb.h"
#include "commands/nearest.h"
#include "commands/output_file.h"
#include "commands/terminal.h"
#include "commands/trace_live.h"
#include "render/messages.h"
#include "rules/rule.h"
#include "system/child_process.h"

namespace gpuvet {
namespace {

constexpr int unwrapped = 100000;

int dispatch(const Options& options) {
  if (options.command == "explain") return run_explain(options);
  if (options.command == "run") return run_user_command(options);
  if (options.command == "scan") return run_scan(options);
  if (options.command == "trace" && options.live) return run_trace_live(options);
  if (options.command == "trace" && options.trace_pid != 0) return run_trace_pid(options);
  if (options.command == "trace") return run_trace(options);
  if (options.command == "snapshot") return run_snapshot(options);
  if (options.command == "kb") return run_kb(options);
  if (options.command == "rule") return run_rule(options);
  if (options.command == "version") return run_version();
  return run_check(options);
}

}  // namespace

RenderOptions render_options(const Options& options) {
  RenderOptions out;
  out.language = options.language;
  out.color = options.color == "always" || (options.color == "auto" && output_is_terminal() && !color_unwanted());
  out.width = options.width != 0 ? options.width : terminal_width();
  out.verbosity = options.verbosity;
  // Chinese cannot be written in ASCII: who asks for it gets UTF-8.
  out.ascii = options.language == Language::English && locale_is_ascii();
  out.strict = options.strict;
  out.redact = options.redact.value_or(true);
  return out;
}

int fail(const std::string& message, int exit_code) {
  print_error("gpuvet: " + message + "\n");
  return exit_code;
}

int run_kb(const Options& options) {
  const auto knowledge = load_knowledge(options);
  if (!knowledge) return fail(knowledge.error());
  if (options.kb.empty()) return print(kb_unknown(*knowledge, options.kb, options.language));
  const auto answer =
      kb_answer(*knowledge, options.kb, options.language, options.format == "json", render_options(options).width);
  if (answer) return print(*answer);
  print_error(kb_unknown(*knowledge, options.kb, options.language));
  return 2;
}

int run_rule(const Options& options) {
  RenderOptions how = render_options(options);
  const bool json = options.format == "json";
  // In a pipe or a file each rule keeps its one line, for grep.
  if (options.rule.empty() && options.width == 0 && !output_is_terminal()) how.width = unwrapped;
  if (options.rule.empty()) return print(json ? render_rule_list_json(how) : render_rule_list(how));
  const std::string page = json ? render_rule_json(options.rule, how) : render_rule_page(options.rule, how);
  if (!page.empty()) return print(page);
  std::vector<std::string> slugs;
  for (const RuleRecord& record : all_rule_records()) slugs.emplace_back(record.slug);
  std::string text = message(Message::UnknownRule, options.language, {{"name", printable(options.rule)}});
  const std::string near = nearest(options.rule, slugs);
  const std::string next = options.language == Language::Chinese ? "；" : "; ";
  if (!near.empty()) text += next + message(Message::DidYouMean, options.language, {{"name", near}});
  return fail(text + next + std::string(message(Message::RuleListHint, options.language)));
}

int run_version() { return print("gpuvet " GPUVET_VERSION "\n"); }

int run_command_line(int argc, const char* const* argv) {
  ignore_broken_pipes();
  try {
    const auto options = parse_command_line(argc, argv);
    if (options) return dispatch(*options);
    const ParseStop& stop = options.error();
    print_error(stop.error);
    const int printed = stop.output.empty() ? 0 : print(stop.output);
    return stop.exit_code != 0 ? stop.exit_code : printed;
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what());
  }
}

}  // namespace gpuvet
