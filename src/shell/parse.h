#pragma once
// Reads a start-up file command by command, as a shell does: what stands before a syntax error has already run.

#include <optional>
#include <string>
#include <string_view>

#include "shell/syntax.h"

namespace gpuvet::shell {

class Parser {
 public:
  Parser(std::string_view text, Dialect dialect, std::uint32_t first_line = 1, int depth = 0)
      : text_(text), dialect_(dialect), line_(first_line), depth_(depth) {}

  /// The next complete command (a line's and-or list); null at the end or after an error.
  CommandPtr next();
  bool failed() const { return failed_; }
  const std::string& error() const { return error_; }
  std::uint32_t line() const { return line_; }

 private:
  // commands (parse.cpp)
  CommandPtr list_until(std::initializer_list<std::string_view> ends);
  CommandPtr and_or();
  CommandPtr pipeline();
  CommandPtr command();
  CommandPtr simple();
  CommandPtr if_clause();
  CommandPtr for_clause();
  CommandPtr while_clause(bool until);
  CommandPtr case_clause();
  CommandPtr function_body(const std::string& name, std::uint32_t line);
  CommandPtr group(bool subshell);
  CommandPtr test_clause();
  CommandPtr arithmetic_clause();
  CommandPtr body_of_loop(bool short_form = false);
  CommandPtr with_redirects(CommandPtr command);
  CommandPtr braced_body();
  bool here_document_start(std::vector<Redirect>& redirects, bool strip_tabs);
  void newline();
  bool array_items(std::vector<Word>& items);
  bool case_item(CaseItem& item);
  std::optional<Assignment> assignment();
  bool redirect(std::vector<Redirect>& redirects);
  void read_here_documents();
  std::shared_ptr<const Condition> condition_or(int depth);
  std::shared_ptr<const Condition> condition_and(int depth);
  std::shared_ptr<const Condition> condition_primary(int depth);

  // words (parse_words.cpp)
  enum class Stop : std::uint8_t { Blank, Brace, Slash, Pattern };
  bool word(Word& word, Stop stop = Stop::Blank);
  bool double_quoted(Word& word);
  bool dollar(Word& word, bool quoted);
  bool braced_parameter(Part& part);
  bool parameter_operator(Part& part);
  bool substitution(Part& part);
  bool backquoted(Part& part);
  bool arithmetic(Part& part);
  bool single_quoted(std::string& out);
  bool ansi_quoted(std::string& out);
  bool skip_balanced(char open, char close, std::string& out);
  CommandPtr parse_inner(const std::string& text, std::uint32_t line);

  // characters
  bool at_end() const { return pos_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool looking_at(std::string_view s) const { return text_.substr(pos_).starts_with(s); }
  void advance(std::size_t n = 1);
  void skip_blanks();
  void skip_newlines();
  std::string_view plain_word() const;
  bool keyword(std::string_view word);
  bool at_keyword(std::string_view word) const { return plain_word() == word; }
  bool expect(std::string_view word);
  std::nullptr_t fail(std::string why);

  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) { ++parser.depth_; }
    ~Deeper() { --parser.depth_; }
    Parser& parser;
  };
  static constexpr int deepest = 60;

  std::string_view text_;
  Dialect dialect_;
  std::size_t pos_ = 0;
  std::uint32_t line_;
  int depth_;
  bool failed_ = false;
  std::string error_;
  bool literal_single_quotes_ = false;
  struct HereDocument {
    std::string end;
    bool strip_tabs;
  };
  std::vector<HereDocument> here_documents_;
};

bool is_name(std::string_view text);
inline bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

}  // namespace gpuvet::shell
