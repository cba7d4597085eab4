#include "text/kernel_log_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/log_kind.h"
#include "text/log_line.h"
#include "text/log_scan.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::size_t max_events = 4096;  ///< more of one kind in one boot are only counted
constexpr std::size_t hard_limit = 20000;
constexpr std::size_t max_text = 1000;
constexpr std::size_t fold_window = 8;
constexpr std::size_t flood_window = 256;

bool ends_sentence(std::string_view text) {
  text = trimmed(text);
  return text.empty() || text.back() == '.' || text.back() == '!';
}

bool starts_with_one(std::string_view text, const auto& list) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view word) { return text.starts_with(word); });
}

/// How the driver's own messages of several lines begin (nv.c, nv-pci.c, nv-frontend.c of the open module and dmesg outputs of
/// the proprietary one).
constexpr std::array<std::string_view, 11> openers = {
    "The NVIDIA ",        "This PCI I/O ", "This can occur",     "API mismatch", "Try unloading", "The system BIOS",
    "request_mem_region", "A GPU crash",   "None of the NVIDIA", "GPU at ",      "No NVIDIA"};

/// Beginnings of messages that never continue the line before.
constexpr std::array<std::string_view, 14> others = {"Xid (", "GPU 0",    "GPU 1",   "GPU0",    "GPU1", "loading ", "RmInit",
                                                     "rm_",   "nvAssert", "nvCheck", "nvidia_", "kgsp", "_kgsp",    "os"};

/// Is `next` (behind "NVRM:") the continuation of the message `so_far` (with its "NVRM: ")?
bool continues(std::string_view so_far, std::string_view next, bool next_has_header) {
  const std::size_t colon = so_far.find("NVRM:");
  const std::string_view message = trimmed(colon == std::string_view::npos ? so_far : so_far.substr(colon + 5));
  if (next.starts_with("Please ")) return starts_with_one(message, openers);
  if (ends_sentence(so_far) || starts_with_one(next, openers)) return false;
  return !next_has_header || (starts_with_one(message, openers) && !starts_with_one(next, others));
}

/// What comes behind it is a new story, even in the same words: a boot, a suspend or resume, a load of the driver.
bool ends_repetition(const LogEvent& event) {
  return event.kind == "boot" || event.kind == "suspend" || event.kind == "resume" ||
         event.text.starts_with("NVRM: loading NVIDIA UNIX");
}

std::string_view without_newline(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  return line;
}

/// syslog's own folding, "message repeated 3 times: [ [  100.0] NVRM: …]": the line becomes the message inside. Answers how often
/// it came.
std::int64_t unfold_repetition(LogLine& line) {
  constexpr std::string_view mark = "message repeated ", times = " times: [";
  if (!line.text.starts_with(mark)) return 1;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(line.text.data() + mark.size(), line.text.data() + line.text.size(), count);
  const std::string_view rest = line.text.substr(static_cast<std::size_t>(end - line.text.data()));
  if (error != std::errc() || count < 1 || count > 1000000 || !rest.starts_with(times)) return 1;
  std::string_view inside = trimmed(rest.substr(times.size()));
  if (inside.ends_with(']')) inside.remove_suffix(1);
  const LogLine inner = parse_log_line(inside);
  line.text = inner.text;
  if (inner.seconds >= 0) line.seconds = inner.seconds;
  return count;
}

/// Calls `part` for each of the lines that one record holds: rsyslog writes "#012" for a newline inside a message, /dev/kmsg
/// "\x0a".
void for_each_part(std::string_view text, auto&& part) {
  for (int i = 0; i < 64; ++i) {
    const std::size_t rsyslog = text.find("#012"), kmsg = text.find("\\x0a"), at = std::min(rsyslog, kmsg);
    part(text.substr(0, at));
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + 4);
  }
}

}  // namespace

void KernelLogParser::feed(std::string_view name, std::string_view text, bool line_numbers) {
  name_ = printable(name, 256);
  line_numbers_ = line_numbers;
  open_ = false;
  LogScanner scanner(text);
  std::string_view line;
  std::uint32_t number = 0;
  while (scanner.next(line, number)) take_line(without_newline(line), number);
}

void KernelLogParser::take_line(std::string_view line, std::uint32_t number) {
  if (line.size() > 16384) line = line.substr(0, 16384);
  if (line.starts_with("-- Boot ") || line.starts_with("-- Reboot")) {
    if (!options_.one_boot) {
      if (!events_.empty()) ++boot_;
      separator_ = true;
      boot_start_ = false;
      last_seconds_ = -1;
    }
    open_ = false;
    return;
  }
  LogLine whole = parse_log_line(line);
  repeats_ = unfold_repetition(whole);
  LogLine part = whole;
  bool first = true;
  for_each_part(whole.text, [&](std::string_view text) {
    part.text = trimmed(text);
    part.has_header = first && whole.has_header;
    if (!part.text.empty()) take_part(part, first ? line : text, number);
    first = false;
  });
}

void KernelLogParser::start_boot(const LogLine& line) {
  if (options_.one_boot) return;
  const bool version = line.text.starts_with("Linux version ");
  // Time since boot that runs backwards: another boot whose first lines are not here.
  const bool backwards = line.seconds >= 0 && last_seconds_ >= 0 && line.seconds + 30 < last_seconds_;
  if ((version || backwards) && !events_.empty() && !separator_) ++boot_;
  if (version || backwards) boot_start_ = version;
  separator_ = false;
  if (line.seconds >= 0) last_seconds_ = line.seconds;
}

