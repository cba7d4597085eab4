// Commands: and-or lists, pipelines, compound commands, here documents.

#include "shell/parse.h"

#include <algorithm>

namespace gpuvet::shell {
namespace {

std::shared_ptr<Command> make(Command::Kind kind, std::uint32_t line) {
  auto command = std::make_shared<Command>();
  command->kind = kind;
  command->line = line;
  return command;
}

/// Words that cannot begin a command: they end or divide a compound one.
bool closes_something(std::string_view word) {
  static constexpr std::string_view words[] = {"then", "elif", "else", "fi", "do", "done", "esac", "}"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool ends_word(char c) { return std::string_view(" \t\n;&|<>()").find(c) != std::string_view::npos || c == '\0'; }

}  // namespace

std::nullptr_t Parser::fail(std::string why) {
  if (!failed_) error_ = std::move(why);
  failed_ = true;
  return nullptr;
}

void Parser::advance(std::size_t n) {
  for (; n > 0 && pos_ < text_.size(); --n) {
    if (text_[pos_++] == '\n') ++line_;
  }
}

void Parser::skip_blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t') {
      advance();
    } else if (peek() == '\\' && peek(1) == '\n') {
      advance(2);
    } else if (peek() == '#') {
      while (!at_end() && peek() != '\n') advance();
    } else {
      return;
    }
  }
}

void Parser::newline() {
  advance();
  if (!here_documents_.empty()) read_here_documents();
}

void Parser::skip_newlines() {
  skip_blanks();
  while (peek() == '\n' && !at_end()) {
    newline();
    skip_blanks();
  }
}

void Parser::read_here_documents() {
  for (const HereDocument& document : here_documents_) {
    while (!at_end()) {
      const std::size_t end = std::min(text_.find('\n', pos_), text_.size());
      std::string_view line = text_.substr(pos_, end - pos_);
      advance(end - pos_ + 1);
      while (document.strip_tabs && line.starts_with('\t')) line.remove_prefix(1);
      if (line == document.end) break;
    }
  }
  here_documents_.clear();
}

/// The word at the cursor when it is plain letters or brackets: a possible keyword.
std::string_view Parser::plain_word() const {
  std::size_t end = pos_;
  while (end < text_.size() && !ends_word(text_[end])) ++end;
  return text_.substr(pos_, end - pos_);
}

bool Parser::keyword(std::string_view word) {
  if (plain_word() != word) return false;
  advance(word.size());
  return true;
}

bool Parser::expect(std::string_view word) {
  skip_newlines();
  if (keyword(word)) return true;
  return fail("\"" + std::string(word) + "\" is missing"), false;
}

CommandPtr Parser::next() {
  if (failed_) return nullptr;
  skip_newlines();
  if (at_end()) return nullptr;
  auto list = make(Command::Kind::List, line_);
  // One line: and-or lists up to the newline.
  while (!failed_) {
    skip_blanks();
    if (at_end()) break;
    if (peek() == '\n') {
      newline();
      break;
    }
    CommandPtr item = and_or();
    if (!item) return failed_ ? nullptr : fail("unexpected text");
    list->children.push_back(std::move(item));
    skip_blanks();
    const bool background = peek() == '&';
    list->operators.emplace_back(background ? "&" : ";");
    if (background || (peek() == ';' && peek(1) != ';')) {
      advance();
    } else if (!at_end() && peek() != '\n') {
      return fail("unexpected \"" + std::string(1, peek()) + "\"");
    }
  }
  return failed_ ? nullptr : list;
}

CommandPtr Parser::list_until(std::initializer_list<std::string_view> ends) {
  const Deeper deeper(*this);
  if (depth_ > deepest) return fail("nested too deep");
  auto list = make(Command::Kind::List, line_);
  const auto at_an_end = [&] {
    return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
      return is_name_start(end[0]) || end == "}" ? at_keyword(end) : looking_at(end);
    });
  };
  while (!failed_) {
    skip_newlines();
    if (at_end()) return fail("the file ends inside a compound command");
    if (at_an_end()) return list;
    CommandPtr item = and_or();
    if (!item) return failed_ ? nullptr : fail("unexpected text");
    list->children.push_back(std::move(item));
    skip_blanks();
    list->operators.emplace_back(peek() == '&' ? "&" : ";");
    if (peek() == '&' || (peek() == ';' && peek(1) != ';' && peek(1) != '&')) {
      advance();
    } else if (peek() != '\n' && !at_an_end()) {
      return fail("unexpected text in a compound command");
    }
  }
  return nullptr;
}

