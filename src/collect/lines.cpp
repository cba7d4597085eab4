#include "collect/lines.h"

#include <algorithm>
#include <charconv>

namespace gpuvet {
namespace {

char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <class T>
std::optional<T> whole_number(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank(" \t\r\n\v\f\0", 7);
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (std::size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    found.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t", end);
  }
  return found;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower_char);
  return result;
}

std::optional<std::int64_t> decimal(std::string_view text) { return whole_number<std::int64_t>(trim(text), 10); }

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  text = trim(text);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return whole_number<std::uint64_t>(text, 16);
}

Origin origin_of(std::string_view source, std::string_view quote, std::uint32_t line) {
  Origin origin{std::string(source), line, std::string(quote.substr(0, max_quote))};
  if (quote.size() > max_quote) origin.text += "…";
  return origin;
}

std::vector<DirectoryEntry> entries_of(System& system, std::string_view path, std::size_t limit) {
  auto entries = system.list(path, limit);
  return entries ? std::move(*entries) : std::vector<DirectoryEntry>();
}

Fact<std::string> line_fact(System& system, const std::string& path, bool missing_is_absent) {
  auto text = system.read_line(path);
  if (text) return Fact<std::string>::known(*text, origin_of(path, *text));
  if (missing_is_absent && text.error().code == ErrorCode::NotFound) return Fact<std::string>::absent(origin_of(path));
  return not_seen_because<std::string>(text.error(), path);
}

Fact<std::int64_t> number_fact(System& system, const std::string& path, bool missing_is_absent) {
  const auto text = line_fact(system, path, missing_is_absent);
  if (text.is_absent()) return Fact<std::int64_t>::absent(text.origin());
  if (text.is_not_seen()) return Fact<std::int64_t>::not_seen(text.why(), text.origin());
  if (const auto value = decimal(*text.get())) return Fact<std::int64_t>::known(*value, text.origin());
  return Fact<std::int64_t>::not_seen(path + ": not a number", text.origin());
}

}  // namespace gpuvet
