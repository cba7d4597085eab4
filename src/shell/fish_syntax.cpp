#include "shell/fish_syntax.h"

#include <algorithm>

#include "shell/parse.h"

namespace gpuvet::shell::fish {
namespace {

constexpr int deepest = 40;

class Reader {
 public:
  Reader(std::string_view text, std::uint32_t line, int depth = 0) : text_(text), line_(line), depth_(depth) {}

  std::shared_ptr<Block> block(bool inner);
  bool at_end() const { return pos_ >= text_.size(); }
  std::string error;
  std::uint32_t line() const { return line_; }

 private:
  char peek(std::size_t n = 0) const { return pos_ + n < text_.size() ? text_[pos_ + n] : '\0'; }
  void advance(std::size_t n = 1) {
    for (; n > 0 && pos_ < text_.size(); --n) line_ += text_[pos_++] == '\n';
  }
  bool fail(std::string why) {
    if (error.empty()) error = std::move(why);
    return false;
  }
  void blanks();
  void separators();
  std::string_view bare() const;
  bool take(std::string_view keyword);
  bool statement(Statement& out);
  bool node(Node& out);
  bool simple(Node& out);
  bool compound(Node& out, std::string_view keyword);
  bool condition(BlockPtr& out);
  bool body(BlockPtr& out);
  bool word(Word& out);
  bool double_quoted(Word& out);
  bool variable(Word& out, bool quoted);
  bool substitution(Word& out, bool quoted, std::size_t skip);
  bool escape(Word& out);
  bool redirect(Node& out);
  bool words_to_end(std::vector<Word>& out);

  std::string_view text_;
  std::size_t pos_ = 0;
  std::uint32_t line_;
  int depth_;
};

void literal(Word& word, std::string_view text, bool quoted) {
  if (!word.parts.empty() && word.parts.back().kind == Part::Kind::Literal && word.parts.back().quoted == quoted) {
    word.parts.back().text.append(text);
    return;
  }
  Part part;
  part.quoted = quoted;
  part.text = text;
  word.parts.push_back(std::move(part));
}

bool ends_word(char c) { return std::string_view(" \t\r\n;&|<>()").find(c) != std::string_view::npos || c == '\0'; }

void Reader::blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r')
      advance();
    else if (peek() == '\\' && peek(1) == '\n')
      advance(2);
    else if (peek() == '#')
      while (!at_end() && peek() != '\n') advance();
    else
      return;
  }
}

void Reader::separators() {
  blanks();
  while (!at_end() && (peek() == '\n' || peek() == ';')) {
    advance();
    blanks();
  }
}

std::string_view Reader::bare() const {
  std::size_t end = pos_;
  while (end < text_.size() && !ends_word(text_[end])) ++end;
  return text_.substr(pos_, end - pos_);
}

bool Reader::take(std::string_view keyword) {
  if (bare() != keyword) return false;
  advance(keyword.size());
  return true;
}

bool Reader::escape(Word& out) {
  const char c = peek(1);
  static constexpr std::string_view letters = "ntrabefv", bytes = "\n\t\r\a\b\033\f\v";
  const std::size_t at = letters.find(c);
  if (c == '\n') {
    advance(2);
  } else if (c == 'x' || c == 'X' || c == 'u' || c == 'U' || (c >= '0' && c <= '7') || c == 'c') {
    Part part;
    part.kind = Part::Kind::Unsupported;
    part.text = "an escaped character";
    out.parts.push_back(std::move(part));
    advance(2);
  } else {
    literal(out, at != std::string_view::npos ? bytes.substr(at, 1) : text_.substr(pos_ + 1, 1), true);
    advance(2);
  }
  return true;
}

bool Reader::variable(Word& out, bool quoted) {
  Part part;
  part.kind = Part::Kind::Variable;
  part.quoted = quoted;
  advance();
  if (peek() == '$') {
    part.kind = Part::Kind::Unsupported;
    part.text = "$$";
  }
  while (is_name_char(peek())) {
    part.text.push_back(peek());
    advance();
  }
  if (part.text.empty()) return fail("a $ without a name");
  if (peek() == '[') {
    int depth = 0;
    do {
      const char c = peek();
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      part.index.push_back(c);
      advance();
    } while (depth > 0 && !at_end());
    part.index = part.index.substr(1, part.index.size() - 2);
    if (part.index.empty()) return fail("an empty index");
  }
  out.parts.push_back(std::move(part));
  return true;
}

