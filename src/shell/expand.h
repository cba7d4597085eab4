#pragma once
// Words → strings: tilde, parameters, substitutions, field splitting, names of files.

#include <optional>
#include <string>
#include <vector>

#include "shell/interpret.h"
#include "shell/pattern.h"

namespace gpuvet::shell {

/// One word may become no, one or several fields.
struct Fields {
  bool known = true;
  std::string why;         ///< not known
  bool not_empty = false;  ///< not known, but surely some text
  bool no_match = false;   ///< zsh: a pattern without a match, which is an error there
  std::vector<std::string> texts;
};

class Expander {
 public:
  explicit Expander(Interpreter& interpreter) : in_(interpreter) {}

  /// As one string: assignments, `case` subjects, [[ ]] operands. `assignment`: tildes after colons count too.
  Value single(const Word& word, bool assignment);
  /// As fields. `declares`: an argument of export and the like, where NAME=value is an assignment.
  Fields fields(const Word& word, bool declares);
  /// As a pattern; nullopt (with `why`) when it cannot be told.
  std::optional<Marked> pattern(const Word& word, std::string& why);

 private:
  struct Work {
    std::vector<Marked> fields{1};
    bool known = true, not_empty = false;
    bool empty_list = false;  ///< "$@" or an array without items
    bool several = false;     ///< "$@" and arrays made fields of their own
    std::string why;
    std::string qualifier;  ///< zsh's glob qualifier at the end
    void unknown(std::string reason, bool text_for_sure) {
      if (known) why = std::move(reason);
      known = false;
      not_empty = not_empty || text_for_sure;
    }
  };
  Work expand(const Word& word, bool assignment, bool fields);
  void literal(Work& work, const Part& part, bool first, bool assignment, const Word& word);
  void parameter(Work& work, const Part& part, bool fields);
  void list(Work& work, const std::vector<std::string>& items, const Part& part, bool fields);
  bool list_parameter(Work& work, const Part& part, bool fields);
  Value operated(const Part& part, const Value& value);
  Value default_or(const Part& part, const Value& value);
  Value substitution(const Part& part);
  Value value_of(const Part& part);
  std::string tilde(const std::string& text, std::size_t at, std::size_t end, bool& known);
  std::optional<std::vector<Marked>> split(const Marked& field);
  std::vector<Word> without_braces(const Word& word, int depth);
  Fields fields_of_one(const Word& word, bool declares);
  bool file_names(const Marked& field, const std::string& qualifier, std::vector<std::string>& out, std::string& why,
                  bool& matched);

  Interpreter& in_;
};

}  // namespace gpuvet::shell
