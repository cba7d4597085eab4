#include "shell/expand.h"

#include <algorithm>

#include "shell/parse.h"

namespace gpuvet::shell {
namespace {

constexpr std::size_t most_fields = 4096, longest_value = 65536;

std::string joined(const std::vector<std::string>& items, std::string_view separator) {
  std::string all;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) all += separator;
    all += items[i];
  }
  return all;
}

/// {a,b} or {1..3} written unquoted: several words in bash and zsh.
bool has_brace_list(const Marked& field) {
  const std::size_t open = field.text.find('{');
  if (open == std::string::npos || field.marks[open] != 'u') return false;
  const std::size_t close = field.text.find('}', open);
  if (close == std::string::npos) return false;
  const std::string_view inside = std::string_view(field.text).substr(open, close - open);
  return inside.find(',') != std::string_view::npos || inside.find("..") != std::string_view::npos;
}

}  // namespace

/// "~" or "~/…" at `at`, up to `end`; other users' homes are not known.
std::string Expander::tilde(const std::string& text, std::size_t at, std::size_t end, bool& known) {
  const std::string name = text.substr(at + 1, end - at - 1);
  if (name.empty()) {
    const Value home = in_.get("HOME");
    known = home.is_known();
    return home.text;
  }
  known = name == in_.setting_.user && !name.empty();
  return in_.setting_.home;
}

void Expander::literal(Work& work, const Part& part, bool first, bool assignment, const Word& word) {
  Marked& field = work.fields.back();
  if (part.quoted) {
    field.add(part.text, 'q');
    return;
  }
  for (std::size_t i = 0; i < part.text.size();) {
    const bool begins = (first && i == 0) || (assignment && i > 0 && part.text[i - 1] == ':') ||
                        (assignment && i == 0 && !first && !field.text.empty() && field.text.back() == ':');
    if (part.text[i] == '~' && begins) {
      const std::size_t end =
          std::min({part.text.find('/', i), assignment ? part.text.find(':', i) : std::string::npos, part.text.size()});
      // "~" followed by a quote or an expansion ("~$USER", ~"x") is no tilde prefix.
      const bool whole = end < part.text.size() || &part == &word.parts.back();
      bool known = true;
      if (whole) {
        const std::string home = tilde(part.text, i, end, known);
        if (!known) return work.unknown("the home of another user", true);
        field.add(home, 'q');
        i = end;
        continue;
      }
    }
    field.add(part.text.substr(i, 1), 'u');
    ++i;
  }
}

Value Expander::substitution(const Part& part) {
  Value output = Value::known("");
  Interpreter& in = in_;
  if (!in.spend_copy(1)) return Value::unknown("too much to follow");
  State before = in.state_;
  auto frames = in.frames_;
  auto stopped = in.stopped_;
  Value* outer = in.output_;
  in.output_ = &output;
  ++in.depth_;
  if (in.depth_ < 40) {
    in.run(*part.command);
  } else {
    output = Value::unknown("nested too deep");
  }
  --in.depth_;
  in.output_ = outer;
  const Status status = in.state_.last;
  in.state_ = std::move(before);
  in.state_.last = status;
  in.frames_ = std::move(frames);
  in.stopped_ = std::move(stopped);
  while (output.is_known() && output.text.ends_with('\n')) output.text.pop_back();
  if (output.is_known() && output.text.size() > longest_value) return Value::unknown("too long a value");
  return output;
}

Value Expander::value_of(const Part& part) {
  const std::string& name = part.name;
  State& state = in_.state_;
  if (name == "?")
    return state.last.is_known() ? Value::known(std::to_string(state.last.code)) : Value::unknown("a command's result", true);
  if (name == "#")
    return state.arguments_known ? Value::known(std::to_string(state.arguments.size())) : Value::unknown("arguments", true);
  if (name == "@" || name == "*")
    return !state.arguments_known    ? Value::unknown("arguments")
           : state.arguments.empty() ? Value{}
                                     : Value::known(joined(state.arguments, " "));
  if (name == "0") return Value::unknown("the name of the shell", true);
  if (!name.empty() && name[0] >= '1' && name[0] <= '9') {
    if (!state.arguments_known) return Value::unknown("arguments");
    const std::size_t at = name.size() > 3 ? 9999 : static_cast<std::size_t>(std::stoi(name));
    return at <= state.arguments.size() ? Value::known(state.arguments[at - 1]) : Value{};
  }
  return in_.get(name);
}

