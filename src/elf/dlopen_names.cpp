#include "elf/dlopen_names.h"

#include <algorithm>

#include "elf/dynamic.h"
#include "elf/read_only_data.h"
#include "elf/window_reader.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t piece = std::size_t{32} << 10;
constexpr std::size_t longest_name = 128;
constexpr std::size_t overlap = 2 * longest_name;
constexpr std::size_t max_names = 256;
constexpr std::uint64_t max_searched = std::uint64_t{64} << 20;
constexpr auto infix = ".so"sv;

using Names = std::set<std::string, std::less<>>;

bool digit(char c) { return c >= '0' && c <= '9'; }

bool name_character(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '+' || c == '.';
}

/// Behind ".so": nothing, or numbers that follow a dot each.
bool is_version(std::string_view text) {
  while (!text.empty()) {
    if (text[0] != '.') return false;
    const auto end = std::min(text.find('.', 1), text.size());
    if (end == 1 || !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end), digit)) return false;
    text.remove_prefix(end);
  }
  return true;
}

/// The string around a ".so", when NULs stand on both sides; empty otherwise.
std::string_view whole_string(std::string_view bytes, std::size_t at) {
  auto start = at;
  while (start > 0 && at - start < longest_name && name_character(bytes[start - 1])) --start;
  auto end = at + infix.size();
  while (end < bytes.size() && end - at < longest_name && name_character(bytes[end])) ++end;
  if (start == 0 || bytes[start - 1] != '\0' || end == bytes.size() || bytes[end] != '\0') return {};
  return bytes.substr(start, end - start);
}

/// In pieces that fit into the cache: names that span two are seen in the second one, with the end of the first in front of it.
void search(FileReader& file, FileRange range, Names& names) {
  std::string buffer(overlap + static_cast<std::size_t>(std::min<std::uint64_t>(piece, range.size)), '\0');
  std::size_t kept = 1;
  for (std::uint64_t at = 0; at < range.size && names.size() < max_names;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece, range.size - at));
    const auto count = file.read_into(range.offset + at, buffer.data() + kept, wanted).value_or(0);
    if (count == 0) return;
    const auto end = kept + count;
    collect_sonames(std::string_view(buffer).substr(0, end), names);
    kept = std::min(end, overlap);
    std::copy(buffer.data() + (end - kept), buffer.data() + end, buffer.data());
    at += count;
  }
}

void leave_out_needed(const ElfFile& elf, Names& names) {
  const auto dynamic = read_dynamic_section(elf);
  if (!dynamic) return;
  for (const auto offset : dynamic->needed) names.erase(dynamic_string(elf, *dynamic, offset));
  if (dynamic->soname) names.erase(dynamic_string(elf, *dynamic, *dynamic->soname));
}

}  // namespace

void collect_sonames(std::string_view bytes, Names& names) {
  for (auto at = bytes.find(infix); at != std::string_view::npos; at = bytes.find(infix, at + 1)) {
    const auto name = whole_string(bytes, at);
    if (!name.starts_with("lib") || name.size() < 7) continue;
    if (is_version(name.substr(name.find(infix) + infix.size())) && names.size() < max_names) names.emplace(name);
  }
}

std::vector<std::string> read_dlopen_names(FileReader& file) {
  WindowReader windows(file);
  const auto header = read_elf_header(windows);
  if (!header) return {};
  const ElfFile elf{windows, *header, read_segments(windows, *header)};
  Names names;
  auto left = max_searched;
  for (auto range : read_only_data(elf)) {
    range.size = std::min(range.size, left);
    left -= range.size;
    search(file, range, names);
  }
  leave_out_needed(elf, names);
  return {names.begin(), names.end()};
}

}  // namespace gpuvet
