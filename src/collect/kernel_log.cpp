// The kernel log: given text, the ring buffer, log files, journalctl; whichever is there first and has this boot.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "collect/collect.h"
#include "text/kernel_log_text.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::size_t kernel_tail = std::size_t{8} << 20;
constexpr std::size_t program_tail = std::size_t{1} << 20;
constexpr int journal_timeout_ms = 2500;

/// Files that hold the kernel's lines, by what they are worth: a capture of the ring buffer first (sosreport), then syslog's.
constexpr std::array<const char*, 13> kernel_files = {"/sos_commands/kernel/dmesg",
                                                      "/sos_commands/kernel/dmesg_-T",
                                                      "/sos_commands/logs/journalctl_--no-pager_--boot",
                                                      "/var/log/kern.log",
                                                      "/var/log/messages",
                                                      "/var/log/syslog",
                                                      "/var/log/kernel",
                                                      "/var/log/kernel.log",
                                                      "/var/log/dmesg",
                                                      "/var/log/everything.log",
                                                      "/var/log/journalctl.log",
                                                      "/sos_commands/logs/journalctl_--no-pager",
                                                      "/var/log/boot.msg"};

/// Where programs around the driver log, apart from those files.
constexpr std::array<const char*, 5> program_files = {"/var/log/syslog", "/var/log/messages", "/var/log/daemon.log",
                                                      "/var/log/audit/audit.log",
                                                      "/sos_commands/logs/journalctl_--no-pager_--boot"};

struct Log {
  std::vector<LogEvent> events;
  std::vector<std::string> sources;
  bool truncated = false;
  bool has_kernel_lines = false;
  bool has_text = false;
  bool this_boot = false;  ///< some of it is of the running boot, as far as clocks tell
};

std::int64_t boot_time(const Machine& machine) { return machine.os.boot_time.value_or(0); }

bool is_ring_buffer_copy(std::string_view path) { return path.find("/dmesg") != std::string_view::npos; }

Log parse(const std::string& name, std::string_view text, bool truncated, const KernelLogOptions& options) {
  Log log;
  KernelLogParser parser(options);
  parser.feed(name, text, !truncated);
  log.events = parser.finish();
  log.has_kernel_lines = parser.has_kernel_lines();
  log.sources = {name};
  log.has_text = !trimmed(text).empty();
  log.truncated = truncated;
  log.this_boot = std::any_of(log.events.begin(), log.events.end(), [](const LogEvent& event) { return event.boot == 0; });
  return log;
}

/// The file that logrotate moved aside last: "kern.log.1", "messages-20250525".
std::string rotated_before(System& system, const std::string& path) {
  if (system.exists(path + ".1")) return path + ".1";
  const std::size_t slash = path.rfind('/');
  const std::string prefix = path.substr(slash + 1) + "-";
  const auto entries = system.list(path.substr(0, slash), 4096);
  std::string newest;
  if (!entries) return newest;
  for (const auto& entry : *entries) {
    const bool plain =
        entry.name.find_first_not_of("0123456789", prefix.size()) == std::string::npos && entry.name.size() > prefix.size();
    if (entry.name.starts_with(prefix) && plain) newest = path.substr(0, slash + 1) + entry.name;
  }
  return newest;
}

/// The end of a log; only as much memory is asked for as the file has.
Result<System::Tail> log_tail(System& system, const std::string& path, std::size_t limit) {
  const auto status = system.status(path);
  if (!status) return tl::unexpected(status.error());
  const std::size_t needed = status->size > 0 && status->size < limit ? static_cast<std::size_t>(status->size) : limit;
  return system.read_tail(path, needed);
}

/// A copy of the ring buffer has no clock of its own; when it was written says of which boot it is.
bool is_older_than_boot(System& system, const std::string& path, std::int64_t boot) {
  const auto status = system.status(path);
  return status && status->modified > 0 && boot > 0 && status->modified + 120 < boot;
}

std::optional<Log> read_kernel_file(System& system, const std::string& path, std::int64_t boot, std::string& error) {
  auto tail = log_tail(system, path, kernel_tail);
  if (!tail) {
    if (tail.error().code != ErrorCode::NotFound && error.empty()) error = tail.error().message;
    return std::nullopt;
  }
  const KernelLogOptions options{boot, is_ring_buffer_copy(path), false};
  Log log = parse(path, tail->text, tail->truncated, options);
  if (options.one_boot && is_older_than_boot(system, path, boot)) {
    for (LogEvent& event : log.events) --event.boot;
    log.this_boot = false;
  }
  if (!log.has_kernel_lines || options.one_boot || tail->truncated) return log;
  KernelLogParser start({boot, false, false});
  start.feed(path, tail->text);
  if (start.has_boot_start()) return log;
  // Rotated since the boot: the boot's first lines are in the file before.
  const std::string before = rotated_before(system, path);
  const auto older = before.empty() ? Result<System::Tail>(tl::unexpected(SystemError{})) : log_tail(system, before, kernel_tail);
  if (!older) return log;
  KernelLogParser both({boot, false, false});
  both.feed(before, older->text, !older->truncated);
  both.feed(path, tail->text);
  log.events = both.finish();
  log.sources.push_back(before);
  log.truncated = older->truncated;
  return log;
}

/// The first file with kernel lines of this boot; else the first with any.
std::optional<Log> read_kernel_files(System& system, std::int64_t boot, std::string& error) {
  std::optional<Log> second_best;
  for (const char* path : kernel_files) {
    auto log = read_kernel_file(system, path, boot, error);
    if (!log) continue;
    if (log->has_kernel_lines && log->this_boot) return log;
    if (!second_best || (log->has_kernel_lines && !second_best->has_kernel_lines)) second_best = std::move(log);
  }
  return second_best;
}

