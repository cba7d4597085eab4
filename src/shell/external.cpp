// Programs, and the tools whose output start-up files evaluate. A program cannot change its parent's variables; what it prints
// and whether it succeeds is not known, but for a few.

#include <algorithm>
#include <array>

#include "shell/interpret.h"
#include "shell/parse.h"

namespace gpuvet::shell {
namespace {

template <class Array>
bool has(const Array& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What they print for eval defines functions, completions, prompts, or variables like LS_COLORS and SSH_AUTH_SOCK.
constexpr std::array harmless_evals = {"dircolors",
                                       "gdircolors",
                                       "lesspipe",
                                       "lesspipe.sh",
                                       "lessfile",
                                       "ssh-agent",
                                       "gpg-agent",
                                       "keychain",
                                       "starship",
                                       "zoxide",
                                       "direnv",
                                       "fzf",
                                       "thefuck",
                                       "register-python-argcomplete",
                                       "register-python-argcomplete3",
                                       "gh",
                                       "kubectl",
                                       "helm",
                                       "mcfly",
                                       "atuin",
                                       "oh-my-posh",
                                       "resize",
                                       "tset",
                                       "hub",
                                       "pip",
                                       "pip3",
                                       "pipx",
                                       "uv",
                                       "uvx",
                                       "ruff",
                                       "just",
                                       "navi",
                                       "locale-check",
                                       "vivid",
                                       "tmuxp",
                                       "grunt",
                                       "activate-global-python-argcomplete"};
// These change PATH, and nothing else that is reported.
constexpr std::array path_evals = {"pyenv", "rbenv",    "nodenv", "goenv", "plenv", "jenv", "fnm",
                                   "brew",  "luarocks", "opam",   "perl",  "volta", "npm"};
// Builtins that are no program and change nothing; their result is not known.
constexpr std::array silent_builtins = {
    "bg",        "fg",     "kill",      "disown", "dirs",    "caller",  "help",    "zcompile", "zparseopts", "zformat", "chdir",
    "functions", "where",  "strftime",  "zstat",  "stat",    "zselect", "zpty",    "logout",   "newgrp",     "r",       "echotc",
    "echoti",    "noglob", "nocorrect", "time",   "zsystem", "zcurses", "private", "repeat",   "-"};
// Programs that nobody replaces by a function with side effects.
constexpr std::array plain_programs = {"ls",      "cat",        "grep",           "egrep",     "sed",         "awk",   "tr",
                                       "cut",     "head",       "tail",           "sort",      "uniq",        "wc",    "id",
                                       "uname",   "hostname",   "mkdir",          "rm",        "cp",          "mv",    "ln",
                                       "touch",   "chmod",      "date",           "tput",      "tty",         "stty",  "clear",
                                       "dirname", "basename",   "readlink",       "realpath",  "expr",        "seq",   "sleep",
                                       "xrdb",    "xset",       "xmodmap",        "setxkbmap", "xhost",       "git",   "find",
                                       "which",   "nproc",      "whoami",         "groups",    "ps",          "pgrep", "tee",
                                       "fortune", "cowsay",     "neofetch",       "fastfetch", "screenfetch", "mesg",  "sudo",
                                       "env",     "xargs",      "python",         "python3",   "perl",        "curl",  "wget",
                                       "ssh-add", "nvidia-smi", "nvidia-settings"};
constexpr std::array no_effect_files = {"bash_completion",
                                        "bash_completion.sh",
                                        "git-prompt.sh",
                                        "git-completion.bash",
                                        "git-completion.zsh",
                                        "zsh-autosuggestions.zsh",
                                        "zsh-syntax-highlighting.zsh",
                                        "powerlevel10k.zsh-theme",
                                        ".p10k.zsh",
                                        "key-bindings.bash",
                                        "key-bindings.zsh",
                                        "completion.bash",
                                        "completion.zsh",
                                        "vte.sh",
                                        "vte-2.91.sh",
                                        "git-sh-prompt",
                                        "command-not-found.sh",
                                        "PackageKit.sh"};
constexpr std::array harmless_omz_plugins = {"git",
                                             "z",
                                             "sudo",
                                             "docker",
                                             "docker-compose",
                                             "colored-man-pages",
                                             "command-not-found",
                                             "extract",
                                             "history",
                                             "zsh-autosuggestions",
                                             "zsh-syntax-highlighting",
                                             "zsh-completions",
                                             "fast-syntax-highlighting",
                                             "pip",
                                             "python",
                                             "web-search",
                                             "copypath",
                                             "copyfile",
                                             "dirhistory",
                                             "aliases",
                                             "kubectl",
                                             "tmux",
                                             "vscode",
                                             "ubuntu",
                                             "debian",
                                             "systemd",
                                             "common-aliases",
                                             "history-substring-search",
                                             "fzf-tab",
                                             "gitfast",
                                             "git-extras",
                                             "autojump",
                                             "jsontools"};

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos || path == "/" ? path : path.substr(slash + 1));
}

std::string folder_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

/// The program inside "$( VAR=x command 'program' … )" as written; empty when it is something else.
std::string program_of(std::string_view raw) {
  const auto drop = [&](std::string_view characters) {
    while (!raw.empty() && characters.find(raw.front()) != std::string_view::npos) raw.remove_prefix(1);
  };
  drop("\" ");
  if (raw.starts_with("$("))
    raw.remove_prefix(2);
  else if (raw.starts_with("`"))
    raw.remove_prefix(1);
  else
    return {};
  std::string name;
  while (true) {
    drop(" \t\"'\\");
    const std::size_t end = std::min(raw.find_first_of(" \t\"'`);|&\n"), raw.size());
    name = raw.substr(0, end);
    raw.remove_prefix(end);
    const bool assignment = name.find('=') != std::string::npos && is_name(std::string_view(name).substr(0, name.find('=')));
    if (name != "command" && !assignment) break;
    if (raw.empty()) return {};
  }
  // A second command may follow: then the first does not tell what is printed.
  if (raw.find_first_of(";&|\n") != std::string_view::npos && raw.find("2>&1") == std::string_view::npos &&
      raw.find("||") == std::string_view::npos)
    return {};
  return base_name(name);
}

}  // namespace

