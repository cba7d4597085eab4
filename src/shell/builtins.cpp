// Builtin commands of dash, bash and zsh, as far as they matter for variables.

#include <algorithm>
#include <array>

#include "shell/expand.h"
#include "shell/interpret.h"
#include "shell/parse.h"

namespace gpuvet::shell {
namespace {

using Words = std::vector<std::string>;

template <class Array>
bool has(const Array& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// They leave every variable of ours alone, and succeed in a start-up file.
constexpr std::array harmless = {"umask",
                                 "ulimit",
                                 "bind",
                                 "bindkey",
                                 "complete",
                                 "compopt",
                                 "zstyle",
                                 "zmodload",
                                 "compdef",
                                 "compinit",
                                 "colors",
                                 "trap",
                                 "hash",
                                 "rehash",
                                 "stty",
                                 "mesg",
                                 "zle",
                                 "limit",
                                 "unlimit",
                                 "disable",
                                 "enable",
                                 "jobs",
                                 "wait",
                                 "times",
                                 "history",
                                 "fc",
                                 "unhash",
                                 "sched",
                                 "autoload",
                                 "log",
                                 "suspend",
                                 "ttyctl",
                                 "vared",
                                 "promptinit",
                                 "prompt",
                                 "bashcompinit",
                                 "add-zsh-hook",
                                 "vcs_info",
                                 "compgen",
                                 "compctl",
                                 "unfunction",
                                 "unalias",
                                 "is-at-least",
                                 "add-zle-hook-widget",
                                 "url-quote-magic",
                                 "bracketed-paste-magic"};
constexpr std::array other_builtins = {"export",   "declare",  "typeset", "local",   "readonly", "unset",  "set",   "shopt",
                                       "setopt",   "unsetopt", "source",  ".",       "eval",     "return", "exit",  "break",
                                       "continue", "cd",       "echo",    "printf",  "test",     "[",      "true",  "false",
                                       ":",        "alias",    "command", "builtin", "type",     "read",   "shift", "exec",
                                       "pwd",      "let",      "emulate", "getopts", "print",    "which",  "whence"};

std::string decoded(std::string_view text, bool& plain) {
  plain = plain && text.find('\\') == std::string_view::npos && text.find('%') == std::string_view::npos;
  return std::string(text);
}

int number_or(const Words& words, int other) {
  if (words.size() < 2) return other;
  const std::string& text = words[1];
  if (text.empty() || text.size() > 4 || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return Status::unknown_code;
  return std::stoi(text);
}

}  // namespace

void Interpreter::echo(const Words& words, const std::vector<bool>& known) {
  state_.last = {};
  if (!output_ || !output_->is_known()) return;
  const bool is_printf = words[0] == "printf";
  const bool zsh_print = words[0] == "print";
  std::size_t at = 1;
  bool plain = !zsh_print, newline = !is_printf;
  for (std::size_t i = 1; i < words.size(); ++i) plain = plain && known[i];
  while (!is_printf && at < words.size() && (words[at] == "-n" || words[at] == "-e" || words[at] == "-E")) {
    newline = newline && words[at] != "-n";
    ++at;
  }
  std::string text;
  if (is_printf && words.size() == 3 && (words[1] == "%s" || words[1] == "%s\\n" || words[1] == "%b")) {
    text = decoded(words[2], plain) + (words[1].size() > 2 ? "\n" : "");
  } else {
    if (is_printf && words.size() > 2) plain = false;
    for (std::size_t i = at; i < words.size(); ++i) text += (i > at ? " " : "") + decoded(words[i], plain);
    if (newline) text += "\n";
  }
  if (plain)
    output_->text += text;
  else
    *output_ = Value::unknown("the output of " + words[0]);
}

void Interpreter::change_directory(const Words& words) {
  state_.last = Status::unknown();
  Variable& pwd = state_.variables["PWD"];
  const std::optional<std::string> path = words.size() > 1 ? absolute(words[1]) : std::optional<std::string>(setting_.home);
  const auto there = path ? files_.is_directory(*path) : std::nullopt;
  if (there && !*there) {
    state_.last = Status::of(false);
    return;
  }
  pwd.value = there && path->find("..") == std::string::npos ? Value::known(*path) : Value::unknown("the current folder", true);
  if (there) state_.last = {};
}

/// command -v, type, which: is there such a command?
Status Interpreter::command_v(const Words& words, std::size_t from) {
  std::size_t at = from;
  while (at < words.size() && words[at].starts_with('-')) ++at;
  if (at >= words.size()) return Status::of(false);
  const std::string& name = words[at];
  if (!state_.everything.empty()) return Status::unknown();
  const auto function = state_.functions.find(name);
  if (function != state_.functions.end() && function->second.unknown) return Status::unknown();
  if (function != state_.functions.end() || state_.aliases.contains(name) || has(other_builtins, name)) {
    if (output_) *output_ = Value::unknown("the output of " + words[0], true);
    return {};
  }
  bool known = false;
  const auto path = path_of_program(name, known);
  if (!known) {
    if (output_) *output_ = Value::unknown("the place of " + name);
    return Status::unknown();
  }
  if (output_ && path) {
    if (words[0] == "type" || words[0] == "hash")
      *output_ = Value::unknown("the output of type", true);
    else if (output_->is_known())
      output_->text += *path + "\n";
  }
  return Status::of(path.has_value());
}

void Interpreter::option(char letter, bool on, std::uint32_t line) {
  if (letter == 'a') state_.export_all = on;
  if (letter == 'u') state_.no_unset = on;
  if ((letter == 'f' || letter == 'n') && on) everything_not_seen(at_line(line, std::string("set -") + letter));
}

void Interpreter::set_options(const Words& words, std::uint32_t line) {
  state_.last = {};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" || (word[0] != '-' && word[0] != '+') || word.size() < 2) {
      state_.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + (word == "--" ? 1 : 0), words.end());
      return;
    }
    for (std::size_t j = 1; j < word.size(); ++j) {
      if (word[j] == 'o') {
        const std::string name = i + 1 < words.size() ? words[++i] : std::string();
        if (name == "allexport")
          option('a', word[0] == '-', line);
        else if (name == "nounset")
          option('u', word[0] == '-', line);
        else if (name == "posix" || name == "noglob" || name == "noexec")
          everything_not_seen(at_line(line, "set -o " + name));
        break;
      }
      option(word[j], word[0] == '-', line);
    }
  }
}

