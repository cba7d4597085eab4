#include "collect/mounts.h"

#include <algorithm>

#include "collect/lines.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_mounts = 16384;

/// "\040" for a blank, and so on for tab, newline and backslash.
std::string unescape(std::string_view text) {
  std::string out;
  const auto octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<Mount> of_mountinfo(std::string_view line) {
  const auto fields = words(line);
  std::size_t dash = 6;
  while (dash < fields.size() && fields[dash] != "-") ++dash;
  if (dash + 2 >= fields.size()) return std::nullopt;
  // A source may be empty: then the words behind it move up.
  const bool whole = dash + 3 < fields.size();
  return Mount{unescape(fields[3]),
               unescape(fields[4]),
               std::string(fields[dash + 1]),
               whole ? unescape(fields[dash + 2]) : std::string(),
               unescape(fields[whole ? dash + 3 : dash + 2]),
               {}};
}

std::optional<Mount> of_mounts(std::string_view line) {
  const auto fields = words(line);
  if (fields.size() < 4 || fields[0] == "rootfs") return std::nullopt;
  return Mount{"/", unescape(fields[1]), std::string(fields[2]), unescape(fields[0]), unescape(fields[3]), {}};
}

}  // namespace

const Mount* MountTable::at(std::string_view point) const {
  const auto found = std::find_if(mounts.rbegin(), mounts.rend(), [&](const Mount& mount) { return mount.point == point; });
  return found == mounts.rend() ? nullptr : &*found;
}

MountTable read_mounts(System& system) {
  MountTable table;
  for (const char* path : {"/proc/self/mountinfo", "/proc/1/mountinfo", "/proc/self/mounts", "/proc/mounts"}) {
    const auto text = system.read_file(path);
    if (!text) continue;
    table.path = path;
    const bool mountinfo = std::string_view(path).ends_with("info");
    for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
      if (auto mount = mountinfo ? of_mountinfo(line) : of_mounts(line)) {
        mount->origin = origin_of(path, line, number);
        table.mounts.push_back(std::move(*mount));
      }
      return table.mounts.size() < most_mounts;
    });
    return table;
  }
  return table;
}

}  // namespace gpuvet