Value Expander::default_or(const Part& part, const Value& value) {
  const bool null_counts = part.op[0] == ':';
  const char kind = part.op.back();
  const bool surely_set = value.is_known() ? !(null_counts && value.text.empty()) : value.is_unknown() && value.not_empty;
  const bool surely_unset = value.is_unset() || (value.is_known() && null_counts && value.text.empty());
  if (kind == '+') {
    if (surely_unset) return Value::known("");
    const Value other = single(*part.argument, false);
    if (surely_set || other == Value::known("")) return other;
    return Value::unknown(value.text);
  }
  if (surely_set) return value;
  if (kind == '?') {
    if (surely_unset) in_.everything_not_seen("a ${…?…} that ends the shell");
    return Value::unknown("a ${…?…}");
  }
  const Value other = single(*part.argument, false);
  if (!surely_unset)
    return Value::unknown(value.text, other.not_empty || (other.is_known() && !other.text.empty() && null_counts));
  if (kind == '=') in_.assign(part.name, other, 0);
  return other;
}

Value Expander::operated(const Part& part, const Value& value) {
  const std::string& op = part.op;
  if (op == ":-" || op == "-" || op == ":=" || op == "=" || op == ":+" || op == "+" || op == ":?" || op == "?")
    return default_or(part, value);
  if (op == "set")
    return value.is_unknown() && !value.not_empty ? Value::unknown(value.text, true) : Value::known(value.is_unset() ? "0" : "1");
  if (value.is_unset() && in_.state_.no_unset) return Value::unknown("unset under set -u");
  if (op.empty() || value.is_unset())
    return op == "length" ? Value::known("0") : value.is_unset() && !op.empty() ? Value::known("") : value;
  if (value.is_unknown()) return Value::unknown(value.text, op == "length");
  if (op == "length") return Value::known(std::to_string(value.text.size()));
  std::string why;
  const auto argument = pattern(*part.argument, why);
  if (!argument) return Value::unknown(why);
  if (op == "#" || op == "##") return Value::known(without_prefix(value.text, *argument, op.size() == 2));
  if (op == "%" || op == "%%") return Value::known(without_suffix(value.text, *argument, op.size() == 2));
  if (op == "/" || op == "//") {
    const Value with = part.replacement ? single(*part.replacement, false) : Value::known("");
    if (!with.is_known() || with.text.find('&') != std::string::npos) return Value::unknown(with.text);
    return Value::known(replaced(value.text, *argument, with.text, op == "//"));
  }
  if (op == ":" && in_.setting_.dialect == Dialect::Zsh && (argument->text == "h" || argument->text == "t")) {
    const std::size_t slash = value.text.rfind('/');
    if (slash != std::string::npos && slash > 0 && slash + 1 < value.text.size())
      return Value::known(argument->text == "h" ? value.text.substr(0, slash) : value.text.substr(slash + 1));
  }
  return Value::unknown("${" + part.name + op + "…}");
}

void Expander::list(Work& work, const std::vector<std::string>& items, const Part& part, bool fields) {
  if (!fields || part.subscript == "*" || part.name == "*") {
    const Value ifs = in_.get("IFS");
    if (ifs.is_unknown()) return work.unknown("IFS", false);
    const std::string separator = ifs.is_unset() ? " " : ifs.text.substr(0, 1);
    work.fields.back().add(joined(items, separator), part.quoted ? 'q' : 'e');
    return;
  }
  work.several = true;
  work.empty_list = work.empty_list || items.empty();
  for (std::size_t i = 0; i < items.size() && work.fields.size() < most_fields; ++i) {
    if (i > 0) work.fields.emplace_back();
    work.fields.back().add(items[i], part.quoted ? 'q' : in_.state_.word_splitting ? 'e' : 'q');
  }
}

