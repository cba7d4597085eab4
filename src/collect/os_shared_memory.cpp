// How much /dev/shm may hold: the size= option of its tmpfs (tmpfs(5)) in mountinfo. An engine gives its containers one of their
// own.

#include "collect/lines.h"
#include "collect/os_parts.h"

namespace gpuvet {
namespace {

/// "65536k", "1g", "67108864" in bytes; nothing for a share of the memory ("50%") and for what is no size.
std::optional<std::int64_t> bytes_of(std::string_view size) {
  int shift = 0;
  if (size.ends_with('k')) shift = 10;
  if (size.ends_with('m')) shift = 20;
  if (size.ends_with('g')) shift = 30;
  if (shift != 0) size.remove_suffix(1);
  const auto number = decimal(size);
  if (!number || *number < 0 || *number > (std::int64_t{1} << 62 >> shift)) return std::nullopt;
  return *number << shift;
}

std::optional<std::int64_t> size_option(std::string_view options) {
  for (const std::string_view option : split(options, ','))
    if (option.starts_with("size=")) return bytes_of(option.substr(5));
  return std::nullopt;
}

/// Mount point and options of the file system (not of the mount) in a line of mountinfo or mounts.
std::pair<std::string_view, std::string_view> mount_of(std::string_view line, bool mountinfo) {
  const auto fields = words(line);
  if (!mountinfo) return fields.size() >= 4 ? std::pair{fields[1], fields[3]} : std::pair<std::string_view, std::string_view>{};
  std::size_t dash = 6;
  while (dash < fields.size() && fields[dash] != "-") ++dash;
  if (dash + 3 >= fields.size()) return {};
  return {fields[4], fields[dash + 3]};
}

}  // namespace

void collect_shared_memory(System& system, OperatingSystem& os) {
  using Size = Fact<std::int64_t>;
  os.shared_memory = Size::not_seen("no list of mounts here");
  for (const char* path : {"/proc/self/mountinfo", "/proc/1/mountinfo", "/proc/mounts"}) {
    const auto text = system.read_file(path);
    if (!text) continue;
    os.shared_memory = Size::absent(origin_of(path, "no /dev/shm with a size"));
    const bool mountinfo = std::string_view(path).ends_with("info");
    for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
      const auto [point, options] = mount_of(line, mountinfo);
      if (point != "/dev/shm") return true;
      const auto size = size_option(options);
      // The last mount lies on top.
      os.shared_memory = size ? Size::known(*size, origin_of(path, line, number)) : Size::absent(origin_of(path, line, number));
      return true;
    });
    return;
  }
}

}  // namespace gpuvet
