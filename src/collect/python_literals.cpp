// Literals out of generated Python files and scalars out of JSON: two small scanners that never go back.

#include "collect/lines.h"
#include "collect/python_files.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_values = 4096;

struct Token {
  enum class Kind { End, Line, Name, Text, Number, Mark } kind = Kind::End;
  std::string text;
  std::uint32_t line = 0;
  bool starts_line = false;  ///< first on its line, without indent
};

/// Tokens of a Python file, as far as literals and names go. Comments and triple-quoted texts are passed over.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Token next() {
    skip_blanks();
    Token token;
    token.line = line_;
    token.starts_line = at_ == line_start_;
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (c == '\n') return take_newline(token);
    if (c == '\'' || c == '"') return take_text(token, c);
    if (is_word_start(c)) return take(token, Token::Kind::Name);
    if (c >= '0' && c <= '9') return take(token, Token::Kind::Number);
    token.kind = Token::Kind::Mark;
    token.text = c;
    ++at_;
    return token;
  }

 private:
  static bool is_word_start(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }
  Token take_newline(Token token) {
    token.kind = Token::Kind::Line;
    ++at_;
    ++line_;
    line_start_ = at_;
    return token;
  }
  Token take(Token token, Token::Kind kind) {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word_start(text_[at_]) || (text_[at_] >= '0' && text_[at_] <= '9') ||
                                  (kind == Token::Kind::Number && text_[at_] == '.')))
      ++at_;
    token.kind = kind;
    token.text = text_.substr(start, at_ - start);
    return token;
  }
  Token take_text(Token token, char quote) {
    token.kind = Token::Kind::Text;
    const std::string_view triple = text_.substr(at_, 3);
    if (triple.size() == 3 && triple[1] == quote && triple[2] == quote) return skip_triple(token, std::string(triple));
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      if (token.text.size() < 4096) token.text += text_[at_];
    }
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
    return token;
  }
  Token skip_triple(Token token, const std::string& quotes) {
    token.kind = Token::Kind::Mark;
    const std::size_t end = text_.find(quotes, at_ + 3);
    const std::size_t stop = end == std::string_view::npos ? text_.size() : end + 3;
    for (; at_ < stop; ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_start_ = at_ + 1;
    }
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  std::uint32_t line_ = 1;
};

bool is_mark(const Token& token, char mark) {
  return token.kind == Token::Kind::Mark && token.text.size() == 1 && token.text[0] == mark;
}

using Values = std::map<std::string, PythonValue>;

/// Names in front of the next value: `a = b = VALUE` assigns it to both.
class ValueReader {
 public:
  explicit ValueReader(std::string_view text) : tokens_(text) {}

  Values read() {
    for (Token token = tokens_.next(); token.kind != Token::Kind::End && values_.size() < most_values; token = tokens_.next()) {
      if (token.kind == Token::Kind::Name && token.starts_line) {
        read_assignment(token);
      } else if (token.kind == Token::Kind::Text) {
        read_pair(token);
      }
    }
    return std::move(values_);
  }

 private:
  void add(const std::string& name, const PythonValue& value) { values_.try_emplace(name, value); }

  /// After a name at the start of a line: `= …` or `: TYPE = …`. Anything else ends it.
  void read_assignment(const Token& first) {
    std::vector<std::string> names{first.text};
    Token token = tokens_.next();
    if (is_mark(token, ':')) {
      while (token.kind != Token::Kind::End && token.kind != Token::Kind::Line && !is_mark(token, '=')) token = tokens_.next();
    }
    while (is_mark(token, '=')) {
      token = tokens_.next();
      if (token.kind != Token::Kind::Name || is_constant(token)) break;
      names.push_back(token.text);
      token = tokens_.next();
      if (!is_mark(token, '=')) {
        if (token.kind == Token::Kind::Text) read_pair(token);
        return;  // assigned from an expression
      }
    }
    if (const auto value = read_value(token)) {
      for (const std::string& name : names) add(name, *value);
    } else if (token.kind == Token::Kind::Text) {
      read_pair(token);
    }
  }

  /// `'name': VALUE` or `'name', VALUE`.
  void read_pair(const Token& name) {
    Token token = tokens_.next();
    if (!is_mark(token, ':') && !is_mark(token, ',')) return;
    token = tokens_.next();
    if (const auto value = read_value(token)) add(name.text, *value);
  }

  static bool is_constant(const Token& token) { return token.text == "None" || token.text == "True" || token.text == "False"; }

