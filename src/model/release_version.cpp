#include "model/release_version.h"

#include <algorithm>
#include <array>

namespace gpuvet {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Takes a number off the front; saturates instead of overflowing.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  std::uint64_t value = 0;
  while (!text.empty() && is_digit(text.front())) {
    value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(text.front() - '0'), 0xffffffffU);
    text.remove_prefix(1);
  }
  return static_cast<std::uint32_t>(value);
}

std::string take_word(std::string_view& text) {
  std::string word;
  while (!text.empty() && is_letter(text.front())) {
    word += lowered(text.front());
    text.remove_prefix(1);
  }
  return word;
}

struct Phase {
  std::string_view word;
  std::int32_t phase;
};
constexpr std::array phases{Phase{"dev", -4},     Phase{"a", -3},   Phase{"alpha", -3}, Phase{"b", -2},
                            Phase{"beta", -2},    Phase{"c", -1},   Phase{"rc", -1},    Phase{"pre", -1},
                            Phase{"preview", -1}, Phase{"post", 1}, Phase{"rev", 1},    Phase{"r", 1}};

/// ".dev5", "rc1", "a0", ".post2"; leaves the text as it is when it is none.
void take_phase(std::string_view& text, ReleaseVersion& version) {
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == '.' || rest.front() == '-' || rest.front() == '_')) rest.remove_prefix(1);
  const std::string word = take_word(rest);
  const auto* const found = std::find_if(phases.begin(), phases.end(), [&](const Phase& p) { return p.word == word; });
  if (found == phases.end()) return;
  if (!rest.empty() && (rest.front() == '.' || rest.front() == '-' || rest.front() == '_')) rest.remove_prefix(1);
  version.phase = found->phase;
  version.phase_number = take_number(rest).value_or(0);
  text = rest;
}

/// The numbers, with zeros behind them taken away: 2.5 and 2.5.0 are one release.
std::vector<std::uint32_t> significant(const ReleaseVersion& version) {
  auto numbers = version.release;
  while (numbers.size() > 1 && numbers.back() == 0) numbers.pop_back();
  return numbers;
}

std::string dotted(const std::vector<std::uint32_t>& numbers, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < std::min(count, numbers.size()); ++i) text += (i == 0 ? "" : ".") + std::to_string(numbers[i]);
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// "2.5.*": do the version's first numbers equal these?
bool has_prefix(const ReleaseVersion& version, const ReleaseVersion& prefix, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t number = i < version.release.size() ? version.release[i] : 0;
    if (number != prefix.release[i]) return false;
  }
  return version.epoch == prefix.epoch;
}

std::optional<bool> satisfies_one(const ReleaseVersion& version, std::string_view clause) {
  static constexpr std::array<std::string_view, 8> operators{"===", "==", ">=", "<=", "!=", "~=", ">", "<"};
  const auto* const op =
      std::find_if(operators.begin(), operators.end(), [&](std::string_view o) { return clause.starts_with(o); });
  if (op == operators.end()) return std::nullopt;
  std::string_view wanted = trimmed(clause.substr(op->size()));
  const bool wildcard = wanted.ends_with(".*");
  if (wildcard) wanted.remove_suffix(2);
  const auto other = ReleaseVersion::parse(wanted);
  if (!other) return std::nullopt;
  if (wildcard) {
    const bool same = has_prefix(version, *other, other->release.size());
    if (*op == "==") return same;
    if (*op == "!=") return !same;
    return std::nullopt;
  }
  // A local part that is asked for has to be there: torch==2.5.1+cu124.
  const bool local_fits = other->local.empty() || other->local == version.local;
  if (*op == "==" || *op == "===") return version == *other && local_fits;
  if (*op == "!=") return version != *other || !local_fits;
  if (*op == ">=") return version >= *other;
  if (*op == "<=") return version <= *other;
  if (*op == ">") return version > *other;
  if (*op == "<") return version < *other;
  return other->release.size() > 1 && version >= *other && has_prefix(version, *other, other->release.size() - 1);
}

}  // namespace

std::optional<ReleaseVersion> ReleaseVersion::parse(std::string_view text) {
  ReleaseVersion version;
  std::string_view rest = trimmed(text);
  version.text = rest;
  if (!rest.empty() && lowered(rest.front()) == 'v') rest.remove_prefix(1);
  auto number = take_number(rest);
  if (!number) return std::nullopt;
  if (rest.starts_with('!')) {
    version.epoch = *number;
    rest.remove_prefix(1);
    number = take_number(rest);
    if (!number) return std::nullopt;
  }
  version.release.push_back(*number);
  while (rest.size() > 1 && rest.front() == '.' && is_digit(rest[1]) && version.release.size() < 16) {
    rest.remove_prefix(1);
    version.release.push_back(*take_number(rest));
  }
  take_phase(rest, version);
  // "1.0a1.dev3", "1.0rc1.post2": the first part decides well enough for any version that is published.
  ReleaseVersion ignored;
  if (version.phase != 0) take_phase(rest, ignored);
  if (rest.starts_with('+')) version.local = std::string(rest.substr(1));
  return version;
}

std::string ReleaseVersion::minor_text() const { return dotted(release, 2); }
std::string ReleaseVersion::public_text() const {
  const std::size_t plus = text.find('+');
  return text.substr(0, plus);
}

std::strong_ordering operator<=>(const ReleaseVersion& a, const ReleaseVersion& b) {
  if (const auto order = a.epoch <=> b.epoch; order != 0) return order;
  const auto left = significant(a), right = significant(b);
  if (const auto order = std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(), right.end()); order != 0)
    return order;
  if (const auto order = a.phase <=> b.phase; order != 0) return order;
  return a.phase_number <=> b.phase_number;
}

std::optional<bool> satisfies(const ReleaseVersion& version, std::string_view specifier) {
  specifier = trimmed(specifier);
  while (!specifier.empty()) {
    const std::size_t comma = std::min(specifier.find(','), specifier.size());
    const auto one = satisfies_one(version, trimmed(specifier.substr(0, comma)));
    if (!one || !*one) return one;
    specifier.remove_prefix(std::min(comma + 1, specifier.size()));
  }
  return true;
}

std::string normalised_distribution_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (separator && !out.empty() && out.back() == '-') continue;
    out += separator ? '-' : lowered(c);
  }
  return out;
}

}  // namespace gpuvet