/// $@, ${array[@]}, and zsh's whole arrays.
bool Expander::list_parameter(Work& work, const Part& part, bool fields) {
  const bool zsh = in_.setting_.dialect == Dialect::Zsh;
  if ((part.name == "@" || part.name == "*") && part.op.empty()) {
    if (!in_.state_.arguments_known) return work.unknown("arguments", false), true;
    return list(work, in_.state_.arguments, part, fields), true;
  }
  const bool whole = part.subscript == "@" || part.subscript == "*";
  const auto found = in_.state_.variables.find(part.name);
  const bool is_array = (found != in_.state_.variables.end() && found->second.is_array) || !in_.tied(part.name).empty();
  if (!whole && !(zsh && is_array && part.subscript.empty())) return false;
  const auto all = in_.items(part.name);
  if (!all) return work.unknown(in_.get(part.name).text, false), true;
  if (part.op == "length") return work.fields.back().add(std::to_string(all->size()), 'q'), true;
  if (part.op == "set") return work.fields.back().add("1", 'q'), true;
  if (part.op == ":+" || part.op == "+") {
    if (!all->empty()) {
      const Value other = single(*part.argument, false);
      if (!other.is_known()) return work.unknown(other.text, false), true;
      work.fields.back().add(other.text, 'e');
    }
    return true;
  }
  if (!part.op.empty()) return work.unknown("${" + part.name + "[@]" + part.op + "…}", false), true;
  // In zsh "$path" in quotes is one string.
  if (zsh && part.quoted && !whole) return work.fields.back().add(joined(*all, " "), 'q'), true;
  std::vector<std::string> kept = *all;
  if (zsh && !part.quoted) std::erase(kept, "");
  return list(work, kept, part, fields), true;
}

void Expander::parameter(Work& work, const Part& part, bool fields) {
  if (list_parameter(work, part, fields)) return;
  Value value;
  if (!part.subscript.empty()) {
    const auto all = in_.items(part.name);
    const std::string& s = part.subscript;
    const bool number =
        !s.empty() && s.size() < 5 && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!all || !number) return work.unknown("$" + part.name + "[" + s + "]", false);
    const std::size_t first = in_.setting_.dialect == Dialect::Zsh ? 1 : 0, at = static_cast<std::size_t>(std::stoi(s));
    if (at >= first && at - first < all->size()) value = Value::known((*all)[at - first]);
  } else {
    value = value_of(part);
  }
  value = operated(part, value);
  if (value.is_unknown()) return work.unknown(value.text, value.not_empty);
  if (value.is_known()) work.fields.back().add(value.text, part.quoted || !in_.state_.word_splitting ? 'q' : 'e');
}

Expander::Work Expander::expand(const Word& word, bool assignment, bool fields) {
  Work work;
  if (word.quoted_anywhere) work.fields.back().add("", 'q');
  bool first = true;
  for (const Part& part : word.parts) {
    switch (part.kind) {
      case Part::Kind::Literal:
        literal(work, part, first, assignment, word);
        work.not_empty = work.not_empty || !part.text.empty();
        break;
      case Part::Kind::Parameter:
        parameter(work, part, fields);
        break;
      case Part::Kind::Command: {
        const Value output = substitution(part);
        if (output.is_unknown())
          work.unknown(output.text, output.not_empty);
        else
          work.fields.back().add(output.text, part.quoted || !in_.state_.word_splitting ? 'q' : 'e');
        break;
      }
      case Part::Kind::Arithmetic:
        work.unknown("arithmetic", true);
        break;
      case Part::Kind::Unsupported:
        if (&part == &word.parts.back() && part.text.starts_with("(") && part.text.find('N') != std::string::npos &&
            part.text.find('|') == std::string::npos) {
          work.qualifier = part.text;
        } else {
          work.unknown(part.text.substr(0, 60), false);
        }
        break;
    }
    first = false;
    if (work.fields.back().text.size() > longest_value) work.unknown("too long a value", true);
  }
  return work;
}

