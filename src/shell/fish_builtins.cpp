// fish's builtin commands and the functions that it ships, as far as variables depend on them.

#include <algorithm>
#include <array>

#include "shell/fish_run.h"
#include "shell/parse.h"

namespace gpuvet::shell::fish {
namespace {

using Words = std::vector<std::string>;

constexpr std::array harmless = {"abbr",
                                 "alias",
                                 "bind",
                                 "complete",
                                 "emit",
                                 "history",
                                 "jobs",
                                 "bg",
                                 "fg",
                                 "wait",
                                 "disown",
                                 "trap",
                                 "ulimit",
                                 "umask",
                                 "random",
                                 "math",
                                 "printf",
                                 "commandline",
                                 "set_color",
                                 "fish_config",
                                 "fish_vi_key_bindings",
                                 "fish_default_key_bindings",
                                 "fish_hybrid_key_bindings",
                                 "functions",
                                 "block",
                                 "breakpoint",
                                 "path",
                                 "realpath",
                                 "fish_update_completions",
                                 "funcsave",
                                 "fish_key_reader",
                                 "isatty",
                                 "time",
                                 "setenv_comment"};
constexpr std::array builtins = {"set",      "test",    "[",       "contains", "string",  "source", ".",    "status",
                                 "type",     "command", "builtin", "return",   "exit",    "echo",   "eval", "fish_add_path",
                                 "exec",     "cd",      "pwd",     "count",    "true",    "false",  "read", "break",
                                 "continue", "not",     "and",     "or",       "argparse"};

template <class Array>
bool has(const Array& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "/a/b/../c/" without dots and double slashes, as `realpath -s`.
std::string tidy(const std::string& path) {
  std::vector<std::string> pieces;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string piece = path.substr(at, end - at);
    at = end + 1;
    if (piece.empty() || piece == ".") continue;
    if (piece == "..") {
      if (!pieces.empty()) pieces.pop_back();
      continue;
    }
    pieces.push_back(piece);
  }
  std::string out;
  for (const std::string& piece : pieces) out += "/" + piece;
  return out.empty() ? "/" : out;
}

std::string base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace

Flow FishInterpreter::command(const Node& node) {
  Line line;
  no_match_ = false;
  for (const Word& word : node.words) {
    const Items items = expand(word);
    if (!items.known) {
      line.words.push_back(word.raw);
      line.known.push_back(false);
      line.whys.push_back(items.why);
      continue;
    }
    for (const std::string& item : items.list) {
      line.words.push_back(item);
      line.known.push_back(true);
      line.whys.emplace_back();
    }
  }
  if (line.words.empty()) return Flow::Normal;
  if (no_match_ && line.words[0] != "set" && line.words[0] != "count") {
    state_.last = {124};  // fish does not run a command whose pattern meets no file
    return Flow::Normal;
  }
  if (!line.known[0]) {
    everything_not_seen(at_line(node.line, "the command " + line.words[0].substr(0, 60)));
    return Flow::Normal;
  }
  const auto run_function = [&]() -> std::optional<Flow> {
    const auto function = state_.functions.find(line.words[0]);
    if (function == state_.functions.end()) return std::nullopt;
    if (function->second.unknown || !function->second.body) {
      everything_not_seen(at_line(node.line, "the function " + line.words[0]));
      state_.last = Status::unknown();
      if (output_) *output_ = Items::unknown(line.words[0]);
      return Flow::Normal;
    }
    const auto outer = site_;
    if (!site_) site_ = origin(node.line);
    const FishFunction copy = function->second;
    const Flow flow = call(copy, line);
    site_ = outer;
    return flow;
  };
  if (const auto flow = run_function()) return *flow;
  if (const auto flow = builtin(line, node)) return *flow;
  if (load_function(line.words[0])) {
    if (const auto flow = run_function()) return *flow;
  }
  external(line, node);
  return Flow::Normal;
}

/// Functions that fish loads when they are called first.
bool FishInterpreter::load_function(const std::string& name) {
  if (name.find('/') != std::string::npos) return false;
  for (const std::string& folder :
       {config_folder_ + "/functions/", std::string("/etc/fish/functions/"),
        identity_.home + "/.local/share/fish/vendor_functions.d/", std::string("/usr/share/fish/vendor_functions.d/")}) {
    const std::string path = folder + name + ".fish";
    if (!files_.is_file(path).value_or(true)) continue;
    source_file(path);
    return state_.functions.contains(name);
  }
  return false;
}

std::optional<bool> FishInterpreter::program_exists(const std::string& name) {
  if (name.starts_with('/')) return files_.is_executable(name);
  const Items path = get("PATH");
  if (!path.known) return std::nullopt;
  for (const std::string& folder : path.list) {
    const auto runs = folder.starts_with('/') ? files_.is_executable(folder + "/" + name) : std::optional<bool>(false);
    if (!runs || *runs) return runs;
  }
  return false;
}

/// type -q, command -q, command -s, functions -q
Status FishInterpreter::is_command(const Line& line, std::size_t from) {
  for (std::size_t i = from; i < line.words.size(); ++i) {
    if (line.words[i].starts_with('-')) continue;
    if (!line.known[i] || !state_.everything.empty()) return Status::unknown();
    const bool also_functions = line.words[0] != "command";
    const auto function = state_.functions.find(line.words[i]);
    if (also_functions && function != state_.functions.end()) return function->second.unknown ? Status::unknown() : Status{};
    if (line.words[0] == "functions") return Status::unknown();
    if (also_functions && (has(builtins, line.words[i]) || has(harmless, line.words[i]))) return {};
    const auto there = program_exists(line.words[i]);
    if (!there) return Status::unknown();
    if (*there) return {};
    // Functions that fish ships or loads later are not looked for.
    return also_functions && files_.is_file("/usr/share/fish/functions/" + line.words[i] + ".fish").value_or(true)
               ? Status::unknown()
               : Status::of(false);
  }
  return Status::of(false);
}

Status FishInterpreter::status_command(const Words& words) const {
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string what = words[i];
    while (what.starts_with('-')) what.erase(0, 1);
    if (what == "is-login" || what == "l") return Status::of(start_.login);
    if (what == "is-interactive" || what == "i") return Status::of(start_.interactive);
  }
  return Status::unknown();
}

void FishInterpreter::string_command() {
  state_.last = Status::unknown();
  if (output_) *output_ = Items::unknown("the output of string");
}

void FishInterpreter::set(const Line& line, std::uint32_t number) {
  bool global = false, universal = false, local = false, exports = false, unexports = false, append = false, prepend = false,
       erase = false, query = false, path = false, function_scope = false;
  std::size_t at = 1;
  for (; at < line.words.size() && line.known[at] && line.words[at].size() > 1 && line.words[at][0] == '-'; ++at) {
    const std::string& flag = line.words[at];
    if (flag == "--") {
      ++at;
      break;
    }
    const bool word = flag.starts_with("--");
    const auto is = [&](char letter, std::string_view name) {
      return word ? flag.substr(2) == name : flag.find(letter) != std::string::npos;
    };
    global = global || is('g', "global");
    universal = universal || is('U', "universal");
    local = local || is('l', "local");
    function_scope = function_scope || is('f', "function");
    exports = exports || is('x', "export");
    unexports = unexports || is('u', "unexport");
    append = append || is('a', "append");
    prepend = prepend || is('p', "prepend");
    erase = erase || is('e', "erase");
    query = query || is('q', "query");
    path = path || (word && flag == "--path");
    if (!word && flag.find_first_of("LnS") != std::string::npos) return;  // only shows
    if (word && (flag == "--show" || flag == "--names")) return;
  }
  state_.last = {};
  if (at >= line.words.size()) return;
  if (!line.known[at]) return everything_not_seen(at_line(number, "set " + line.words[at]));
  std::string name = line.words[at];
  const std::size_t bracket = name.find('[');
  if (query) {
    bool all = true;
    for (std::size_t i = at; i < line.words.size(); ++i) {
      const std::string asked = line.words[i].substr(0, line.words[i].find('['));
      const FishVariable* held = find(asked);
      if ((held && !held->items.known) || (!held && !get(asked).known)) return void(state_.last = Status::unknown());
      all = all && held && (line.words[i] == asked || !held->items.list.empty());
    }
    state_.last = Status::of(all);
    return;
  }
  if (erase) {
    for (std::size_t i = at; i < line.words.size(); ++i) {
      const std::string erased = line.words[i].substr(0, line.words[i].find('['));
      if (line.words[i].find('[') != std::string::npos) {
        const FishVariable* held = find(erased);
        const std::string index = line.words[i].substr(erased.size() + 1, line.words[i].size() - erased.size() - 2);
        const bool plain = held && held->items.known && !index.empty() && index.size() < 4 &&
                           std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (!plain) {
          not_seen(erased, "set -e " + line.words[i], number);
          continue;
        }
        Items items = held->items;
        const auto n = static_cast<std::size_t>(std::stoi(index));
        if (n >= 1 && n <= items.list.size()) items.list.erase(items.list.begin() + static_cast<std::ptrdiff_t>(n - 1));
        find(erased)->items = items;
        if (is_reported(erased)) find(erased)->set_by.push_back(origin(number));
        continue;
      }
      bool gone = false;
      const std::size_t first = state_.functions_at.empty() ? 0 : state_.functions_at.back();
      for (std::size_t s = state_.local.size(); s > first && !gone && !global && !universal; --s)
        gone = state_.local[s - 1].erase(erased) > 0;
      if (!gone && !universal && !local) gone = state_.global.erase(erased) > 0;
      if (!gone && !global && !local) state_.universal.erase(erased);
      if (is_reported(erased) && !find(erased)) {
        state_.global[erased].set_by.push_back(origin(number));  // keeps the line; the variable is not set
        state_.global[erased].exported = false;
      }
      if (erased == "fish_user_paths") reconstruct_path(number);
    }
    return;
  }
  if (bracket != std::string::npos) return not_seen(name.substr(0, bracket), "set of one item", number);
  if (!is_name(name)) return;
  Items items;
  for (std::size_t i = at + 1; i < line.words.size(); ++i) {
    if (!line.known[i]) items = Items::unknown(line.whys[i]);
    if (!items.known) break;
    items.list.push_back(line.words[i]);
  }
  if (append || prepend) {
    const Items old = global || universal ? [&] {
      const Scope& scope = global ? state_.global : state_.universal;
      const auto held = scope.find(name);
      return held != scope.end() ? held->second.items : get(name);
    }() : get(name);
    if (!old.known)
      items = old;
    else if (items.known)
      items.list.insert(append ? items.list.begin() : items.list.end(), old.list.begin(), old.list.end());
  }
  Scope* scope = nullptr;
  const std::size_t first = state_.functions_at.empty() ? 0 : state_.functions_at.back();
  if (universal)
    scope = &state_.universal;
  else if (global)
    scope = &state_.global;
  else if (local && !state_.local.empty() && state_.local.size() > first)
    scope = &state_.local.back();
  else if (local)
    scope = &state_.global;
  else {
    for (std::size_t s = state_.local.size(); s > first && !scope && !function_scope; --s) {
      if (state_.local[s - 1].contains(name)) scope = &state_.local[s - 1];
    }
    if (!scope && state_.global.contains(name)) scope = &state_.global;
    if (!scope && state_.universal.contains(name)) scope = &state_.universal;
    if (!scope) scope = state_.functions_at.empty() ? &state_.global : &state_.local[first];
  }
  // Items of a variable whose every item is a path may be written with colons.
  assign(*scope, name, std::move(items),
         exports     ? std::optional<bool>(true)
         : unexports ? std::optional<bool>(false)
                     : std::nullopt,
         number);
  if (path) (*scope)[name].path = true;
  if (name == "fish_user_paths") reconstruct_path(number);
}

/// fish's own handler: what fish_user_paths holds comes first in PATH (share/config.fish, __fish_reconstruct_path).
void FishInterpreter::reconstruct_path(std::uint32_t line) {
  const Items user = get("fish_user_paths");
  Items path = get("PATH");
  if (user.known && user.list.empty() && state_.added_paths.empty()) return;
  if (!user.known || !path.known) return not_seen("PATH", user.known ? path.why : user.why, line);
  const auto drop = [&](const std::string& item) {
    const auto found = std::find(path.list.begin(), path.list.end(), item);
    if (found == path.list.end()) return false;
    path.list.erase(found);
    return true;
  };
  for (const std::string& added : state_.added_paths) drop(added);
  state_.added_paths.clear();
  std::vector<std::string> unique;
  for (const std::string& item : user.list) {
    if (std::find(unique.begin(), unique.end(), item) == unique.end()) unique.push_back(item);
  }
  for (auto item = unique.rbegin(); item != unique.rend(); ++item) {
    if (!drop(*item)) state_.added_paths.push_back(*item);
    path.list.insert(path.list.begin(), *item);
  }
  const auto origin_line = line != 0 ? line : 1;
  if (path == get("PATH")) return;
  assign(state_.global, "PATH", std::move(path), true, origin_line);
}

/// fish_add_path (share/functions/fish_add_path.fish).
void FishInterpreter::add_path(const Line& line, std::uint32_t number) {
  bool global = false, universal = false, append = false, path = false, move = false, dry = false;
  Words folders;
  std::string unknown;
  for (std::size_t i = 1; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    if (!line.known[i]) {
      unknown = line.whys[i];
    } else if (word.size() > 1 && word[0] == '-') {
      const bool named = word.starts_with("--");
      const auto is = [&](char letter, std::string_view name) {
        return named ? word.substr(2) == name : word.find(letter) != std::string::npos;
      };
      global = global || is('g', "global");
      universal = universal || is('U', "universal");
      append = append || is('a', "append");
      path = path || is('P', "path");
      move = move || is('m', "move");
      dry = dry || is('n', "dry-run");
    } else {
      folders.push_back(word);
    }
  }
  state_.last = Status::unknown();
  if (dry) return;
  const std::string name = path ? "PATH" : "fish_user_paths";
  Items held = get(name);
  if (!unknown.empty() || !held.known) return not_seen("PATH", unknown.empty() ? held.why : unknown, number);
  Words fresh;
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/')) return not_seen("PATH", "fish_add_path of a folder below the current one", number);
    const std::string tidied = tidy(folder);
    const auto there = files_.is_directory(tidied);
    if (!there) return not_seen("PATH", tidied + " may not be read", number);
    if (!*there || std::find(fresh.begin(), fresh.end(), tidied) != fresh.end()) continue;
    const auto found = std::find(held.list.begin(), held.list.end(), tidied);
    if (found != held.list.end() && !move) continue;
    if (found != held.list.end()) held.list.erase(found);
    fresh.push_back(tidied);
  }
  state_.last = Status::of(!fresh.empty());
  if (fresh.empty()) return;
  held.list.insert(append ? held.list.end() : held.list.begin(), fresh.begin(), fresh.end());
  if (path) return assign(state_.global, "PATH", std::move(held), true, number);
  Scope& scope = global                         ? state_.global
                 : universal                    ? state_.universal
                 : state_.global.contains(name) ? state_.global
                                                : state_.universal;
  assign(scope, name, std::move(held), std::nullopt, number);
  reconstruct_path(number);
}