bool prints_harmless_code(std::string_view program) { return has(harmless_evals, program); }
bool prints_path_code(std::string_view program) { return has(path_evals, program); }
bool is_plain_program(std::string_view name) { return has(plain_programs, name); }

/// Programs whose output follows from what is known. True when `output_` and the status are set.
bool Interpreter::known_output(const Words& words, const std::vector<bool>& known) {
  const std::string name = base_name(words[0]);
  if (!std::all_of(known.begin(), known.end(), [](bool k) { return k; })) return false;
  std::optional<std::string> text;
  if (name == "id" && words.size() == 2 && (words[1] == "-u" || words[1] == "-ru" || words[1] == "-ur") && setting_.uid)
    text = std::to_string(*setting_.uid);
  if (!setting_.user.empty() && ((name == "id" && words.size() == 2 && (words[1] == "-un" || words[1] == "-nu")) ||
                                 (name == "whoami" && words.size() == 1)))
    text = setting_.user;
  if (name == "uname" && (words.size() == 1 || (words.size() == 2 && words[1] == "-s"))) text = "Linux";
  if (name == "dirname" && words.size() == 2) text = folder_name(words[1]);
  if (name == "basename" && words.size() == 2) text = base_name(words[1]);
  if (name == "conda" && words.size() == 3 && words[1].starts_with("shell.") && words[2] == "hook" && words[0].starts_with('/')) {
    const auto runs = files_.is_executable(words[0]);
    if (!runs) return false;
    if (*runs) text = '\x01' + folder_name(folder_name(words[0]));
    if (!*runs) return state_.last = {127}, true;
  }
  if (!text) return false;
  if (output_ && output_->is_known()) output_->text += *text + "\n";
  state_.last = {};
  return true;
}

void Interpreter::external(const Command& command, const Words& words, const std::vector<bool>& known) {
  const std::string& name = words[0];
  if (known_output(words, known)) return;
  state_.last = Status::unknown();
  const std::string why = "the output of " + name.substr(0, 60);
  const bool builtin = has(silent_builtins, name);
  bool searched = false;
  const auto program = builtin ? std::nullopt : path_of_program(name, searched);
  if (searched && !program && state_.everything.empty()) {
    state_.last = {127};  // no such command: it prints nothing
    return;
  }
  if (output_) *output_ = Value::unknown(why);
  if (!state_.everything.empty() && !builtin && !program && name.find('/') == std::string::npos && !has(plain_programs, name)) {
    // After something that was not followed this may be a function of its.
    everything_not_seen(state_.everything);
  }
  if ((name == "module" || name == "ml" || name == "spack" || name == "conda" || name == "mamba" || name == "micromamba") &&
      !program)
    everything_not_seen(at_line(command.line, name + (words.size() > 1 ? " " + words[1] : "")));
}

Flow Interpreter::eval_tool(const std::string& tool, std::uint32_t line) {
  const std::string program = program_of(tool);
  state_.last = Status::unknown();
  if (has(harmless_evals, program)) return Flow::Normal;
  if (has(path_evals, program)) {
    not_seen("PATH", "eval " + tool.substr(0, 80), line);
    return Flow::Normal;
  }
  everything_not_seen(at_line(line, "eval " + tool.substr(0, 80)));
  return Flow::Normal;
}

namespace {

/// `key: value` at the left margin of a condarc; the last one counts.
std::optional<std::string> yaml_scalar(std::string_view text, std::string_view key) {
  std::optional<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key) || line.substr(key.size()).find(':') != line.substr(key.size()).find_first_not_of(' ')) continue;
    line.remove_prefix(line.find(':') + 1);
    line = line.substr(0, line.find(" #"));
    std::string value;
    for (const char c : line) {
      if (c != ' ' && c != '\r' && c != '\t' && c != '"' && c != '\'')
        value.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
    }
    found = value;
  }
  return found;
}

}  // namespace

