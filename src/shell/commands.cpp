// Simple commands: assignments, functions, sourced files, eval.

#include <algorithm>

#include "shell/expand.h"
#include "shell/interpret.h"
#include "shell/parse.h"

namespace gpuvet::shell {
namespace {

bool is_declaration(std::string_view name) {
  return name == "export" || name == "declare" || name == "typeset" || name == "local" || name == "readonly";
}

bool writes_elsewhere(const Command& command) {
  return std::any_of(command.redirects.begin(), command.redirects.end(), [](const Redirect& redirect) {
    return redirect.op.find('>') != std::string::npos && !(redirect.op[0] >= '2' && redirect.op[0] <= '9');
  });
}

/// The command's name when it is written plainly, maybe with a backslash against aliases.
std::string literal_name(const Word& word) {
  std::string name;
  for (const Part& part : word.parts) {
    if (part.kind != Part::Kind::Literal) return {};
    name += part.text;
  }
  return name;
}

}  // namespace

Flow Interpreter::run_simple(const Command& command) {
  const std::string name = command.words.empty() ? std::string() : literal_name(command.words[0]);
  const bool declares = is_declaration(name);
  if (command.words.empty()) {
    state_.last = {};
    for (const Assignment& assignment : command.assignments) assign(assignment);
    return Flow::Normal;
  }
  // An alias in front of a command that we know by its name.
  if (!command.words[0].quoted_anywhere && !name.empty()) {
    const auto alias = state_.aliases.find(name);
    const bool expands = setting_.interactive || setting_.dialect != Dialect::Bash;
    if (alias != state_.aliases.end() && expands) {
      const std::string& text = alias->second.text;
      const std::string first = text.substr(0, text.find(' '));
      const bool same = first == name || first == "\\" + name;
      if (!alias->second.is_known() || (!same && (state_.functions.contains(first) || text.find('=') < text.find(' ') ||
                                                  first == "source" || first == "." || first == "export" || first == "eval"))) {
        everything_not_seen(at_line(command.line, "the alias " + name));
        state_.last = Status::unknown();
        return Flow::Normal;
      }
    }
  }
  Words words;
  std::vector<bool> known;
  std::vector<int> filled;
  for (const Word& word : command.words) {
    const Fields fields = Expander(*this).fields(word, declares && !words.empty());
    if (fields.no_match) {
      everything_not_seen(at_line(command.line, fields.why));
      return Flow::Stop;
    }
    if (!fields.known) {
      words.push_back(word.raw);
      known.push_back(false);
      filled.push_back(!fields.not_empty ? 0 : word.quoted_anywhere || !state_.word_splitting ? 2 : 1);
      continue;
    }
    for (const std::string& text : fields.texts) {
      words.push_back(text);
      known.push_back(true);
      filled.push_back(0);
    }
  }
  filled_ = std::move(filled);
  if (words.empty()) return Flow::Normal;
  Value elsewhere = Value::known("");
  Value* output = output_;
  if (output_ && writes_elsewhere(command)) output_ = &elsewhere;
  Flow flow = Flow::Normal;
  if (command.assignments.empty() || declares) {
    flow = run_words(command, words, known);
  } else {
    // NAME=value command: for that command alone.
    std::map<std::string, std::optional<Variable>> hidden;
    for (const Assignment& assignment : command.assignments) {
      const auto found = state_.variables.find(assignment.name);
      hidden.try_emplace(assignment.name,
                         found == state_.variables.end() ? std::nullopt : std::optional<Variable>(found->second));
      assign(assignment);
      state_.variables[assignment.name].exported = true;
    }
    flow = run_words(command, words, known);
    for (auto& [variable, before] : hidden) {
      if (before)
        state_.variables[variable] = std::move(*before);
      else
        state_.variables.erase(variable);
    }
  }
  output_ = output;
  return flow;
}

Flow Interpreter::run_words(const Command& command, const Words& words, const std::vector<bool>& known, bool functions) {
  if (!spend()) return Flow::Stop;
  const std::uint32_t line = command.line;
  if (!known[0]) {
    // An unknown command: an external one changes nothing, but it may be a function or a builtin of that name.
    everything_not_seen(at_line(line, "the command " + words[0].substr(0, 60)));
    state_.last = Status::unknown();
    return Flow::Normal;
  }
  const std::string& name = words[0];
  if (functions) {
    const auto function = state_.functions.find(name);
    if (function != state_.functions.end()) {
      if (function->second.unknown) {
        everything_not_seen(at_line(line, "the function " + name));
        state_.last = Status::unknown();
        if (output_) *output_ = Value::unknown(name);
        return Flow::Normal;
      }
      const bool all_known = std::all_of(known.begin(), known.end(), [](bool k) { return k; });
      const Function copy = function->second;
      return call_function(copy, Words(words.begin() + 1, words.end()), all_known, line);
    }
  }
  if (const auto flow = builtin(command, words, known)) return *flow;
  external(command, words, known);
  return Flow::Normal;
}

Flow Interpreter::call_function(const Function& function, std::vector<std::string> arguments, bool known, std::uint32_t line) {
  if (frames_.size() > 30) {
    everything_not_seen(at_line(line, "functions that call each other"));
    return Flow::Normal;
  }
  const auto outer_arguments = state_.arguments;
  const bool outer_known = state_.arguments_known;
  const auto outer_site = site_;
  const std::string outer_file = file_;
  if (!site_) site_ = origin(line);
  file_ = function.file;
  state_.arguments = std::move(arguments);
  state_.arguments_known = known;
  frames_.emplace_back();
  frames_.back().function = true;
  const Flow flow = end_frame(run(*function.body));
  state_.arguments = outer_arguments;
  state_.arguments_known = outer_known;
  site_ = outer_site;
  file_ = outer_file;
  return flow;
}

Flow Interpreter::eval(const std::string& text, std::uint32_t line) {
  const auto outer_site = site_;
  if (!site_) site_ = origin(line);
  const Flow flow = parsed(text, file_, line);
  site_ = outer_site;
  return flow;
}

/// Where `.` finds a file without a slash: along PATH, then (bash) in the current folder.
std::optional<std::string> Interpreter::find_to_source(const std::string& name) {
  if (name.find('/') != std::string::npos) return absolute(name);
  const auto folders = items(setting_.dialect == Dialect::Zsh ? "path" : "PATH");
  if (!folders) return std::nullopt;
  const Value path = get("PATH");
  if (!path.is_known()) return std::nullopt;
  std::size_t at = 0;
  while (at <= path.text.size()) {
    const std::size_t end = std::min(path.text.find(':', at), path.text.size());
    const std::string candidate = path.text.substr(at, end - at) + "/" + name;
    const auto there = files_.is_file(candidate);
    if (candidate[0] != '/' || !there) return std::nullopt;
    if (*there) return candidate;
    at = end + 1;
  }
  if (setting_.dialect == Dialect::Dash) return "/nonexistent/" + name;
  return absolute(name);
}

Flow Interpreter::source(const std::string& path, std::vector<std::string> arguments, std::uint32_t line) {
  bool handled = false;
  const Flow special = source_known_tool(path, line, handled);
  if (handled) return special;
  const ShellFiles::Content content = files_.read(path);
  const auto directory = files_.is_directory(path);
  if (content.state == ShellFiles::Read::Unreadable || !directory) {
    if (directory && *directory) {
      state_.last = Status::of(false);
      return Flow::Normal;
    }
    everything_not_seen(at_line(line, path + " may not be read"));
    state_.last = Status::unknown();
    return Flow::Normal;
  }
  if (content.state == ShellFiles::Read::Missing) {
    state_.last = Status::of(false);
    if (*directory || (setting_.dialect != Dialect::Dash && !setting_.posix)) return Flow::Normal;
    // A POSIX shell gives up when a file to source is missing.
    everything_not_seen(at_line(line, path + " is missing, which ends this shell's start-up"));
    return Flow::Stop;
  }
  const auto outer = state_.arguments;
  if (!arguments.empty() && setting_.dialect != Dialect::Dash) state_.arguments = std::move(arguments);
  state_.last = {};
  const Flow flow = source_text(path, content.text);
  state_.arguments = outer;
  return flow;
}

/// The file of a program along PATH; `known` tells whether the search could be made.
std::optional<std::string> Interpreter::path_of_program(const std::string& name, bool& known) {
  known = true;
  if (name.find('/') != std::string::npos) {
    const auto path = absolute(name);
    const auto runs = path ? files_.is_executable(*path) : std::nullopt;
    known = runs.has_value();
    return known && *runs ? path : std::nullopt;
  }
  const Value path = get("PATH");
  known = path.is_known();
  if (!known) return std::nullopt;
  for (std::size_t at = 0; at <= path.text.size();) {
    const std::size_t end = std::min(path.text.find(':', at), path.text.size());
    const std::string folder = path.text.substr(at, end - at);
    at = end + 1;
    if (folder.empty() || folder[0] != '/') continue;
    const auto runs = files_.is_executable(folder + "/" + name);
    if (!runs) return known = false, std::nullopt;
    if (*runs) return folder + "/" + name;
  }
  return std::nullopt;
}

}  // namespace gpuvet::shell
