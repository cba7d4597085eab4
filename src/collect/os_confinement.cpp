// What holds the judged process in: control groups, its user namespace, a system call filter, its security label, the memory
// that it may lock, and how much there is. proc(5), cgroups(7), user_namespaces(7).

#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

/// The rest of the first line of a "Name: value" file that starts so, with its place.
struct Line {
  std::string value;
  Origin origin;
};
std::optional<Line> find_line(std::string_view text, std::string_view start, std::string_view path) {
  std::optional<Line> found;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (line.starts_with(start)) found = Line{std::string(trim(line.substr(start.size()))), origin_of(path, line, number)};
    return !found;
  });
  return found;
}

Fact<std::int64_t> find_memory(System& system) {
  constexpr const char* path = "/proc/meminfo";
  const auto text = system.read_file(path, 65536);
  if (!text) return not_seen_because<std::int64_t>(text.error(), path);
  const auto line = find_line(*text, "MemTotal:", path);
  const auto kilobytes = line && line->value.ends_with(" kB")
                             ? decimal(std::string_view(line->value).substr(0, line->value.size() - 3))
                             : std::nullopt;
  if (!kilobytes || *kilobytes < 0 || *kilobytes > (std::int64_t{1} << 50))
    return Fact<std::int64_t>::not_seen("no MemTotal in it", origin_of(path));
  return Fact<std::int64_t>::known(*kilobytes * 1024, line->origin);
}

/// The soft limit: the one that counts.
Fact<std::int64_t> find_locked_memory(System& system) {
  constexpr const char* path = "/proc/self/limits";
  const auto text = system.read_file(path, 65536);
  if (!text) return not_seen_because<std::int64_t>(text.error(), path);
  const auto line = find_line(*text, "Max locked memory", path);
  const auto fields = line ? words(line->value) : std::vector<std::string_view>{};
  if (fields.empty()) return Fact<std::int64_t>::not_seen("no such limit in it", origin_of(path));
  if (fields[0] == "unlimited") return Fact<std::int64_t>::known(-1, line->origin);
  const auto bytes = decimal(fields[0]);
  return bytes ? Fact<std::int64_t>::known(*bytes, line->origin) : Fact<std::int64_t>::not_seen("not a number", line->origin);
}

/// Version 1 only where its hierarchy has the devices: then a list of allowed ones can be read.
Fact<std::int64_t> find_cgroup_version(System& system) {
  using Version = Fact<std::int64_t>;
  constexpr const char* path = "/proc/self/cgroup";
  if (const auto text = system.read_file(path, 65536)) {
    Version found = Version::not_seen("no control groups in it", origin_of(path));
    for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
      const auto fields = split(line, ':');
      if (fields.size() < 3) return true;
      if (fields[0] == "0" && fields[1].empty()) found = Version::known(2, origin_of(path, line, number));
      for (const std::string_view controller : split(fields[1], ',')) {
        if (controller != "devices") continue;
        found = Version::known(1, origin_of(path, line, number));
        return false;
      }
      return true;
    });
    if (found.is_known()) return found;
  }
  constexpr const char* unified = "/sys/fs/cgroup/cgroup.controllers";
  if (system.exists(unified)) return Version::known(2, origin_of(unified));
  constexpr const char* devices = "/sys/fs/cgroup/devices";
  if (system.is_directory(devices)) return Version::known(1, origin_of(devices));
  return Version::not_seen("no control groups here", origin_of(path));
}

Fact<bool> find_user_namespace(System& system) {
  constexpr const char* path = "/proc/self/uid_map";
  const auto text = system.read_file(path, 65536);
  if (!text) return not_seen_because<bool>(text.error(), path);
  const std::string_view first = std::string_view(*text).substr(0, text->find('\n'));
  const auto fields = words(first);
  if (fields.size() != 3) return Fact<bool>::not_seen("no map in it", origin_of(path));
  const bool whole = fields[0] == "0" && fields[1] == "0" && fields[2] == "4294967295";
  return Fact<bool>::known(!whole, origin_of(path, first, 1));
}

Fact<bool> find_seccomp(System& system) {
  constexpr const char* path = "/proc/self/status";
  const auto text = system.read_file(path, 65536);
  if (!text) return not_seen_because<bool>(text.error(), path);
  const auto line = find_line(*text, "Seccomp:", path);
  if (!line) return Fact<bool>::not_seen("not told in it", origin_of(path));
  return Fact<bool>::known(line->value != "0", line->origin);
}

Fact<std::string> find_label(System& system) {
  constexpr const char* path = "/proc/self/attr/current";
  const auto text = system.read_file(path, 4096);
  if (!text) return not_seen_because<std::string>(text.error(), path);
  std::string label(trim(std::string_view(*text).substr(0, text->find('\0'))));
  if (label.empty()) return Fact<std::string>::absent(origin_of(path));
  return Fact<std::string>::known(std::move(label), origin_of(path));
}

}  // namespace

void collect_confinement(System& system, OperatingSystem& os) {
  os.memory = find_memory(system);
  os.locked_memory = find_locked_memory(system);
  os.cgroup_version = find_cgroup_version(system);
  os.user_namespace = find_user_namespace(system);
  os.seccomp = find_seccomp(system);
  os.security_label = find_label(system);
}

}  // namespace gpuvet
