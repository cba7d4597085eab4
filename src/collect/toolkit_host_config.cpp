#include "collect/toolkit_host_config.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "collect/lines.h"
#include "collect/toolkit_condition.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_directives = 4096;
constexpr std::int64_t largest_release = 999;

struct Directive {
  std::string name;        ///< "if", "ifdef", "ifndef", "elif", "else", "endif", "error"
  std::string expression;  ///< without comments
  std::uint32_t line = 0;
  std::string text;
};

/// The line without comments. `inside` is true while a /* comment goes on.
std::string without_comments(std::string_view line, bool& inside) {
  std::string kept;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto two = line.substr(i, 2);
    if (inside) {
      if (two == "*/"sv) inside = false, ++i;
    } else if (two == "/*"sv) {
      inside = true, ++i;
      kept += ' ';
    } else if (two == "//"sv) {
      break;
    } else {
      kept += line[i];
    }
  }
  return kept;
}

std::vector<Directive> directives_of(std::string_view text) {
  static constexpr std::array known{"if"sv, "ifdef"sv, "ifndef"sv, "elif"sv, "else"sv, "endif"sv, "error"sv};
  std::vector<Directive> all;
  bool comment = false;
  for_each_joined_line(text, [&](std::string_view raw, std::uint32_t number) {
    const auto clean = without_comments(raw, comment);
    auto line = trim(clean);
    if (!line.starts_with('#')) return true;
    line = trim(line.substr(1));
    const auto end = std::find_if_not(line.begin(), line.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    const auto name = line.substr(0, static_cast<std::size_t>(end - line.begin()));
    if (std::ranges::find(known, name) == known.end()) return true;
    all.push_back({std::string(name), std::string(trim(line.substr(name.size()))), number, std::string(trim(raw))});
    return all.size() < max_directives;
  });
  return all;
}

/// What reading the file with some macros defined comes to.
struct Verdict {
  const Directive* error = nullptr;    ///< the #error that is reached
  const Directive* unknown = nullptr;  ///< or a condition that is not understood, with an #error behind it
};

/// One #if … #endif that is open.
struct Branch {
  Truth outer = Truth::Yes;  ///< what is around it is read
  const Directive* outer_why = nullptr;
  Truth taken = Truth::No;    ///< some earlier branch of it was
  Truth reached = Truth::No;  ///< lines of this branch are read
  const Directive* why = nullptr;
};

Truth condition_of(const Directive& directive, const Macros& macros) {
  constexpr std::size_t longest = 4096;
  if (directive.name == "else") return Truth::Yes;
  if (directive.expression.size() > longest) return Truth::Unknown;
  if (directive.name == "ifdef") return evaluate_condition("defined " + directive.expression, macros);
  if (directive.name == "ifndef") return evaluate_condition("!defined " + directive.expression, macros);
  return evaluate_condition(directive.expression, macros);
}

void next_branch(Branch& branch, const Directive& directive, const Macros& macros) {
  const bool may_be_read = branch.outer != Truth::No && branch.taken != Truth::Yes;
  const auto condition = may_be_read ? condition_of(directive, macros) : Truth::No;
  const auto active = both(negate(branch.taken), condition);
  branch.taken = either(branch.taken, condition);
  branch.reached = both(branch.outer, active);
  branch.why = branch.outer < active ? branch.outer_why : &directive;
}

Verdict preprocess(const std::vector<Directive>& directives, const Macros& macros) {
  Verdict verdict;
  std::vector<Branch> open{{.reached = Truth::Yes}};  // the file itself
  for (const auto& directive : directives) {
    if (directive.name == "endif") {
      if (open.size() > 1) open.pop_back();
    } else if (directive.name == "else" || directive.name == "elif") {
      if (open.size() > 1) next_branch(open.back(), directive, macros);
    } else if (directive.name == "error") {
      if (open.back().reached == Truth::Yes && verdict.error == nullptr) verdict.error = &directive;
      if (open.back().reached == Truth::Unknown && verdict.unknown == nullptr) verdict.unknown = open.back().why;
    } else {
      Branch branch{.outer = open.back().reached, .outer_why = open.back().why};
      next_branch(branch, directive, macros);
      open.push_back(branch);
    }
  }
  return verdict;
}

/// What a compiler on 64-bit Linux has defined when nvcc calls it.
Macros common_macros() {
  return {{"__CUDACC__", 1}, {"__linux__", 1}, {"__LP64__", 1}, {"__x86_64__", 1}, {"__cplusplus", 201703}};
}
Macros gcc_macros(std::int64_t major, std::int64_t minor) {
  auto macros = common_macros();
  macros["__GNUC__"] = major;
  macros["__GNUC_MINOR__"] = minor;
  return macros;
}
/// Every clang says that it is gcc 4.2.1.
Macros clang_macros(std::int64_t major, std::int64_t minor) {
  auto macros = gcc_macros(4, 2);
  macros["__clang__"] = 1;
  macros["__clang_major__"] = major;
  macros["__clang_minor__"] = minor;
  return macros;
}

/// Releases at which the answer may change: the numbers in the conditions, with their neighbours.
std::set<std::int64_t> releases_to_try(const std::vector<Directive>& directives, std::string_view macro) {
  std::set<std::int64_t> releases{1, largest_release};
  for (const auto& directive : directives) {
    if (directive.name == "error" || directive.expression.find(macro) == std::string::npos) continue;
    for (const auto number : numbers_in_condition(directive.expression))
      for (const auto release : {number - 1, number, number + 1})
        if (release >= 1 && release < largest_release && releases.size() < 64) releases.insert(release);
  }
  return releases;
}

using MacrosOf = Macros (*)(std::int64_t major, std::int64_t minor);

/// A release counts as accepted when its oldest or its newest minor one is.
Verdict try_release(const std::vector<Directive>& directives, MacrosOf macros_of, std::int64_t major) {
  const auto oldest = preprocess(directives, macros_of(major, 0));
  if (oldest.error == nullptr && oldest.unknown == nullptr) return oldest;
  return preprocess(directives, macros_of(major, 99));
}

void find_range(const std::vector<Directive>& directives, std::string_view macro, MacrosOf macros_of, const std::string& path,
                Fact<std::int64_t>& greatest, Fact<std::int64_t>& least) {
  using Limit = Fact<std::int64_t>;
  std::optional<std::int64_t> first, last;
  const Directive *too_old = nullptr, *too_new = nullptr;
  for (const auto release : releases_to_try(directives, macro)) {
    const auto verdict = try_release(directives, macros_of, release);
    if (verdict.error == nullptr && verdict.unknown != nullptr) {
      const auto origin = origin_of(path, verdict.unknown->text, verdict.unknown->line);
      greatest = least =
          Limit::not_seen(path + ":" + std::to_string(verdict.unknown->line) + ": condition not understood", origin);
      return;
    }
    if (verdict.error == nullptr) {
      if (!first) first = release;
      last = release, too_new = nullptr;
    } else {
      (first ? too_new : too_old) = verdict.error;
    }
  }
  if (!first) {
    greatest = least = Limit::not_seen(path + ": it accepts no release at all", origin_of(path));
    return;
  }
  greatest = too_new ? Limit::known(*last, origin_of(path, too_new->text, too_new->line)) : Limit::absent(origin_of(path));
  least = too_old ? Limit::known(*first, origin_of(path, too_old->text, too_old->line)) : Limit::absent(origin_of(path));
}

}  // namespace

