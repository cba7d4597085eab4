#pragma once
// The shapes of times in logs: what log_line.cpp takes off a line and wall_clock.cpp turns into seconds.

#include <cstddef>
#include <string_view>

namespace gpuvet {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// `pattern` with 'd' for a digit and anything else for itself; a prefix of `s`.
bool looks_like(std::string_view s, std::string_view pattern);

/// 1 for a text that starts with "Jan", …; 0: no month.
int month_number(std::string_view text);
/// "Mon ", "Tue ", …
bool starts_with_day(std::string_view text);

/// Length of "2025-05-27T09:10:00.123456+00:00", "2025-05-27 09:10:00", "…Z" at the beginning of `s`; 0: none.
std::size_t iso_time_length(std::string_view s);
/// Length of "May 27 09:10:00", "May  7 09:10:00.123456" at the beginning of `s`; 0: none.
std::size_t rfc3164_time_length(std::string_view s);

}  // namespace gpuvet