Value Expander::single(const Word& word, bool assignment) {
  Work work = expand(word, assignment, false);
  if (!work.qualifier.empty()) work.unknown("a zsh pattern", false);
  if (!work.known) return Value::unknown(work.why, work.not_empty);
  return Value::known(work.fields.back().text);
}

std::optional<Marked> Expander::pattern(const Word& word, std::string& why) {
  Work work = expand(word, false, false);
  if (!work.qualifier.empty()) work.unknown("a zsh pattern", false);
  if (!work.known) {
    why = work.why;
    return std::nullopt;
  }
  return work.fields.back();
}

/// Field splitting of what came out of unquoted expansions.
std::optional<std::vector<Marked>> Expander::split(const Marked& field) {
  if (field.marks.find('e') == std::string::npos) return std::vector<Marked>{field};
  const Value ifs = in_.state_.variables.contains("IFS") ? in_.get("IFS") : Value::known(" \t\n");
  if (ifs.is_unknown()) return std::nullopt;
  const std::string separators = ifs.is_unset() ? " \t\n" : ifs.text;
  std::vector<Marked> out;
  Marked current;
  bool open = false;
  for (std::size_t i = 0; i < field.text.size(); ++i) {
    const char c = field.text[i];
    if (field.marks[i] != 'e' || separators.find(c) == std::string::npos) {
      current.add(std::string_view(&c, 1), field.marks[i]);
      open = true;
      continue;
    }
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (open || !blank) out.push_back(std::move(current));
    current = {};
    open = false;
  }
  if (open) out.push_back(std::move(current));
  return out;
}

/// Names of files that a field with wildcards stands for. False: cannot be told.
bool Expander::file_names(const Marked& field, const std::string& qualifier, std::vector<std::string>& out, std::string& why,
                          bool& matched) {
  if (field.text.empty() || field.text[0] != '/') return why = "a pattern in the current folder", false;
  if (field.text.size() > 4096) return why = "a long pattern", false;
  std::vector<std::string> found{""};
  for (std::size_t at = 1; at <= field.text.size();) {
    const std::size_t end = std::min(field.text.find('/', at), field.text.size());
    const Marked piece = field.part(at, end - at);
    const bool last = end == field.text.size();
    std::vector<std::string> next;
    for (const std::string& folder : found) {
      if (!piece.has_wildcard()) {
        next.push_back(folder + "/" + piece.text);
        continue;
      }
      const auto names = in_.files_.list(folder.empty() ? "/" : folder);
      if (!names) return why = folder + " may not be read", false;
      for (const std::string& name : *names) {
        if (next.size() >= most_fields) return why = "too many files", false;
        if (name.starts_with('.') && !piece.text.starts_with('.')) continue;
        if (matches(piece, name)) next.push_back(folder + "/" + name);
      }
    }
    found = std::move(next);
    at = end + 1;
    if (last) break;
  }
  for (const std::string& name : found) {
    const auto file = in_.files_.is_file(name), folder = in_.files_.is_directory(name);
    if (!file || !folder) return why = name + " may not be read", false;
    const bool there = *file || *folder;
    const bool wanted = qualifier.find('/') != std::string::npos   ? *folder
                        : qualifier.find('.') != std::string::npos ? *file
                                                                   : there;
    if (wanted) out.push_back(name);
  }
  matched = !out.empty();
  return true;
}