CommandPtr Parser::and_or() {
  CommandPtr first = pipeline();
  if (!first) return nullptr;
  auto chain = make(Command::Kind::AndOr, first->line);
  chain->children.push_back(first);
  for (skip_blanks(); looking_at("&&") || looking_at("||"); skip_blanks()) {
    chain->operators.emplace_back(text_.substr(pos_, 2));
    advance(2);
    skip_newlines();
    CommandPtr more = pipeline();
    if (!more) return failed_ ? nullptr : fail("nothing after && or ||");
    chain->children.push_back(std::move(more));
  }
  if (chain->children.size() == 1) return first;
  return chain;
}

CommandPtr Parser::pipeline() {
  skip_blanks();
  const std::uint32_t line = line_;
  bool negated = false;
  for (; keyword("!") || keyword("time"); skip_blanks()) negated = negated != (text_[pos_ - 1] == '!');
  skip_blanks();
  CommandPtr first = command();
  if (!first) return nullptr;
  auto pipe = make(Command::Kind::Pipeline, line);
  pipe->negated = negated;
  pipe->children.push_back(first);
  for (skip_blanks(); peek() == '|' && peek(1) != '|'; skip_blanks()) {
    advance(peek(1) == '&' ? 2 : 1);
    skip_newlines();
    CommandPtr more = command();
    if (!more) return failed_ ? nullptr : fail("nothing after |");
    pipe->children.push_back(std::move(more));
  }
  if (pipe->children.size() == 1 && !negated) return first;
  return pipe;
}

CommandPtr Parser::command() {
  const Deeper deeper(*this);
  if (depth_ > deepest) return fail("nested too deep");
  const std::string_view word = plain_word();
  const std::uint32_t line = line_;
  if (closes_something(word)) return fail("unexpected \"" + std::string(word) + "\"");
  if (dialect_ != Dialect::Dash && looking_at("((")) return arithmetic_clause();
  if (peek() == '(') {
    if (dialect_ == Dialect::Zsh && peek(1) == ')') return fail("an anonymous function");
    return group(true);
  }
  if (word == "{") return group(false);
  if (dialect_ == Dialect::Zsh && looking_at("{")) return fail("a brace without a blank");
  if (word == "if") return if_clause();
  if (word == "for" || word == "select" || (word == "foreach" && dialect_ == Dialect::Zsh)) return for_clause();
  if (word == "while") return while_clause(false);
  if (word == "until") return while_clause(true);
  if (word == "case") return case_clause();
  if (word == "[[" && dialect_ != Dialect::Dash) return test_clause();
  if ((word == "repeat" || word == "nocorrect" || word == "noglob") && dialect_ == Dialect::Zsh)
    return fail("zsh's " + std::string(word));
  if (word == "coproc" && dialect_ != Dialect::Dash) return fail("a coprocess");
  if (word == "function" && dialect_ != Dialect::Dash) {
    advance(word.size());
    skip_blanks();
    Word name;
    if (!this->word(name)) return nullptr;
    skip_blanks();
    if (looking_at("(")) {
      advance();
      skip_blanks();
      if (peek() != ')') return fail("unexpected text in a function's head");
      advance();
    }
    return function_body(name.raw, line);
  }
  return simple();
}

CommandPtr Parser::function_body(const std::string& name, std::uint32_t line) {
  skip_newlines();
  auto function = make(Command::Kind::Function, line);
  function->name = name;
  CommandPtr body = command();
  if (!body) return failed_ ? nullptr : fail("a function without a body");
  function->children.push_back(std::move(body));
  return function;
}

CommandPtr Parser::with_redirects(CommandPtr done) {
  if (!done || failed_) return nullptr;
  std::vector<Redirect> redirects;
  for (skip_blanks(); redirect(redirects); skip_blanks()) {
  }
  if (failed_) return nullptr;
  if (redirects.empty()) return done;
  auto copy = std::make_shared<Command>(*done);
  copy->redirects = std::move(redirects);
  return copy;
}

CommandPtr Parser::group(bool subshell) {
  auto group = make(subshell ? Command::Kind::Subshell : Command::Kind::Group, line_);
  advance();
  CommandPtr body = subshell ? list_until({")"}) : list_until({"}"});
  if (!body) return nullptr;
  advance();
  group->children.push_back(std::move(body));
  skip_blanks();
  if (!subshell && dialect_ == Dialect::Zsh && keyword("always")) {
    skip_blanks();
    if (!keyword("{")) return fail("always without a body");
    CommandPtr second = list_until({"}"});
    if (!second) return nullptr;
    advance();
    group->children.push_back(std::move(second));
  }
  return with_redirects(group);
}

