// test, [ and [[ ]].

#include <algorithm>

#include "shell/expand.h"
#include "shell/interpret.h"
#include "shell/parse.h"

namespace gpuvet::shell {
namespace {

Status negated(Status status) { return status.is_known() ? Status::of(!status.ok()) : status; }

Status both(Status a, Status b) {
  if ((a.is_known() && !a.ok()) || (b.is_known() && !b.ok())) return Status::of(false);
  return a.is_known() && b.is_known() ? Status::of(true) : Status::unknown();
}

Status either(Status a, Status b) { return negated(both(negated(a), negated(b))); }

Status of_fact(std::optional<bool> fact) { return fact ? Status::of(*fact) : Status::unknown(); }

std::optional<long> integer(const std::string& text) {
  if (text.empty() || text.size() > 12) return std::nullopt;
  const std::size_t start = text[0] == '-' ? 1 : 0;
  if (start == text.size() ||
      !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stol(text);
}

bool is_numeric(const std::string& op) {
  return op == "-eq" || op == "-ne" || op == "-lt" || op == "-le" || op == "-gt" || op == "-ge";
}
bool is_binary(const std::string& op) {
  return is_numeric(op) || op == "=" || op == "==" || op == "!=" || op == "<" || op == ">" || op == "-nt" || op == "-ot" ||
         op == "-ef" || op == "=~";
}

Status compared(const std::string& op, long a, long b) {
  if (op == "-eq") return Status::of(a == b);
  if (op == "-ne") return Status::of(a != b);
  if (op == "-lt") return Status::of(a < b);
  if (op == "-le") return Status::of(a <= b);
  if (op == "-gt") return Status::of(a > b);
  return Status::of(a >= b);
}

}  // namespace

std::optional<std::string> Interpreter::absolute(const std::string& path) const {
  if (path.starts_with('/')) return path;
  const Value pwd = get("PWD");
  if (!pwd.is_known() || path.empty()) return std::nullopt;
  return pwd.text + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

Status Interpreter::unary(const std::string& op, const Value& value) {
  if (op.size() != 2) return Status::unknown();
  const char c = op[1];
  if (c == 'n' || c == 'z') {
    if (value.is_unknown() && !value.not_empty) return Status::unknown();
    const bool empty = !value.is_unknown() && value.text.empty();
    return Status::of(empty == (c == 'z'));
  }
  if (c == 't') return Status::unknown();
  if (c == 'o') {
    if (value.is_known() && (value.text == "interactive" || value.text == "INTERACTIVE")) return Status::of(setting_.interactive);
    if (value.is_known() && (value.text == "login" || value.text == "LOGIN")) return Status::of(setting_.login);
    if (value.is_known() && value.text == "posix") return Status::of(setting_.posix);
    return Status::unknown();
  }
  if (c == 'v' && value.is_known() && is_name(value.text)) {
    const Value held = get(value.text);
    return held.is_unknown() && !held.not_empty ? Status::unknown() : Status::of(!held.is_unset());
  }
  if (!value.is_known()) return Status::unknown();
  if (value.text.empty()) return Status::of(false);
  const auto path = absolute(value.text);
  if (!path) return Status::unknown();
  const auto file = files_.is_file(*path), folder = files_.is_directory(*path);
  if (!file || !folder) return Status::unknown();
  const bool there = *file || *folder;
  switch (c) {
    case 'f':
      return Status::of(*file);
    case 'd':
      return Status::of(*folder);
    case 'e':
    case 'a':
      // Devices and sockets are neither file nor folder here.
      return there                                                                                    ? Status::of(true)
             : path->starts_with("/dev/") || path->starts_with("/run/") || path->starts_with("/tmp/") ? Status::unknown()
                                                                                                      : Status::of(false);
    case 'x':
      if (*folder) return Status::of(true);
      return of_fact(files_.is_executable(*path));
    case 'r':
      if (*folder || !there) return Status::of(there);
      return files_.read(*path).state == ShellFiles::Read::Unreadable ? Status::unknown() : Status::of(true);
    case 's': {
      if (!*file) return Status::of(*folder);
      const auto content = files_.read(*path);
      return content.state == ShellFiles::Read::Unreadable ? Status::unknown() : Status::of(!content.text.empty());
    }
    default:
      return there ? Status::unknown() : c == 'L' || c == 'h' ? Status::unknown() : Status::of(false);
  }
}

Status Interpreter::binary(const std::string& op, const Value& left, const Value& right) {
  if (op == "=" || op == "==" || op == "!=") {
    const auto empty = [](const Value& v) { return !v.is_unknown() && v.text.empty(); };
    const bool differ =
        (empty(left) && right.is_unknown() && right.not_empty) || (empty(right) && left.is_unknown() && left.not_empty);
    if (!differ && (left.is_unknown() || right.is_unknown())) return Status::unknown();
    return Status::of((!differ && left.text == right.text) == (op != "!="));
  }
  if (is_numeric(op) && left.is_known() && right.is_known()) {
    const auto a = integer(left.text), b = integer(right.text);
    if (a && b) return compared(op, *a, *b);
    return Status::of(false);
  }
  return Status::unknown();
}

Status Interpreter::test(const Words& all, const std::vector<bool>& all_known) {
  Words words(all.begin() + 1, all.end());
  std::vector<bool> known(all_known.begin() + 1, all_known.end());
  if (all[0] == "[") {
    if (words.empty() || words.back() != "]") return Status::of(false);
    words.pop_back();
    known.pop_back();
  }
  const bool has_filled = filled_.size() == all.size();
  const auto value = [&](std::size_t i, bool for_z = false) {
    if (known[i]) return Value::known(words[i]);
    // Unquoted it may become several words, which is an error: -z fails then too, but so does -n.
    const int filled = has_filled ? filled_[i + 1] : 0;
    return Value::unknown(words[i], filled == 2 || (filled == 1 && for_z));
  };
  // A word that is not known may also have been no word at all, or several: then the form of the test is not known.
  if (words.empty()) return Status::of(false);
  if (words.size() > 64) return Status::unknown();  // nobody writes such a one, and each ! and ( is a step down the stack
  std::size_t at = 0;
  const std::size_t n = words.size();
  const auto primary = [&](auto&& self) -> Status {
    if (at >= n) return Status::unknown();
    if (words[at] == "!" && known[at] && n - at > 1) {
      ++at;
      return negated(self(self));
    }
    if (n - at >= 3 && known[at + 1] && is_binary(words[at + 1])) {
      const Status result = binary(words[at + 1], value(at), value(at + 2));
      at += 3;
      return result;
    }
    if (n - at >= 2 && known[at] && words[at].size() == 2 && words[at][0] == '-' && words[at] != "-a" && words[at] != "-o") {
      const Status result = unary(words[at], value(at + 1, words[at] == "-z"));
      at += 2;
      return result;
    }
    const Status result = unary("-n", value(at));
    ++at;
    return result;
  };
  const auto conjunction = [&] {
    Status result = primary(primary);
    while (at < n && words[at] == "-a" && known[at]) {
      ++at;
      const Status more = primary(primary);
      result = both(result, more);
    }
    return result;
  };
  Status result = conjunction();
  while (at < n && words[at] == "-o" && known[at]) {
    ++at;
    const Status more = conjunction();
    result = either(result, more);
  }
  return at == n ? result : Status::unknown();
}

Status Interpreter::condition(const Condition& condition) {
  if (!spend()) return Status::unknown();
  switch (condition.kind) {
    case Condition::Kind::And: {
      const Status first = this->condition(*condition.first);
      return first.is_known() && !first.ok() ? first : both(first, this->condition(*condition.second));
    }
    case Condition::Kind::Or: {
      const Status first = this->condition(*condition.first);
      return first.is_known() && first.ok() ? first : either(first, this->condition(*condition.second));
    }
    case Condition::Kind::Not:
      return negated(this->condition(*condition.first));
    case Condition::Kind::Unary:
      return unary(condition.op, Expander(*this).single(condition.left, false));
    case Condition::Kind::Word:
      return unary("-n", Expander(*this).single(condition.left, false));
    case Condition::Kind::Binary:
      break;
  }
  const Value left = Expander(*this).single(condition.left, false);
  if (condition.op == "=" || condition.op == "==" || condition.op == "!=") {
    std::string why;
    const auto pattern = Expander(*this).pattern(condition.right, why);
    if (!pattern) return Status::unknown();
    if (left.is_unknown()) return pattern->text.empty() && left.not_empty ? Status::of(condition.op == "!=") : Status::unknown();
    return Status::of(matches(*pattern, left.text) == (condition.op != "!="));
  }
  if (condition.op == "=~") {
    std::string why;
    const auto regex = Expander(*this).pattern(condition.right, why);
    if (!regex || left.is_unknown() || regex->text.empty()) return Status::unknown();
    for (std::size_t i = 0; i < regex->text.size(); ++i) {
      const bool plain = !regex->special(i) || is_name_char(regex->text[i]) || regex->text[i] == '/' || regex->text[i] == ':';
      if (!plain) return Status::unknown();
    }
    return Status::of(left.text.find(regex->text) != std::string::npos);
  }
  return binary(condition.op, left, Expander(*this).single(condition.right, false));
}

/// (( … )): a number, a variable, ${+name}, or one comparison of two.
Status Interpreter::arithmetic(const std::string& text) {
  std::string bare;
  for (const char c : text) {
    if (c != ' ' && c != '\t') bare.push_back(c);
  }
  const auto operand = [&](std::string word) -> std::optional<long> {
    if (word.starts_with("$")) word.erase(0, 1);
    if (word.starts_with("{") && word.ends_with("}")) word = word.substr(1, word.size() - 2);
    if (setting_.dialect == Dialect::Zsh && word.starts_with("+") && is_name(std::string_view(word).substr(1))) {
      const Value value = get(word.substr(1));
      if (value.is_unknown() && !value.not_empty) return std::nullopt;
      return value.is_unset() ? 0 : 1;
    }
    if (const auto number = integer(word)) return number;
    if (!is_name(word)) return std::nullopt;
    const Value value = get(word);
    if (value.is_unset()) return 0;
    return value.is_known() ? integer(value.text) : std::nullopt;
  };
  for (const auto& [symbol, op] :
       {std::pair{"==", "-eq"}, {"!=", "-ne"}, {"<=", "-le"}, {">=", "-ge"}, {"<", "-lt"}, {">", "-gt"}}) {
    const std::size_t at = bare.find(symbol);
    if (at == std::string::npos) continue;
    const auto a = operand(bare.substr(0, at)), b = operand(bare.substr(at + std::string_view(symbol).size()));
    return a && b ? compared(op, *a, *b) : Status::unknown();
  }
  if (const auto value = operand(bare)) return Status::of(*value != 0);
  // NAME=…, NAME++ change a number; no number is a path.
  std::size_t end = 0;
  while (end < bare.size() && is_name_char(bare[end])) ++end;
  if (end > 0 && is_name(bare.substr(0, end)) && end < bare.size()) not_seen(bare.substr(0, end), "arithmetic", 0);
  return Status::unknown();
}

}  // namespace gpuvet::shell
