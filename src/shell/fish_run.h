#pragma once
// Walks over fish's start-up files; the same idea as interpret.h, with fish's lists and scopes.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/fish_syntax.h"
#include "shell/interpret.h"
#include "shell/pattern.h"
#include "shell/start_up.h"

namespace gpuvet::shell::fish {

struct Items {
  bool known = true;
  std::string why;
  std::vector<std::string> list;
  static Items unknown(std::string why) { return {false, std::move(why), {}}; }
  friend bool operator==(const Items&, const Items&) = default;
};

struct FishVariable {
  Items items;
  bool exported = false, export_unknown = false, path = false;
  std::vector<Origin> set_by;
  friend bool operator==(const FishVariable&, const FishVariable&) = default;
};

using Scope = std::map<std::string, FishVariable, std::less<>>;

struct FishFunction {
  BlockPtr body;
  std::string file;
  bool unknown = false;
  friend bool operator==(const FishFunction&, const FishFunction&) = default;
};

struct FishState {
  Scope universal, global;
  std::vector<Scope> local;               ///< blocks and functions, innermost last
  std::vector<std::size_t> functions_at;  ///< where in `local` each running function begins
  std::map<std::string, FishFunction, std::less<>> functions;
  std::vector<std::string> added_paths;  ///< fish's __fish_added_user_paths
  Status last;
  std::string everything;
};

class FishInterpreter {
 public:
  FishInterpreter(const ShellFiles& files, const Identity& identity, const Start& start, const Variables& environment);
  void start_up();
  Variables exported() const;
  std::vector<std::string> files_read;

 private:
  using Words = std::vector<std::string>;
  struct Line {
    Words words;
    std::vector<bool> known;
    std::vector<std::string> whys;
  };

  // fish_run.cpp
  void read_universal(const std::string& path);
  Flow source_file(const std::string& path);
  Flow run_text(const std::string& text, const std::string& file, std::uint32_t line);
  Flow run(const Block& block);
  Flow run(const Statement& statement);
  Flow run(const Node& node);
  Flow run_if(const Node& node, std::size_t at);
  Flow run_switch(const Node& node);
  Flow run_for(const Node& node);
  Flow unknown_loop(const Node& node, const std::string& variable);
  template <class A, class B>
  Flow both_ways(A&& first, B&& second, std::uint32_t line);
  Flow in_scope(const Block& block);
  Flow call(const FishFunction& function, const Line& line);
  Flow run_pipeline(const Statement& statement);

  // fish_words.cpp
  Items expand(const Word& word);
  Items part(const Part& part);
  Items substitution(const Block& block);
  Items indexed(const Items& items, const std::string& index);
  bool wildcards(const Marked& pattern, std::vector<std::string>& out);
  bool no_match_ = false;  ///< a pattern of the last words met no file

  // fish_builtins.cpp
  Flow command(const Node& node);
  std::optional<Flow> builtin(const Line& line, const Node& node);
  void set(const Line& line, std::uint32_t number);
  void add_path(const Line& line, std::uint32_t number);
  void reconstruct_path(std::uint32_t line);
  void string_command();
  Status status_command(const Words& words) const;
  Status is_command(const Line& line, std::size_t from);
  std::optional<bool> program_exists(const std::string& name);
  void external(const Line& line, const Node& node);
  Flow source_output(const Node& from, std::uint32_t line);
  bool conda_hook(const std::string& conda, std::uint32_t line);
  bool load_function(const std::string& name);

  FishVariable* find(std::string_view name);
  const FishVariable* find(std::string_view name) const;
  Items get(std::string_view name) const;
  void assign(Scope& scope, const std::string& name, Items items, std::optional<bool> exported, std::uint32_t line);
  void not_seen(const std::string& name, const std::string& why, std::uint32_t line);
  void everything_not_seen(const std::string& why);
  std::string at_line(std::uint32_t line, std::string_view what) const;
  Origin origin(std::uint32_t line) const;
  bool spend(std::size_t steps = 1) {
    steps_ += steps;
    return steps_ < 30000 && depth_ < 50;
  }

  const ShellFiles& files_;
  Identity identity_;
  Start start_;
  Interpreter tests_;  ///< judges `test`
  FishState state_;
  std::string file_, config_folder_;
  std::map<std::string, std::string> texts_;
  std::optional<Origin> site_;
  Items* output_ = nullptr;
  int depth_ = 0;
  std::size_t steps_ = 0, bytes_ = 0;
};

}  // namespace gpuvet::shell::fish
