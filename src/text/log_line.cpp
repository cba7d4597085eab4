#include "text/log_line.h"

#include <charconv>

#include "text/log_time.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

void skip_blanks(std::string_view& s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
}

/// Decimal seconds that fill `text` ("12.345678"); below 0 when it is none.
double decimal_seconds(std::string_view text) {
  text = trimmed(text);
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? value : -1;
}

// "[   12.345678]", "[Tue May 27 09:10:00 2025]", "[May27 09:10]", "[  +0.000003]", and the caller "[  T123]" behind one.
bool take_bracket(std::string_view& s, LogLine& line) {
  if (s.empty() || s.front() != '[') return false;
  const std::size_t end = s.substr(0, 48).find(']');
  if (end == std::string_view::npos) return false;
  const std::string_view inner = trimmed(s.substr(1, end - 1));
  if (inner.empty()) return false;
  if (is_digit(inner.front())) {
    const double seconds = decimal_seconds(inner);
    if (seconds < 0) return false;
    line.seconds = seconds;
  } else if (starts_with_day(inner) || (month_number(inner) > 0 && inner.size() > 4 && is_digit(inner[inner.size() - 1]))) {
    line.time = inner;
  } else if (inner.front() == '+') {
    if (decimal_seconds(inner.substr(1)) < 0) return false;
  } else if ((inner.front() == 'T' || inner.front() == 'C') && inner.size() > 1 && is_digit(inner[1]) && line.has_header) {
    // the task or processor that printed it (CONFIG_PRINTK_CALLER)
  } else {
    return false;
  }
  line.has_header = true;
  s.remove_prefix(end + 1);
  if (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  return true;
}

void take_brackets(std::string_view& s, LogLine& line) {
  for (int i = 0; i < 3 && take_bracket(s, line); ++i) {
    // a caller may stand after blanks: "[    0.000000][    T0] text"
  }
}

bool tag_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' || c == '/' ||
         c == '(' || c == ')' || c == '@' || c == '+';
}