bool Reader::substitution(Word& out, bool quoted, std::size_t skip) {
  if (depth_ > deepest) return fail("nested too deep");
  advance(skip);
  Reader inner(text_.substr(pos_), line_, depth_ + 1);
  Part part;
  part.kind = Part::Kind::Command;
  part.quoted = quoted;
  part.command = inner.block(true);
  if (!inner.error.empty()) return fail(inner.error);
  advance(inner.pos_);
  if (peek() != ')') return fail("( is never closed");
  advance();
  if (peek() == '[') {
    part.kind = Part::Kind::Unsupported;
    part.text = "an index of a command's output";
    while (!at_end() && peek() != ']') advance();
    advance();
  }
  out.parts.push_back(std::move(part));
  return true;
}

bool Reader::double_quoted(Word& out) {
  advance();
  literal(out, "", true);
  while (!at_end() && peek() != '"') {
    if (peek() == '\\' && (peek(1) == '"' || peek(1) == '$' || peek(1) == '\\')) {
      literal(out, text_.substr(pos_ + 1, 1), true);
      advance(2);
    } else if (peek() == '\\' && peek(1) == '\n') {
      advance(2);
    } else if (peek() == '$' && peek(1) == '(') {
      if (!substitution(out, true, 2)) return false;
    } else if (peek() == '$' && (is_name_char(peek(1)) || peek(1) == '$')) {
      if (!variable(out, true)) return false;
    } else {
      literal(out, text_.substr(pos_, 1), true);
      advance();
    }
  }
  if (at_end()) return fail("a quote is never closed");
  advance();
  return true;
}

bool Reader::word(Word& out) {
  if (depth_ > deepest) return fail("nested too deep");
  const std::size_t start = pos_;
  int braces = 0;
  while (!at_end()) {
    const char c = peek();
    if (c == '\\') {
      if (!escape(out)) return false;
    } else if (c == '\'') {
      advance();
      literal(out, "", true);
      while (!at_end() && peek() != '\'') {
        if (peek() == '\\' && (peek(1) == '\'' || peek(1) == '\\')) advance();
        literal(out, text_.substr(pos_, 1), true);
        advance();
      }
      if (at_end()) return fail("a quote is never closed");
      advance();
    } else if (c == '"') {
      if (!double_quoted(out)) return false;
    } else if (c == '$' && peek(1) == '(') {
      if (!substitution(out, false, 2)) return false;
    } else if (c == '(') {
      if (!substitution(out, false, 1)) return false;
    } else if (c == '$') {
      if (!variable(out, false)) return false;
    } else if (ends_word(c) && !(braces > 0 && (c == ' ' || c == '\n'))) {
      break;
    } else {
      if (c == '{') ++braces;
      if (c == '}') --braces;
      literal(out, text_.substr(pos_, 1), false);
      advance();
    }
  }
  out.raw = text_.substr(start, pos_ - start);
  return true;
}

bool Reader::redirect(Node& out) {
  std::size_t digits = 0;
  while (peek(digits) >= '0' && peek(digits) <= '9') ++digits;
  const bool both = digits == 0 && peek() == '&' && peek(1) == '>';
  if (!both && peek(digits) != '>' && peek(digits) != '<') return false;
  const bool error_stream = digits > 0 && peek() != '1';
  if (peek(digits) != '<' && !error_stream) out.output_elsewhere = true;
  advance(digits);
  while (peek() == '>' || peek() == '<' || peek() == '&' || peek() == '?') advance();
  blanks();
  Word target;
  if (!word(target)) return false;
  return true;
}

bool Reader::words_to_end(std::vector<Word>& out) {
  for (blanks(); !at_end() && peek() != '\n' && peek() != ';'; blanks()) {
    Word next;
    const std::size_t before = pos_;
    if (!word(next)) return false;
    if (pos_ == before) return fail("unexpected text");
    out.push_back(std::move(next));
  }
  return true;
}

bool Reader::simple(Node& out) {
  while (error.empty()) {
    blanks();
    if (redirect(out)) continue;
    if (!error.empty()) break;
    Word next;
    const std::size_t before = pos_;
    if (!word(next) || pos_ == before) break;
    out.words.push_back(std::move(next));
  }
  return error.empty();
}

bool Reader::body(BlockPtr& out) {
  auto inner = block(true);
  if (!inner) return false;
  out = std::move(inner);
  return true;
}