void Interpreter::alias(const Words& words) {
  state_.last = {};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equal = words[i].find('=');
    if (equal != std::string::npos) state_.aliases[words[i].substr(0, equal)] = Value::known(words[i].substr(equal + 1));
  }
}

void Interpreter::unset(const Words& words, std::uint32_t line) {
  state_.last = {};
  bool functions = words[0] == "unfunction", variables = !functions;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& name = words[i];
    if (name == "-f") {
      functions = true;
      variables = false;
    } else if (name.starts_with('-')) {
      continue;
    } else if (variables && is_name(name)) {
      if (setting_.dialect == Dialect::Bash && !state_.variables.contains(name) && state_.functions.erase(name) > 0) continue;
      const std::string colons = tied(name);
      Variable& variable = state_.variables[colons.empty() ? name : colons];
      variable.value = {};
      variable.is_array = false;
      set_exported(variable, false);
      variable.items.clear();
      if (is_reported(name)) record(variable, line);
    } else if (functions) {
      state_.functions.erase(name);
    } else {
      not_seen(name.substr(0, name.find('[')), "unset " + name, line);
    }
  }
}

void Interpreter::declare(const Command& command, const Words& words, const std::vector<bool>& known) {
  state_.last = {};
  bool exports = words[0] == "export", removes = false, unique = false, functions = false, ties = false, prints = false;
  const bool local = words[0] == "local" || ((words[0] == "declare" || words[0] == "typeset") && frames_.back().function);
  bool global = false;
  std::vector<std::string> plain;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (known[i] && word.size() > 1 && (word[0] == '-' || word[0] == '+') && word != "--") {
      const bool on = word[0] == '-';
      for (const char c : word.substr(1)) {
        if (c == 'x') exports = on;
        if (c == 'x' && !on) removes = exports = true;
        if (c == 'n' && words[0] == "export") removes = true;
        if (c == 'U') unique = on;
        if (c == 'f' || c == 'F') functions = true;
        if (c == 'T') ties = true;
        if (c == 'g') global = true;
        if (c == 'p') prints = true;
        if ((c == 'l' || c == 'u' || c == 'i' || c == 'n' || c == 'Z' || c == 'L' || c == 'R') && words[0] != "export")
          for (std::size_t j = i + 1; j < words.size(); ++j)
            not_seen(words[j].substr(0, words[j].find('=')), words[0] + " " + word, command.line);
      }
      continue;
    }
    if (functions || prints) continue;
    const std::size_t equal = word.find('=');
    const bool append = equal != std::string::npos && equal > 0 && word[equal - 1] == '+';
    std::string name = word.substr(0, equal == std::string::npos ? equal : equal - (append ? 1 : 0));
    if (!is_name(name)) {
      if (!known[i]) everything_not_seen(at_line(command.line, word.substr(0, 60)));
      continue;
    }
    if (ties && setting_.dialect == Dialect::Zsh) {
      plain.push_back(name);
      continue;
    }
    if (local && !global && !exports) make_local(name);
    if (local && !global && equal == std::string::npos && !state_.ties.contains(name) && frames_.back().function && !exports)
      state_.variables[name] = {};
    if (equal != std::string::npos && known[i]) assign(name, Value::known(word.substr(equal + 1)), command.line, append);
    if (equal != std::string::npos && !known[i]) {
      // The word could not be told as a whole; expand the value alone to keep its reason.
      std::string why = word.substr(equal + 1, 100);
      for (const Word& written : command.words) {
        if (written.raw != word) continue;
        const Fields fields = Expander(*this).fields(written, true);
        if (!fields.known && !fields.why.empty()) why = fields.why;
      }
      assign(name, Value::unknown(why), command.line);
    }
    const std::string colons = tied(name);
    Variable& variable = state_.variables[colons.empty() ? name : colons];
    if (exports && equal == std::string::npos && !variable.exported && is_reported(name)) record(variable, command.line);
    if (exports) set_exported(variable, !removes);
    if (removes && is_reported(name)) record(variable, command.line);
    if (unique) {
      variable.unique = true;
      if (!colons.empty()) state_.variables[name].unique = true;
      if (variable.value.is_known() && is_reported(colons.empty() ? name : colons)) {
        const auto set_by = variable.set_by;
        assign(colons.empty() ? name : colons, variable.value, command.line);
        state_.variables[colons.empty() ? name : colons].set_by = set_by;
      }
    }
  }
  if (ties && plain.size() >= 2) {
    state_.ties[plain[1]] = plain[0];
    if (exports) set_exported(state_.variables[plain[0]], true);
  }
  if (command.assignments.empty()) return;
  for (const Assignment& assignment : command.assignments) {
    if (local && !global) make_local(assignment.name);
    assign(assignment);
    if (unique) state_.variables[assignment.name].unique = true;
    if (exports) set_exported(state_.variables[tied(assignment.name).empty() ? assignment.name : tied(assignment.name)], true);
  }
}