HostCompilerRange read_host_config(std::string_view text, const std::string& path) {
  const auto directives = directives_of(text);
  HostCompilerRange range;
  find_range(directives, "__GNUC__", gcc_macros, path, range.gcc_max, range.gcc_min);
  find_range(directives, "__clang_major__", clang_macros, path, range.clang_max, range.clang_min);
  return range;
}

Fact<bool> read_math_declarations(std::string_view text, const std::string& path, std::span<const std::string_view> functions) {
  if (text.empty()) return Fact<bool>::not_seen(path + ": an empty file", origin_of(path));
  std::optional<Origin> with;
  for (const auto name : functions) {
    // memmem, not find: the header is long, and its lines are full of the blank that each name begins with.
    const auto find = [&](std::size_t from) {
      const auto* found = static_cast<const char*>(memmem(text.data() + from, text.size() - from, name.data(), name.size()));
      return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(found - text.data());
    };
    for (std::size_t at = find(0); at != std::string_view::npos; at = find(at + name.size())) {
      const auto start = text.rfind('\n', at) + 1;  // 0 in the first line
      const auto line = text.substr(start, text.find('\n', at) - start);
      if (!trim(line).starts_with("extern"sv)) continue;
      const auto behind = line.substr(std::min(line.find(')'), line.size() - 1) + 1);
      const auto number = static_cast<std::uint32_t>(std::count(text.begin(), text.begin() + start, '\n') + 1);
      if (trim(behind.substr(0, behind.find(';'))).empty()) return Fact<bool>::known(false, origin_of(path, trim(line), number));
      if (!with) with = origin_of(path, trim(line), number);
    }
  }
  if (with) return Fact<bool>::known(true, *with);
  return Fact<bool>::not_seen(
      path + ": no declaration of" + std::string(functions.front().substr(0, functions.front().find('('))), origin_of(path));
}

}  // namespace gpuvet
