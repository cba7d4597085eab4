#pragma once
// Small helpers of the collectors: lines and words of text files, numbers, and facts out of one-line files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fact.h"
#include "model/text_search.h"
#include "system/system.h"

namespace gpuvet {

inline constexpr std::size_t max_quote = 300;  ///< bytes of a line that an origin quotes

/// Calls f(line, number) for each line without its end, numbers from 1, until f returns false.
template <class F>
void for_each_line(std::string_view text, F&& f) {
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!f(line, ++number) || end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// Like for_each_line, with lines that end in a backslash joined to the next one; `number` is that of the first. A joined line is
/// cut at 64 KiB: nothing that configures a driver is longer.
template <class F>
void for_each_joined_line(std::string_view text, F&& f) {
  constexpr std::size_t longest = 65536;
  std::string joined;
  std::uint32_t first = 0;
  bool goes_on = false, stopped = false;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (first == 0) first = number;
    goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    if (joined.size() < longest) joined.append(line);
    if (goes_on) return true;
    stopped = !f(std::string_view(joined), first);
    joined.clear();
    first = 0;
    return !stopped;
  });
  if (!stopped && first != 0) f(std::string_view(joined), first);
}

std::string_view trim(std::string_view text);
std::vector<std::string_view> words(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string lower(std::string_view text);
/// Whole texts only, blanks around allowed.
std::optional<std::int64_t> decimal(std::string_view text);
std::optional<std::uint64_t> hexadecimal(std::string_view text);

Origin origin_of(std::string_view source, std::string_view quote = {}, std::uint32_t line = 0);

template <class T>
Fact<T> not_seen_because(const SystemError& error, std::string_view path) {
  return Fact<T>::not_seen(error.message, origin_of(path));
}

/// Entries of a folder; none where it is missing or unreadable.
std::vector<DirectoryEntry> entries_of(System& system, std::string_view path, std::size_t limit = 65536);

/// The content of a one-line file. `missing_is_absent`: no such file is a fact of its own.
Fact<std::string> line_fact(System& system, const std::string& path, bool missing_is_absent);
Fact<std::int64_t> number_fact(System& system, const std::string& path, bool missing_is_absent);

}  // namespace gpuvet
