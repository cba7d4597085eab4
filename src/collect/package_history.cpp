// What the package managers did lately to the driver, from their logs. Times are kept as written; as a number only where the log
// tells the time zone.
#include <algorithm>
#include <array>
#include <span>

#include "collect/lines.h"
#include "collect/packages_parts.h"

namespace gpuvet {
namespace {

constexpr std::size_t log_tail = std::size_t{1} << 20;
constexpr std::size_t max_transactions = 20;

void keep(std::vector<PackageTransaction>& list, PackageTransaction&& transaction) {
  if (transaction.changes.empty()) return;
  if (list.size() == max_transactions) list.erase(list.begin());
  list.push_back(std::move(transaction));
}

/// Days since 1970-01-01 of a proleptic Gregorian date (H. Hinnant, "chrono-compatible low-level date algorithms").
std::int64_t days_from_civil(std::int64_t y, std::int64_t m, std::int64_t d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400, year = y - era * 400;
  const std::int64_t day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

/// "2024-05-27T09:10:00+0200" → seconds since the epoch; 0 without a zone or when malformed.
std::int64_t epoch_of(std::string_view time) {
  if (time.size() < 20) return 0;
  const auto number = [&](std::size_t at, std::size_t length) { return decimal(time.substr(at, length)).value_or(-1); };
  std::int64_t zone = 0;
  const std::size_t sign = time.find_first_of("+-Z", 19);
  if (sign == std::string_view::npos) return 0;
  if (time[sign] != 'Z') {
    if (time.size() < sign + 5) return 0;
    zone = (number(sign + 1, 2) * 60 + number(time[sign + 3] == ':' ? sign + 4 : sign + 3, 2)) * (time[sign] == '-' ? -60 : 60);
  }
  const std::int64_t year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31) return 0;
  return days_from_civil(year, month, day) * 86400 + number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2) - zone;
}

// ---- apt ----

/// "libnvidia-compute-550:amd64 (550.90-1, 550.120-1), b:amd64 (1.2, automatic)"
void add_apt_changes(PackageTransaction& transaction, std::string_view action, std::string_view list) {
  while (!list.empty()) {
    const std::size_t open = list.find('('), close = list.find(')', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return;
    std::string_view name = trim(list.substr(0, open));
    name = name.substr(0, name.find(':'));
    const auto versions = split(list.substr(open + 1, close - open - 1), ',');
    if (relevant_package(name) && !versions.empty()) {
      PackageChange change{std::string(action), std::string(name), {}, {}};
      const bool two = action == "upgrade" || action == "downgrade";
      (two || action == "remove" || action == "purge" ? change.old_version : change.new_version) = trim(versions[0]);
      if (two && versions.size() > 1) change.new_version = trim(versions[1]);
      transaction.changes.push_back(std::move(change));
    }
    list.remove_prefix(std::min(close + 1, list.size()));
    while (!list.empty() && (list.front() == ',' || list.front() == ' ')) list.remove_prefix(1);
  }
}

// ---- one line a package: dnf, pacman, zypper ----

/// "nvidia-driver-3:550.127.05-1.el9.x86_64" → name and version.
PackageChange split_nevra(std::string_view action, std::string_view text) {
  if (const auto dot = text.rfind('.'); dot != std::string_view::npos) text = text.substr(0, dot);
  std::size_t dash = text.rfind('-');
  if (dash != std::string_view::npos && dash > 0) dash = text.rfind('-', dash - 1);
  if (dash == std::string_view::npos) return {std::string(action), std::string(text), {}, {}};
  return {std::string(action), std::string(text.substr(0, dash)), {}, std::string(text.substr(dash + 1))};
}

/// Lines of one run of a tool: a pause of a quarter of an hour starts another transaction.
bool same_run(const PackageTransaction& transaction, std::int64_t epoch) {
  return epoch != 0 && transaction.epoch != 0 && epoch - transaction.epoch < 900;
}

struct Word {
  std::string_view logged, action;
};

std::string_view action_of(std::string_view word, std::span<const Word> table) {
  const auto it = std::ranges::find(table, word, &Word::logged);
  return it == table.end() ? std::string_view{} : it->action;
}

}  // namespace

std::vector<PackageTransaction> parse_apt_history(std::string_view text, std::string_view source) {
  static constexpr std::array<Word, 6> fields = {{{"Install", "install"},
                                                  {"Upgrade", "upgrade"},
                                                  {"Downgrade", "downgrade"},
                                                  {"Remove", "remove"},
                                                  {"Purge", "purge"},
                                                  {"Reinstall", "install"}}};
  std::vector<PackageTransaction> list;
  PackageTransaction current;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    const std::size_t colon = line.find(": ");
    const std::string_view field = line.substr(0, colon),
                           value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 2);
    if (field == "Start-Date") {
      keep(list, std::move(current));
      current = {};
      current.time = value;
      current.origin = origin_of(source, line, number);
    } else if (field == "Commandline") {
      current.command = value;
      current.origin = origin_of(source, line, number);
    } else if (field == "Error") {
      current.failed = true;
    } else if (const auto action = action_of(field, fields); !action.empty()) {
      add_apt_changes(current, action, value);
    }
    return true;
  });
  keep(list, std::move(current));
  return list;
}

