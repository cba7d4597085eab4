#pragma once
// Shell commands as a tree: what parse.cpp makes of a start-up file and interpret.cpp walks over. One grammar serves dash, bash
// and zsh; a construct that it does not know is Part::Unsupported (a value not seen) or a syntax error (the rest of the file not
// seen).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet::shell {

enum class Dialect : std::uint8_t { Dash, Bash, Zsh };

struct Command;
using CommandPtr = std::shared_ptr<const Command>;
struct Word;

/// A piece of a word.
struct Part {
  enum class Kind : std::uint8_t {
    Literal,
    Parameter,    ///< $name, ${name…}
    Command,      ///< $(…) or `…`
    Arithmetic,   ///< $((…))
    Unsupported,  ///< <(…), ${(flags)…}, …
  };
  Kind kind = Kind::Literal;
  bool quoted = false;
  std::string text;  ///< literal text; arithmetic expression; source of an unsupported one
  std::string name;  ///< parameter
  std::string op;    ///< "", ":-", "-", ":=", "=", ":+", "+", ":?", "?", "#", "##", "%", "%%", "/", "//", "length", "set", …
  std::string subscript;                    ///< "@", "*", or the text between [ and ]
  std::shared_ptr<const Word> argument;     ///< of the operator
  std::shared_ptr<const Word> replacement;  ///< of / and //
  CommandPtr command;
};

struct Word {
  std::vector<Part> parts;
  std::uint32_t line = 0;
  std::string raw;  ///< as written
  bool quoted_anywhere = false;
};

struct Assignment {
  std::string name;
  bool append = false;
  bool subscripted = false;  ///< name[…]=…
  bool array = false;
  Word value;
  std::vector<Word> items;
  std::uint32_t line = 0;
};

struct Redirect {
  std::string op;  ///< "<", ">", ">>", "<<", "<<<", …
  Word target;
};

/// The expression of [[ … ]].
struct Condition {
  enum class Kind : std::uint8_t { And, Or, Not, Unary, Binary, Word };
  Kind kind = Kind::Word;
  std::string op;
  Word left, right;
  std::shared_ptr<const Condition> first, second;
};

struct CaseItem {
  std::vector<Word> patterns;
  CommandPtr body;
  std::string terminator;  ///< ";;", ";&", ";;&"
};

struct Command {
  enum class Kind : std::uint8_t {
    Simple,
    Pipeline,
    AndOr,
    List,
    If,
    For,
    While,
    Case,
    Function,
    Subshell,
    Group,
    Test,
    Arithmetic,
    Always
  };
  Kind kind = Kind::Simple;
  std::uint32_t line = 0;
  std::vector<Assignment> assignments;
  std::vector<Word> words;  ///< simple: command and arguments; for: the list
  std::vector<Redirect> redirects;
  std::vector<CommandPtr>
      children;  ///< pipeline, and-or, list; if: cond, body, cond, body, …[, else]; while: cond, body; others: body
  std::vector<std::string> operators;  ///< and-or: between children; list: after each child ("&" or ";")
  bool negated = false;                ///< pipeline with !
  bool until = false;                  ///< while
  bool over_arguments = false;         ///< for without a list
  bool else_branch = false;            ///< if: the last child is the else part
  std::string name;                    ///< for: variable; function: name; arithmetic: expression
  std::vector<CaseItem> items;         ///< case, whose word is words[0]
  std::shared_ptr<const Condition> condition;
};

}  // namespace gpuvet::shell
