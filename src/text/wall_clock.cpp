#include <array>
#include <charconv>
#include <cstdlib>

#include "text/log_line.h"
#include "text/log_time.h"

namespace gpuvet {

namespace {

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> days = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

}  // namespace

int month_number(std::string_view text) {
  for (std::size_t i = 0; i < months.size(); ++i) {
    if (text.starts_with(months[i])) return static_cast<int>(i) + 1;
  }
  return 0;
}

bool starts_with_day(std::string_view text) {
  for (std::string_view day : days) {
    if (text.starts_with(day) && text.size() > 3 && text[3] == ' ') return true;
  }
  return false;
}

/// `pattern` with 'd' for a digit and anything else for itself; a prefix of `s`.
bool looks_like(std::string_view s, std::string_view pattern) {
  if (s.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == 'd' ? !is_digit(s[i]) : s[i] != pattern[i]) return false;
  }
  return true;
}

// "2025-05-27T09:10:00.123456+00:00", "2025-05-27 09:10:00", "…Z"; length of it, or 0.
std::size_t iso_time_length(std::string_view s) {
  if (!looks_like(s, "dddd-dd-dd") || s.size() < 19 || (s[10] != 'T' && s[10] != ' ') || !looks_like(s.substr(11), "dd:dd:dd"))
    return 0;
  std::size_t at = 19;
  if (at < s.size() && (s[at] == '.' || s[at] == ',')) {
    ++at;
    while (at < s.size() && is_digit(s[at])) ++at;
  }
  if (at < s.size() && s[at] == 'Z') return at + 1;
  if (at < s.size() && (s[at] == '+' || s[at] == '-')) {
    if (looks_like(s.substr(at + 1), "dd:dd")) return at + 6;
    if (looks_like(s.substr(at + 1), "dddd")) return at + 5;
  }
  return at;
}

// "May 27 09:10:00", "May  7 09:10:00.123456"; length of it, or 0.
std::size_t rfc3164_time_length(std::string_view s) {
  if (month_number(s) == 0 || s.size() < 15 || s[3] != ' ') return 0;
  std::size_t at = 4;
  if (s[at] == ' ') ++at;
  const std::size_t day = at;
  while (at < s.size() && is_digit(s[at]) && at < day + 2) ++at;
  if (at == day || at >= s.size() || s[at] != ' ' || !looks_like(s.substr(at + 1), "dd:dd:dd")) return 0;
  at += 9;
  if (at < s.size() && s[at] == '.') {
    ++at;
    while (at < s.size() && is_digit(s[at])) ++at;
  }
  return at;
}

namespace {

/// Days since 1970-01-01 of a date of the Gregorian calendar: whole years, leap days, days of the year.
std::int64_t days_from_epoch(std::int64_t year, int month, int day) {
  constexpr std::array<int, 12> before = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const std::int64_t past = year - 1;
  const std::int64_t leaps = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
  return (year - 1970) * 365 + leaps + before[static_cast<std::size_t>(month - 1)] + (leap && month > 2 ? 1 : 0) + day - 1;
}

int number_at(std::string_view s, std::size_t at, std::size_t length) {
  int value = 0;
  for (std::size_t i = at; i < at + length && i < s.size() && is_digit(s[i]); ++i) value = value * 10 + (s[i] - '0');
  return value;
}

std::int64_t epoch_of(std::int64_t year, int month, int day, std::string_view clock) {
  return days_from_epoch(year, month, day) * 86400 + number_at(clock, 0, 2) * 3600 + number_at(clock, 3, 2) * 60 +
         number_at(clock, 6, 2);
}

constexpr std::int64_t any_zone = 14 * 3600;

std::optional<WallClock> iso_clock(std::string_view s) {
  const std::size_t length = iso_time_length(s);
  const int month = number_at(s, 5, 2);
  if (length == 0 || month < 1 || month > 12) return std::nullopt;
  WallClock clock{epoch_of(number_at(s, 0, 4), month, number_at(s, 8, 2), s.substr(11)), any_zone};
  s = s.substr(0, length);
  if (s.back() == 'Z') clock.uncertainty = 0;
  const std::size_t sign = s.find_first_of("+-", 19);
  if (sign != std::string_view::npos) {
    const std::size_t minutes = s.size() - 2;
    const int offset = number_at(s, sign + 1, 2) * 3600 + number_at(s, minutes, 2) * 60;
    clock.epoch -= s[sign] == '+' ? offset : -offset;
    clock.uncertainty = 0;
  }
  return clock;
}

/// "May 27 09:10:00" in the year given, or in the one that brings it nearest to `near`.
std::optional<WallClock> month_clock(std::string_view s, std::int64_t near, std::int64_t year) {
  const std::size_t length = rfc3164_time_length(s);
  if (length == 0) return std::nullopt;
  const std::size_t clock_at = s.find(':') - 2;
  const int month = month_number(s), day = number_at(s, s[4] == ' ' ? 5 : 4, 2);
  if (year > 0) return WallClock{epoch_of(year, month, day, s.substr(clock_at)), any_zone};
  if (near <= 0) return std::nullopt;
  const std::int64_t guess = 1970 + near / 31556952;
  WallClock best{epoch_of(guess, month, day, s.substr(clock_at)), any_zone};
  for (std::int64_t other : {guess - 1, guess + 1}) {
    const std::int64_t epoch = epoch_of(other, month, day, s.substr(clock_at));
    if (std::abs(epoch - near) < std::abs(best.epoch - near)) best.epoch = epoch;
  }
  return best;
}

}  // namespace

std::optional<WallClock> parse_wall_clock(std::string_view time, std::int64_t near) {
  if (starts_with_day(time)) {
    time.remove_prefix(4);
    if (is_digit(time.empty() ? ' ' : time.front())) return iso_clock(time);
    const std::size_t length = rfc3164_time_length(time);
    return month_clock(time, near, length > 0 ? number_at(time, length + 1, 4) : 0);
  }
  if (looks_like(time, "dddddddddd") && time.substr(0, 10).find('-') == std::string_view::npos) {
    std::int64_t epoch = 0;
    std::from_chars(time.data(), time.data() + 10, epoch);
    return WallClock{epoch, 0};
  }
  if (auto iso = iso_clock(time)) return iso;
  return month_clock(time, near, 0);
}

}  // namespace gpuvet