void KernelLogParser::take_part(const LogLine& line, std::string_view raw, std::uint32_t number) {
  if (join(line, number)) return;
  LogKind kind = log_kind(line);
  if (kind.kind == nullptr) return;
  if (line.has_header) header_seconds_ = line.seconds, header_time_ = line.time;
  open_ = false;
  const std::string_view name = kind.kind;
  const bool program = name == "user" || name == "audit";
  if (!program) {
    kernel_lines_ = true;
    start_boot(line);
  }
  if (options_.programs_only && !program) return;
  LogEvent event;
  event.kind = name;
  event.text =
      printable(name == "user" ? std::string(line.tag) + ": " + std::string(line.text) : std::string(line.text), max_text);
  event.pci = std::move(kind.pci);
  event.code = kind.code;
  event.boot = boot_;
  event.count = repeats_;
  event.seconds = line.has_header ? line.seconds : header_seconds_;  // a line of a message of several lines has none of its own
  event.time = printable(line.has_header ? line.time : std::string_view(header_time_), 64);
  event.origin = {name_, line_numbers_ ? number : 0, printable(trimmed(raw), 400)};
  push(std::move(event));
  open_ = name == "nvrm" && !events_.empty();
  open_line_ = number;
  if (line.has_header) open_has_header_ = true;
}

bool KernelLogParser::join(const LogLine& line, std::uint32_t number) {
  if (!open_ || number > open_line_ + 2 || !line.text.starts_with("NVRM:") || !line.from_kernel()) return false;
  LogEvent& event = events_.back();
  const bool continued_without_header = !line.has_header && open_has_header_;
  const bool same_time =
      line.seconds < 0 || event.seconds < 0 ? line.time == event.time : std::abs(line.seconds - event.seconds) < 1;
  if (!continued_without_header && !same_time) return false;
  const std::string_view next = trimmed(line.text.substr(5));
  if (!continues(event.text, next, !continued_without_header) || event.text.size() + next.size() > max_text) return false;
  const std::string text = printable(next, max_text);
  event.text += " " + text;
  if (event.origin.text.size() + text.size() < 600) event.origin.text += " " + text;
  if (event.pci.empty()) event.pci = pci_address_in(text);
  open_line_ = number;
  return true;
}

/// Counts a repetition onto an earlier event: the driver tends to say the same two or three lines at every attempt.
bool KernelLogParser::fold(const LogEvent& event) {
  const std::size_t oldest = events_.size() > fold_window ? events_.size() - fold_window : 0;
  for (std::size_t i = events_.size(); i > oldest; --i) {
    LogEvent& before = events_[i - 1];
    if (before.boot != event.boot || ends_repetition(before)) return false;
    if (before.kind == event.kind && before.text == event.text) {
      before.count += event.count;
      return true;
    }
  }
  if (events_.size() < max_events) return false;
  // A flood: from here on an event of a known kind is only counted.
  for (std::size_t i = events_.size(), least = i - flood_window; i > least; --i) {
    LogEvent& before = events_[i - 1];
    if (before.boot == event.boot && before.kind == event.kind && before.code == event.code && before.pci == event.pci) {
      before.count += event.count;
      return true;
    }
    if (before.boot != event.boot) return false;
  }
  return false;
}

void KernelLogParser::push(LogEvent event) {
  // The last event may have been a message of several lines: only now it is whole and can be compared.
  if (!events_.empty()) {
    LogEvent last = std::move(events_.back());
    events_.pop_back();
    if (ends_repetition(last) || !fold(last)) events_.push_back(std::move(last));
  }
  if (events_.size() >= hard_limit) {
    std::erase_if(events_, [&](const LogEvent& old) { return old.boot != event.boot; });
    if (events_.size() >= hard_limit) events_.pop_back();
  }
  events_.push_back(std::move(event));
}

/// Events that the clock puts before the running boot belong to an older one, even where no "Linux version" line says so.
void KernelLogParser::shift_older_boots(std::vector<LogEvent>& events) const {
  if (options_.boot_time <= 0 || options_.one_boot) return;
  const auto age = [&](const LogEvent& event) {  // 1 older, 0 of this boot, -1 not known
    const auto clock = parse_wall_clock(event.time, options_.boot_time);
    if (!clock) return -1;
    return clock->epoch + clock->uncertainty + 120 < options_.boot_time ? 1 : 0;
  };
  bool older = false, current = false, starts = false;
  for (const LogEvent& event : events) {
    if (event.boot != 0) continue;
    const int a = age(event);
    older |= a == 1;
    current |= a == 0;
    starts |= event.kind == "boot" && event.text.starts_with("Linux version ");
  }
  // A clock that was wrong for the first seconds of a boot is no reason to tear it apart.
  if (!older || (current && starts)) return;
  for (LogEvent& event : events) {
    if (event.boot < 0 || !current || age(event) == 1) --event.boot;
  }
}

std::vector<LogEvent> KernelLogParser::finish() {
  if (!events_.empty()) {
    LogEvent last = std::move(events_.back());
    events_.pop_back();
    if (ends_repetition(last) || !fold(last)) events_.push_back(std::move(last));
  }
  for (LogEvent& event : events_) event.boot -= boot_;
  shift_older_boots(events_);
  std::stable_sort(events_.begin(), events_.end(), [](const LogEvent& a, const LogEvent& b) { return a.boot < b.boot; });
  open_ = false;
  return std::move(events_);
}

std::vector<LogEvent> parse_kernel_log(std::string_view name, std::string_view text, const KernelLogOptions& options) {
  KernelLogParser parser(options);
  parser.feed(name, text);
  return parser.finish();
}

}  // namespace gpuvet
