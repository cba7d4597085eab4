#include "collect/process_record.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "collect/object_files.h"

namespace gpuvet {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <class Number>
bool take_number(std::string_view& text, Number& value, int base, char end) {
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || next == text.data() + text.size() || *next != end) return false;
  text.remove_prefix(static_cast<std::size_t>(next - text.data()) + 1);
  return true;
}

/// "7f1-7f2 r-xp 00000000 fe:00 1234   /lib/libc.so.6 (deleted)"
bool parse_line(std::string_view line, MappedFile& file) {
  std::uint64_t number = 0;
  if (!take_number(line, number, 16, '-') || !take_number(line, number, 16, ' ') || line.size() < 5) return false;
  file.executable = line[2] == 'x';
  line.remove_prefix(5);
  if (!take_number(line, number, 16, ' ') || !take_number(line, file.device_major, 16, ':') ||
      !take_number(line, file.device_minor, 16, ' ') || !take_number(line, file.inode, 10, ' '))
    return false;
  const std::size_t at = line.find('/');
  if (at == std::string_view::npos || file.inode == 0) return false;
  line.remove_prefix(at);
  constexpr std::string_view gone = " (deleted)";
  file.deleted = line.ends_with(gone);
  if (file.deleted) line.remove_suffix(gone.size());
  file.path = line;
  return true;
}

std::map<std::string, std::string> parse_environ(std::string_view text) {
  std::map<std::string, std::string> out;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0) out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

/// Seconds since the epoch at which the process was started; 0: not known. Field 22 of stat, in ticks of 1/100 s.
std::int64_t started_at(System& system, const std::string& folder) {
  const auto stat = system.read_file(folder + "/stat");
  const auto boot = system.read_file("/proc/stat");
  if (!stat || !boot) return 0;
  std::string_view text = *stat;
  const std::size_t name_end = text.rfind(')');
  const std::size_t at = boot->find("\nbtime ");
  if (name_end == std::string_view::npos || at == std::string::npos) return 0;
  text.remove_prefix(name_end + 1);
  for (int field = 3; field < 22; ++field) {
    const std::size_t blank = text.find(' ', 1);
    if (blank == std::string_view::npos) return 0;
    text.remove_prefix(blank);
  }
  std::int64_t ticks = 0, epoch = 0;
  std::from_chars(text.data() + 1, text.data() + text.size(), ticks);
  std::from_chars(boot->data() + at + 7, boot->data() + boot->size(), epoch);
  return epoch + ticks / 100;
}

/// The root that the process sees: this machine's, or a container's.
std::unique_ptr<System> other_root_of(System& system, const std::string& folder) {
  const auto theirs = system.read_link(folder + "/ns/mnt"), ours = system.read_link("/proc/self/ns/mnt");
  const auto root = system.read_link(folder + "/root");
  const bool same = root && *root == "/" && theirs && ours && *theirs == *ours;
  if (same || !root) return nullptr;
  auto rooted = make_rooted_system(folder + "/root");
  return rooted ? std::move(*rooted) : nullptr;
}

Forecast forecast_program(System& system, SystemObjects& objects, const ProcessPlan& plan, const std::string& working_directory,
                          const std::map<std::string, std::string>& environment) {
  const Machine machine;
  LoaderRules rules = loader_rules(system, machine, objects.open(plan.program));
  if (!working_directory.empty()) rules.working_directory = working_directory;
  return forecast(objects, rules, plan, environment);
}

void compare_disk(System& system, RunningProcess::Object& object, std::int64_t started) {
  const auto status = system.status(object.file.path);
  object.on_disk = status.has_value();
  if (!status || object.file.deleted) return;
  // On overlays and btrfs maps shows another device than stat does: then inodes cannot be compared.
  const std::uint64_t mapped = (std::uint64_t{object.file.device_minor} & 0xff) | (std::uint64_t{object.file.device_major} << 8) |
                               ((std::uint64_t{object.file.device_minor} & ~0xffu) << 12);
  object.replaced = status->device == mapped && status->inode != object.file.inode;
  object.written = started > 0 && status->modified > started + 2;  // the boot time is rounded
}

