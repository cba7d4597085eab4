// Variables: where their first values come from, assignment, and becoming unknown.

#include <algorithm>
#include <array>

#include "shell/expand.h"
#include "shell/interpret.h"

namespace gpuvet::shell {
namespace {

// Set by the session (terminal, display manager, ssh, sudo), not by start-up files: any value, or none.
constexpr std::array session_prefixes = {"XDG_",     "SSH_",        "SSH2_",    "LC_",      "VTE_",      "GNOME_", "KDE_", "TERM",
                                         "VSCODE_",  "WSL",         "WT_",      "SUDO_",    "DBUS_",     "QT_",    "GTK_", "TMUX",
                                         "INTELLIJ", "ALACRITTY",   "KITTY_",   "ITERM",    "KONSOLE",   "SLURM_", "PBS_", "LSB_",
                                         "SESSION_", "INVOCATION_", "SYSTEMD_", "JOURNAL_", "container", "NIX_"};
constexpr std::array session_names = {"DISPLAY",       "WAYLAND_DISPLAY",
                                      "LANG",          "LANGUAGE",
                                      "COLORTERM",     "DESKTOP_SESSION",
                                      "GDMSESSION",    "STY",
                                      "WINDOWID",      "MAIL",
                                      "COLUMNS",       "LINES",
                                      "OLDPWD",        "INSIDE_EMACS",
                                      "EMACS",         "TZ",
                                      "MANAGERPID",    "SHLVL",
                                      "debian_chroot", "WINDOW",
                                      "NO_COLOR",      "GPG_AGENT_INFO",
                                      "PWD",           "HOSTNAME"};
// Set by bash or zsh themselves, never empty.
constexpr std::array own_names = {"BASH_VERSION", "BASH_VERSINFO", "HOSTTYPE", "MACHTYPE",    "RANDOM",    "SECONDS",
                                  "PPID",         "LINENO",        "_",        "GROUPS",      "SHELLOPTS", "BASHOPTS",
                                  "PS2",          "PS4",           "HISTCMD",  "EPOCHSECONDS"};
constexpr std::array zsh_names = {
    "ZSH_VERSION", "ZSH_NAME", "ZSH_PATCHLEVEL", "HOST",      "CPUTYPE", "VENDOR", "PROMPT",    "PS1",      "TTY",
    "terminfo",    "commands", "aliases",        "functions", "options", "FPATH",  "WORDCHARS", "LOGCHECK", "ZSH_EVAL_CONTEXT"};

template <class Array>
bool has(const Array& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Survives even a construct that is not followed: nobody's start-up file changes these.
bool is_steady(std::string_view name) {
  return name == "HOME" || name == "USER" || name == "LOGNAME" || name == "SHELL" || name == "UID" || name == "EUID";
}

std::vector<std::string> split_colons(const std::string& text) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  std::size_t at = 0;
  while (items.size() < 4096) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    items.push_back(text.substr(at, end - at));
    if (end == text.size()) break;
    at = end + 1;
  }
  return items;
}

std::string join_colons(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) text += (i > 0 ? ":" : "") + items[i];
  return text;
}

std::vector<std::string> first_of_each(const std::vector<std::string>& items) {
  std::vector<std::string> kept;
  for (const std::string& item : items) {
    if (std::find(kept.begin(), kept.end(), item) == kept.end()) kept.push_back(item);
  }
  return kept;
}

}  // namespace

bool is_of_session(std::string_view name) {
  return has(session_names, name) ||
         std::any_of(session_prefixes.begin(), session_prefixes.end(), [&](const char* p) { return name.starts_with(p); });
}

std::string Interpreter::at_line(std::uint32_t line, std::string_view what) const {
  if (what.starts_with('/') && what.find(": ") != std::string_view::npos) return std::string(what);  // has its place already
  const Origin where = origin(line);
  std::string text = where.source + ":" + std::to_string(where.line) + ": ";
  text += what.empty() ? std::string_view("cannot be followed") : what;
  return text;
}

