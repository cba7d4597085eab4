#pragma once
// Shell patterns: * ? [ ], with quoted characters standing for themselves.

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuvet::shell {

/// Text whose characters know whether they were quoted: 'q' quoted, 'u' written unquoted, 'e' out of an unquoted expansion.
struct Marked {
  std::string text, marks;
  void add(std::string_view more, char mark) {
    text.append(more);
    marks.append(more.size(), mark);
  }
  void add(const Marked& more) {
    text += more.text;
    marks += more.marks;
  }
  bool special(std::size_t i) const { return marks[i] != 'q'; }
  bool has_wildcard() const;
  Marked part(std::size_t from, std::size_t length) const { return {text.substr(from, length), marks.substr(from, length)}; }
};

bool matches(const Marked& pattern, std::string_view text);
/// ${x#p}, ${x##p}, ${x%p}, ${x%%p}
std::string without_prefix(const std::string& text, const Marked& pattern, bool longest);
std::string without_suffix(const std::string& text, const Marked& pattern, bool longest);
/// ${x/p/r} and ${x//p/r}
std::string replaced(const std::string& text, const Marked& pattern, const std::string& replacement, bool all);

}  // namespace gpuvet::shell