  std::optional<PythonValue> read_value(const Token& token) {
    PythonValue value;
    value.line = token.line;
    if (token.kind == Token::Kind::Text || token.kind == Token::Kind::Number) {
      value.kind = token.kind == Token::Kind::Text ? PythonValue::Kind::Text : PythonValue::Kind::Number;
      value.text = token.text;
      return value;
    }
    if (token.kind == Token::Kind::Name && is_constant(token)) {
      if (token.text != "None") value.kind = PythonValue::Kind::Bool, value.text = token.text;
      return value;
    }
    if (is_mark(token, '[')) return read_list(value);
    return std::nullopt;
  }

  /// Up to the closing bracket; a list that holds more than plain texts and numbers (a list of pairs) is none, and its pairs are
  /// read.
  std::optional<PythonValue> read_list(PythonValue value) {
    value.kind = PythonValue::Kind::List;
    for (Token token = tokens_.next(); token.kind != Token::Kind::End; token = tokens_.next()) {
      if (is_mark(token, ']')) return value;
      if (token.kind == Token::Kind::Text || token.kind == Token::Kind::Number) {
        if (value.list.size() < 256) value.list.push_back(token.text);
      } else if (token.kind != Token::Kind::Line && !is_mark(token, ',')) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  Tokens tokens_;
  Values values_;
};

// ---- JSON ---------------------------------------------------------------------------------------------------------------

/// One pass over a JSON text with an explicit stack of places.
class JsonScanner {
 public:
  using Visit = std::function<bool(std::string_view, std::string_view)>;
  JsonScanner(std::string_view text, const Visit& visit) : text_(text), visit_(visit) {}

  bool run() {
    do {
      if (!value()) return stopped_;
    } while (!levels_.empty());
    return peek() == '\0' && at_ >= text_.size();
  }

 private:
  struct Level {
    bool object = false;
    std::size_t index = 0;
    std::size_t place = 0;  ///< length of the place of the level itself
  };

  /// One value, or what is left of the levels that it closes.
  bool value() {
    const char c = peek();
    if (c == '{' || c == '[') return open(c);
    if (!scalar(c)) return false;
    return close_and_go_on();
  }

  bool open(char c) {
    if (levels_.size() >= 32) return false;
    ++at_;
    levels_.push_back({c == '{', 0, place_.size()});
    if (peek() == (c == '{' ? '}' : ']')) {
      ++at_;
      pop();
      return close_and_go_on();
    }
    return name_place();
  }

  void pop() {
    place_.resize(levels_.back().place);
    levels_.pop_back();
  }

  /// Behind a value: closing brackets, then a comma and the next place.
  bool close_and_go_on() {
    while (!levels_.empty()) {
      const char c = peek();
      place_.resize(levels_.back().place);
      if (c == ',') {
        ++at_;
        ++levels_.back().index;
        return name_place();
      }
      if (c != (levels_.back().object ? '}' : ']')) return false;
      ++at_;
      pop();
    }
    return true;
  }

  bool name_place() {
    const Level& level = levels_.back();
    std::string part = std::to_string(level.index);
    if (level.object) {
      if (peek() != '"' || !string(part)) return false;
      if (peek() != ':') return false;
      ++at_;
    }
    if (!place_.empty()) place_ += '/';
    place_ += part.substr(0, 256);
    return true;
  }

  bool scalar(char c) {
    std::string found;
    if (c == '"') {
      if (!string(found)) return false;
    } else {
      while (at_ < text_.size() &&
             std::string_view("+-.0123456789abcdefghijklmnopqrstuvwxyzE").find(text_[at_]) != std::string_view::npos)
        found += text_[at_++];
      if (found.empty() || found.size() > 64) return false;
    }
    if (++values_ > 200000) return false;
    stopped_ = !visit_(place_, found);
    return !stopped_;
  }

  bool string(std::string& out) {
    out.clear();
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (c == '\\' && ++at_ >= text_.size()) return false;
      // Escapes other than of the quote, the slash and the backslash do not occur in what we look for: kept as their letter.
      if (out.size() < 4096) out += text_[at_];
    }
    return false;
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string_view text_;
  const Visit& visit_;
  std::size_t at_ = 0, values_ = 0;
  std::vector<Level> levels_;
  std::string place_;
  bool stopped_ = false;
};

}  // namespace

std::map<std::string, PythonValue> read_python_values(std::string_view text) { return ValueReader(text).read(); }

bool for_each_json_scalar(std::string_view text, const std::function<bool(std::string_view, std::string_view)>& f) {
  return JsonScanner(text, f).run();
}

std::optional<std::string> json_scalar(std::string_view text, std::string_view wanted) {
  std::optional<std::string> found;
  for_each_json_scalar(text, [&](std::string_view place, std::string_view value) {
    if (place == wanted) found = value;
    return !found;
  });
  return found;
}

}  // namespace gpuvet
