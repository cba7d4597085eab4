#include "elf/driver_version.h"

#include <algorithm>

#include "elf/read_only_data.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

// libcuda names its application profiles, libnvidia-ml its version behind its CUDA major ("12.535.309.01"), and from R535 on
// libcuda names libraries that carry the same version. Measured on Debian's 470.256.02, 525.147.05 and 535.309.01.
constexpr auto profiles = "nvidia-application-profiles-"sv;
constexpr auto library_suffix = ".so."sv;

constexpr std::uint64_t head_piece = std::uint64_t{512} << 10;
constexpr std::uint64_t tail_piece = std::uint64_t{128} << 10;
constexpr std::size_t stream_piece = std::size_t{1} << 20;
constexpr std::size_t overlap = 128;  // longer than any context above plus a version
constexpr std::uint64_t max_searched = std::uint64_t{64} << 20;

bool digit(char c) { return c >= '0' && c <= '9'; }

bool printable(char c) { return c >= 0x20 && c < 0x7f; }

/// Length of "535.309.01", "550.120" or Jetson's "540.4.0" at the front of `text`; 0 for anything else.
std::size_t version_length(std::string_view text) {
  std::size_t at = 0;
  std::size_t widths[3] = {0, 0, 0};
  int parts = 0;
  while (parts < 3) {
    std::size_t width = 0;
    while (at + width < text.size() && digit(text[at + width])) ++width;
    if (width == 0) return 0;
    widths[parts++] = width;
    at += width;
    if (at >= text.size() || text[at] != '.') break;
    if (parts < 3) ++at;
  }
  if (at < text.size() && text[at] == '.') return 0;
  if (widths[0] != 3 || text[0] < '3' || widths[1] > 3 || widths[2] > 2) return 0;
  if (parts < 2 || (parts == 2 && widths[1] < 2)) return 0;
  return at;
}

/// Is what stands before the version the mark of the library's own one?
bool is_anchor(std::string_view before, char after) {
  if (before.ends_with(profiles)) return after == '-';
  if (after != '\0') return false;
  if (before.ends_with(library_suffix)) {
    const auto start = before.substr(before.size() - std::min(before.size(), std::size_t{80}));
    const auto nul = start.rfind('\0');
    return nul != std::string_view::npos && start.substr(nul + 1).starts_with("libnvidia-"sv);
  }
  const auto n = before.size();
  return n >= 4 && before[n - 1] == '.' && digit(before[n - 2]) && digit(before[n - 3]) && before[n - 4] == '\0';
}

void search(const ElfFile& elf, FileRange range, VersionStrings& found) {
  // What stands before read-only data is no text: a version at its very start is a whole string too.
  std::string rest(1, '\0');
  for (std::uint64_t at = 0; at < range.size;) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(stream_piece, range.size - at));
    // Contexts that span two pieces are seen in the second one, with the end of the first in front of it.
    const auto count = append_read(elf.file, range.offset + at, length, rest);
    if (count == 0) return;
    collect_version_strings(rest, found);
    if (!found.anchored.empty()) return;
    rest.erase(0, rest.size() - std::min(rest.size(), overlap));
    at += count;
  }
}

Fact<std::string> decide(const VersionStrings& found, bool complete) {
  if (found.anchored.size() == 1) return Fact<std::string>::known(*found.anchored.begin());
  if (found.anchored.size() > 1) return Fact<std::string>::not_seen("the file names several driver versions as its own");
  if (found.bare.empty())
    return Fact<std::string>::not_seen(complete ? "no version in the file" : "no version where it usually stands");
  if (found.bare.size() == 1 && complete) return Fact<std::string>::known(*found.bare.begin());
  return Fact<std::string>::not_seen("the file names several driver versions and marks none as its own");
}

}  // namespace

void collect_version_strings(std::string_view bytes, VersionStrings& found) {
  // Every version has a dot behind three digits; dots are rare in binary data, so this runs at the speed of memchr.
  for (auto dot = bytes.find('.'); dot != std::string_view::npos; dot = bytes.find('.', dot + 1)) {
    if (dot < 4 || !digit(bytes[dot - 1]) || !digit(bytes[dot - 2]) || !digit(bytes[dot - 3])) continue;
    const auto start = dot - 3;
    const auto length = version_length(bytes.substr(start, 16));
    if (length == 0 || start + length >= bytes.size()) continue;
    const char before = bytes[start - 1], after = bytes[start + length];
    if (is_anchor(bytes.substr(0, start), after))
      found.anchored.emplace(bytes.substr(start, length));
    else if (after == '\0' && !printable(before))
      found.bare.emplace(bytes.substr(start, length));
  }
}

Fact<std::string> find_driver_version(const ElfFile& elf, bool thorough) {
  const auto ranges = read_only_data(elf);
  VersionStrings found;
  bool complete = true;
  for (const auto& range : ranges) {
    const auto tail = std::min(range.size, tail_piece), head = std::min(range.size - tail, head_piece);
    search(elf, {range.offset + range.size - tail, tail}, found);
    if (found.anchored.empty()) search(elf, {range.offset, head + std::min<std::uint64_t>(tail, overlap)}, found);
    if (!found.anchored.empty()) break;
    const auto between = range.size - tail - head;
    if (between == 0) continue;
    if (!thorough || between > max_searched) {
      complete = false;
      continue;
    }
    search(elf, {range.offset + head - std::min<std::uint64_t>(head, overlap), between + 2 * overlap}, found);
    if (!found.anchored.empty()) break;
  }
  return decide(found, complete);
}

}  // namespace gpuvet