CommandPtr Parser::braced_body() {
  skip_blanks();
  if (dialect_ != Dialect::Zsh || !keyword("{")) return nullptr;
  CommandPtr body = list_until({"}"});
  if (body) advance();
  return body;
}

CommandPtr Parser::if_clause() {
  auto clause = make(Command::Kind::If, line_);
  advance(2);
  while (true) {
    CommandPtr condition = list_until({"then"});
    if (!condition || !expect("then")) return nullptr;
    CommandPtr body = list_until({"elif", "else", "fi"});
    if (!body) return nullptr;
    clause->children.push_back(std::move(condition));
    clause->children.push_back(std::move(body));
    if (keyword("elif")) continue;
    if (keyword("else")) {
      CommandPtr other = list_until({"fi"});
      if (!other) return nullptr;
      clause->children.push_back(std::move(other));
      clause->else_branch = true;
    }
    if (!expect("fi")) return nullptr;
    return with_redirects(clause);
  }
}

CommandPtr Parser::body_of_loop(bool short_form) {
  skip_blanks();
  if (peek() == ';') advance();
  skip_newlines();
  if (CommandPtr body = braced_body(); body || failed_) return body;
  if (short_form && !at_keyword("do")) return and_or();
  if (!expect("do")) return nullptr;
  CommandPtr body = list_until({"done"});
  if (body) advance(4);
  return body;
}

CommandPtr Parser::for_clause() {
  auto loop = make(Command::Kind::For, line_);
  advance(plain_word().size());
  skip_blanks();
  if (looking_at("((")) return fail("an arithmetic for loop");
  Word name;
  if (!word(name)) return nullptr;
  if (!is_name(name.raw)) return fail("a for loop over several variables");
  loop->name = name.raw;
  skip_newlines();
  bool in_brackets = false;
  if (dialect_ == Dialect::Zsh && peek() == '(') {
    in_brackets = true;
    if (!array_items(loop->words)) return nullptr;
  } else if (keyword("in")) {
    for (skip_blanks(); !at_end() && peek() != ';' && peek() != '\n'; skip_blanks()) {
      Word item;
      if (!word(item)) return nullptr;
      if (item.raw.empty()) return fail("unexpected text in a for loop");
      loop->words.push_back(std::move(item));
    }
  } else {
    loop->over_arguments = true;
  }
  CommandPtr body = body_of_loop(in_brackets);
  if (!body) return nullptr;
  loop->children.push_back(std::move(body));
  return with_redirects(loop);
}

CommandPtr Parser::while_clause(bool until) {
  auto loop = make(Command::Kind::While, line_);
  loop->until = until;
  advance(5);
  CommandPtr condition = list_until({"do"});
  if (!condition) return nullptr;
  CommandPtr body = body_of_loop();
  if (!body) return nullptr;
  loop->children = {std::move(condition), std::move(body)};
  return with_redirects(loop);
}

bool Parser::case_item(CaseItem& item) {
  if (peek() == '(') {
    advance();
    skip_blanks();
  }
  while (true) {
    Word pattern;
    if (!word(pattern, Stop::Blank)) return false;
    if (pattern.raw.empty()) return fail("unexpected text in a case"), false;
    item.patterns.push_back(std::move(pattern));
    skip_blanks();
    if (peek() != '|') break;
    advance();
    skip_blanks();
  }
  if (peek() != ')') return fail("unexpected text in a case"), false;
  advance();
  item.body = list_until({";;", ";&", "esac"});
  if (!item.body) return false;
  if (looking_at(";;&")) {
    item.terminator = ";;&";
  } else if (looking_at(";;") || looking_at(";&")) {
    item.terminator = text_.substr(pos_, 2);
  } else {
    item.terminator = ";;";
    return true;
  }
  advance(item.terminator.size());
  return true;
}

CommandPtr Parser::case_clause() {
  auto clause = make(Command::Kind::Case, line_);
  advance(4);
  skip_blanks();
  Word subject;
  if (!word(subject)) return nullptr;
  clause->words.push_back(std::move(subject));
  if (!expect("in")) return nullptr;
  while (true) {
    skip_newlines();
    if (at_end()) return fail("the file ends inside a case");
    if (keyword("esac")) return with_redirects(clause);
    CaseItem item;
    if (!case_item(item)) return nullptr;
    clause->items.push_back(std::move(item));
  }
}

CommandPtr Parser::arithmetic_clause() {
  auto clause = make(Command::Kind::Arithmetic, line_);
  std::string text;
  if (!skip_balanced('(', ')', text)) return nullptr;
  if (text.size() < 4 || text[text.size() - 2] != ')') return fail("nested subshells");
  clause->name = text.substr(2, text.size() - 4);
  return with_redirects(clause);
}

