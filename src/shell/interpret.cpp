// The compound commands, and the merging of ways.

#include "shell/interpret.h"

#include <algorithm>

#include "shell/expand.h"
#include "shell/parse.h"

namespace gpuvet::shell {
namespace {

constexpr std::size_t longest_chain = 500, most_steps = 100000, most_rounds = 2000, most_bytes = std::size_t{8} << 20;
constexpr int deepest = 60;

}  // namespace

Interpreter::Interpreter(const ShellFiles& files, const Setting& setting, Variables start) : files_(files), setting_(setting) {
  state_.variables = std::move(start);
  state_.word_splitting = setting.dialect != Dialect::Zsh;
  if (setting.dialect == Dialect::Zsh) {
    state_.ties = {{"path", "PATH"}, {"fpath", "FPATH"}, {"manpath", "MANPATH"}, {"cdpath", "CDPATH"}};
  }
  frames_.emplace_back();
}

bool Interpreter::spend(std::size_t steps) {
  steps_ += steps;
  if (steps_ <= most_steps && depth_ <= deepest) return true;
  if (state_.everything.empty()) everything_not_seen(file_ + ": too much to follow");
  return false;
}

/// A copy of everything that is known costs what it holds: files with ten thousand variables end sooner.
bool Interpreter::spend_copy(std::size_t steps) {
  return spend(steps + (state_.variables.size() + state_.functions.size() + state_.aliases.size()) / 16);
}

void Interpreter::join(std::optional<State>& into, const State& state, const std::string& why) {
  into = into ? merged(*into, state, why) : state;
}

/// Keeps the state of a way that left early, for the place where it arrives.
void Interpreter::park(Flow flow, State state, const std::string& why) {
  switch (flow) {
    case Flow::Return:
      if (frame().why.empty()) frame().why = why;
      return join(frame().returned, state, why);
    case Flow::Break:
      if (!frame().loops.empty()) join(frame().loops.back().broken, state, why);
      return;
    case Flow::Continue:
      if (!frame().loops.empty()) join(frame().loops.back().continued, state, why);
      return;
    case Flow::Stop:
      return join(stopped_, state, why);
    case Flow::Exit:
    case Flow::Normal:
      return;
  }
}

template <class A, class B>
Flow Interpreter::both_ways(A&& first, B&& second, const std::string& why) {
  if (!spend_copy(20)) return Flow::Stop;
  State before = state_;
  const Flow one = first();
  State after_one = std::move(state_);
  state_ = std::move(before);
  const Flow two = second();
  if (one == two) {
    state_ = merged(after_one, state_, why);
    return one;
  }
  if (one == Flow::Exit) return two;
  if (two == Flow::Exit) {
    state_ = std::move(after_one);
    return one;
  }
  if (two == Flow::Normal) {
    park(one, std::move(after_one), why);
    return two;
  }
  park(two, std::move(state_), why);
  state_ = std::move(after_one);
  return one;
}

Flow Interpreter::run(const Command& command) {
  if (!spend()) return Flow::Stop;
  ++depth_;
  const Flow flow = dispatch(command);
  --depth_;
  return flow;
}

Flow Interpreter::dispatch(const Command& command) {
  if (command.kind != Command::Kind::Simple) {
    for (const Redirect& redirect : command.redirects) {
      if (redirect.op != "<") continue;
      const Value file = Expander(*this).single(redirect.target, false);
      if (!file.is_known() || !file.text.starts_with('/')) continue;
      const auto there = files_.is_file(file.text);
      if (there && !*there && !file.text.starts_with("/dev/")) {
        state_.last = Status::of(false);
        return Flow::Normal;
      }
    }
  }
  // Each of their parts is walked inside the one before it.
  const bool nests =
      command.kind == Command::Kind::AndOr || command.kind == Command::Kind::If || command.kind == Command::Kind::Case;
  if (nests && command.children.size() > longest_chain) {
    everything_not_seen(at_line(command.line, "a chain of commands too long to follow"));
    return Flow::Stop;
  }
  switch (command.kind) {
    case Command::Kind::Simple:
      return run_simple(command);
    case Command::Kind::Pipeline:
      return run_pipeline(command);
    case Command::Kind::AndOr: {
      const Flow flow = run(*command.children[0]);
      return flow == Flow::Normal ? run_and_or(command, 1) : flow;
    }
    case Command::Kind::List:
      return run_list(command);
    case Command::Kind::If:
      return run_if(command);
    case Command::Kind::For:
      return run_for(command);
    case Command::Kind::While:
      return run_while(command);
    case Command::Kind::Case:
      return run_case(command, 0, Expander(*this).single(command.words[0], false));
    case Command::Kind::Function:
      state_.functions[command.name] = {command.children[0], file_, false};
      state_.aliases.erase(command.name);
      state_.last = {};
      return Flow::Normal;
    case Command::Kind::Subshell:
      return run_subshell(*command.children[0]);
    case Command::Kind::Group: {
      const Flow flow = run(*command.children[0]);
      if (command.children.size() < 2) return flow;
      const Flow after = run(*command.children[1]);
      return after == Flow::Normal ? flow : after;
    }
    case Command::Kind::Test:
      state_.last = condition(*command.condition);
      return Flow::Normal;
    case Command::Kind::Arithmetic:
      state_.last = arithmetic(command.name);
      return Flow::Normal;
    case Command::Kind::Always:
      break;
  }
  return Flow::Normal;
}

Flow Interpreter::run_list(const Command& command) {
  for (std::size_t i = 0; i < command.children.size(); ++i) {
    Flow flow = Flow::Normal;
    if (i < command.operators.size() && command.operators[i] == "&") {
      run_subshell(*command.children[i]);
      state_.last = {};
    } else {
      flow = run(*command.children[i]);
    }
    if (flow != Flow::Normal) return flow;
  }
  return Flow::Normal;
}

/// From child `at` on; the result of what ran before is in state_.last.
Flow Interpreter::run_and_or(const Command& command, std::size_t at) {
  if (at >= command.children.size()) return Flow::Normal;
  if (!spend()) return Flow::Stop;
  const bool wants_success = command.operators[at - 1] == "&&";
  const auto with_child = [&] {
    const Flow flow = run(*command.children[at]);
    return flow == Flow::Normal ? run_and_or(command, at + 1) : flow;
  };
  if (state_.last.is_known()) return state_.last.ok() == wants_success ? with_child() : run_and_or(command, at + 1);
  const std::string why = at_line(command.children[at]->line, "depends on a condition that cannot be judged");
  return both_ways(
      [&] {
        state_.last = Status::of(wants_success);
        return with_child();
      },
      [&] {
        state_.last = Status::of(!wants_success);
        return run_and_or(command, at + 1);
      },
      why);
}

Flow Interpreter::run_subshell(const Command& command) {
  if (!spend_copy(1)) return Flow::Stop;
  State before = state_;
  auto frames = frames_;
  auto stopped = stopped_;
  const Flow flow = run(command);
  Status status = state_.last;
  if (flow == Flow::Stop || flow == Flow::Exit) status = Status::unknown();
  state_ = std::move(before);
  frames_ = std::move(frames);
  stopped_ = std::move(stopped);
  state_.last = status;
  return Flow::Normal;
}

Flow Interpreter::run_pipeline(const Command& command) {
  Flow flow = Flow::Normal;
  for (std::size_t i = 0; i < command.children.size(); ++i) {
    const bool last = i + 1 == command.children.size();
    Value elsewhere = Value::known("");
    Value* output = output_;
    if (!last) output_ = &elsewhere;
    if (command.children.size() == 1 || (last && setting_.dialect == Dialect::Zsh)) {
      flow = run(*command.children[i]);
    } else {
      run_subshell(*command.children[i]);
    }
    output_ = output;
  }
  if (command.negated && state_.last.is_known()) state_.last = Status::of(!state_.last.ok());
  return flow;
}

Flow Interpreter::run_if(const Command& command, std::size_t at) {
  const std::size_t conditions = command.children.size() - (command.else_branch ? 1 : 0);
  if (at >= conditions) {
    if (command.else_branch) return run(*command.children.back());
    state_.last = {};
    return Flow::Normal;
  }
  const Flow flow = run(*command.children[at]);
  if (flow != Flow::Normal) return flow;
  const auto body = [&] { return run(*command.children[at + 1]); };
  const auto others = [&] { return run_if(command, at + 2); };
  if (state_.last.is_known()) return state_.last.ok() ? body() : others();
  return both_ways(body, others, at_line(command.children[at]->line, "depends on a condition that cannot be judged"));
}

/// One round of a loop's body. `left`: a break ended the loop for sure.
Flow Interpreter::loop_round(const Command& command, bool& left) {
  const Flow flow = run(*command.children.back());
  Loop& loop = frame().loops.back();
  if (loop.continued) {
    if (flow == Flow::Normal || flow == Flow::Continue) {
      state_ = merged(*loop.continued, state_, at_line(command.line, "depends on a condition that cannot be judged"));
      loop.continued.reset();
      return Flow::Normal;
    }
    park(flow, std::move(state_), file_);
    state_ = std::move(*loop.continued);
    loop.continued.reset();
    return Flow::Normal;
  }
  left = flow == Flow::Break;
  return flow == Flow::Continue || flow == Flow::Break ? Flow::Normal : flow;
}

Flow Interpreter::run_for(const Command& command) {
  std::vector<std::string> list;
  if (command.over_arguments) {
    if (!state_.arguments_known) return unknown_loop(command, "arguments", command.name);
    list = state_.arguments;
  }
  for (const Word& word : command.words) {
    const Fields fields = Expander(*this).fields(word, false);
    if (fields.no_match) {
      everything_not_seen(at_line(command.line, fields.why));
      return Flow::Stop;
    }
    if (!fields.known) return unknown_loop(command, at_line(command.line, fields.why), command.name);
    list.insert(list.end(), fields.texts.begin(), fields.texts.end());
  }
  frame().loops.emplace_back();
  Flow flow = Flow::Normal;
  bool left = false;
  state_.last = {};
  for (std::size_t i = 0; i < list.size() && flow == Flow::Normal && !left; ++i) {
    assign(command.name, Value::known(list[i]), command.line);
    flow = loop_round(command, left);
  }
  const Loop loop = std::move(frame().loops.back());
  frame().loops.pop_back();
  const std::string why = at_line(command.line, "a loop that may end early");
  if (!loop.broken) return flow;
  if (flow == Flow::Normal) {
    state_ = merged(*loop.broken, state_, why);
  } else {
    park(flow, std::move(state_), why);
    state_ = *loop.broken;
  }
  return Flow::Normal;
}

Flow Interpreter::run_while(const Command& command) {
  for (std::size_t round = 0; round < most_rounds; ++round) {
    if (!spend_copy(1)) return Flow::Stop;
    State before = state_;
    Flow flow = run(*command.children[0]);
    if (flow != Flow::Normal) return flow;
    if (!state_.last.is_known()) {
      state_ = std::move(before);
      return unknown_loop(command, at_line(command.line, "a loop whose end cannot be told"), "");
    }
    if (state_.last.ok() == command.until) {
      state_.last = {};
      return Flow::Normal;
    }
    frame().loops.emplace_back();
    bool left = false;
    flow = loop_round(command, left);
    const Loop loop = std::move(frame().loops.back());
    frame().loops.pop_back();
    if (loop.broken) {
      state_ = std::move(before);
      return unknown_loop(command, at_line(command.line, "a loop that may end early"), "");
    }
    if (left || flow != Flow::Normal) return flow;
  }
  everything_not_seen(at_line(command.line, "a long loop"));
  return Flow::Normal;
}

/// A loop of which it is not known how often it runs: what it changes becomes unknown.
Flow Interpreter::unknown_loop(const Command& command, const std::string& why, const std::string& variable) {
  for (int round = 0; round < 8; ++round) {
    if (!spend_copy(1)) return Flow::Stop;
    const State before = state_;
    frame().loops.emplace_back();
    if (!variable.empty()) assign(variable, Value::unknown(why), command.line);
    Flow flow = Flow::Normal;
    for (const CommandPtr& child : command.children) {
      if (flow == Flow::Normal) flow = run(*child);
    }
    const Loop loop = std::move(frame().loops.back());
    frame().loops.pop_back();
    State after = std::move(state_);
    if (flow == Flow::Return || flow == Flow::Stop) park(flow, after, why);
    if (flow == Flow::Return || flow == Flow::Stop || flow == Flow::Exit) after = before;
    for (const auto& other : {loop.broken, loop.continued}) {
      if (other) after = merged(after, *other, why);
    }
    state_ = merged(before, after, why);
    state_.last = Status::unknown();
    if (state_.variables == before.variables && state_.functions == before.functions) break;
    if (round == 7) everything_not_seen(why);
  }
  if (output_) *output_ = Value::unknown(why);
  return Flow::Normal;
}

Flow Interpreter::run_case_body(const Command& command, std::size_t at, const Value& subject) {
  state_.last = {};
  for (; at < command.items.size(); ++at) {
    const CaseItem& item = command.items[at];
    const Flow flow = run(*item.body);
    if (flow != Flow::Normal || item.terminator == ";;") return flow;
    if (item.terminator == ";;&") return run_case(command, at + 1, subject);
  }
  return Flow::Normal;
}

Flow Interpreter::run_case(const Command& command, std::size_t at, const Value& subject) {
  if (!spend()) return Flow::Stop;
  for (; at < command.items.size(); ++at) {
    bool surely = false, maybe = false;
    for (const Word& word : command.items[at].patterns) {
      std::string why;
      const auto pattern = Expander(*this).pattern(word, why);
      if (pattern && pattern->text == "*" && pattern->special(0)) surely = true;
      if (!pattern || subject.is_unknown())
        maybe = true;
      else if (matches(*pattern, subject.text))
        surely = true;
    }
    if (surely) return run_case_body(command, at, subject);
    if (maybe) {
      const std::size_t here = at;
      return both_ways([&] { return run_case_body(command, here, subject); },
                       [&] { return run_case(command, here + 1, subject); },
                       at_line(command.line, "depends on a case that cannot be judged"));
    }
  }
  state_.last = {};
  return Flow::Normal;
}

// ---- files ----------------------------------------------------------------------------------------------------------

/// Ends a function or a file: ways that returned early meet the one that ran to the end.
Flow Interpreter::end_frame(Flow flow) {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  const std::string why = frame.why;
  if (frame.returned) {
    if (flow == Flow::Normal || flow == Flow::Return) {
      state_ = merged(*frame.returned, state_, why);
    } else {
      park(flow, std::move(state_), why);
      state_ = std::move(*frame.returned);
    }
    flow = Flow::Normal;
  }
  for (auto& [name, variable] : frame.saved) {
    if (variable)
      state_.variables[name] = std::move(*variable);
    else
      state_.variables.erase(name);
  }
  return flow == Flow::Exit || flow == Flow::Stop ? flow : Flow::Normal;
}

Flow Interpreter::parsed(const std::string& text, const std::string& file, std::uint32_t first_line) {
  Parser parser(text, setting_.dialect, first_line);
  const std::string outer = file_;
  file_ = file;
  Flow flow = Flow::Normal;
  while (flow == Flow::Normal) {
    const CommandPtr command = parser.next();
    if (!command) break;
    flow = run(*command);
  }
  if (parser.failed()) {
    everything_not_seen(at_line(parser.line(), parser.error()));
    if (setting_.dialect == Dialect::Dash || setting_.posix) flow = Flow::Stop;
  }
  file_ = outer;
  return flow;
}

Flow Interpreter::source_text(const std::string& path, const std::string& text) {
  if (depth_ > deepest / 2 || frames_.size() > 30) {
    everything_not_seen(path + ": files that source each other");
    return Flow::Normal;
  }
  bytes_ += text.size();
  if (!spend(200)) return Flow::Stop;
  if (bytes_ > most_bytes) {
    everything_not_seen(path + ": too much to follow");
    return Flow::Stop;
  }
  texts_[path] = text;
  files_read.push_back(path);
  frames_.emplace_back();
  ++depth_;
  const auto site = site_;
  site_.reset();
  const Flow flow = end_frame(parsed(text, path, 1));
  site_ = site;
  --depth_;
  return flow;
}

void Interpreter::run_text(const std::string& text, const std::string& name) {
  if (over_) return;
  const Flow flow = source_text(name, text);
  if (flow == Flow::Exit) {
    ended_ = name + ": exits the shell";
    everything_not_seen(ended_);
  }
  if (flow == Flow::Stop) {
    park(Flow::Stop, state_, name);
    state_ = *stopped_;
    stopped_.reset();
  }
  over_ = flow == Flow::Exit || flow == Flow::Stop;
}

void Interpreter::start_up_file(const std::string& path) {
  if (over_) return;
  const ShellFiles::Content content = files_.read(path);
  if (content.state == ShellFiles::Read::Missing) return;
  if (content.state == ShellFiles::Read::Unreadable) return everything_not_seen(path + ": may not be read");
  run_text(content.text, path);
}

const State& Interpreter::finish() {
  if (stopped_) state_ = merged(*stopped_, state_, "the start-up may end early");
  stopped_.reset();
  return state_;
}

}  // namespace gpuvet::shell
