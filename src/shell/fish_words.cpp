// fish's words: every expansion is a list, and lists beside each other multiply.

#include <algorithm>

#include "shell/fish_run.h"

namespace gpuvet::shell::fish {
namespace {

constexpr std::size_t most = 2000;

std::string joined(const std::vector<std::string>& items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += items[i];
  }
  return text;
}

std::optional<long> number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 4 || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  const long value = std::stol(std::string(text));
  return negative ? -value : value;
}

}  // namespace

/// $x[2], $x[-1], $x[2..-1]
Items FishInterpreter::indexed(const Items& items, const std::string& index) {
  if (!items.known) return items;
  const std::size_t dots = index.find("..");
  const auto size = static_cast<long>(items.list.size());
  const auto place = [&](std::string_view text, long otherwise) -> std::optional<long> {
    if (text.empty()) return otherwise;
    const auto n = number(text);
    if (!n) return std::nullopt;
    return *n < 0 ? size + *n + 1 : *n;
  };
  const auto first = place(std::string_view(index).substr(0, dots), 1);
  const auto last = dots == std::string::npos ? first : place(std::string_view(index).substr(dots + 2), size);
  if (!first || !last) return Items::unknown("[" + index + "]");
  Items chosen;
  const long step = *first <= *last ? 1 : -1;
  for (long at = *first;; at += step) {
    if (at >= 1 && at <= size) chosen.list.push_back(items.list[static_cast<std::size_t>(at - 1)]);
    if (at == *last || chosen.list.size() > most) break;
  }
  return chosen;
}

Items FishInterpreter::substitution(const Block& block) {
  Items output;
  Items* outer = output_;
  output_ = &output;
  ++depth_;
  if (spend())
    run(block);
  else
    output = Items::unknown("nested too deep");
  --depth_;
  output_ = outer;
  return output;
}

Items FishInterpreter::part(const Part& part) {
  switch (part.kind) {
    case Part::Kind::Literal:
      return {true, {}, {part.text}};
    case Part::Kind::Unsupported:
      return Items::unknown(part.text);
    case Part::Kind::Command: {
      Items items = substitution(*part.command);
      if (part.quoted && items.known) items.list = {joined(items.list, "\n")};
      return items;
    }
    case Part::Kind::Variable:
      break;
  }
  Items items = get(part.text);
  if (!part.index.empty()) items = indexed(items, part.index);
  if (part.quoted && items.known) {
    const FishVariable* held = find(part.text);
    items.list = {joined(items.list, held && held->path ? ":" : " ")};
  }
  return items;
}

Items FishInterpreter::expand(const Word& word) {
  std::vector<Marked> made{1};
  bool first = true;
  for (const Part& piece : word.parts) {
    Items items = part(piece);
    if (!items.known) return items;
    const bool plain = piece.kind == Part::Kind::Literal && !piece.quoted;
    if (plain && piece.text.find('{') != std::string::npos && piece.text.find(',') != std::string::npos)
      return Items::unknown("a brace list");
    if (first && plain && (piece.text == "~" || piece.text.starts_with("~/")))
      items.list = {identity_.home + piece.text.substr(1)};
    else if (first && plain && piece.text.starts_with('~'))
      return Items::unknown("the home of another user");
    std::vector<Marked> next;
    for (const Marked& before : made) {
      for (const std::string& item : items.list) {
        if (next.size() > most || before.text.size() > 65536) return Items::unknown("too long a list");
        next.push_back(before);
        next.back().add(item, plain ? 'u' : 'q');
      }
    }
    made = std::move(next);
    first = false;
  }
  Items all;
  for (const Marked& item : made) {
    const bool wild = std::any_of(item.text.begin(), item.text.end(), [&](const char& c) {
      return c == '*' && item.special(static_cast<std::size_t>(&c - item.text.data()));
    });
    if (!wild) {
      all.list.push_back(item.text);
      continue;
    }
    std::vector<std::string> names;
    if (!wildcards(item, names)) return Items::unknown("names of files");
    no_match_ = no_match_ || names.empty();
    all.list.insert(all.list.end(), names.begin(), names.end());
  }
  return all;
}

/// `*` in the pieces of an absolute path. `**` and hidden files are left open.
bool FishInterpreter::wildcards(const Marked& pattern, std::vector<std::string>& out) {
  if (!pattern.text.starts_with('/') || pattern.text.find("**") != std::string::npos || pattern.text.size() > 4096) return false;
  out = {""};
  for (std::size_t at = 1; at <= pattern.text.size();) {
    const std::size_t end = std::min(pattern.text.find('/', at), pattern.text.size());
    Marked piece = pattern.part(at, end - at);
    // `?` and [ ] are ordinary characters in today's fish.
    for (std::size_t i = 0; i < piece.text.size(); ++i) {
      if (piece.text[i] != '*') piece.marks[i] = 'q';
    }
    const bool wild = piece.has_wildcard();
    std::vector<std::string> next;
    for (const std::string& folder : out) {
      if (!wild) {
        next.push_back(folder + "/" + piece.text);
        continue;
      }
      const auto names = files_.list(folder.empty() ? "/" : folder);
      if (!names) return false;
      for (const std::string& name : *names) {
        if (name.starts_with('.') && !piece.text.starts_with('.')) continue;
        if (matches(piece, name) && next.size() < most) next.push_back(folder + "/" + name);
      }
    }
    out = std::move(next);
    at = end + 1;
  }
  std::erase_if(out, [&](const std::string& path) {
    return !files_.is_file(path).value_or(true) && !files_.is_directory(path).value_or(true);
  });
  return true;
}

}  // namespace gpuvet::shell::fish
