#include "collect/toolkit_condition.h"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr int max_depth = 64;
constexpr std::size_t max_tokens = 512;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Names, numbers and operators; none at all of an expression longer than any real one.
std::vector<std::string_view> tokens_of(std::string_view text) {
  static constexpr std::array two{"&&"sv, "||"sv, "=="sv, "!="sv, "<="sv, ">="sv};
  std::vector<std::string_view> tokens;
  for (std::size_t i = 0; i < text.size();) {
    if (tokens.size() == max_tokens) return {};
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
      continue;
    }
    std::size_t length = 1;
    if (is_letter(text[i]) || is_digit(text[i])) {
      while (i + length < text.size() && (is_letter(text[i + length]) || is_digit(text[i + length]))) ++length;
    } else {
      for (const auto op : two)
        if (text.substr(i, 2) == op) length = 2;
    }
    tokens.push_back(text.substr(i, length));
    i += length;
  }
  return tokens;
}

using Value = std::optional<std::int64_t>;  // nothing: not known

Truth truth_of(Value value) { return !value ? Truth::Unknown : *value != 0 ? Truth::Yes : Truth::No; }
Value value_of(Truth truth) { return truth == Truth::Unknown ? Value{} : Value{truth == Truth::Yes ? 1 : 0}; }

Value number_of(std::string_view token) {
  while (!token.empty() && (token.back() == 'L' || token.back() == 'l' || token.back() == 'U' || token.back() == 'u'))
    token.remove_suffix(1);
  const bool hex = token.starts_with("0x"sv) || token.starts_with("0X"sv);
  if (hex) token.remove_prefix(2);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number, hex ? 16 : 10);
  if (error != std::errc{} || end != token.data() + token.size()) return {};
  return number;
}

/// Recursive descent; every level of parentheses or signs counts.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Macros& macros) : tokens_(tokens_of(text)), macros_(macros) {}

  Value whole() {
    const auto value = binary(0);
    return at_ == tokens_.size() && !failed_ ? value : Value{};
  }

 private:
  std::string_view peek() const { return at_ < tokens_.size() ? tokens_[at_] : ""sv; }
  bool take(std::string_view token) { return peek() == token ? (++at_, true) : false; }

  static int strength(std::string_view op) {
    static constexpr std::array<std::array<std::string_view, 4>, 6> levels{
        {{"||"sv}, {"&&"sv}, {"=="sv, "!="sv}, {"<"sv, "<="sv, ">"sv, ">="sv}, {"+"sv, "-"sv}, {"*"sv}}};
    for (std::size_t level = 0; level < levels.size(); ++level)
      for (const auto known : levels[level])
        if (!known.empty() && known == op) return static_cast<int>(level);
    return -1;
  }

  static Value apply(std::string_view op, Value a, Value b) {
    if (op == "||") return value_of(either(truth_of(a), truth_of(b)));
    if (op == "&&") return value_of(both(truth_of(a), truth_of(b)));
    if (!a || !b) return {};
    if (op == "==") return *a == *b;
    if (op == "!=") return *a != *b;
    if (op == "<") return *a < *b;
    if (op == "<=") return *a <= *b;
    if (op == ">") return *a > *b;
    if (op == ">=") return *a >= *b;
    std::int64_t result = 0;
    const bool overflow = op == "+"   ? __builtin_add_overflow(*a, *b, &result)
                          : op == "-" ? __builtin_sub_overflow(*a, *b, &result)
                                      : __builtin_mul_overflow(*a, *b, &result);
    return overflow ? Value{} : Value{result};
  }

  Value binary(int least) {
    if (++depth_ > max_depth) failed_ = true;
    auto left = failed_ ? Value{} : unary();
    while (!failed_) {
      const auto op = peek();
      const int level = strength(op);
      if (level < least) break;
      ++at_;
      left = apply(op, left, binary(level + 1));
    }
    --depth_;
    return left;
  }

  Value unary() {
    bool negated = false;
    while (take("!")) negated = !negated;
    auto value = primary();
    return negated ? value_of(negate(truth_of(value))) : value;
  }

  Value primary() {
    if (take("(")) {
      const auto value = binary(0);
      if (!take(")")) failed_ = true;
      return value;
    }
    const auto token = peek();
    if (token.empty() || (!is_letter(token[0]) && !is_digit(token[0]))) {
      failed_ = true;
      return {};
    }
    ++at_;
    if (is_digit(token[0])) return number_of(token);
    if (token == "defined") return defined();
    if (peek() == "(") return call();
    const auto found = macros_.find(token);
    return found == macros_.end() ? 0 : found->second;
  }

  Value defined() {
    const bool parenthesis = take("(");
    const auto name = peek();
    ++at_;
    if (parenthesis && !take(")")) failed_ = true;
    if (name.empty() || !is_letter(name[0])) failed_ = true;
    return macros_.contains(name) ? 1 : 0;
  }

  /// A macro with arguments: its value is not known; what stands in its parentheses is passed over.
  Value call() {
    int open = 0;
    do {
      if (peek() == "(") ++open;
      if (peek() == ")") --open;
      if (peek().empty()) failed_ = true;
      ++at_;
    } while (open > 0 && !failed_);
    return {};
  }

  std::vector<std::string_view> tokens_;
  const Macros& macros_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

Truth evaluate_condition(std::string_view expression, const Macros& macros) {
  return truth_of(Evaluator(expression, macros).whole());
}

std::vector<std::int64_t> numbers_in_condition(std::string_view expression) {
  std::vector<std::int64_t> numbers;
  for (const auto token : tokens_of(expression))
    if (is_digit(token[0]) && token.size() <= 3)
      if (const auto number = number_of(token)) numbers.push_back(*number);
  return numbers;
}

}  // namespace gpuvet