Origin Interpreter::origin(std::uint32_t line) const {
  if (site_) return *site_;
  Origin found{file_, line, {}};
  const auto text = texts_.find(file_);
  if (text == texts_.end()) return found;
  std::size_t at = 0;
  for (std::uint32_t i = 1; i < line && at < text->second.size(); ++i) {
    const std::size_t end = text->second.find('\n', at);
    at = end == std::string::npos ? text->second.size() : end + 1;
  }
  std::string_view quoted = std::string_view(text->second).substr(at, text->second.find('\n', at) - at);
  quoted = quoted.substr(0, quoted.find(" #"));  // people keep all sorts of things in comments
  while (!quoted.empty() && (quoted.front() == ' ' || quoted.front() == '\t')) quoted.remove_prefix(1);
  while (!quoted.empty() && (quoted.back() == '\r' || quoted.back() == ' ')) quoted.remove_suffix(1);
  found.text = quoted.substr(0, 300);
  return found;
}

/// zsh: the variable with colons behind an array name ("path" → "PATH").
std::string Interpreter::tied(std::string_view name) const {
  const auto found = state_.ties.find(name);
  return found == state_.ties.end() ? std::string() : found->second;
}

Value Interpreter::initial(std::string_view name) const {
  const bool zsh = setting_.dialect == Dialect::Zsh, bash = setting_.dialect == Dialect::Bash;
  if (name == "IFS") return Value::known(" \t\n");
  if (name == "OPTIND") return Value::known("1");
  if (name == "PS1" && !zsh) return setting_.interactive || !bash ? Value::unknown("the prompt", true) : Value{};
  if (name == "PS2" || name == "PS4") return Value::unknown("the prompt", true);
  if (name == "-") {
    const std::string letters = bash ? "hB" : zsh ? "569X" : "";
    return Value::known(setting_.interactive ? letters + (zsh ? "fi" : "imH") : letters);
  }
  if (name == "$" || name == "PPID") return Value::unknown("a process number", true);
  if (name == "!") return Value::unknown("a process number");
  if (bash || zsh) {
    if ((name == "UID" || name == "EUID") && setting_.uid) return Value::known(std::to_string(*setting_.uid));
    if (name == "UID" || name == "EUID") return Value::unknown("the user's number", true);
    if (name == "OSTYPE") return Value::known("linux-gnu");
  }
  if (bash && name == "BASH") return Value::known(setting_.posix ? "/bin/sh" : "/bin/bash");
  if (bash && name == "BASH_SOURCE" && !file_.empty() && frames_.size() > 1 && !frames_.back().function)
    return Value::known(file_);
  if (bash && (has(own_names, name) || name.starts_with("BASH_") || name == "HOSTNAME" || name == "SHLVL" || name == "PWD") &&
      name != "BASH_ENV")
    return Value::unknown("set by the shell", true);
  if (zsh && (has(zsh_names, name) || name == "SHLVL" || name == "PWD" || (has(own_names, name) && !name.starts_with("BASH"))))
    return Value::unknown("set by the shell", name != "PROMPT" && name != "PS1");
  if (is_of_session(name)) return Value::unknown("$" + std::string(name) + " depends on the session");
  return {};
}

Value Interpreter::get(std::string_view name) const {
  if (const std::string colons = tied(name); !colons.empty()) {
    const auto all = items(name);
    if (!all) return get(colons);
    std::string text;
    for (std::size_t i = 0; i < all->size(); ++i) text += (i > 0 ? " " : "") + (*all)[i];
    return Value::known(text);
  }
  const auto found = state_.variables.find(name);
  if (found != state_.variables.end()) return found->second.value;
  if (!state_.everything.empty() && name != "IFS" && name != "-" && name != "UID" && name != "EUID")
    return Value::unknown(state_.everything);
  return initial(name);
}

std::optional<std::vector<std::string>> Interpreter::items(std::string_view name) const {
  if (const std::string colons = tied(name); !colons.empty()) {
    const Value value = get(colons);
    if (value.is_unknown()) return std::nullopt;
    return split_colons(value.text);
  }
  const auto found = state_.variables.find(name);
  if (found != state_.variables.end() && found->second.is_array) return found->second.items;
  const Value value = get(name);
  if (value.is_unknown()) return std::nullopt;
  if (value.is_unset()) return std::vector<std::string>{};
  return std::vector<std::string>{value.text};
}

void Interpreter::record(Variable& variable, std::uint32_t line) {
  if (variable.set_by.size() >= 200) return;
  const Origin where = origin(line);
  if (std::find(variable.set_by.begin(), variable.set_by.end(), where) == variable.set_by.end()) variable.set_by.push_back(where);
}