std::optional<Flow> FishInterpreter::builtin(const Line& line, const Node& node) {
  const Words& words = line.words;
  const std::string& name = words[0];
  const bool known = std::all_of(line.known.begin(), line.known.end(), [](bool k) { return k; });
  const auto done = std::optional<Flow>(Flow::Normal);
  if (name == "set") return set(line, node.line), done;
  if (name == "fish_add_path") return add_path(line, node.line), done;
  if (name == "true" || name == ":") return state_.last = {}, done;
  if (name == "false") return state_.last = Status::of(false), done;
  if (name == "test" || name == "[") {
    return state_.last = tests_.judge(words, line.known), done;
  }
  if (name == "status") return state_.last = status_command(words), done;
  if (name == "string") return string_command(), done;
  if (name == "contains") {
    std::size_t at = 1;
    bool index = false;
    while (at < words.size() && words[at].starts_with('-')) index = words[at] != "--" || index, ++at;
    if (!known || at >= words.size()) return state_.last = Status::unknown(), done;
    const auto found = std::find(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end(), words[at]);
    if (index && output_)
      *output_ = found == words.end()
                     ? Items{}
                     : Items{true, {}, {std::to_string(found - words.begin() - static_cast<std::ptrdiff_t>(at))}};
    return state_.last = Status::of(found != words.end()), done;
  }
  if (name == "count") {
    if (output_) *output_ = known ? Items{true, {}, {std::to_string(words.size() - 1)}} : Items::unknown("count");
    return state_.last = known ? Status::of(words.size() > 1) : Status::unknown(), done;
  }
  if (name == "echo") {
    if (output_ && output_->known) {
      std::string text;
      for (std::size_t i = 1; i < words.size(); ++i) text += (i > 1 ? " " : "") + words[i];
      if (known && !text.starts_with('-'))
        output_->list.push_back(text);
      else
        *output_ = Items::unknown("the output of echo");
    }
    return state_.last = {}, done;
  }
  if (name == "source" || name == ".") {
    if (words.size() < 2) return everything_not_seen(at_line(node.line, "source")), done;
    if (!line.known[1]) return everything_not_seen(at_line(node.line, "the file " + words[1].substr(0, 80))), done;
    if (!words[1].starts_with('/')) return everything_not_seen(at_line(node.line, "the place of " + words[1])), done;
    return source_file(words[1]);
  }
  if (name == "eval") {
    if (known) {
      std::string text;
      for (std::size_t i = 1; i < words.size(); ++i) text += (i > 1 ? " " : "") + words[i];
      const auto outer = site_;
      if (!site_) site_ = origin(node.line);
      const Flow flow = run_text(text, file_, node.line);
      site_ = outer;
      return flow;
    }
    if (node.words.size() == 2 && node.words[1].parts.size() == 1 && node.words[1].parts[0].command) {
      const Block& block = *node.words[1].parts[0].command;
      if (block.statements.size() == 1 && block.statements[0].pipeline.size() == 1)
        return source_output(block.statements[0].pipeline[0], node.line);
    }
    return everything_not_seen(at_line(node.line, "eval")), done;
  }
  if (name == "return") {
    if (words.size() > 1) state_.last = known && words[1] == "0" ? Status{} : known ? Status::of(false) : Status::unknown();
    return Flow::Return;
  }
  if (name == "exit") {
    // In a file that is sourced `exit` ends the shell too.
    return Flow::Exit;
  }
  if (name == "break") return Flow::Break;
  if (name == "continue") return Flow::Continue;
  if (name == "exec") {
    everything_not_seen(at_line(node.line, "exec " + (words.size() > 1 ? words[1] : "")));
    return Flow::Stop;
  }
  if (name == "type" || name == "functions" || (name == "command" && words.size() > 1 && words[1].starts_with('-'))) {
    if (output_) *output_ = Items::unknown("the output of " + name);
    return state_.last = is_command(line, 1), done;
  }
  if (name == "builtin" || name == "command") return state_.last = Status::unknown(), done;
  if (name == "read" || name == "argparse") {
    if (name == "argparse") return everything_not_seen(at_line(node.line, "argparse")), done;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (is_name(words[i])) not_seen(words[i], "read", node.line);
    }
    return state_.last = Status::unknown(), done;
  }
  if (name == "cd" || name == "pushd" || name == "popd") {
    const bool plain = name == "cd" && known && words.size() == 2 && words[1].starts_with('/');
    if (plain)
      tests_.set("PWD", words[1]);
    else
      tests_.forget("PWD");
    return state_.last = Status::unknown(), done;
  }
  if (name == "alias") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string aliased = words[i].substr(0, words[i].find('='));
      if (!aliased.starts_with('-')) {
        if (has(builtins, aliased)) state_.functions[aliased] = {nullptr, file_, true};
        break;
      }
    }
    return state_.last = {}, done;
  }
  if (has(harmless, name)) {
    if (output_) *output_ = Items::unknown("the output of " + name);
    return state_.last = Status::unknown(), done;
  }
  return std::nullopt;
}

