// fish's blocks, files and scopes.

#include "shell/fish_run.h"

#include <algorithm>

#include "shell/pattern.h"

namespace gpuvet::shell::fish {
namespace {

bool is_path_name(std::string_view name) { return name.ends_with("PATH"); }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t end = text.find(separator);
    items.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos || items.size() > 4096) return items;
    text.remove_prefix(end + 1);
  }
}

Scope merged(const Scope& a, const Scope& b, const std::string& why) {
  Scope all = a;
  for (const auto& [name, variable] : b) {
    const auto other = a.find(name);
    if (other != a.end() && other->second == variable) continue;
    FishVariable& both = all[name];
    if (other == a.end()) both = variable;
    both.items = Items::unknown(!both.items.known ? both.items.why : why);
    both.export_unknown = both.export_unknown || other == a.end() || both.exported != variable.exported;
    both.exported = both.exported || variable.exported;
    for (const Origin& origin : variable.set_by) {
      if (std::find(both.set_by.begin(), both.set_by.end(), origin) == both.set_by.end()) both.set_by.push_back(origin);
    }
  }
  for (auto& [name, variable] : all) {
    if (b.contains(name)) continue;
    variable.items = Items::unknown(why);
    variable.export_unknown = true;
  }
  return all;
}

FishState merged(const FishState& a, const FishState& b, const std::string& why) {
  FishState all = a;
  all.universal = merged(a.universal, b.universal, why);
  all.global = merged(a.global, b.global, why);
  for (std::size_t i = 0; i < all.local.size() && i < b.local.size(); ++i) all.local[i] = merged(a.local[i], b.local[i], why);
  for (const auto& [name, function] : b.functions) {
    const auto other = a.functions.find(name);
    if (other != a.functions.end() && other->second == function) continue;
    all.functions[name] = function;
    all.functions[name].unknown = true;
  }
  for (auto& [name, function] : all.functions) function.unknown = function.unknown || !b.functions.contains(name);
  if (a.added_paths != b.added_paths) all.everything = why;
  if (a.last.code != b.last.code) all.last = Status::unknown();
  if (all.everything.empty()) all.everything = b.everything;
  return all;
}

/// fish_variables writes other bytes than letters and digits as \xHH.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto hex = [](char c) {
      return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' && hex(text[i + 2]) >= 0 && hex(text[i + 3]) >= 0) {
      out.push_back(static_cast<char>(hex(text[i + 2]) * 16 + hex(text[i + 3])));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

FishInterpreter::FishInterpreter(const ShellFiles& files, const Identity& identity, const Start& start,
                                 const Variables& environment)
    : files_(files), identity_(identity), start_(start), tests_(files, Setting{}, {}) {
  for (const auto& [name, variable] : environment) {
    if (variable.value.is_unset() || !variable.exported) continue;
    FishVariable& made = state_.global[name];
    made.exported = true;
    made.path = is_path_name(name);
    made.set_by = variable.set_by;
    if (variable.value.is_unknown())
      made.items = Items::unknown(variable.value.text);
    else if (name == "PATH" && (variable.value.text + ":").find("::") != std::string::npos)
      made.items = Items::unknown("an empty piece of PATH");
    else
      made.items.list = made.path ? split(variable.value.text, ':') : std::vector<std::string>{variable.value.text};
  }
  const auto chosen = state_.global.find("XDG_CONFIG_HOME");
  const bool elsewhere = chosen != state_.global.end() && chosen->second.items.known && !chosen->second.items.list.empty();
  config_folder_ = (elsewhere ? chosen->second.items.list[0] : identity.home + "/.config") + "/fish";
  if (start.login) tests_.set("PWD", identity.home);
}

std::string FishInterpreter::at_line(std::uint32_t line, std::string_view what) const {
  if (what.starts_with('/') && what.find(": ") != std::string_view::npos) return std::string(what);
  const Origin where = origin(line);
  return where.source + ":" + std::to_string(where.line) + ": " + std::string(what.empty() ? "cannot be followed" : what);
}

Origin FishInterpreter::origin(std::uint32_t line) const {
  if (site_) return *site_;
  Origin found{file_, line, {}};
  const auto text = texts_.find(file_);
  if (text == texts_.end()) return found;
  std::string_view rest = text->second;
  for (std::uint32_t i = 1; i < line && !rest.empty(); ++i) rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  std::string_view quoted = rest.substr(0, rest.find('\n'));
  quoted = quoted.substr(0, quoted.find(" #"));
  while (!quoted.empty() && (quoted.front() == ' ' || quoted.front() == '\t')) quoted.remove_prefix(1);
  while (!quoted.empty() && (quoted.back() == ' ' || quoted.back() == '\r')) quoted.remove_suffix(1);
  found.text = quoted.substr(0, 300);
  return found;
}