bool Parser::here_document_start(std::vector<Redirect>& redirects, bool strip_tabs) {
  advance(strip_tabs ? 3 : 2);
  skip_blanks();
  Word end;
  if (!word(end)) return false;
  std::string name;
  for (const Part& part : end.parts) {
    if (part.kind != Part::Kind::Literal) return fail("a here document with a computed end"), false;
    name += part.text;
  }
  here_documents_.push_back({name, strip_tabs});
  redirects.push_back({"<<", std::move(end)});
  return true;
}

/// One redirection at the cursor. False where none stands, or after an error.
bool Parser::redirect(std::vector<Redirect>& redirects) {
  std::size_t digits = 0;
  while (peek(digits) >= '0' && peek(digits) <= '9') ++digits;
  const char c = peek(digits);
  const bool both = digits == 0 && c == '&' && peek(1) == '>' && dialect_ != Dialect::Dash;
  if (!both && ((c != '<' && c != '>') || peek(digits + 1) == '(')) return false;
  advance(digits);
  const std::string descriptor(text_.substr(pos_ - digits, digits));
  if (looking_at("<<<")) {
    advance(3);
    redirects.push_back({"<<<", {}});
  } else if (looking_at("<<")) {
    return here_document_start(redirects, peek(2) == '-');
  } else {
    std::string op = descriptor;
    while (op.size() < digits + 3 && std::string_view("<>&|!").find(peek()) != std::string_view::npos && !at_end()) {
      if (peek() == '!' && dialect_ != Dialect::Zsh) break;
      op.push_back(peek());
      advance();
    }
    redirects.push_back({op, {}});
  }
  skip_blanks();
  if (!word(redirects.back().target)) return false;
  if (redirects.back().target.raw.empty()) return fail("a redirection to nowhere"), false;
  return true;
}

bool Parser::array_items(std::vector<Word>& items) {
  advance();
  while (true) {
    skip_newlines();
    if (at_end()) return fail("an array is never closed"), false;
    if (peek() == ')') break;
    Word item;
    if (!word(item)) return false;
    if (item.raw.empty()) return fail("unexpected text in an array"), false;
    items.push_back(std::move(item));
  }
  advance();
  return true;
}

/// NAME=value, NAME+=value, NAME=(…), NAME[x]=value at the cursor.
std::optional<Assignment> Parser::assignment() {
  if (!is_name_start(peek())) return std::nullopt;
  std::size_t end = 0;
  while (is_name_char(peek(end))) ++end;
  Assignment assigned;
  assigned.line = line_;
  assigned.name = text_.substr(pos_, end);
  if (peek(end) == '[' && dialect_ != Dialect::Dash) {
    std::size_t close = end + 1;
    while (pos_ + close < text_.size() && peek(close) != ']' && peek(close) != '\n') ++close;
    if (peek(close) != ']') return std::nullopt;
    assigned.subscripted = true;
    end = close + 1;
  }
  if (peek(end) == '+' && peek(end + 1) == '=' && dialect_ != Dialect::Dash) {
    assigned.append = true;
    ++end;
  }
  if (peek(end) != '=') return std::nullopt;
  advance(end + 1);
  if (peek() == '(' && dialect_ != Dialect::Dash) {
    assigned.array = true;
    if (!array_items(assigned.items)) return std::nullopt;
    return assigned;
  }
  if (!word(assigned.value)) return std::nullopt;
  return assigned;
}

CommandPtr Parser::simple() {
  auto command = make(Command::Kind::Simple, line_);
  while (!failed_) {
    skip_blanks();
    if (redirect(command->redirects)) continue;
    if (failed_) break;
    if (command->words.empty()) {
      if (auto assigned = assignment()) {
        command->assignments.push_back(std::move(*assigned));
        continue;
      }
      if (failed_) break;
    }
    const bool declares =
        !command->words.empty() && !command->words[0].quoted_anywhere &&
        (command->words[0].raw == "export" || command->words[0].raw == "typeset" || command->words[0].raw == "declare" ||
         command->words[0].raw == "local" || command->words[0].raw == "readonly");
    // zsh needs no ; before a closing brace.
    if (dialect_ == Dialect::Zsh && at_keyword("}")) break;
    const std::size_t before = pos_;
    if (declares && dialect_ != Dialect::Dash) {
      // declare -a x=(…): only the array form is an assignment here, others stay words.
      const std::uint32_t line = line_;
      auto assigned = assignment();
      if (failed_) break;
      if (assigned && assigned->array) {
        command->assignments.push_back(std::move(*assigned));
        continue;
      }
      pos_ = before;
      line_ = line;
    }
    Word next;
    if (!word(next)) break;
    if (pos_ == before) break;
    command->words.push_back(std::move(next));
    if (command->words.size() == 1 && command->assignments.empty() && peek() != '\0') {
      std::size_t ahead = 0;
      while (peek(ahead) == ' ' || peek(ahead) == '\t') ++ahead;
      if (peek(ahead) == '(') {
        std::size_t close = ahead + 1;
        while (peek(close) == ' ' || peek(close) == '\t') ++close;
        if (peek(close) != ')') return fail("unexpected (");
        advance(close + 1);
        return function_body(command->words[0].raw, command->line);
      }
    }
  }
  if (failed_) return nullptr;
  if (command->words.empty() && command->assignments.empty() && command->redirects.empty()) return nullptr;
  return command;
}