void FishInterpreter::external(const Line& line, const Node& node) {
  const std::string& name = line.words[0];
  const bool known = std::all_of(line.known.begin(), line.known.end(), [](bool k) { return k; });
  state_.last = Status::unknown();
  const std::string base = base_name(name);
  if (known && output_ && identity_.uid && base == "id" && line.words.size() == 2 && line.words[1] == "-u") {
    output_->list.push_back(std::to_string(*identity_.uid));
    return void(state_.last = {});
  }
  if (known && output_ && !identity_.user.empty() &&
      (base == "whoami" || (base == "id" && line.words.size() == 2 && line.words[1] == "-un"))) {
    output_->list.push_back(identity_.user);
    return void(state_.last = {});
  }
  const auto there = program_exists(name);
  const bool shipped = files_.is_file("/usr/share/fish/functions/" + base + ".fish").value_or(true);
  if (there && !*there && !shipped && state_.everything.empty()) return void(state_.last = {127});
  if (output_) *output_ = Items::unknown("the output of " + name.substr(0, 60));
  if (name == "bass" || name == "module" || name == "ml" || name == "conda" || name == "mamba" || name == "micromamba" ||
      name == "spack" || name == "fenv")
    everything_not_seen(at_line(node.line, name));
  else if (!state_.everything.empty() && name.find('/') == std::string::npos && !(there && *there) && !is_plain_program(name))
    everything_not_seen(state_.everything);
}