/// a{b,c}d written in one unquoted piece becomes several words, before anything else is expanded.
std::vector<Word> Expander::without_braces(const Word& word, int depth) {
  for (std::size_t i = 0; i < word.parts.size() && depth < 4; ++i) {
    const Part& part = word.parts[i];
    if (part.kind != Part::Kind::Literal || part.quoted) continue;
    const std::size_t close = part.text.find('}'), open = close == std::string::npos ? close : part.text.rfind('{', close);
    if (open == std::string::npos || part.text.find(',', open) > close) continue;
    std::vector<Word> all;
    for (std::size_t at = open + 1; at <= close;) {
      const std::size_t end = std::min(part.text.find(',', at), close);
      Word one = word;
      one.parts[i].text = part.text.substr(0, open) + part.text.substr(at, end - at) + part.text.substr(close + 1);
      if (one.parts[i].text.empty()) one.parts.erase(one.parts.begin() + static_cast<std::ptrdiff_t>(i));
      for (Word& further : without_braces(one, depth + 1)) all.push_back(std::move(further));
      if (all.size() > most_fields) break;
      at = end + 1;
    }
    return all;
  }
  return {word};
}

Fields Expander::fields(const Word& word, bool declares) {
  if (in_.setting_.dialect == Dialect::Dash || declares || in_.setting_.posix) return fields_of_one(word, declares);
  const std::vector<Word> words = without_braces(word, 0);
  Fields all;
  for (const Word& one : words) {
    Fields some = fields_of_one(one, declares);
    if (!some.known) return some;
    all.texts.insert(all.texts.end(), some.texts.begin(), some.texts.end());
  }
  return all;
}

Fields Expander::fields_of_one(const Word& word, bool declares) {
  Fields result;
  const auto unknown = [&](std::string why) {
    result.known = false;
    result.why = std::move(why);
    return result;
  };
  // NAME=value as an argument of export: one field, tildes after = and colons.
  if (declares && !word.parts.empty() && word.parts[0].kind == Part::Kind::Literal && !word.parts[0].quoted) {
    const std::size_t equal = word.parts[0].text.find('=');
    if (equal != std::string::npos &&
        is_name(std::string_view(word.parts[0].text).substr(0, equal - (equal > 0 && word.parts[0].text[equal - 1] == '+')))) {
      Word value = word;
      value.parts[0].text.erase(0, equal + 1);
      if (value.parts[0].text.empty()) value.parts.erase(value.parts.begin());
      const Value v = single(value, true);
      if (v.is_unknown()) return result.not_empty = v.not_empty, unknown(v.text);
      const std::string name = word.parts[0].text.substr(0, equal + 1);
      Marked check;
      for (const Part& part : word.parts) check.add(part.text, part.quoted ? 'q' : 'u');
      if (in_.setting_.dialect == Dialect::Bash && has_brace_list(check)) return unknown("a brace list");
      result.texts.push_back(name + v.text);
      return result;
    }
  }
  Work work = expand(word, false, true);
  if (!work.known) return result.not_empty = work.not_empty, unknown(work.why);
  if (work.empty_list && work.fields.size() == 1 && work.fields[0].text.empty()) return result;
  for (const Marked& field : work.fields) {
    if (in_.setting_.dialect != Dialect::Dash && has_brace_list(field)) return unknown("a brace list");
    const auto parts = split(field);
    if (!parts) return unknown("IFS");
    const bool quoted = word.quoted_anywhere && !work.several;
    if (parts->empty() && quoted) result.texts.emplace_back();
    for (const Marked& part : *parts) {
      if (part.text.empty() && part.marks.empty() && !quoted && !work.several && field.marks.find('e') == std::string::npos)
        continue;
      if (!part.has_wildcard()) {
        if (part.text.empty() && !quoted && !work.several) continue;
        result.texts.push_back(part.text);
        continue;
      }
      std::vector<std::string> names;
      std::string why;
      bool matched = false;
      if (!file_names(part, work.qualifier, names, why, matched)) return unknown(why);
      if (matched) {
        result.texts.insert(result.texts.end(), names.begin(), names.end());
      } else if (!work.qualifier.empty() || in_.state_.null_glob) {
        continue;
      } else if (in_.setting_.dialect == Dialect::Zsh && !in_.state_.word_splitting) {
        result.no_match = true;
        return unknown("no file matches " + part.text);
      } else {
        result.texts.push_back(part.text);
      }
    }
  }
  return result;
}

}  // namespace gpuvet::shell
