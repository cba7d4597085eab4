#include "elf/cuda_compiler.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "elf/elf_header.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t piece_size = std::size_t{128} << 10;
constexpr std::size_t overlap = std::size_t{8} << 10;  // the table of architectures is shorter
constexpr std::uint64_t most_read = std::uint64_t{8} << 20;
constexpr std::uint64_t small_file = std::uint64_t{64} << 10;

/// std::string_view::find goes from one first byte to the next, and NUL is everywhere in a table of strings; memmem does not.
std::size_t find_bytes(std::string_view bytes, std::string_view part, std::size_t from) {
  if (from >= bytes.size()) return std::string_view::npos;
  const auto* found = static_cast<const char*>(memmem(bytes.data() + from, bytes.size() - from, part.data(), part.size()));
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(found - bytes.data());
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The dotted number at the beginning of `text`: "13.0.88".
std::string_view leading_version(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && end < 32 && (is_digit(text[end]) || (text[end] == '.' && end > 0 && is_digit(text[end - 1]))))
    ++end;
  while (end > 0 && text[end - 1] == '.') --end;
  return text.substr(0, end);
}

/// "release 13.0, V13.0.88": the banner of every tool of the toolkit.
void find_release(std::string_view bytes, CompilerStrings& found) {
  constexpr auto banner = "Cuda compilation tools, release "sv;
  const auto at = find_bytes(bytes, banner, 0);
  if (at == std::string_view::npos || !found.release.empty()) return;
  auto rest = bytes.substr(at + banner.size(), 64);
  const auto release = leading_version(rest);
  rest.remove_prefix(release.size());
  if (!rest.starts_with(", V"sv)) return;
  const auto version = leading_version(rest.substr(3));
  // A number that the piece's end cuts is no version.
  if (release.empty() || version.empty() || version.size() + 3 == rest.size()) return;
  found.release = release;
  found.version = version;
}

/// Numbers NN of whole strings `prefix`NN: 75 of "sm_75", 100 of "sm_100". Targets with a letter ("sm_90a") are left out, as
/// `nvcc --list-gpu-code` does.
std::set<int> numbers_after(std::string_view bytes, std::string_view prefix) {
  std::set<int> numbers;
  const auto pattern = '\0' + std::string(prefix);
  for (std::size_t at = 0; (at = find_bytes(bytes, pattern, at)) != std::string_view::npos;) {
    at += pattern.size();
    const auto rest = bytes.substr(at, 4);
    const auto end = rest.find('\0');
    if (end == std::string_view::npos || end < 2 || !std::all_of(rest.begin(), rest.begin() + end, is_digit)) continue;
    int number = 0;
    for (const char c : rest.substr(0, end)) number = number * 10 + (c - '0');
    numbers.insert(number);
  }
  return numbers;
}

/// Architectures that are there as "sm_NN" and as "compute_NN". The table of targets has both for each; a lone sm_NN elsewhere in
/// the program is a target that it only knows by name.
void find_architectures(std::string_view bytes, CompilerStrings& found) {
  const auto real = numbers_after(bytes, "sm_"sv);
  if (real.empty()) return;
  const auto virtuals = numbers_after(bytes, "compute_"sv);
  std::vector<std::string> both;
  for (const int number : real)
    if (virtuals.contains(number)) both.push_back(std::to_string(number / 10) + "." + std::to_string(number % 10));
  if (both.size() > found.architectures.size()) found.architectures = std::move(both);
}

/// Parts of the file that hold constant texts, in the order of likelihood.
std::vector<std::pair<std::uint64_t, std::uint64_t>> constant_parts(FileReader& file) {
  if (file.size() <= small_file) return {{0, file.size()}};
  const auto header = read_elf_header(file);
  if (!header) return {};
  if (const auto section = find_section(file, *header, ".rodata")) return {{section->offset, section->size}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  constexpr std::uint32_t loaded = 1, executable = 1, writable = 2;
  for (const auto& segment : read_segments(file, *header))
    if (segment.type == loaded && (segment.flags & (executable | writable)) == 0)
      parts.emplace_back(segment.offset, segment.file_size);
  return parts;
}

}  // namespace

void collect_compiler_strings(std::string_view bytes, CompilerStrings& found) {
  find_release(bytes, found);
  find_architectures(bytes, found);
}

CompilerStrings read_compiler_strings(FileReader& file) {
  CompilerStrings found;
  std::uint64_t total = 0;
  const auto complete = [&] { return !found.release.empty() && !found.architectures.empty(); };
  for (const auto& [offset, size] : constant_parts(file)) {
    for (std::uint64_t at = 0; at < size && total < most_read; at += piece_size - overlap) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, size - at));
      const auto piece = file.read_at(offset + at, length);
      if (!piece || piece->empty()) break;
      // One piece more than needed: the end of this one may have cut the table, which the next one then has whole.
      const bool was_complete = complete();
      collect_compiler_strings(*piece, found);
      total += piece->size();
      if (was_complete) return found;
      if (at + length >= size) break;
    }
  }
  return found;
}

}  // namespace gpuvet
