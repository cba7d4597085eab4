// Services around the driver: their systemd units, whether they run, the last decisive lines of their logs.

#include <algorithm>
#include <map>
#include <set>

#include "collect/collect.h"
#include "collect/lines.h"

namespace gpuvet {
namespace {

struct KnownService {
  const char* name;     ///< of the unit, without ".service"
  const char* process;  ///< command name; empty: a unit that runs once
  const char* pid_file;
  const char* log;
  bool always_told;  ///< listed also where it is not installed: rules ask for it
};

constexpr KnownService known_services[] = {
    {"nvidia-persistenced", "nvidia-persistenced", "/run/nvidia-persistenced/nvidia-persistenced.pid", "", true},
    {"nvidia-fabricmanager", "nv-fabricmanager", "/run/nvidia-fabricmanager/nv-fabricmanager.pid", "/var/log/fabricmanager.log",
     true},
    {"nvidia-powerd", "nvidia-powerd", "", "", false},
    {"nvidia-gridd", "nvidia-gridd", "/run/nvidia-gridd/nvidia-gridd.pid", "", false},
    {"nvidia-suspend", "", "", "", false},
    {"nvidia-resume", "", "", "", false},
    {"nvidia-hibernate", "", "", "", false},
    {"nvidia-suspend-then-hibernate", "", "", "", false},
    {"nvidia-cdi-refresh", "", "", "", false},
    {"nvidia-mps", "nvidia-cuda-mps-control", "", "", false},
    {"nvidia-cuda-mps", "nvidia-cuda-mps-control", "", "", false},
    {"nvidia-imex", "nvidia-imex", "", "/var/log/nvidia-imex.log", false},
    {"nvidia-dcgm", "nv-hostengine", "/run/nvhostengine.pid", "", false},
    {"dcgm", "nv-hostengine", "/run/nvhostengine.pid", "", false},
    {"nvidia-topologyd", "nvidia-topologyd", "", "", false},
};

// Command names worth telling; the kernel cuts them to 15 bytes (TASK_COMM_LEN).
constexpr const char* known_processes[] = {"nvidia-persistenced",
                                           "nv-fabricmanager",
                                           "nvidia-cuda-mps-control",
                                           "nvidia-cuda-mps-server",
                                           "nvidia-powerd",
                                           "nvidia-gridd",
                                           "nv-hostengine",
                                           "nvidia-imex",
                                           "nvidia-topologyd",
                                           "nvidia-smi",
                                           "nvidia-device-plugin",
                                           "dcgm-exporter",
                                           "nvidia-settings",
                                           "Xorg",
                                           "X",
                                           "Xwayland",
                                           "gnome-shell",
                                           "kwin_wayland",
                                           "gdm",
                                           "gdm3",
                                           "sddm",
                                           "lightdm",
                                           "dockerd",
                                           "containerd",
                                           "kubelet",
                                           "supergfxd",
                                           "bumblebeed",
                                           "optimus-manager"};
constexpr std::size_t comm_length = 15;

/// Folders of units, the one that wins first (systemd.unit(5)).
constexpr const char* unit_folders[] = {"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
                                        "/usr/lib/systemd/system", "/lib/systemd/system"};

// ---- units ------------------------------------------------------------------------------------------------------------

struct Units {
  bool seen = false;                           ///< some folder of units is there
  std::map<std::string, std::string> files;    ///< unit file name → the first of its paths: that one wins
  std::map<std::string, std::string> wanted;   ///< unit file name → the link that wants it
  std::map<std::string, std::string> aliases;  ///< unit file name → a link of another name to it
};

std::string base_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

/// NVIDIA's services alone: their units all begin so.
bool is_interesting_unit(std::string_view name) {
  return name.ends_with(".service") && (name.starts_with("nvidia-") || name.starts_with("dcgm"));
}

Units read_units(System& system) {
  Units units;
  std::set<std::string> done;  // /lib is /usr/lib on most
  for (const char* folder : unit_folders) {
    const auto real = system.real_path(folder);
    if (!real || !done.insert(*real).second) continue;
    units.seen = true;
    for (const DirectoryEntry& entry : entries_of(system, folder, 8192)) {
      const std::string path = std::string(folder) + "/" + entry.name;
      if (is_interesting_unit(entry.name)) units.files.try_emplace(entry.name, path);
      const bool wants = entry.name.ends_with(".wants") || entry.name.ends_with(".requires") || entry.name.ends_with(".upholds");
      if (wants) {
        for (const DirectoryEntry& link : entries_of(system, path, 4096)) {
          if (is_interesting_unit(link.name)) units.wanted.try_emplace(link.name, path + "/" + link.name);
        }
      } else if (entry.type == FileType::Link && entry.name.ends_with(".service")) {
        const auto target = system.read_link(path);
        const std::string name = target ? base_name(*target) : std::string();
        if (is_interesting_unit(name) && name != entry.name) units.aliases.try_emplace(name, path);
      }
    }
  }
  return units;
}

struct UnitFile {
  std::string path;
  bool masked = false;
};

std::optional<UnitFile> find_unit(System& system, const Units& units, const std::string& file_name) {
  const auto found = units.files.find(file_name);
  if (found == units.files.end()) return std::nullopt;
  const auto target = system.read_link(found->second);
  if (target && *target == "/dev/null") return UnitFile{found->second, true};
  const auto status = system.status(found->second);
  return UnitFile{found->second, status && status->type == FileType::Regular && status->size == 0};
}

/// A unit without [Install] is "static": others start it (udev, a dependency), so that it can be neither enabled nor disabled.
bool can_be_enabled(System& system, const std::string& unit_path) {
  const auto text = system.read_file(unit_path, 65536);
  return text && text->find("[Install]") != std::string::npos;
}

void collect_unit(System& system, const Units& units, Service& service) {
  const std::string file_name = service.name + ".service";
  if (!units.seen) {
    service.unit = Fact<std::string>::not_seen("no folder of systemd units here");
    service.enabled = Fact<bool>::not_seen("no folder of systemd units here");
    return;
  }
  const auto unit = find_unit(system, units, file_name);
  if (!unit) {
    service.unit = Fact<std::string>::absent(origin_of(unit_folders[0]));
    service.enabled = Fact<bool>::absent(origin_of(unit_folders[0]));
    return;
  }
  service.unit = Fact<std::string>::known(unit->path, origin_of(unit->path, unit->masked ? "masked" : ""));
  const auto wanted = units.wanted.find(file_name), alias = units.aliases.find(file_name);
  if (unit->masked) {
    service.enabled = Fact<bool>::known(false, origin_of(unit->path, "masked"));
  } else if (wanted != units.wanted.end()) {
    service.enabled = Fact<bool>::known(true, origin_of(wanted->second));
  } else if (alias != units.aliases.end()) {
    service.enabled = Fact<bool>::known(true, origin_of(alias->second));
  } else if (can_be_enabled(system, unit->path)) {
    service.enabled = Fact<bool>::known(false, origin_of(unit->path, "no target wants it"));
  } else {
    service.enabled = Fact<bool>::absent(origin_of(unit->path, "static"));
  }
}

// ---- other init systems: best effort ----------------------------------------------------------------------------------

/// OpenRC and runit have no unit files: a script and a link in a run level.
void collect_init_script(System& system, Service& service) {
  for (const std::string& path : {"/etc/init.d/" + service.name, "/etc/sv/" + service.name + "/run"}) {
    if (!system.exists(path)) continue;
    service.unit = Fact<std::string>::known(path, origin_of(path));
    for (const std::string& link : {"/etc/runlevels/default/" + service.name, "/var/service/" + service.name,
                                    "/etc/runit/runsvdir/default/" + service.name}) {
      if (system.status(link, false)) service.enabled = Fact<bool>::known(true, origin_of(link));
    }
    return;
  }
}

// ---- processes --------------------------------------------------------------------------------------------------------

struct Processes {
  bool seen = false;                         ///< process 1 is visible, so the others are
  std::set<std::string> names;               ///< of known_processes
  std::map<std::string, std::string> where;  ///< name → /proc/PID/comm
};

std::string full_name(std::string_view comm) {
  for (const char* name : known_processes) {
    if (std::string_view(name).substr(0, comm_length) == comm) return name;
  }
  return {};
}

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }

Processes read_processes(System& system) {
  constexpr int most_processes = 8192;
  Processes found;
  int count = 0;
  for (const DirectoryEntry& entry : entries_of(system, "/proc")) {
    if (!is_number(entry.name) || ++count > most_processes) continue;
    if (entry.name == "1") found.seen = true;
    const std::string path = "/proc/" + entry.name + "/comm";
    const auto comm = system.read_line(path, 64);
    const std::string name = comm ? full_name(*comm) : std::string();
    if (!name.empty() && found.names.insert(name).second) found.where[name] = path;
  }
  return found;
}

/// Where the control groups of services are, in any of the ways in which the hierarchies are mounted.
std::vector<std::string> service_slices(System& system) {
  std::vector<std::string> slices = {"/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice",
                                     "/sys/fs/cgroup/unified/system.slice"};
  std::erase_if(slices, [&](const std::string& slice) { return !system.is_directory(slice); });
  return slices;
}

/// The unit's control group, when it has members.
std::optional<std::string> populated_cgroup(System& system, const std::vector<std::string>& slices, const std::string& name) {
  for (const std::string& slice : slices) {
    const std::string path = slice + "/" + name + ".service/cgroup.procs";
    const auto text = system.read_head(path, 64);
    if (text && !trim(*text).empty()) return path;
  }
  return std::nullopt;
}

/// A pid file whose process is there and has the right name; a stale file proves nothing.
bool pid_file_holds(System& system, const KnownService& known) {
  const std::string path = known.pid_file;
  const auto text = path.empty() ? Result<std::string>(tl::unexpected(SystemError{})) : system.read_line(path, 32);
  if (!text || !is_number(trim(*text))) return false;
  const auto comm = system.read_line("/proc/" + std::string(trim(*text)) + "/comm", 64);
  return comm && *comm == std::string_view(known.process).substr(0, comm_length);
}

Fact<bool> find_running(System& system, const std::vector<std::string>& slices, const KnownService& known,
                        const Processes& processes, bool in_container) {
  if (const auto path = populated_cgroup(system, slices, known.name)) return Fact<bool>::known(true, origin_of(*path));
  const auto process = processes.where.find(known.process);
  if (process != processes.where.end()) return Fact<bool>::known(true, origin_of(process->second, known.process));
  if (pid_file_holds(system, known)) return Fact<bool>::known(true, origin_of(known.pid_file));
  if (*known.process == '\0') return Fact<bool>::absent(origin_of(known.name, "runs once and ends"));
  // The host's daemons are not to be seen from inside a container.
  if (in_container) return Fact<bool>::not_seen("processes of the host are not visible in a container");
  if (!processes.seen) return Fact<bool>::not_seen("no processes visible here");
  return Fact<bool>::known(false, origin_of("/proc", "no such process"));
}

// ---- logs -------------------------------------------------------------------------------------------------------------

constexpr std::size_t log_tail = std::size_t{64} << 10;
constexpr std::size_t most_lines = 8;

bool is_decisive(std::string_view line) {
  constexpr const char* marks[] = {"error",         "fail",    "abort",     "mismatch",     "version", "unable",
                                   "not supported", "timeout", "timed out", "successfully", "licens",  "fatal"};
  const std::string text = lower(line);
  return std::any_of(std::begin(marks), std::end(marks), [&](const char* mark) { return text.find(mark) != std::string::npos; });
}

/// The last decisive lines of a log, those alone that name `program` when it is not empty.
std::vector<Origin> last_lines(System& system, const std::string& path, std::string_view program) {
  std::vector<Origin> lines;
  const auto tail = system.read_tail(path, log_tail);
  if (!tail) return lines;
  for_each_line(tail->text, [&](std::string_view line, std::uint32_t number) {
    const bool cut = number == 1 && tail->truncated;
    const bool named = program.empty() || line.find(program) != std::string_view::npos;
    if (!cut && named && is_decisive(line)) lines.push_back(origin_of(path, trim(line), tail->truncated ? 0 : number));
    return true;
  });
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return lines;
}

/// "Fabric Manager version is : 535.104.12": the newest such line names the daemon that runs.
Fact<std::string> version_in_log(System& system, const KnownService& known) {
  Fact<std::string> version = Fact<std::string>::not_seen("not told");
  const std::string path = known.log;
  if (path.empty()) return version;
  // The line stands at each start of the daemon: it may be long before the end of the log.
  const auto tail = system.read_tail(path, std::size_t{1} << 20);
  if (!tail) return version;
  for_each_line(tail->text, [&](std::string_view line, std::uint32_t number) {
    const std::size_t at = line.find("ersion is");
    const std::size_t digit = at == std::string_view::npos ? at : line.find_first_of("0123456789", at);
    if (digit == std::string_view::npos) return true;
    const std::string_view rest = line.substr(digit);
    const std::string_view text = rest.substr(0, rest.find_first_not_of("0123456789."));
    version = Fact<std::string>::known(std::string(text), origin_of(path, trim(line), tail->truncated ? 0 : number));
    return true;
  });
  return version;
}

void collect_log(System& system, const KnownService& known, Service& service) {
  service.version = version_in_log(system, known);
  const std::string own = known.log;
  if (!own.empty()) service.log = last_lines(system, own, {});
  const std::string_view process = known.process;
  if (!service.log.empty() || process.empty() || !service.unit.is_known()) return;
  for (const char* path : {"/var/log/syslog", "/var/log/messages"}) {
    service.log = last_lines(system, path, process);
    if (!service.log.empty()) return;
  }
}

std::string_view process_of(std::string_view service) {
  for (const KnownService& known : known_services) {
    if (service == known.name) return known.process;
  }
  return {};
}

}  // namespace