// ---- variables ------------------------------------------------------------------------------------------------------

const FishVariable* FishInterpreter::find(std::string_view name) const {
  const std::size_t first = state_.functions_at.empty() ? 0 : state_.functions_at.back();
  for (std::size_t i = state_.local.size(); i > first; --i) {
    const auto found = state_.local[i - 1].find(name);
    if (found != state_.local[i - 1].end()) return &found->second;
  }
  for (const Scope* scope : {&state_.global, &state_.universal}) {
    const auto found = scope->find(name);
    if (found != scope->end()) return &found->second;
  }
  return nullptr;
}

FishVariable* FishInterpreter::find(std::string_view name) { return const_cast<FishVariable*>(std::as_const(*this).find(name)); }

Items FishInterpreter::get(std::string_view name) const {
  if (name == "status") {
    return state_.last.is_known() ? Items{true, {}, {std::to_string(state_.last.code)}} : Items::unknown("a command's result");
  }
  if (const FishVariable* found = find(name)) return found->items;
  if (name == "__fish_config_dir") return {true, {}, {config_folder_}};
  if (name == "__fish_sysconf_dir") return {true, {}, {"/etc/fish"}};
  if (name == "fish_user_paths") return {};
  if (!state_.everything.empty()) return Items::unknown(state_.everything);
  if (is_of_session(name) || name == "hostname" || name == "version" || name == "FISH_VERSION" || name == "fish_pid" ||
      name.starts_with("__fish"))
    return Items::unknown("$" + std::string(name) + " depends on the session");
  return {};
}

void FishInterpreter::assign(Scope& scope, const std::string& name, Items items, std::optional<bool> exported,
                             std::uint32_t line) {
  FishVariable& variable = scope[name];
  variable.path = variable.path || is_path_name(name);
  if (variable.path && items.known) {
    std::vector<std::string> parts;
    for (const std::string& item : items.list) {
      for (std::string& piece : split(item, ':')) {
        // In these two fish writes an empty piece as the current folder.
        if (piece.empty() && (name == "PATH" || name == "CDPATH")) piece = ".";
        parts.push_back(std::move(piece));
      }
    }
    items.list = std::move(parts);
  }
  if (!items.known && is_reported(name)) items.why = at_line(line, items.why);
  variable.items = std::move(items);
  if (exported) {
    variable.exported = *exported;
    variable.export_unknown = false;
  }
  if (!is_reported(name)) return;
  const Origin where = origin(line);
  if (std::find(variable.set_by.begin(), variable.set_by.end(), where) == variable.set_by.end() && variable.set_by.size() < 200)
    variable.set_by.push_back(where);
}

void FishInterpreter::not_seen(const std::string& name, const std::string& why, std::uint32_t line) {
  FishVariable* found = find(name);
  FishVariable& variable = found ? *found : state_.global[name];
  variable.items = Items::unknown(at_line(line, why));
  if (!found) variable.exported = variable.export_unknown = true;
  if (is_reported(name) && variable.set_by.size() < 200) variable.set_by.push_back(origin(line));
}