std::vector<PackageTransaction> parse_dnf_rpm_log(std::string_view text, std::string_view source) {
  static constexpr std::array<Word, 8> verbs = {{{"Installed:", "install"},
                                                 {"Upgrade:", "upgrade"},
                                                 {"Erase:", "remove"},
                                                 {"Removed:", "remove"},
                                                 {"Downgrade:", "downgrade"},
                                                 {"Reinstall:", "install"},
                                                 {"Downgraded:", ""},
                                                 {"Upgraded:", ""}}};
  std::vector<PackageTransaction> list;
  PackageTransaction current;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    const auto parts = words(line);
    if (parts.size() < 4) return true;
    const auto action = action_of(parts[2], verbs);
    if (action.empty()) return true;
    PackageChange change = split_nevra(action, parts[3]);
    if (!relevant_package(change.name)) return true;
    const std::int64_t epoch = epoch_of(parts[0]);
    if (!same_run(current, epoch)) {
      keep(list, std::move(current));
      current = {};
      current.time = parts[0];
      current.command = "dnf";
      current.origin = origin_of(source, line, number);
    }
    current.epoch = epoch;
    current.changes.push_back(std::move(change));
    return true;
  });
  keep(list, std::move(current));
  return list;
}

std::vector<PackageTransaction> parse_pacman_log(std::string_view text, std::string_view source) {
  static constexpr std::array<Word, 5> verbs = {{{"installed", "install"},
                                                 {"upgraded", "upgrade"},
                                                 {"removed", "remove"},
                                                 {"downgraded", "downgrade"},
                                                 {"reinstalled", "install"}}};
  std::vector<PackageTransaction> list;
  PackageTransaction current;
  std::string command;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    const std::size_t end = line.find("] ");
    if (!line.starts_with('[') || end == std::string_view::npos) return true;
    const std::string_view time = line.substr(1, end - 1), rest = line.substr(end + 2);
    if (rest.starts_with("[PACMAN] Running '")) command = rest.substr(18, rest.size() - 19);
    if (rest == "[ALPM] transaction started") {
      keep(list, std::move(current));
      current = {std::string(time), epoch_of(time), command, false, {}, origin_of(source, line, number)};
    }
    const auto parts = words(rest);
    if (parts.size() < 4 || parts[0] != "[ALPM]") return true;
    const auto action = action_of(parts[1], verbs);
    if (action.empty() || !relevant_package(parts[2])) return true;
    PackageChange change{std::string(action), std::string(parts[2]), {}, {}};
    const std::string_view first = parts[3].substr(1, parts[3].find(')') - 1);
    (action == "install" ? change.new_version : change.old_version) = first;
    if (parts.size() > 5) change.new_version = parts[5].substr(0, parts[5].find(')'));
    current.changes.push_back(std::move(change));
    return true;
  });
  keep(list, std::move(current));
  return list;
}

std::vector<PackageTransaction> parse_zypp_history(std::string_view text, std::string_view source) {
  std::vector<PackageTransaction> list;
  PackageTransaction current;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (line.starts_with('#')) return true;
    const auto fields = split(line, '|');
    if (fields.size() < 4) return true;
    const std::string_view action = trim(fields[1]);
    if (action == "command") {
      keep(list, std::move(current));
      current = {};
      current.time = fields[0];
      current.command = fields.size() > 3 ? fields[3] : fields[2];
      current.origin = origin_of(source, line, number);
    } else if ((action == "install" || action == "remove") && relevant_package(fields[2])) {
      if (current.time.empty()) current.time = fields[0], current.origin = origin_of(source, line, number);
      PackageChange change{std::string(action), std::string(fields[2]), {}, {}};
      (action == "install" ? change.new_version : change.old_version) = fields[3];
      current.changes.push_back(std::move(change));
    }
    return true;
  });
  keep(list, std::move(current));
  return list;
}

std::vector<PackageTransaction> read_package_history(System& system, std::string_view manager) {
  struct Log {
    std::string_view manager;
    const char* path;
    std::vector<PackageTransaction> (*parse)(std::string_view, std::string_view);
  };
  static constexpr std::array<Log, 4> logs = {{{"dpkg", "/var/log/apt/history.log", parse_apt_history},
                                               {"rpm", "/var/log/dnf.rpm.log", parse_dnf_rpm_log},
                                               {"rpm", "/var/log/zypp/history", parse_zypp_history},
                                               {"pacman", "/var/log/pacman.log", parse_pacman_log}}};
  for (const Log& log : logs) {
    if (log.manager != manager) continue;
    const auto tail = system.read_tail(log.path, log_tail);
    if (tail) return log.parse(tail->text, log.path);
  }
  return {};
}

}  // namespace gpuvet
