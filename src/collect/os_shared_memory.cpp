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

}  // namespace

void collect_shared_memory(const MountTable& mounts, OperatingSystem& os) {
  using Size = Fact<std::int64_t>;
  const Mount* mount = mounts.at("/dev/shm");
  if (mounts.path.empty()) {
    os.shared_memory = Size::not_seen("no list of mounts here");
  } else if (mount == nullptr) {
    os.shared_memory = Size::absent(origin_of(mounts.path, "no /dev/shm with a size"));
  } else {
    const auto size = size_option(mount->options);
    os.shared_memory = size ? Size::known(*size, mount->origin) : Size::absent(mount->origin);
  }
}

}  // namespace gpuvet