void FishInterpreter::everything_not_seen(const std::string& why) {
  state_.everything = why;
  const auto spoil = [&](Scope& scope) {
    for (auto& [name, variable] : scope) {
      if (name == "HOME" || name == "USER" || name == "LOGNAME" || name == "SHELL") continue;
      variable.items = Items::unknown(why);
      variable.export_unknown = variable.export_unknown || !variable.exported;
    }
  };
  for (const std::string& name : reported_names) {
    if (!state_.global.contains(name)) state_.global[name].exported = state_.global[name].export_unknown = true;
  }
  spoil(state_.global);
  spoil(state_.universal);
  for (Scope& scope : state_.local) spoil(scope);
  for (auto& [name, function] : state_.functions) function.unknown = true;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

template <class A, class B>
Flow FishInterpreter::both_ways(A&& first, B&& second, std::uint32_t line) {
  const std::string why = at_line(line, "depends on a condition that cannot be judged");
  if (!spend(20)) return Flow::Stop;
  FishState before = state_;
  const Flow one = first();
  FishState after_one = std::move(state_);
  state_ = std::move(before);
  const Flow two = second();
  if (one == Flow::Exit) return two;
  if (two == Flow::Exit) {
    state_ = std::move(after_one);
    return one;
  }
  if (one == two) {
    state_ = merged(after_one, state_, why);
    return one;
  }
  // One way goes on and the other does not: nothing is sure from here.
  everything_not_seen(why);
  return Flow::Normal;
}

Flow FishInterpreter::run(const Block& block) {
  for (const Statement& statement : block.statements) {
    const Flow flow = run(statement);
    if (flow != Flow::Normal) return flow;
  }
  return Flow::Normal;
}

Flow FishInterpreter::in_scope(const Block& block) {
  state_.local.emplace_back();
  const Flow flow = run(block);
  state_.local.pop_back();
  return flow;
}

Flow FishInterpreter::run(const Statement& statement) {
  if (!spend()) {
    if (state_.everything.empty()) everything_not_seen(file_ + ": too much to follow");
    return Flow::Stop;
  }
  if (statement.joined == Statement::Joined::Always) return run_pipeline(statement);
  const bool wants = statement.joined == Statement::Joined::And;
  if (state_.last.is_known()) return state_.last.ok() == wants ? run_pipeline(statement) : Flow::Normal;
  return both_ways(
      [&] {
        state_.last = Status::of(wants);
        return run_pipeline(statement);
      },
      [&] {
        state_.last = Status::of(!wants);
        return Flow::Normal;
      },
      statement.pipeline[0].line);
}

/// The program whose output a pipe feeds into `source`.
Flow FishInterpreter::run_pipeline(const Statement& statement) {
  Flow flow = Flow::Normal;
  const Node& last = statement.pipeline.back();
  const bool sources =
      statement.pipeline.size() > 1 && last.words.size() == 1 && (last.words[0].raw == "source" || last.words[0].raw == ".");
  if (sources && statement.pipeline.size() == 2) {
    flow = source_output(statement.pipeline[0], last.line);
  } else if (sources) {
    everything_not_seen(at_line(last.line, "a pipe into source"));
  } else {
    for (const Node& node : statement.pipeline) {
      Items elsewhere;
      Items* output = output_;
      if (&node != &last) output_ = &elsewhere;
      // Functions and blocks of a pipeline run in this shell.
      if (statement.background && node.kind == Node::Kind::Simple)
        state_.last = {};
      else
        flow = run(node);
      output_ = output;
      if (flow != Flow::Normal) break;
    }
    if (statement.pipeline.size() > 1 && output_) *output_ = Items::unknown("the output of a pipeline");
  }
  if (statement.negated && state_.last.is_known()) state_.last = Status::of(!state_.last.ok());
  return flow;
}

Flow FishInterpreter::run_if(const Node& node, std::size_t at) {
  const std::size_t conditions = node.blocks.size() - (node.else_branch ? 1 : 0);
  if (at >= conditions) return node.else_branch ? in_scope(*node.blocks.back()) : Flow::Normal;
  const Flow flow = run(*node.blocks[at]);
  if (flow != Flow::Normal) return flow;
  const auto body = [&] { return in_scope(*node.blocks[at + 1]); };
  const auto others = [&] { return run_if(node, at + 2); };
  if (state_.last.is_known()) return state_.last.ok() ? body() : others();
  return both_ways(body, others, node.line);
}

Flow FishInterpreter::run_switch(const Node& node) {
  if (node.words.size() != 1) return everything_not_seen(at_line(node.line, "a switch")), Flow::Normal;
  const Items subject = expand(node.words[0]);
  for (std::size_t i = 0; i < node.blocks.size(); ++i) {
    for (const Word& word : node.cases[i]) {
      const Items pattern = expand(word);
      if (!subject.known || !pattern.known || subject.list.size() > 1 || pattern.list.size() != 1) {
        if (word.raw == "'*'" || word.raw == "*") return in_scope(*node.blocks[i]);
        everything_not_seen(at_line(node.line, "a switch that cannot be judged"));
        return Flow::Normal;
      }
      Marked marked;
      for (const char c : pattern.list[0]) marked.add(std::string_view(&c, 1), c == '*' || c == '?' ? 'u' : 'q');
      if (matches(marked, subject.list.empty() ? "" : subject.list[0])) return in_scope(*node.blocks[i]);
    }
  }
  return Flow::Normal;
}

Flow FishInterpreter::unknown_loop(const Node& node, const std::string& variable) {
  const std::string why = at_line(node.line, "a loop whose rounds cannot be told");
  for (int round = 0; round < 4; ++round) {
    const FishState before = state_;
    if (!variable.empty()) state_.global[variable].items = Items::unknown(why);
    Flow flow = Flow::Normal;
    for (const BlockPtr& block : node.blocks) {
      if (flow == Flow::Normal) flow = in_scope(*block);
    }
    if (flow != Flow::Normal && flow != Flow::Exit) everything_not_seen(why);
    state_ = merged(before, state_, why);
    if (state_.global == before.global && state_.universal == before.universal && state_.local == before.local) break;
    if (round == 3) everything_not_seen(why);
  }
  state_.last = Status::unknown();
  return Flow::Normal;
}

Flow FishInterpreter::run_for(const Node& node) {
  if (node.words.size() < 2 || node.words[1].raw != "in")
    return everything_not_seen(at_line(node.line, "a for loop")), Flow::Normal;
  const std::string& variable = node.words[0].raw;
  std::vector<std::string> list;
  for (std::size_t i = 2; i < node.words.size(); ++i) {
    const Items items = expand(node.words[i]);
    if (!items.known) return unknown_loop(node, variable);
    list.insert(list.end(), items.list.begin(), items.list.end());
  }
  for (const std::string& item : list) {
    Scope& scope = state_.local.empty() ? state_.global : state_.local.back();
    FishVariable* held = find(variable);
    if (held)
      held->items = {true, {}, {item}};
    else
      scope[variable].items = {true, {}, {item}};
    const Flow flow = in_scope(*node.blocks[0]);
    if (flow == Flow::Break) break;
    if (flow != Flow::Normal && flow != Flow::Continue) return flow;
  }
  return Flow::Normal;
}

Flow FishInterpreter::run(const Node& node) {
  if (!spend()) return Flow::Stop;
  ++depth_;
  Flow flow = Flow::Normal;
  switch (node.kind) {
    case Node::Kind::Simple: {
      Items elsewhere;
      Items* output = output_;
      if (output_ && node.output_elsewhere) output_ = &elsewhere;
      flow = command(node);
      output_ = output;
      break;
    }
    case Node::Kind::If:
      flow = run_if(node, 0);
      break;
    case Node::Kind::Switch:
      flow = run_switch(node);
      break;
    case Node::Kind::For:
      flow = run_for(node);
      break;
    case Node::Kind::While:
      flow = unknown_loop(node, "");
      break;
    case Node::Kind::Begin:
      flow = in_scope(*node.blocks[0]);
      break;
    case Node::Kind::Function:
      if (node.words.empty()) break;
      state_.functions[node.words[0].raw] = {node.blocks[0], file_, node.words.size() > 1 && node.words[1].raw == "-V"};
      state_.last = {};
      break;
  }
  --depth_;
  return flow;
}

Flow FishInterpreter::call(const FishFunction& function, const Line& line) {
  if (state_.functions_at.size() > 20) return everything_not_seen(file_ + ": functions that call each other"), Flow::Normal;
  const std::string outer_file = file_;
  file_ = function.file;
  state_.functions_at.push_back(state_.local.size());
  state_.local.emplace_back();
  const bool known = std::all_of(line.known.begin(), line.known.end(), [](bool k) { return k; });
  state_.local.back()["argv"].items =
      known ? Items{true, {}, Words(line.words.begin() + 1, line.words.end())} : Items::unknown("arguments");
  const BlockPtr body = function.body;
  Flow flow = run(*body);
  state_.local.resize(state_.functions_at.back());
  state_.functions_at.pop_back();
  file_ = outer_file;
  return flow == Flow::Exit || flow == Flow::Stop ? flow : Flow::Normal;
}

// ---- files ----------------------------------------------------------------------------------------------------------

Flow FishInterpreter::run_text(const std::string& text, const std::string& file, std::uint32_t line) {
  const Parsed parsed = parse(text, line);
  if (!parsed.error.empty()) {
    everything_not_seen(file + ":" + std::to_string(parsed.error_line) + ": " + parsed.error);
    return Flow::Normal;
  }
  const std::string outer = file_;
  file_ = file;
  if (depth_ > 30) everything_not_seen(file + ": files that source each other");
  ++depth_;
  const Flow flow = depth_ > 31 ? Flow::Normal : run(*parsed.block);
  --depth_;
  file_ = outer;
  return flow == Flow::Exit || flow == Flow::Stop ? flow : Flow::Normal;
}

Flow FishInterpreter::source_file(const std::string& path) {
  const auto content = files_.read(path);
  if (content.state == ShellFiles::Read::Missing) {
    state_.last = Status::of(false);
    return Flow::Normal;
  }
  if (content.state == ShellFiles::Read::Unreadable) {
    everything_not_seen(path + ": may not be read");
    return Flow::Normal;
  }
  bytes_ += content.text.size();
  if (!spend(200) || bytes_ > (std::size_t{8} << 20)) {
    everything_not_seen(path + ": too much to follow");
    return Flow::Stop;
  }
  texts_[path] = content.text;
  files_read.push_back(path);
  state_.last = {};
  const auto site = site_;
  site_.reset();
  const Flow flow = run_text(content.text, path, 1);
  site_ = site;
  return flow;
}

/// Universal variables are kept in a file: "SETUVAR --export NAME:value\x1evalue".
void FishInterpreter::read_universal(const std::string& path) {
  const auto content = files_.read(path);
  if (content.state == ShellFiles::Read::Unreadable) return everything_not_seen(path + ": may not be read");
  texts_[path] = content.text;
  std::uint32_t number = 0;
  for (std::string line : split(content.text, '\n')) {
    ++number;
    constexpr std::string_view key = "SETUVAR ";
    if (!line.starts_with(key)) continue;
    line.erase(0, key.size());
    bool exports = false, is_path = false;
    while (line.starts_with("-")) {
      const std::string flag = line.substr(0, line.find(' '));
      exports = exports || flag == "--export";
      is_path = is_path || flag == "--path";
      line.erase(0, flag.size() + 1);
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    Items items;
    const std::string value = unescaped(line.substr(colon + 1));
    if (!value.empty()) items.list = value == "\x1d" ? std::vector<std::string>{} : split(value, '\x1e');
    file_ = path;
    const std::string name = line.substr(0, colon);
    assign(state_.universal, name, std::move(items), exports, number);
    if (is_path) state_.universal[name].path = true;
  }
  if (content.state == ShellFiles::Read::Text) files_read.push_back(path);
}

void FishInterpreter::start_up() {
  read_universal(config_folder_ + "/fish_variables");
  file_ = config_folder_ + "/fish_variables";
  reconstruct_path(0);
  std::vector<std::string> done, files;
  const std::string data = identity_.home + "/.local/share/fish";
  for (const std::string& folder :
       {config_folder_ + "/conf.d", std::string("/etc/fish/conf.d"), data + "/vendor_conf.d",
        std::string("/usr/local/share/fish/vendor_conf.d"), std::string("/usr/share/fish/vendor_conf.d")}) {
    const auto names = files_.list(folder);
    if (!names) everything_not_seen(folder + ": may not be read");
    for (const std::string& name : names.value_or(std::vector<std::string>{})) {
      if (!name.ends_with(".fish") || name.starts_with('.') || std::find(done.begin(), done.end(), name) != done.end()) continue;
      done.push_back(name);
      if (files_.is_file(folder + "/" + name).value_or(true)) files.push_back(folder + "/" + name);
    }
  }
  files.emplace_back("/etc/fish/config.fish");
  files.push_back(config_folder_ + "/config.fish");
  for (const std::string& path : files) {
    const Flow flow = source_file(path);
    if (flow == Flow::Normal) continue;
    everything_not_seen(path + ": ends the shell");
    return;
  }
}

Variables FishInterpreter::exported() const {
  Variables all;
  const auto take = [&](const Scope& scope) {
    for (const auto& [name, held] : scope) {
      if (all.contains(name) || (!held.exported && held.set_by.empty())) continue;
      Variable& variable = all[name];
      variable.exported = held.exported;
      variable.export_unknown = held.export_unknown;
      variable.set_by = held.set_by;
      std::string text;
      for (std::size_t i = 0; i < held.items.list.size(); ++i)
        text += (i > 0 ? (held.path ? ":" : " ") : "") + held.items.list[i];
      variable.value = held.items.known ? Value::known(text) : Value::unknown(held.items.why);
    }
  };
  take(state_.global);
  Scope visible;
  for (const auto& [name, held] : state_.universal) {
    if (!state_.global.contains(name)) visible.emplace(name, held);
  }
  take(visible);
  return all;
}

}  // namespace gpuvet::shell::fish

namespace gpuvet::shell {

Outcome follow_fish(const ShellFiles& files, const Identity& identity, const Start& start, Variables environment) {
  fish::FishInterpreter shell(files, identity, start, environment);
  shell.start_up();
  return {shell.files_read, shell.exported()};
}

}  // namespace gpuvet::shell