/// Does a new shell activate conda's base environment? Files of lower priority first.
std::optional<bool> Interpreter::conda_activates_base(const std::string& prefix) const {
  bool activates = true;
  for (const std::string& folder : {std::string("/etc/conda"), std::string("/var/lib/conda"), prefix,
                                    setting_.home + "/.config/conda", setting_.home + "/.conda"}) {
    const auto drop_ins = files_.list(folder + "/condarc.d");
    if (!drop_ins || !drop_ins->empty()) return std::nullopt;
    for (const char* name : {"/.condarc", "/condarc"}) {
      if (folder == setting_.home + "/.config/conda" && name[1] != '.') continue;
      const auto content = files_.read(folder + name);
      if (content.state == ShellFiles::Read::Unreadable) return std::nullopt;
      for (const char* key : {"auto_activate_base", "auto_activate"}) {
        const auto value = yaml_scalar(content.text, key);
        if (value) activates = *value == "true" || *value == "yes" || *value == "on";
        if (value && !activates && *value != "false" && *value != "no" && *value != "off") return std::nullopt;
      }
      if (yaml_scalar(content.text, "default_activation_env")) return std::nullopt;
    }
  }
  const auto own = files_.read(setting_.home + "/.condarc");
  if (own.state == ShellFiles::Read::Unreadable || yaml_scalar(own.text, "default_activation_env")) return std::nullopt;
  for (const char* key : {"auto_activate_base", "auto_activate"}) {
    const auto value = yaml_scalar(own.text, key);
    if (value && *value != "true" && *value != "yes" && *value != "on" && *value != "false" && *value != "no" && *value != "off")
      return std::nullopt;
    if (value) activates = *value == "true" || *value == "yes" || *value == "on";
  }
  return activates;
}

/// What `eval "$(conda shell.bash hook)"` does: the condabin folder comes first in PATH, then, unless switched off, base's bin
/// before it.
void Interpreter::conda_hook(const std::string& prefix, std::uint32_t line) {
  state_.last = {};
  state_.functions["conda"] = {nullptr, file_, true};
  const Value level = get("CONDA_SHLVL"), path = get("PATH");
  const auto activates = conda_activates_base(prefix);
  if (!level.is_unset() || path.is_unknown() || !activates) {
    not_seen("PATH", path.is_unknown() ? path.text : "what conda's hook does to PATH", line);
    return;
  }
  const std::string rest = path.text.empty() ? "" : ":" + path.text;
  assign("CONDA_SHLVL", Value::known(*activates ? "1" : "0"), line);
  state_.variables["CONDA_SHLVL"].exported = true;
  assign("CONDA_EXE", Value::known(prefix + "/bin/conda"), line);
  assign("PATH", Value::known((*activates ? prefix + "/bin:" : std::string()) + prefix + "/condabin" + rest), line);
  set_exported(state_.variables["PATH"], true);
  if (!*activates) return;
  assign("CONDA_PREFIX", Value::known(prefix), line);
  state_.variables["CONDA_PREFIX"].exported = true;
  const std::string folder = prefix + "/etc/conda/activate.d";
  const auto scripts = files_.list(folder);
  if (!scripts) return everything_not_seen(at_line(line, folder + " may not be read"));
  for (const std::string& script : *scripts) {
    if (script.ends_with(".sh")) source(folder + "/" + script, {}, line);
  }
}

/// Large files of well-known tools, whose effect on the reported variables is known.
Flow Interpreter::source_known_tool(const std::string& path, std::uint32_t line, bool& handled) {
  const std::string name = base_name(path);
  const bool no_effect = has(no_effect_files, name), nvm = name == "nvm.sh", omz = name == "oh-my-zsh.sh";
  if (!no_effect && !nvm && !omz) return Flow::Normal;
  const auto there = files_.is_file(path);
  if (!there || !*there) return Flow::Normal;
  handled = true;
  state_.last = Status::unknown();
  if (nvm) not_seen("PATH", "nvm.sh may put a Node.js release first", line);
  if (!omz) return Flow::Normal;
  const auto plugins = items("plugins");
  const bool harmless =
      plugins && std::all_of(plugins->begin(), plugins->end(), [](const std::string& p) { return has(harmless_omz_plugins, p); });
  if (!harmless) not_seen("PATH", "a plugin of oh-my-zsh", line);
  const Value custom = get("ZSH_CUSTOM");
  const std::string folder = custom.is_known() && !custom.text.empty() ? custom.text : folder_name(path) + "/custom";
  const auto scripts = files_.list(folder);
  if (custom.is_unknown() || !scripts) return everything_not_seen(at_line(line, folder + " may not be read")), Flow::Normal;
  for (const std::string& script : *scripts) {
    if (script.ends_with(".zsh")) source(folder + "/" + script, {}, line);
  }
  return Flow::Normal;
}

}  // namespace gpuvet::shell