/// By the file that a forecast object leads to: maps shows real paths.
void compare_forecast(const Forecast& forecast, SystemObjects& objects, RunningProcess& running) {
  std::set<const LoadedObject*> met;
  for (RunningProcess::Object& object : running.objects) {
    for (const LoadedObject& expected : forecast.objects) {
      const std::string& real = expected.file != nullptr ? expected.file->real_path : expected.path;
      if (object.file.path != real && object.file.path != expected.path) continue;
      object.start_up = true;
      met.insert(&expected);
    }
  }
  for (RunningProcess::Object& object : running.objects) {
    if (object.start_up) continue;
    const LibraryFile* file = object.file.deleted ? nullptr : objects.open(object.file.path);
    const std::string soname = file != nullptr && !file->soname.empty() ? file->soname : std::string(file_name(object.file.path));
    for (const LoadedObject& expected : forecast.objects) {
      if (met.contains(&expected) || expected.file == nullptr || file_name(expected.name) != soname) continue;
      object.forecast = expected.path;
      met.insert(&expected);
    }
  }
  for (const LoadedObject& expected : forecast.objects) {
    if (!met.contains(&expected) && expected.rule != "program" && expected.rule != "loader")
      running.not_mapped.push_back(expected.path);
  }
  for (const MissingLibrary& missing : forecast.missing) {
    if (!missing.optional) running.missing.push_back(missing.name);
  }
}

}  // namespace

std::vector<MappedFile> parse_maps(std::string_view text) {
  constexpr std::size_t most = 65536;
  std::vector<MappedFile> files;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> known;
  while (!text.empty() && files.size() < most) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    MappedFile file;
    if (!parse_line(line, file)) continue;
    const auto [at, fresh] = known.emplace(std::pair{file.path, file.inode}, files.size());
    if (fresh)
      files.push_back(std::move(file));
    else
      files[at->second].executable |= file.executable;
  }
  return files;
}

std::vector<JudgedProcess> judge_records(System& system, const std::vector<RecordedProcess>& processes, std::size_t limit) {
  std::vector<JudgedProcess> judged(processes.size());
  SystemObjects objects(system);
  std::size_t done = 0;
  for (std::size_t i = 0; i < processes.size() && done < limit; ++i) {
    const RecordedProcess& process = processes[i];
    const LibraryFile* file = process.forked ? nullptr : objects.open(process.program);
    if (file == nullptr || file->state != "elf") continue;
    ++done;
    judged[i].forecast = forecast_program(system, objects, plan_of(process), process.working_directory, process.environment);
    judged[i].comparison = compare_record(process, judged[i].forecast);
    judged[i].forecasted = true;
  }
  return judged;
}

ProgramKind program_kind_of(System& system, const std::string& path) {
  SystemObjects objects(system);
  const LibraryFile* file = objects.open(path);
  if (file == nullptr || file->state != "elf") return ProgramKind::Unknown;
  if (file->interpreter.empty()) return ProgramKind::Static;
  if (file->interpreter.find("/ld-musl-") != std::string::npos) return ProgramKind::Musl;
  if (loader_rules(system, Machine(), file).secure) return ProgramKind::Secure;
  const LibraryFile* own = objects.open("/proc/self/exe");
  if (own != nullptr && (own->machine != file->machine || own->elf_class != file->elf_class)) return ProgramKind::OtherMachine;
  return ProgramKind::Dynamic;
}

Result<RunningProcess> read_running_process(System& system, std::int64_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  if (const auto there = system.status(folder); !there) return tl::unexpected(there.error());
  const auto maps = system.read_file(folder + "/maps", std::size_t{64} << 20);
  if (!maps) return tl::unexpected(maps.error());
  const auto program = system.read_link(folder + "/exe");
  if (!program) return tl::unexpected(program.error());

  RunningProcess running;
  running.program = *program;
  if (running.program.ends_with(" (deleted)")) running.program.resize(running.program.size() - 10);
  const auto rooted = other_root_of(system, folder);
  System& seen = rooted != nullptr ? *rooted : system;
  running.other_root = rooted != nullptr;
  const auto environ = system.read_file(folder + "/environ");
  running.environment_seen = environ.has_value();
  const std::int64_t started = started_at(system, folder);
  SystemObjects objects(seen);
  for (MappedFile& file : parse_maps(*maps)) {
    const bool library = file_name(file.path).find(".so") != std::string_view::npos;
    if ((!file.executable && !library) || file.path.starts_with("/memfd:") || file.path.starts_with("/dev/")) continue;
    RunningProcess::Object object;
    object.file = std::move(file);
    compare_disk(seen, object, started);
    running.objects.push_back(std::move(object));
  }
  const LibraryFile* file = objects.open(running.program);
  running.forecasted = file != nullptr && file->state == "elf";
  if (!running.forecasted) return running;
  ProcessPlan plan;
  plan.name = plan.program = running.program;
  plan.kind = "program";
  const auto working = system.read_link(folder + "/cwd");
  compare_forecast(forecast_program(seen, objects, plan, working.value_or(""),
                                    environ ? parse_environ(*environ) : std::map<std::string, std::string>()),
                   objects, running);
  return running;
}

}  // namespace gpuvet