void Interpreter::assign(const std::string& name, Value value, std::uint32_t line, bool append) {
  if (const std::string colons = tied(name); !colons.empty()) {
    if (value.is_unknown()) return assign_items(name, std::nullopt, line, append, value.text);
    return assign_items(name, std::vector<std::string>{value.text}, line, append, "");
  }
  if (append) {
    const Value old = get(name);
    if (old.is_unknown())
      value = Value::unknown(old.text, old.not_empty);
    else if (value.is_known())
      value.text = old.text + value.text;
  }
  spend(value.text.size() / 1024);  // a file of lines that each make PATH longer
  Variable& variable = state_.variables[name];
  if (variable.is_array) value = Value::unknown("an array");
  variable.is_array = false;
  if (variable.unique && value.is_known()) value.text = join_colons(first_of_each(split_colons(value.text)));
  if (value.is_known() && value.text.size() > 65536) value = Value::unknown("too long a value");
  if (value.is_unknown() && is_reported(name)) value.text = at_line(line, value.text);
  variable.value = std::move(value);
  if (state_.export_all) set_exported(variable, true);
  if (is_reported(name)) record(variable, line);
}

void Interpreter::assign_items(const std::string& name, std::optional<std::vector<std::string>> list, std::uint32_t line,
                               bool append, const std::string& why) {
  if (append && list) {
    auto old = items(name);
    if (old) old->insert(old->end(), list->begin(), list->end());
    list = std::move(old);
  }
  if (const std::string colons = tied(name); !colons.empty()) {
    const auto flagged = state_.variables.find(name);
    const bool unique = flagged != state_.variables.end() && flagged->second.unique;
    if (list && unique) list = first_of_each(*list);
    return assign(colons, list ? Value::known(join_colons(*list)) : Value::unknown(why), line);
  }
  Variable& variable = state_.variables[name];
  variable.is_array = list.has_value();
  if (list)
    variable.items = variable.unique ? first_of_each(*list) : *list;
  else
    variable.items.clear();
  variable.value = !list ? Value::unknown(why) : list->empty() ? Value{} : Value::known(list->front());
  if (is_reported(name)) {
    variable.value = Value::unknown(at_line(line, "an array"));
    variable.exported = true;
    variable.is_array = false;
    record(variable, line);
  }
}

void Interpreter::assign(const Assignment& assignment) {
  if (assignment.subscripted) return not_seen(assignment.name, "an array element", assignment.line);
  if (!assignment.array)
    return assign(assignment.name, Expander(*this).single(assignment.value, true), assignment.line, assignment.append);
  std::vector<std::string> list;
  for (const Word& word : assignment.items) {
    if (word.raw.starts_with('[')) return not_seen(assignment.name, "an array with keys", assignment.line);
    const Fields fields = Expander(*this).fields(word, false);
    if (fields.no_match) return everything_not_seen(at_line(assignment.line, fields.why));
    if (!fields.known) return assign_items(assignment.name, std::nullopt, assignment.line, assignment.append, fields.why);
    list.insert(list.end(), fields.texts.begin(), fields.texts.end());
  }
  assign_items(assignment.name, std::move(list), assignment.line, assignment.append, "");
}

/// The variable may have any value now.
void Interpreter::not_seen(const std::string& name, const std::string& why, std::uint32_t line) {
  const std::string colons = tied(name);
  Variable& variable = state_.variables[colons.empty() ? name : colons];
  variable.is_array = false;
  variable.value = Value::unknown(at_line(line, why));
  if (is_reported(colons.empty() ? name : colons)) {
    variable.exported = true;
    record(variable, line);
  }
}

void Interpreter::everything_not_seen(const std::string& why) {
  state_.everything = why;
  for (auto& [name, variable] : state_.variables) {
    if (is_steady(name) || name == "IFS") continue;
    variable.value = Value::unknown(why);
    variable.is_array = false;
    variable.items.clear();
    if (!variable.exported) variable.export_unknown = true;
  }
  for (const std::string& name : reported_names) {
    Variable& variable = state_.variables[name];
    variable.value = Value::unknown(why);
    if (!variable.exported) variable.exported = variable.export_unknown = true;
  }
  for (auto& [name, function] : state_.functions) function.unknown = true;
  for (auto& [name, alias] : state_.aliases) alias = Value::unknown(why);
}

void Interpreter::make_local(const std::string& name) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (!frame->function) continue;
    if (frame->saved.contains(name)) return;
    const auto found = state_.variables.find(name);
    frame->saved[name] = found == state_.variables.end() ? std::nullopt : std::optional<Variable>(found->second);
    return;
  }
}

}  // namespace gpuvet::shell
