#pragma once
// Walks over the commands of start-up files and keeps what the variables will be. Where a condition cannot be judged both ways
// are walked and merged; where a command may change variables in a way that is not followed, they become unknown.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/files.h"
#include "shell/state.h"

namespace gpuvet::shell {

/// The judged user and the way this shell was started.
struct Setting {
  std::string home, user, shell_path;
  std::optional<std::int64_t> uid;
  Dialect dialect = Dialect::Bash;
  bool login = false, interactive = false;
  bool posix = false;  ///< bash called sh
  std::string zsh_etc = "/etc/zsh";
};

/// How a command leaves: it goes on, or jumps.
enum class Flow : std::uint8_t {
  Normal,
  Return,
  Break,
  Continue,
  Exit,  ///< the shell ends: no process has this environment
  Stop   ///< the start-up ends here, with an environment that cannot be told (exec, an error that ends the file)
};

class Interpreter {
 public:
  Interpreter(const ShellFiles& files, const Setting& setting, Variables start);

  /// A start-up file, read by the shell itself: a missing one is no error.
  void start_up_file(const std::string& path);
  /// Commands given as text (emulate -c, tests).
  void run_text(const std::string& text, const std::string& name);
  /// Ends the start-up: what was left on the way is merged in.
  const State& finish();

  std::vector<std::string> files_read;
  Value value(std::string_view name) const { return get(name); }
  void set(const std::string& name, const std::string& text) { state_.variables[name].value = Value::known(text); }
  void forget(const std::string& name) { state_.variables.erase(name); }
  /// `test` with these arguments, for fish.
  Status judge(const std::vector<std::string>& words, const std::vector<bool>& known) {
    filled_.clear();
    return test(words, known);
  }
  /// Something before the next file makes everything unknown.
  void give_up(const std::string& why) { everything_not_seen(why); }
  const std::string& ended() const { return ended_; }

 private:
  friend class Expander;
  struct Loop {
    std::optional<State> broken, continued;  ///< merged states of ways that left the loop or its round early
  };
  /// A function, or a file that is sourced.
  struct Frame {
    std::optional<State> returned;  ///< merged states of ways that returned early
    std::vector<Loop> loops;
    std::string why;                                       ///< of the first early return
    std::map<std::string, std::optional<Variable>> saved;  ///< what the locals of a function hid
    bool function = false;
  };

  // interpret.cpp
  Flow run(const Command& command);
  Flow run_list(const Command& command);
  Flow run_and_or(const Command& command, std::size_t at = 0);
  Flow run_pipeline(const Command& command);
  Flow run_if(const Command& command, std::size_t at = 0);
  Flow run_for(const Command& command);
  Flow run_while(const Command& command);
  Flow run_case(const Command& command, std::size_t at, const Value& subject);
  Flow run_case_body(const Command& command, std::size_t at, const Value& subject);
  Flow loop_round(const Command& command, bool& left);
  Flow end_frame(Flow flow);
  Flow dispatch(const Command& command);
  Flow run_subshell(const Command& command);
  template <class A, class B>
  Flow both_ways(A&& first, B&& second, const std::string& why);
  void park(Flow flow, State state, const std::string& why);
  Flow unknown_loop(const Command& command, const std::string& why, const std::string& variable);
  void join(std::optional<State>& into, const State& state, const std::string& why);

  // commands.cpp
  using Words = std::vector<std::string>;
  Flow run_simple(const Command& command);
  Flow run_words(const Command& command, const Words& words, const std::vector<bool>& known, bool functions = true);
  Flow call_function(const Function& function, std::vector<std::string> arguments, bool known, std::uint32_t line);
  Flow source(const std::string& path, std::vector<std::string> arguments, std::uint32_t line);
  Flow source_text(const std::string& path, const std::string& text);
  Flow source_known_tool(const std::string& path, std::uint32_t line, bool& handled);
  std::optional<std::string> find_to_source(const std::string& name);
  Flow parsed(const std::string& text, const std::string& file, std::uint32_t first_line);
  Flow eval(const std::string& text, std::uint32_t line);
  std::optional<std::string> path_of_program(const std::string& name, bool& known);

  // builtins.cpp
  std::optional<Flow> builtin(const Command& command, const Words& words, const std::vector<bool>& known);
  std::optional<Flow> control(const Command& command, const Words& words, const std::vector<bool>& known);
  std::optional<Flow> plain_builtin(const Command& command, const Words& words, const std::vector<bool>& known);
  void declare(const Command& command, const Words& words, const std::vector<bool>& known);
  void unset(const Words& words, std::uint32_t line);
  void set_options(const Words& words, std::uint32_t line);
  void option(char letter, bool on, std::uint32_t line);
  void alias(const Words& words);
  void echo(const Words& words, const std::vector<bool>& known);
  void change_directory(const Words& words);
  Status command_v(const Words& words, std::size_t from);

  // external.cpp
  void external(const Command& command, const Words& words, const std::vector<bool>& known);
  bool known_output(const Words& words, const std::vector<bool>& known);
  std::optional<bool> conda_activates_base(const std::string& prefix) const;
  void conda_hook(const std::string& prefix, std::uint32_t line);
  Flow eval_tool(const std::string& tool, std::uint32_t line);

  // variables.cpp
  Value get(std::string_view name) const;
  Value initial(std::string_view name) const;
  std::optional<std::vector<std::string>> items(std::string_view name) const;
  void assign(const std::string& name, Value value, std::uint32_t line, bool append = false);
  void assign_items(const std::string& name, std::optional<std::vector<std::string>> items, std::uint32_t line, bool append,
                    const std::string& why);
  void assign(const Assignment& assignment);
  static void set_exported(Variable& variable, bool exported) {
    variable.exported = exported;
    variable.export_unknown = false;
  }
  void record(Variable& variable, std::uint32_t line);
  void not_seen(const std::string& name, const std::string& why, std::uint32_t line);
  void everything_not_seen(const std::string& why);
  std::string at_line(std::uint32_t line, std::string_view what) const;
  Origin origin(std::uint32_t line) const;
  std::string tied(std::string_view name) const;
  void make_local(const std::string& name);

  // test_command.cpp
  Status test(const Words& words, const std::vector<bool>& known);
  Status condition(const Condition& condition);
  Status unary(const std::string& op, const Value& value);
  Status binary(const std::string& op, const Value& left, const Value& right);
  Status arithmetic(const std::string& text);
  std::optional<std::string> absolute(const std::string& path) const;

  bool spend(std::size_t steps = 1);
  bool spend_copy(std::size_t steps);
  Frame& frame() { return frames_.back(); }

  const ShellFiles& files_;
  Setting setting_;
  State state_;
  std::vector<Frame> frames_;
  std::optional<State> stopped_;              ///< merged states of ways on which the start-up ended early
  std::string file_;                          ///< that runs now
  std::map<std::string, std::string> texts_;  ///< files read, for quoting their lines
  std::optional<Origin> site_;                ///< inside a function or an eval: the line that called it
  std::vector<int> filled_;  ///< of the words of the command that runs: 1, 2 (quoted): unknown, but surely not empty
  Value* output_ = nullptr;  ///< of the command substitution that runs now
  int depth_ = 0;
  std::size_t steps_ = 0, bytes_ = 0;
  bool over_ = false;
  std::string ended_;  ///< why no shell comes out of this start-up
};

}  // namespace gpuvet::shell