void collect_services(System& system, const CollectOptions&, Machine& machine) {
  const Processes processes = read_processes(system);
  const bool in_container = machine.os.container.is_known();
  if (processes.seen || !processes.names.empty()) {
    machine.processes =
        Fact<std::vector<std::string>>::known({processes.names.begin(), processes.names.end()}, origin_of("/proc"));
  } else {
    machine.processes = Fact<std::vector<std::string>>::not_seen("no processes visible here", origin_of("/proc"));
  }
  const Units units = read_units(system);
  if (!units.seen && !processes.seen && !system.is_directory("/etc/init.d")) {
    machine.services = Fact<std::vector<Service>>::not_seen("neither units nor processes here");
    return;
  }
  const bool init_scripts = !units.seen || system.is_directory("/etc/runlevels") || system.is_directory("/etc/sv");
  const std::vector<std::string> slices = service_slices(system);
  std::vector<Service> services;
  for (const KnownService& known : known_services) {
    Service service;
    service.name = known.name;
    collect_unit(system, units, service);
    if (!service.unit.is_known() && init_scripts) collect_init_script(system, service);
    service.running = find_running(system, slices, known, processes, in_container);
    collect_log(system, known, service);
    // One program may come with units of two names: without a unit it is told once.
    const bool told = !service.unit.is_known() && std::any_of(services.begin(), services.end(), [&](const Service& other) {
      return process_of(other.name) == known.process;
    });
    const bool sign = service.unit.is_known() || service.running.is(true) || !service.log.empty();
    if ((sign && !told) || known.always_told) services.push_back(std::move(service));
  }
  machine.services = Fact<std::vector<Service>>::known(std::move(services), origin_of(unit_folders[0]));
}

}  // namespace gpuvet