/// Commands that change the way: return, source, eval …
std::optional<Flow> Interpreter::control(const Command& command, const Words& words, const std::vector<bool>& known) {
  const std::string& name = words[0];
  const bool all_known = std::all_of(known.begin(), known.end(), [](bool k) { return k; });
  if (name == "return" || name == "exit" || name == "logout") {
    if (words.size() > 1) state_.last = {all_known ? number_or(words, 0) : Status::unknown_code};
    return name == "return" ? Flow::Return : Flow::Exit;
  }
  if (name == "break" || name == "continue") {
    if (words.size() > 1 && words[1] != "1") everything_not_seen(at_line(command.line, name + " " + words[1]));
    state_.last = {};
    if (frame().loops.empty()) return Flow::Normal;
    return name == "break" ? Flow::Break : Flow::Continue;
  }
  if (name == "." || (name == "source" && setting_.dialect != Dialect::Dash)) {
    if (words.size() < 2) return Flow::Normal;
    if (!known[1]) {
      if (words[1].find("p10k-instant-prompt") != std::string::npos) return state_.last = Status::unknown(), Flow::Normal;
      everything_not_seen(at_line(command.line, "the file " + words[1].substr(0, 80)));
      state_.last = Status::unknown();
      return Flow::Normal;
    }
    const auto path = find_to_source(words[1]);
    if (!path) {
      everything_not_seen(at_line(command.line, "the place of " + words[1]));
      return Flow::Normal;
    }
    if (!all_known) state_.arguments_known = false;
    return source(*path, Words(words.begin() + 2, words.end()), command.line);
  }
  if (name == "eval") {
    std::string text;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!known[i]) return eval_tool(words.size() == 2 ? words[1] : "eval", command.line);
      text += (i > 1 ? " " : "") + words[i];
    }
    if (text.starts_with('\x01')) {
      conda_hook(text.substr(1), command.line);
      return Flow::Normal;
    }
    state_.last = {};
    return eval(text, command.line);
  }
  if (name == "exec") {
    if (words.size() < 2) return Flow::Normal;
    everything_not_seen(at_line(command.line, "exec " + words[1]));
    return Flow::Stop;
  }
  if (name == "command" || name == "builtin") {
    std::size_t at = 1;
    if (words.size() > 1 && (words[1] == "-v" || words[1] == "-V")) {
      state_.last = all_known ? command_v(words, 1) : Status::unknown();
      return Flow::Normal;
    }
    while (at < words.size() && words[at].starts_with('-')) ++at;
    if (at >= words.size()) return Flow::Normal;
    return run_words(command, Words(words.begin() + static_cast<std::ptrdiff_t>(at), words.end()),
                     std::vector<bool>(known.begin() + static_cast<std::ptrdiff_t>(at), known.end()), false);
  }
  return std::nullopt;
}