/// "kernel: ", "systemd-modules-load[123]: ": the tag is taken off `s`.
bool take_tag(std::string_view& s, LogLine& line, bool pid_needed) {
  std::size_t end = 0;
  while (end < s.size() && end < 64 && tag_char(s[end])) ++end;
  if (end == 0 || end >= s.size()) return false;
  std::size_t at = end;
  if (s[at] == '[') {
    ++at;
    while (at < s.size() && is_digit(s[at])) ++at;
    if (at >= s.size() || s[at] != ']') return false;
    ++at;
  } else if (pid_needed && s.substr(0, end) != "kernel") {
    return false;
  }
  if (at >= s.size() || s[at] != ':') return false;
  line.tag = s.substr(0, end);
  line.has_header = true;
  s.remove_prefix(at + 1);
  if (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  return true;
}

/// "HOST TAG: " or "HOST facility.level TAG: " (BusyBox), or only "TAG: ".
bool take_host_and_tag(std::string_view& s, LogLine& line, bool pid_needed) {
  skip_blanks(s);
  std::string_view rest = s;
  // systemd writes to the kernel's ring buffer itself, without a host
  if ((rest.starts_with("kernel:") || (pid_needed && rest.starts_with("systemd"))) && take_tag(rest, line, pid_needed)) {
    s = rest;
    return true;
  }
  for (int word = 0; word < 2; ++word) {
    const std::size_t blank = rest.substr(0, 256).find(' ');
    if (blank == std::string_view::npos || blank == 0) return false;
    const std::string_view skipped = rest.substr(0, blank);
    if (skipped.find(':') != std::string_view::npos && word == 1) return false;
    rest.remove_prefix(blank);
    skip_blanks(rest);
    if (take_tag(rest, line, pid_needed)) {
      s = rest;
      return true;
    }
    if (word == 0 && rest.substr(0, 12).find('.') == std::string_view::npos) return false;
  }
  return false;
}

/// What may stand behind "kernel:": the kernel's own time stamp once more.
void finish(std::string_view s, LogLine& line) {
  if (line.tag == "kernel") {
    std::string_view rest = s;
    skip_blanks(rest);
    if (!rest.empty() && rest.front() == '[') {
      const std::string_view time = line.time;
      const std::string_view before = rest;
      take_brackets(rest, line);
      if (!time.empty()) line.time = time;
      if (rest.size() != before.size()) s = rest;
    }
  }
  line.text = trimmed(s);
}

// "6,1234,5678901,-;text": level and facility, sequence, microseconds, flags.
bool take_kmsg(std::string_view& s, LogLine& line) {
  const std::size_t semicolon = s.substr(0, 128).find(';');
  if (semicolon == std::string_view::npos) return false;
  std::uint64_t numbers[3] = {};
  std::string_view head = s.substr(0, semicolon);
  for (auto& number : numbers) {
    const auto [end, error] = std::from_chars(head.data(), head.data() + head.size(), number);
    if (error != std::errc() || end == head.data() + head.size() || *end != ',') return false;
    head.remove_prefix(static_cast<std::size_t>(end - head.data()) + 1);
  }
  // facility above level: 0 is the kernel; others were written to /dev/kmsg by programs ("systemd[1]: …")
  s.remove_prefix(semicolon + 1);
  line.seconds = static_cast<double>(numbers[2]) / 1e6;
  line.has_header = true;
  if ((numbers[0] >> 3) != 0) take_tag(s, line, false);
  return true;
}

// "<6>1 2025-05-27T09:10:00Z host app procid msgid - text" (RFC 5424); what is left after "<6>1 ".
bool take_rfc5424(std::string_view& s, LogLine& line) {
  const std::size_t length = iso_time_length(s);
  if (length == 0) return false;
  line.time = s.substr(0, length);
  std::string_view rest = s.substr(length);
  std::string_view words[4];
  for (auto& word : words) {
    skip_blanks(rest);
    const std::size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return false;
    word = rest.substr(0, blank);
    rest.remove_prefix(blank);
  }
  skip_blanks(rest);
  if (rest.starts_with("- "))
    rest.remove_prefix(2);
  else if (const std::size_t end = rest.find("] "); rest.starts_with("[") && end != std::string_view::npos)
    rest.remove_prefix(end + 2);
  line.tag = words[1];
  line.has_header = true;
  s = rest;
  return true;
}

// "kern  :info  : " of dmesg -x
void skip_dmesg_levels(std::string_view& s) {
  const std::size_t colon = s.substr(0, 12).find(':');
  if (colon == std::string_view::npos || colon == 0) return;
  const std::size_t second = s.substr(0, 24).find(" : ", colon);
  if (second == std::string_view::npos || s.size() < second + 4 || s[second + 3] != '[') return;
  s.remove_prefix(second + 3);
}

std::string_view audit_time(std::string_view s) {
  const std::size_t open = s.find("audit(");
  if (open == std::string_view::npos) return {};
  const std::size_t begin = open + 6, end = s.find_first_not_of("0123456789.", begin);
  return s.substr(begin, end == std::string_view::npos ? 0 : end - begin);
}

bool take_wall_clock(std::string_view& s, LogLine& line) {
  std::string_view rest = s;
  if (starts_with_day(rest) && looks_like(rest.substr(4), "dddd-dd-dd ")) rest.remove_prefix(4);  // journalctl short-full
  if (const std::size_t iso = iso_time_length(rest); iso > 0 && iso < rest.size()) {
    line.time = rest.substr(0, iso);
    line.has_header = true;
    const bool dmesg = line.time.find(',') != std::string_view::npos;  // dmesg --time-format iso: no host follows
    rest.remove_prefix(iso);
    skip_blanks(rest);
    if (rest.starts_with("UTC ")) rest.remove_prefix(4);
    if (!dmesg) take_host_and_tag(rest, line, false);
    s = rest;
    return true;
  }
  if (const std::size_t length = rfc3164_time_length(s); length > 0 && length < s.size()) {
    line.time = s.substr(0, length);
    line.has_header = true;
    s.remove_prefix(length);
    take_host_and_tag(s, line, false);
    return true;
  }
  return false;
}

bool take_digits_header(std::string_view& s, LogLine& line) {
  if (take_kmsg(s, line) || take_wall_clock(s, line)) return true;
  if (looks_like(s, "dddddddddd.dddddd ")) {  // journalctl short-unix
    line.time = s.substr(0, 17);
    line.has_header = true;
    s.remove_prefix(17);
    take_host_and_tag(s, line, false);
    return true;
  }
  return false;
}

}  // namespace

LogLine parse_log_line(std::string_view s) {
  LogLine line;
  if (s.size() > 2 && s.front() == '<' && is_digit(s[1])) {
    const std::size_t end = s.substr(0, 5).find('>');
    if (end != std::string_view::npos) s.remove_prefix(end + 1);
    if (s.starts_with("1 ")) {
      std::string_view rest = s.substr(2);
      if (take_rfc5424(rest, line)) return finish(rest, line), line;
    }
  }
  if (s.empty()) return line;
  if (s.front() == '[') {
    take_brackets(s, line);
    if (line.has_header) take_host_and_tag(s, line, true);  // journalctl short-monotonic
  } else if (is_digit(s.front())) {
    take_digits_header(s, line);
  } else if (s.starts_with("type=")) {
    line.tag = "audit";
    line.time = audit_time(s);
    line.has_header = true;
  } else if (s.front() >= 'A' && s.front() <= 'Z' && take_wall_clock(s, line)) {
    // taken
  } else if (s.front() >= 'a' && s.front() <= 'z') {
    skip_dmesg_levels(s);
    if (s.front() == '[')
      take_brackets(s, line);
    else
      take_host_and_tag(s, line, true);
  }
  finish(s, line);
  return line;
}

}  // namespace gpuvet
