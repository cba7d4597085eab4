#pragma once
// What is known of a shell's variables at one point of its start-up.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/fact.h"
#include "shell/syntax.h"

namespace gpuvet::shell {

/// A string that is known, known to be unset, or not known (why).
struct Value {
  enum class Kind : std::uint8_t { Unset, Known, Unknown };
  Kind kind = Kind::Unset;
  std::string text;        ///< Known: the value. Unknown: why
  bool not_empty = false;  ///< Unknown, but surely not the empty string

  static Value known(std::string text) { return {Kind::Known, std::move(text), false}; }
  static Value unknown(std::string why, bool not_empty = false) { return {Kind::Unknown, std::move(why), not_empty}; }
  bool is_known() const { return kind == Kind::Known; }
  bool is_unknown() const { return kind == Kind::Unknown; }
  bool is_unset() const { return kind == Kind::Unset; }
  friend bool operator==(const Value&, const Value&) = default;
};

struct Variable {
  Value value;
  bool exported = false;
  bool export_unknown = false;  ///< may be exported or not
  bool is_array = false;        ///< items count; value is their first (bash) or all of them joined (zsh)
  std::vector<std::string> items;
  bool unique = false;         ///< zsh: typeset -U
  std::vector<Origin> set_by;  ///< of variables that are reported
  friend bool operator==(const Variable&, const Variable&) = default;
};

using Variables = std::map<std::string, Variable, std::less<>>;

struct Function {
  CommandPtr body;
  std::string file;
  bool unknown = false;  ///< defined on one way only, or by something that was not followed
  friend bool operator==(const Function&, const Function&) = default;
};

/// 0, another number, or not known.
struct Status {
  static constexpr int unknown_code = -1;
  int code = 0;
  bool is_known() const { return code != unknown_code; }
  bool ok() const { return code == 0; }
  static Status unknown() { return {unknown_code}; }
  static Status of(bool success) { return {success ? 0 : 1}; }
};

struct State {
  Variables variables;
  std::map<std::string, Function, std::less<>> functions;
  std::map<std::string, Value, std::less<>> aliases;
  std::map<std::string, std::string, std::less<>> ties;  ///< zsh: array name → variable with colons
  std::vector<std::string> arguments;                    ///< $1 …
  bool arguments_known = true;
  Status last;              ///< $?
  std::string everything;   ///< not empty: something ran that may have set any variable; why
  bool export_all = false;  ///< set -a
  bool no_unset = false;    ///< set -u
  bool null_glob = false;
  bool word_splitting = true;  ///< off in zsh
};

/// What may hold on either of two ways: variables that differ become unknown, with `why`.
State merged(const State& a, const State& b, const std::string& why);

/// Variables of a forecast.
bool is_reported(std::string_view name);
extern const std::vector<std::string> reported_names;

/// Set by the terminal, the display manager, ssh …, if at all: no start-up file tells its value.
bool is_of_session(std::string_view name);
/// Programs whose output for eval or source changes none of the reported variables, and those where it changes PATH alone.
bool prints_harmless_code(std::string_view program);
bool prints_path_code(std::string_view program);
/// Programs that nobody replaces by a function with side effects.
bool is_plain_program(std::string_view name);

}  // namespace gpuvet::shell