// ---- [[ … ]] ------------------------------------------------------------------------------------------------------------

CommandPtr Parser::test_clause() {
  auto clause = make(Command::Kind::Test, line_);
  advance(2);
  clause->condition = condition_or(0);
  if (!clause->condition) return failed_ ? nullptr : fail("unexpected text in [[ ]]");
  skip_newlines();
  if (!keyword("]]")) return fail("[[ is never closed");
  return with_redirects(clause);
}

std::shared_ptr<const Condition> Parser::condition_or(int depth) {
  auto left = condition_and(depth);
  for (skip_newlines(); left && looking_at("||"); skip_newlines()) {
    advance(2);
    auto both = std::make_shared<Condition>();
    both->kind = Condition::Kind::Or;
    both->first = left;
    both->second = condition_and(depth);
    if (!both->second) return nullptr;
    left = both;
  }
  return left;
}

std::shared_ptr<const Condition> Parser::condition_and(int depth) {
  auto left = condition_primary(depth);
  for (skip_newlines(); left && looking_at("&&"); skip_newlines()) {
    advance(2);
    auto both = std::make_shared<Condition>();
    both->kind = Condition::Kind::And;
    both->first = left;
    both->second = condition_primary(depth);
    if (!both->second) return nullptr;
    left = both;
  }
  return left;
}

std::shared_ptr<const Condition> Parser::condition_primary(int depth) {
  if (depth > 20) return fail("nested too deep");
  skip_newlines();
  auto made = std::make_shared<Condition>();
  if (keyword("!")) {
    made->kind = Condition::Kind::Not;
    made->first = condition_primary(depth + 1);
    if (!made->first) return nullptr;
    return made;
  }
  if (peek() == '(') {
    advance();
    auto inner = condition_or(depth + 1);
    skip_newlines();
    if (!inner || peek() != ')') return fail("unexpected text in [[ ]]");
    advance();
    return inner;
  }
  const std::string_view first = plain_word();
  if (first.size() == 2 && first[0] == '-' && is_name_start(first[1])) {
    made->kind = Condition::Kind::Unary;
    made->op = first;
    advance(2);
    skip_blanks();
    if (!word(made->left)) return nullptr;
    if (made->left.raw.empty()) return fail("unexpected text in [[ ]]");
    return made;
  }
  if (!word(made->left)) return nullptr;
  if (made->left.raw.empty()) return fail("unexpected text in [[ ]]");
  skip_newlines();
  if (at_keyword("]]") || looking_at("&&") || looking_at("||") || peek() == ')') return made;
  made->kind = Condition::Kind::Binary;
  if (peek() == '<' || peek() == '>') {
    made->op = std::string(1, peek());
    advance();
  } else {
    made->op = plain_word();
    advance(made->op.size());
  }
  skip_blanks();
  if (made->op == "=~") {
    // A regular expression has its own quoting; its result is not judged.
    int brackets = 0;
    const std::size_t start = pos_;
    while (!at_end() && peek() != '\n') {
      if (peek() == '(') ++brackets;
      if (peek() == ')' && brackets-- == 0) break;
      if (peek() == '\\') advance();
      if ((peek() == ' ' || peek() == '\t') && brackets <= 0) break;
      if (peek() == '\'' || peek() == '"') {
        const char quote = peek();
        advance();
        while (!at_end() && peek() != quote) advance();
      }
      advance();
    }
    const std::string regex(text_.substr(start, pos_ - start));
    // Quoted pieces of it are plain text: try it as a word.
    Parser inner(regex, dialect_, line_, depth_ + 1);
    Word as_word;
    if (inner.word(as_word) && inner.at_end()) made->right = std::move(as_word);
    made->right.raw = regex;
    return made;
  }
  if (!word(made->right, Stop::Pattern)) return nullptr;
  return made;
}

}  // namespace gpuvet::shell
