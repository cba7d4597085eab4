#pragma once
// fish's language as a tree (fishshell.com/docs: "The fish language").

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet::shell::fish {

struct Block;
using BlockPtr = std::shared_ptr<const Block>;

struct Part {
  enum class Kind : std::uint8_t { Literal, Variable, Command, Unsupported };
  Kind kind = Kind::Literal;
  bool quoted = false;
  std::string text;   ///< literal; name of a variable
  std::string index;  ///< between [ and ]
  BlockPtr command;
};

struct Word {
  std::vector<Part> parts;
  std::string raw;
};

struct Node {
  enum class Kind : std::uint8_t { Simple, If, Switch, For, While, Begin, Function };
  Kind kind = Kind::Simple;
  std::uint32_t line = 0;
  std::vector<Word> words;       ///< simple: the command; for: variable, list; switch: subject; function: name and options
  std::vector<BlockPtr> blocks;  ///< if: condition, body, …[, else]; others: body; while: condition, body
  std::vector<std::vector<Word>> cases;  ///< switch: patterns of each block
  bool else_branch = false;
  bool output_elsewhere = false;  ///< standard output goes to a file
};

struct Statement {
  enum class Joined : std::uint8_t { Always, And, Or };
  Joined joined = Joined::Always;
  bool negated = false;
  bool background = false;
  std::vector<Node> pipeline;
};

struct Block {
  std::vector<Statement> statements;
};

struct Parsed {
  BlockPtr block;
  std::string error;  ///< not empty: the whole file is refused, as fish does
  std::uint32_t error_line = 0;
};

Parsed parse(std::string_view text, std::uint32_t first_line = 1);

}  // namespace gpuvet::shell::fish