/// `program … | source`, `eval (program …)`: what the program prints runs here.
Flow FishInterpreter::source_output(const Node& from, std::uint32_t line) {
  state_.last = Status::unknown();
  std::vector<std::string> words;
  for (const Word& word : from.words) {
    const Items items = expand(word);
    if (!items.known) return everything_not_seen(at_line(line, "a command's output runs")), Flow::Normal;
    words.insert(words.end(), items.list.begin(), items.list.end());
  }
  while (!words.empty() && (words[0] == "eval" || words[0] == "command" || words[0] == "env")) words.erase(words.begin());
  if (words.empty()) return Flow::Normal;
  const std::string program = base_name(words[0]);
  if (program == "conda" && conda_hook(words[0], line)) return Flow::Normal;
  const auto there = program_exists(words[0]);
  if (there && !*there && !state_.functions.contains(words[0]) && program != "echo" && program != "printf") return Flow::Normal;
  if (prints_harmless_code(program)) return Flow::Normal;
  if (prints_path_code(program)) return not_seen("PATH", "the output of " + program + " runs", line), Flow::Normal;
  everything_not_seen(at_line(line, "the output of " + words[0].substr(0, 60) + " runs"));
  return Flow::Normal;
}

/// conda's hook for fish puts condabin and, when base is activated, base's bin into PATH as that of bash does; its activation
/// scripts may do more, so only the plain case is followed.
bool FishInterpreter::conda_hook(const std::string& conda, std::uint32_t line) {
  const auto runs = files_.is_executable(conda);
  if (runs && !*runs) return true;
  not_seen("PATH", "what conda's hook does to PATH", line);
  state_.functions["conda"] = {nullptr, file_, true};
  const std::size_t bin = conda.rfind("/bin/");
  if (!runs || bin == std::string::npos) return true;
  const auto scripts = files_.list(conda.substr(0, bin) + "/etc/conda/activate.d");
  if (!scripts || !scripts->empty()) everything_not_seen(at_line(line, "conda's activation scripts"));
  return true;
}

}  // namespace gpuvet::shell::fish
