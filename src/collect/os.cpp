#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

/// Release of the running kernel. A root is a machine: its /proc answers, never uname(2) of this host.
Fact<std::string> find_kernel(System& system) {
  constexpr const char* release_path = "/proc/sys/kernel/osrelease";
  const auto release = system.read_line(release_path);
  if (release && !release->empty()) return Fact<std::string>::known(*release, origin_of(release_path, *release));
  constexpr const char* version_path = "/proc/version";
  const auto version = system.read_line(version_path);
  if (version && version->starts_with("Linux version ")) {
    const auto parts = words(*version);
    if (parts.size() > 2) return Fact<std::string>::known(std::string(parts[2]), origin_of(version_path, *version, 1));
  }
  if (!release && release.error().code != ErrorCode::NotFound)
    return not_seen_because<std::string>(release.error(), release_path);
  return Fact<std::string>::not_seen("no /proc here", origin_of(release_path));
}

Fact<std::int64_t> find_boot_time(System& system) {
  constexpr const char* path = "/proc/stat";
  const auto text = system.read_head(path, std::size_t{1} << 20);
  if (!text) return not_seen_because<std::int64_t>(text.error(), path);
  Fact<std::int64_t> found = Fact<std::int64_t>::not_seen("no btime in it", origin_of(path));
  for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
    if (!line.starts_with("btime ")) return true;
    if (const auto seconds = decimal(line.substr(6))) found = Fact<std::int64_t>::known(*seconds, origin_of(path, line, number));
    return false;
  });
  return found;
}

Fact<std::int64_t> find_uptime(System& system) {
  constexpr const char* path = "/proc/uptime";
  const auto text = system.read_line(path);
  if (!text) return not_seen_because<std::int64_t>(text.error(), path);
  const auto seconds = decimal(text->substr(0, text->find_first_of(". ")));
  if (!seconds) return Fact<std::int64_t>::not_seen("not a number", origin_of(path, *text));
  return Fact<std::int64_t>::known(*seconds, origin_of(path, *text));
}

Fact<std::string> find_command_line(System& system) {
  constexpr const char* path = "/proc/cmdline";
  const auto text = system.read_line(path, 65536);
  if (!text) return not_seen_because<std::string>(text.error(), path);
  return Fact<std::string>::known(*text, origin_of(path, *text, 1));
}

}  // namespace

void collect_os(System& system, const CollectOptions&, Machine& machine) {
  OperatingSystem& os = machine.os;
  os.kernel = find_kernel(system);
  os.kernel_command_line = find_command_line(system);
  os.boot_time = find_boot_time(system);
  os.uptime = find_uptime(system);
  collect_release(system, os);
  collect_virtualization(system, os);
  const MountTable mounts = read_mounts(system);
  collect_worlds(system, machine.environment, os);
  collect_container(system, machine.environment, mounts, os);
  collect_security(system, os);
  collect_shared_memory(mounts, os);
  collect_confinement(system, os);
}

}  // namespace gpuvet