std::optional<Log> read_ring_buffer(System& system, std::string& error) {
  auto text = system.kernel_ring_buffer(kernel_tail);
  if (!text) {
    error = text.error().message;
    return std::nullopt;
  }
  if (text->empty()) return std::nullopt;
  return parse("kernel ring buffer", *text, false, {0, true, false});
}

std::optional<Log> read_journal(System& system, std::string& error) {
  const auto output =
      system.run({"journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager"}, journal_timeout_ms, kernel_tail);
  if (!output) {
    if (error.empty()) error = output.error().message;
    return std::nullopt;
  }
  if (output->exit_code != 0 || output->output.size() < 64) return std::nullopt;
  return parse("journalctl -k -b", output->output, output->truncated, {0, true, false});
}

bool starts_this_boot(const Log& log) {
  return std::any_of(log.events.begin(), log.events.end(), [](const LogEvent& event) {
    return event.boot == 0 && event.kind == "boot" && event.text.starts_with("Linux version ");
  });
}

/// Asking journald costs a process; a log file that holds the whole boot is as good.
std::optional<Log> read_live(System& system, std::int64_t boot, std::string& error) {
  if (auto log = read_ring_buffer(system, error)) return log;
  std::optional<Log> file = read_kernel_files(system, boot, error);
  if (file && file->has_kernel_lines && starts_this_boot(*file)) return file;
  if (auto log = read_journal(system, error)) return log;
  return file;
}

/// Adds lines of programs from the files that the kernel's lines did not come from.
void add_program_lines(System& system, std::int64_t boot, Log& log) {
  for (const char* path : program_files) {
    if (std::find(log.sources.begin(), log.sources.end(), path) != log.sources.end()) continue;
    const auto tail = log_tail(system, path, program_tail);
    if (!tail || tail->text.empty()) continue;
    Log more = parse(path, tail->text, tail->truncated, {boot, false, true});
    if (more.events.empty()) continue;
    log.sources.emplace_back(path);
    std::move(more.events.begin(), more.events.end(), std::back_inserter(log.events));
  }
  std::stable_sort(log.events.begin(), log.events.end(), [](const LogEvent& a, const LogEvent& b) { return a.boot < b.boot; });
}

/// Bus errors of devices that have nothing to do with NVIDIA are dropped, where the bus is known.
void keep_relevant_devices(const Machine& machine, std::vector<LogEvent>& events) {
  const auto* devices = machine.pci.get();
  if (devices == nullptr) return;
  std::set<std::string, std::less<>> known;
  const auto slot = [](const std::string& address) { return address.substr(0, address.find('.')); };
  for (const PciDevice& device : *devices) {
    if (device.vendor != 0x10de) continue;
    known.insert(slot(device.address));
    std::string bridge = device.parent;
    for (int depth = 0; depth < 32 && !bridge.empty(); ++depth) {
      known.insert(slot(bridge));
      const auto above =
          std::find_if(devices->begin(), devices->end(), [&](const PciDevice& other) { return other.address == bridge; });
      bridge = above == devices->end() ? std::string() : above->parent;
    }
  }
  for (const LogEvent& event : events) {
    const bool nvidias = event.kind == "nvrm" || event.kind == "xid" || event.kind == "sxid" || event.kind == "nvidia" ||
                         event.kind == "nouveau" || event.text.find("[10de:") != std::string::npos;
    if (nvidias && !event.pci.empty()) known.insert(event.pci);
  }
  std::erase_if(events, [&](const LogEvent& event) {
    const bool bus = event.kind == "aer" || event.kind == "iommu" || event.kind == "pci";
    return bus && !event.pci.empty() && !known.contains(event.pci) && event.text.find("nvidia") == std::string::npos;
  });
}

std::string nothing_seen(System& system, const std::string& error) {
  if (!error.empty()) return error;
  if (system.is_directory("/var/log/journal") || system.is_directory("/run/log/journal")) {
    return "the log is in the journal's binary files; --kernel-log FILE takes the output of journalctl -k -b";
  }
  return "no kernel log here";
}

}  // namespace

void collect_kernel_log(System& system, const CollectOptions& options, Machine& machine) {
  const std::int64_t boot = boot_time(machine);
  std::optional<Log> log;
  std::string error;
  if (options.has_kernel_log) {
    const std::string name = options.kernel_log_name.empty() ? "kernel log" : options.kernel_log_name;
    log = parse(name, options.kernel_log_text, options.kernel_log_truncated, {0, false, false});
  } else {
    log = system.is_live() ? read_live(system, boot, error) : read_kernel_files(system, boot, error);
    if (!log) log = Log{};
    add_program_lines(system, boot, *log);
    if (log->sources.empty()) log.reset();
  }
  KernelLog& out = machine.kernel_log;
  if (!log || (!log->has_text && log->events.empty() && !options.has_kernel_log)) {
    out.events = Fact<std::vector<LogEvent>>::not_seen(nothing_seen(system, error), {"kernel log", 0, {}});
    return;
  }
  keep_relevant_devices(machine, log->events);
  out.sources = log->sources;
  out.truncated = log->truncated;
  out.events = Fact<std::vector<LogEvent>>::known(std::move(log->events), {log->sources.front(), 0, {}});
}

}  // namespace gpuvet