/// One statement and the and/or statements that follow it.
bool Reader::condition(BlockPtr& out) {
  auto made = std::make_shared<Block>();
  while (true) {
    Statement next;
    if (!statement(next)) return fail("a condition is missing");
    made->statements.push_back(std::move(next));
    const std::size_t before = pos_;
    const std::uint32_t line = line_;
    separators();
    if (bare() == "and" || bare() == "or" || (peek() == '&' && peek(1) == '&') || (peek() == '|' && peek(1) == '|')) continue;
    pos_ = before;
    line_ = line;
    break;
  }
  out = std::move(made);
  return true;
}

bool Reader::compound(Node& out, std::string_view keyword) {
  BlockPtr part;
  if (keyword == "if") {
    out.kind = Node::Kind::If;
    while (true) {
      if (!condition(part)) return false;
      out.blocks.push_back(part);
      if (!body(part)) return false;
      out.blocks.push_back(part);
      if (!take("else")) break;
      blanks();
      if (take("if")) {
        blanks();
        continue;
      }
      if (!body(part)) return false;
      out.blocks.push_back(part);
      out.else_branch = true;
      break;
    }
  } else if (keyword == "while") {
    out.kind = Node::Kind::While;
    if (!condition(part)) return false;
    out.blocks.push_back(part);
    if (!body(part)) return false;
    out.blocks.push_back(part);
  } else if (keyword == "switch") {
    out.kind = Node::Kind::Switch;
    if (!words_to_end(out.words)) return false;
    separators();
    while (take("case")) {
      out.cases.emplace_back();
      if (!words_to_end(out.cases.back()) || !body(part)) return false;
      out.blocks.push_back(part);
    }
  } else {
    out.kind = keyword == "for" ? Node::Kind::For : keyword == "function" ? Node::Kind::Function : Node::Kind::Begin;
    if (out.kind != Node::Kind::Begin && !words_to_end(out.words)) return false;
    if (!body(part)) return false;
    out.blocks.push_back(part);
  }
  separators();
  if (!take("end")) return fail("\"end\" is missing");
  for (blanks(); redirect(out); blanks()) {
  }
  return error.empty();
}

bool Reader::node(Node& out) {
  blanks();
  out.line = line_;
  const std::string keyword(bare());
  for (const char* known : {"if", "while", "switch", "for", "function", "begin"}) {
    if (keyword != known) continue;
    // `begin` alone may also be a word of a command that is called so; nobody does that.
    advance(keyword.size());
    if (++depth_ > deepest) return fail("nested too deep");
    const bool fine = compound(out, keyword);
    --depth_;
    return fine;
  }
  return simple(out);
}

bool Reader::statement(Statement& out) {
  blanks();
  while (error.empty()) {
    if (take("and") || (peek() == '&' && peek(1) == '&')) {
      if (peek() == '&') advance(2);
      out.joined = Statement::Joined::And;
    } else if (take("or") || (peek() == '|' && peek(1) == '|')) {
      if (peek() == '|') advance(2);
      out.joined = Statement::Joined::Or;
    } else if (take("not") || take("!")) {
      out.negated = !out.negated;
    } else {
      break;
    }
    blanks();
    while (peek() == '\n') {
      advance();
      blanks();
    }
  }
  while (true) {
    Node next;
    if (!node(next)) return false;
    if (next.kind == Node::Kind::Simple && next.words.empty()) return fail("unexpected text");
    out.pipeline.push_back(std::move(next));
    blanks();
    if (peek() != '|' || peek(1) == '|') break;
    advance();
    separators();
  }
  if (peek() == '&' && peek(1) != '&' && peek(1) != '>') {
    advance();
    out.background = true;
  }
  return true;
}

/// Statements up to the end, or (inner) up to a keyword or bracket that ends the block.
std::shared_ptr<Block> Reader::block(bool inner) {
  auto made = std::make_shared<Block>();
  while (error.empty()) {
    separators();
    if (at_end()) break;
    const std::string_view word = bare();
    if (inner && (word == "end" || word == "else" || word == "case" || peek() == ')')) break;
    Statement next;
    if (!statement(next)) break;
    made->statements.push_back(std::move(next));
    blanks();
    const bool joined = (peek() == '&' && peek(1) == '&') || (peek() == '|' && peek(1) == '|');
    if (!at_end() && peek() != '\n' && peek() != ';' && peek() != ')' && !joined && !made->statements.back().background)
      fail("unexpected text");
  }
  return error.empty() ? made : nullptr;
}

}  // namespace

Parsed parse(std::string_view text, std::uint32_t first_line) {
  Reader reader(text, first_line);
  Parsed parsed;
  parsed.block = reader.block(false);
  parsed.error = reader.error;
  parsed.error_line = reader.line();
  return parsed;
}

}  // namespace gpuvet::shell::fish