std::optional<Flow> Interpreter::builtin(const Command& command, const Words& words, const std::vector<bool>& known) {
  if (const auto flow = control(command, words, known)) return flow;
  return plain_builtin(command, words, known);
}

std::optional<Flow> Interpreter::plain_builtin(const Command& command, const Words& words, const std::vector<bool>& known) {
  const std::string& name = words[0];
  const bool all_known = std::all_of(known.begin(), known.end(), [](bool k) { return k; });
  const bool dash = setting_.dialect == Dialect::Dash, zsh = setting_.dialect == Dialect::Zsh;
  const auto done = std::optional<Flow>(Flow::Normal);
  if (name == "export" || name == "readonly" || name == "local" || (!dash && (name == "declare" || name == "typeset")))
    return declare(command, words, known), done;
  if (name == "unset" || (zsh && name == "unfunction")) {
    if (all_known)
      unset(words, command.line);
    else
      everything_not_seen(at_line(command.line, "unset"));
    return done;
  }
  if (name == "set") {
    if (all_known) return set_options(words, command.line), done;
    state_.arguments_known = false;
    return state_.last = Status::unknown(), done;
  }
  if ((name == "shopt" && !dash && !zsh)) {
    const bool asks = std::any_of(words.begin(), words.end(),
                                  [](const std::string& w) { return w.starts_with("-") && w.find('q') != std::string::npos; });
    const bool nullglob = std::find(words.begin(), words.end(), "nullglob") != words.end();
    if (nullglob && !asks) state_.null_glob = std::find(words.begin(), words.end(), "-s") != words.end();
    if (asks && std::find(words.begin(), words.end(), "posix") != words.end())
      return state_.last = Status::of(setting_.posix), done;
    if (asks && std::find(words.begin(), words.end(), "login_shell") != words.end())
      return state_.last = Status::of(setting_.login), done;
    return state_.last = asks ? Status::unknown() : Status{}, done;
  }
  if (zsh && (name == "setopt" || name == "unsetopt")) {
    for (std::string option : Words(words.begin() + 1, words.end())) {
      std::transform(option.begin(), option.end(), option.begin(),
                     [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
      std::erase(option, '_');
      if (option == "nullglob") state_.null_glob = name == "setopt";
      if (option == "allexport") state_.export_all = name == "setopt";
      for (const char* changes : {"shwordsplit", "norcs", "rcs", "noglobalrcs", "globalrcs", "nonomatch", "nomatch", "ksharrays",
                                  "globsubst", "cshnullglob", "noglob", "nounset", "unset"}) {
        const bool only_nomatch = option == "nonomatch" || option == "nomatch" || option == "cshnullglob";
        if (option == changes && !only_nomatch) everything_not_seen(at_line(command.line, name + " " + option));
      }
      if (option == "nonomatch" || (option == "nomatch" && name == "unsetopt")) state_.null_glob = false;
    }
    return state_.last = {}, done;
  }
  if (zsh && name == "emulate") {
    if (words.size() >= 4 && words[2] == "-c" && all_known && (words[1] == "sh" || words[1] == "ksh")) {
      const bool outer = state_.word_splitting;
      state_.word_splitting = true;
      const Flow flow = eval(words[3], command.line);
      state_.word_splitting = outer;
      return flow;
    }
    if (!frames_.back().function && !(words.size() > 1 && words[1] == "zsh"))
      everything_not_seen(at_line(command.line, "emulate"));
    return done;
  }
  if (name == "echo" || name == "printf" || (zsh && name == "print")) {
    if (!dash && words.size() > 2 && words[0] == "printf" && words[1] == "-v") {
      not_seen(words[2], "printf -v", command.line);
      return state_.last = {}, done;
    }
    return echo(words, known), done;
  }
  if (name == "test" || name == "[") return state_.last = test(words, known), done;
  if (name == "true" || name == ":") return state_.last = {}, done;
  if (name == "false") return state_.last = Status::of(false), done;
  if (name == "alias") {
    if (all_known)
      alias(words);
    else
      for (std::size_t i = 1; i < words.size(); ++i)
        state_.aliases[words[i].substr(0, words[i].find('='))] = Value::unknown("an alias");
    return state_.last = {}, done;
  }
  if (name == "unalias") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "-a") state_.aliases.clear();
      state_.aliases.erase(words[i]);
    }
    return state_.last = Status::unknown(), done;
  }
  if (name == "type" || name == "which" || name == "whence" || (name == "hash" && words.size() > 1)) {
    const bool zsh_hash = zsh && name == "hash";
    return state_.last = all_known && !zsh_hash ? command_v(words, 1) : Status::unknown(), done;
  }
  if (name == "read" || name == "mapfile" || name == "readarray" || name == "getopts" || name == "let" ||
      (zsh && (name == "integer" || name == "float"))) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string variable = words[i].substr(0, words[i].find_first_of("=+?["));
      if (is_name(variable) && known[i]) not_seen(variable, name, command.line);
    }
    return state_.last = Status::unknown(), done;
  }
  if (name == "shift") {
    const int count = number_or(words, 1);
    if (!state_.arguments_known || count < 0) return state_.arguments_known = false, done;
    const auto n = std::min(static_cast<std::size_t>(count), state_.arguments.size());
    state_.arguments.erase(state_.arguments.begin(), state_.arguments.begin() + static_cast<std::ptrdiff_t>(n));
    return state_.last = {}, done;
  }
  if (name == "cd" || name == "pushd" || name == "popd") {
    if (all_known && name == "cd")
      change_directory(words);
    else {
      state_.variables["PWD"].value = Value::unknown("the current folder", true);
      state_.last = Status::unknown();
    }
    return done;
  }
  if (name == "pwd") {
    const Value pwd = get("PWD");
    if (output_ && output_->is_known()) {
      if (pwd.is_known())
        output_->text += pwd.text + "\n";
      else
        *output_ = pwd;
    }
    return state_.last = {}, done;
  }
  if (has(harmless, name)) return state_.last = name == "hash" ? Status{} : Status::unknown(), done;
  return std::nullopt;
}

}  // namespace gpuvet::shell
