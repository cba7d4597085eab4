// Words of a shell command: quotes, parameters, substitutions.

#include <algorithm>
#include <array>

#include "shell/parse.h"

namespace gpuvet::shell {
namespace {

bool is_meta(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' || c == '>' || c == '(' || c == ')';
}

void add_literal(Word& word, std::string_view text, bool quoted) {
  if (!word.parts.empty()) {
    Part& last = word.parts.back();
    if (last.kind == Part::Kind::Literal && last.quoted == quoted) {
      last.text.append(text);
      return;
    }
  }
  Part part;
  part.text = text;
  part.quoted = quoted;
  word.parts.push_back(std::move(part));
}

bool is_special_parameter(char c) { return std::string_view("@*#?-$!0123456789").find(c) != std::string_view::npos; }

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && is_name_start(text[0]) && std::all_of(text.begin(), text.end(), is_name_char);
}

bool Parser::single_quoted(std::string& out) {
  advance();
  while (!at_end() && peek() != '\'') {
    out.push_back(peek());
    advance();
  }
  if (at_end()) return fail("a quote is never closed"), false;
  advance();
  return true;
}

/// $'…': the escapes that people use in start-up files.
bool Parser::ansi_quoted(std::string& out) {
  advance(2);
  while (!at_end() && peek() != '\'') {
    if (peek() != '\\') {
      out.push_back(peek());
      advance();
      continue;
    }
    constexpr std::string_view letters = "nteabfrv\\'\"E", bytes = "\n\t\033\a\b\f\r\v\\'\"\033";
    const std::size_t at = letters.find(peek(1));
    out.push_back(at == std::string_view::npos ? '\x01' : bytes[at]);  // a byte by number never belongs to a path of ours
    advance(2);
  }
  if (at_end()) return fail("a quote is never closed"), false;
  advance();
  return true;
}

/// The text between brackets, quotes respected; `pos_` stands on the opening one.
bool Parser::skip_balanced(char open, char close, std::string& out) {
  int depth = 0;
  while (!at_end()) {
    const char c = peek();
    if (c == '\\') {
      out.push_back(c);
      advance();
      if (at_end()) break;
    } else if (c == '\'' || c == '"') {
      const char quote = c;
      out.push_back(c);
      advance();
      while (!at_end() && peek() != quote) {
        if (quote == '"' && peek() == '\\') {
          out.push_back(peek());
          advance();
        }
        if (at_end()) break;
        out.push_back(peek());
        advance();
      }
      if (at_end()) break;
    } else if (c == open) {
      ++depth;
    } else if (c == close && --depth == 0) {
      out.push_back(c);
      advance();
      return true;
    }
    out.push_back(peek());
    advance();
  }
  return fail(std::string("no closing ") + close), false;
}

CommandPtr Parser::parse_inner(const std::string& text, std::uint32_t line) {
  if (depth_ > deepest) return fail("nested too deep");
  Parser inner(text, dialect_, line, depth_ + 1);
  auto list = std::make_shared<Command>();
  list->kind = Command::Kind::List;
  list->line = line;
  while (CommandPtr command = inner.next()) {
    list->children.push_back(std::move(command));
    list->operators.emplace_back(";");
  }
  if (inner.failed()) return fail(inner.error());
  return list;
}

bool Parser::substitution(Part& part) {
  const Deeper deeper(*this);
  if (depth_ > deepest) return fail("nested too deep"), false;
  advance(2);
  part.kind = Part::Kind::Command;
  // Here documents of the outer line are not those of the inner commands.
  std::vector<HereDocument> outer;
  outer.swap(here_documents_);
  part.command = list_until({")"});
  outer.swap(here_documents_);
  if (failed_) return false;
  if (peek() != ')') return fail("$( is never closed"), false;
  advance();
  return true;
}

bool Parser::backquoted(Part& part) {
  const std::uint32_t line = line_;
  advance();
  std::string text;
  while (!at_end() && peek() != '`') {
    if (peek() == '\\' && (peek(1) == '`' || peek(1) == '\\' || peek(1) == '$')) advance();
    text.push_back(peek());
    advance();
  }
  if (at_end()) return fail("a backquote is never closed"), false;
  advance();
  part.kind = Part::Kind::Command;
  part.command = parse_inner(text, line);
  return !failed_;
}

bool Parser::arithmetic(Part& part) {
  advance();  // onto the first parenthesis
  std::string text;
  if (!skip_balanced('(', ')', text)) return false;
  part.kind = Part::Kind::Arithmetic;
  part.text = text.size() >= 4 ? text.substr(2, text.size() - 4) : std::string();
  return true;
}

/// What follows the name inside ${…}, up to and with the closing brace.
bool Parser::parameter_operator(Part& part) {
  static constexpr std::array<std::string_view, 22> operators = {":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,",
                                                                 "-",  "=",  "+",  "?",  "#",  "%",  "/",  "^",  ",",  "@",  ":"};
  for (const std::string_view op : operators) {
    if (!looking_at(op)) continue;
    part.op = op;
    advance(op.size());
    const bool replaces = op[0] == '/';
    Word argument;
    // In "${x:-'y'}" the single quotes are ordinary characters; in "${x#'y'}" they quote.
    const bool outer = literal_single_quotes_;
    literal_single_quotes_ = part.quoted && std::string_view("-=+?").find(op.back()) != std::string_view::npos;
    const bool fine = word(argument, replaces ? Stop::Slash : Stop::Brace);
    literal_single_quotes_ = outer;
    if (!fine) return false;
    part.argument = std::make_shared<Word>(std::move(argument));
    if (replaces && peek() == '/') {
      advance();
      Word replacement;
      if (!word(replacement, Stop::Brace)) return false;
      part.replacement = std::make_shared<Word>(std::move(replacement));
    }
    break;
  }
  if (peek() != '}') return fail("${ is never closed"), false;
  advance();
  return true;
}

bool Parser::braced_parameter(Part& part) {
  const std::size_t start = pos_;
  part.kind = Part::Kind::Parameter;
  const std::uint32_t start_line = line_;
  advance(2);
  const auto unsupported = [&] {
    // Start again and take the whole as one text that cannot be judged.
    pos_ = start + 1;
    line_ = start_line;
    part.kind = Part::Kind::Unsupported;
    part.text.clear();
    return skip_balanced('{', '}', part.text);
  };
  std::string prefix;
  if (peek() == '(' || peek() == '^' || peek() == '=' || peek() == '~') return unsupported();
  if (peek() == '#' && peek(1) != '}' && (is_name_start(peek(1)) || is_special_parameter(peek(1)))) {
    prefix = "length";
    advance();
  } else if (peek() == '+' && dialect_ == Dialect::Zsh) {
    prefix = "set";
    advance();
  } else if (peek() == '!' && is_name_start(peek(1))) {
    return unsupported();
  }
  if (is_name_start(peek())) {
    while (is_name_char(peek())) {
      part.name.push_back(peek());
      advance();
    }
  } else if (peek() >= '0' && peek() <= '9') {
    while (peek() >= '0' && peek() <= '9') {
      part.name.push_back(peek());
      advance();
    }
  } else if (is_special_parameter(peek())) {
    part.name = std::string(1, peek());
    advance();
  } else {
    return unsupported();
  }
  if (peek() == '[') {
    std::string subscript;
    if (!skip_balanced('[', ']', subscript)) return false;
    part.subscript = subscript.substr(1, subscript.size() - 2);
  }
  if (!prefix.empty()) {
    if (peek() != '}') return unsupported();
    advance();
    part.op = prefix;
    return true;
  }
  return parameter_operator(part);
}

bool Parser::dollar(Word& into, bool quoted) {
  Part part;
  part.quoted = quoted;
  const char c = peek(1);
  if (c == '(' && peek(2) == '(') {
    if (!arithmetic(part)) return false;
  } else if (c == '(') {
    if (!substitution(part)) return false;
  } else if (c == '{') {
    if (!braced_parameter(part)) return false;
  } else if (is_name_start(c)) {
    part.kind = Part::Kind::Parameter;
    advance();
    while (is_name_char(peek())) {
      part.name.push_back(peek());
      advance();
    }
    if (dialect_ == Dialect::Zsh && peek() == '[') {
      std::string subscript;
      if (!skip_balanced('[', ']', subscript)) return false;
      part.subscript = subscript.substr(1, subscript.size() - 2);
    } else if (dialect_ == Dialect::Zsh && peek() == ':' && is_name_start(peek(1)) && !quoted) {
      // $name:h, $name:t …: zsh's modifiers. `$PATH:foo` is not one when the letter is none of them.
      if (std::string_view("aAcehlpPqQrtuWwsgfF").find(peek(1)) != std::string_view::npos) {
        part.kind = Part::Kind::Unsupported;
        part.text = "modifier";
      }
    }
  } else if (is_special_parameter(c)) {
    part.kind = Part::Kind::Parameter;
    part.name = std::string(1, c);
    advance(2);
  } else if (c == '[' && dialect_ != Dialect::Dash) {
    advance();
    part.kind = Part::Kind::Unsupported;
    if (!skip_balanced('[', ']', part.text)) return false;
  } else if ((c == '+' || c == '=' || c == '~' || c == '^') && dialect_ == Dialect::Zsh && is_name_start(peek(2))) {
    part.kind = c == '+' ? Part::Kind::Parameter : Part::Kind::Unsupported;
    part.op = c == '+' ? "set" : "";
    advance(2);
    while (is_name_char(peek())) {
      part.name.push_back(peek());
      advance();
    }
    if (peek() == '[') {
      std::string subscript;
      if (!skip_balanced('[', ']', subscript)) return false;
      part.subscript = subscript.substr(1, subscript.size() - 2);
    }
  } else {
    add_literal(into, "$", quoted);
    advance();
    return true;
  }
  into.parts.push_back(std::move(part));
  return true;
}

bool Parser::double_quoted(Word& into) {
  const Deeper deeper(*this);
  if (depth_ > deepest) return fail("nested too deep"), false;
  advance();
  add_literal(into, "", true);
  while (!at_end() && peek() != '"') {
    const char c = peek();
    if (c == '\\' && std::string_view("$`\"\\\n").find(peek(1)) != std::string_view::npos && pos_ + 1 < text_.size()) {
      if (peek(1) != '\n') add_literal(into, text_.substr(pos_ + 1, 1), true);
      advance(2);
    } else if (c == '$') {
      // A quote right behind the dollar ends the string: "…$"
      if (peek(1) == '"') {
        add_literal(into, "$", true);
        advance();
      } else if (!dollar(into, true)) {
        return false;
      }
    } else if (c == '`') {
      Part part;
      part.quoted = true;
      if (!backquoted(part)) return false;
      into.parts.push_back(std::move(part));
    } else {
      add_literal(into, text_.substr(pos_, 1), true);
      advance();
    }
  }
  if (at_end()) return fail("a double quote is never closed"), false;
  advance();
  return true;
}

/// Reads one word; an empty one (no parts) where none stands. False only after an error.
bool Parser::word(Word& out, Stop stop) {
  const Deeper deeper(*this);
  if (depth_ > deepest) return fail("nested too deep"), false;
  out.line = line_;
  const std::size_t start = pos_;
  const bool inside = stop == Stop::Brace || stop == Stop::Slash;
  while (!at_end()) {
    const char c = peek();
    if (inside && (c == '}' || (stop == Stop::Slash && c == '/' && pos_ != start))) break;
    if (c == '\\') {
      if (peek(1) == '\n') {
        advance(2);
        continue;
      }
      if (pos_ + 1 >= text_.size()) {
        add_literal(out, "\\", true);
        advance();
        break;
      }
      add_literal(out, text_.substr(pos_ + 1, 1), true);
      out.quoted_anywhere = true;
      advance(2);
    } else if (c == '\'' && !(inside && literal_single_quotes_)) {
      std::string text;
      if (!single_quoted(text)) return false;
      add_literal(out, text, true);
      out.quoted_anywhere = true;
    } else if (c == '"') {
      out.quoted_anywhere = true;
      if (!double_quoted(out)) return false;
    } else if (c == '$' && peek(1) == '\'' && dialect_ != Dialect::Dash) {
      std::string text;
      if (!ansi_quoted(text)) return false;
      add_literal(out, text, true);
      out.quoted_anywhere = true;
    } else if (c == '$' && peek(1) == '"') {
      advance();
    } else if (c == '$') {
      if (!dollar(out, false)) return false;
    } else if (c == '`') {
      Part part;
      if (!backquoted(part)) return false;
      out.parts.push_back(std::move(part));
    } else if (!inside && is_meta(c)) {
      const bool has_text = pos_ != start;
      const bool extended = c == '(' && dialect_ == Dialect::Bash && has_text &&
                            std::string_view("?*+@!").find(text_[pos_ - 1]) != std::string_view::npos;
      // zsh: glob qualifiers and alternatives; `name()` is a function.
      const bool qualifier = c == '(' && dialect_ == Dialect::Zsh && peek(1) != ')' && (has_text || stop == Stop::Pattern);
      const bool process =
          (c == '<' || c == '>' || (c == '=' && dialect_ == Dialect::Zsh)) && peek(1) == '(' && dialect_ != Dialect::Dash;
      if (!extended && !qualifier && !process) break;
      if (process) advance();
      Part part;
      part.kind = Part::Kind::Unsupported;
      if (!skip_balanced('(', ')', part.text)) return false;
      out.parts.push_back(std::move(part));
    } else {
      add_literal(out, text_.substr(pos_, 1), false);
      advance();
    }
  }
  out.raw = text_.substr(start, pos_ - start);
  return true;
}

}  // namespace gpuvet::shell
