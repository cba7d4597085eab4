#include "shell/pattern.h"

#include <algorithm>

namespace gpuvet::shell {
namespace {

constexpr std::size_t longest_text = 65536;

/// A bracket expression at `at`; sets `end` behind it. Without a closing bracket it is an ordinary character.
bool bracket(const Marked& p, std::size_t at, char c, std::size_t& end, bool& is_bracket) {
  std::size_t i = at + 1;
  const bool negated = i < p.text.size() && (p.text[i] == '!' || p.text[i] == '^') && p.special(i);
  if (negated) ++i;
  const std::size_t first = i;
  bool found = false;
  for (; i < p.text.size(); ++i) {
    if (p.text[i] == ']' && p.special(i) && i != first) {
      end = i + 1;
      is_bracket = true;
      return found != negated;
    }
    if (i + 2 < p.text.size() && p.text[i + 1] == '-' && p.special(i + 1) && p.text[i + 2] != ']') {
      found = found || (p.text[i] <= c && c <= p.text[i + 2]);
      i += 2;
    } else {
      found = found || p.text[i] == c;
    }
  }
  is_bracket = false;
  return false;
}

/// Does the single pattern element at `at` take character c?
bool one(const Marked& p, std::size_t at, char c, std::size_t& end) {
  end = at + 1;
  if (!p.special(at)) return p.text[at] == c;
  if (p.text[at] == '?') return true;
  if (p.text[at] == '[') {
    bool is_bracket = false;
    const bool taken = bracket(p, at, c, end, is_bracket);
    if (is_bracket) return taken;
    end = at + 1;
  }
  return p.text[at] == c;
}

}  // namespace

bool Marked::has_wildcard() const {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!special(i)) continue;
    if (text[i] == '*' || text[i] == '?') return true;
    if (text[i] == '[' && text.find(']', i + 2) != std::string::npos) return true;
  }
  return false;
}

bool matches(const Marked& p, std::string_view text) {
  std::size_t i = 0, j = 0, star = std::string::npos, star_text = 0;
  while (j < text.size()) {
    std::size_t end = 0;
    if (i < p.text.size() && p.text[i] == '*' && p.special(i)) {
      star = i++;
      star_text = j;
    } else if (i < p.text.size() && one(p, i, text[j], end)) {
      i = end;
      ++j;
    } else if (star != std::string::npos) {
      i = star + 1;
      j = ++star_text;
    } else {
      return false;
    }
  }
  while (i < p.text.size() && p.text[i] == '*' && p.special(i)) ++i;
  return i == p.text.size();
}

std::string without_prefix(const std::string& text, const Marked& pattern, bool longest) {
  if (text.size() > longest_text) return text;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const std::size_t length = longest ? text.size() - n : n;
    if (matches(pattern, std::string_view(text).substr(0, length))) return text.substr(length);
  }
  return text;
}

std::string without_suffix(const std::string& text, const Marked& pattern, bool longest) {
  if (text.size() > longest_text) return text;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const std::size_t length = longest ? text.size() - n : n;
    if (matches(pattern, std::string_view(text).substr(text.size() - length))) return text.substr(0, text.size() - length);
  }
  return text;
}

std::string replaced(const std::string& text, const Marked& pattern, const std::string& replacement, bool all) {
  std::string out;
  std::size_t at = 0;
  bool done = false;
  while (at < text.size() && !done) {
    std::size_t taken = 0;
    const std::size_t most = pattern.has_wildcard() ? text.size() - at : std::min(pattern.text.size(), text.size() - at);
    for (std::size_t length = most; length > 0; --length) {
      if (matches(pattern, std::string_view(text).substr(at, length))) {
        taken = length;
        break;
      }
      if (!pattern.has_wildcard()) break;
    }
    if (taken == 0) {
      out.push_back(text[at++]);
      continue;
    }
    out += replacement;
    at += taken;
    done = !all;
  }
  return out + text.substr(std::min(at, text.size()));
}

}  // namespace gpuvet::shell
