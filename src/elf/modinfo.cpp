#include "elf/modinfo.h"

#include <algorithm>
#include <array>

#include "elf/elf_header.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t max_section = std::uint64_t{4} << 20;
constexpr std::size_t max_window = std::size_t{1} << 20;
constexpr std::size_t kept_window = std::size_t{512} << 10;  // amdgpu's .modinfo, the longest known, has 41 KiB
constexpr std::size_t max_padding = 64;
constexpr auto landmark = "vermagic="sv;

constexpr std::array known_keys{"srcversion"sv, "version"sv,     "vermagic"sv,  "license"sv,   "name"sv,      "depends"sv,
                                "author"sv,     "description"sv, "alias"sv,     "firmware"sv,  "parmtype"sv,  "parm"sv,
                                "softdep"sv,    "intree"sv,      "retpoline"sv, "supported"sv, "import_ns"sv, "rhelversion"sv,
                                "file"sv,       "staging"sv,     "livepatch"sv};

bool key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

bool is_pair(std::string_view text) {
  const auto equals = text.find('=');
  return equals != std::string_view::npos && equals > 0 && std::ranges::all_of(text.substr(0, equals), key_character);
}

/// Binary bytes of whatever stood before the section may stick to its first string: the string begins at its key then. Nothing
/// for text that is no pair.
std::string_view without_garbage(std::string_view text) {
  auto start = std::string_view::npos;
  for (const auto key : known_keys)
    for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1))
      if (text.substr(at + key.size()).starts_with('=')) start = std::min(start, at);
  if (start == std::string_view::npos) return {};
  const auto binary = [](char c) { return c < 0x20 || c == 0x7f; };
  return std::ranges::any_of(text.substr(0, start), binary) ? text.substr(start) : std::string_view{};
}

/// The same for bytes that look like a part of the key: keys are lower-case words, so "Be7Iversion" is a "version".
std::string_view without_false_letters(std::string_view pair) {
  const auto key = pair.substr(0, pair.find('='));
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  if (std::ranges::all_of(key, lower)) return pair;
  for (const auto known : known_keys)  // the longer of two that fit stands first
    if (key.ends_with(known)) return pair.substr(key.size() - known.size());
  return pair;
}

/// Where the run of pairs ends that contains `from`; npos when the window ends first.
std::size_t run_end(std::string_view window, std::size_t from, bool at_end) {
  std::size_t end = from;
  while (true) {
    const auto next = window.find_first_not_of('\0', end);
    if (next == std::string_view::npos) return at_end || window.size() - end > max_padding ? end : next;
    if (next - end > max_padding) return end;
    const auto stop = window.find('\0', next);
    if (stop == std::string_view::npos) return at_end || window.size() - next > 65536 ? end : stop;
    if (!is_pair(window.substr(next, stop - next))) return end;
    end = stop + 1;
  }
}

/// Where the run of pairs begins that contains a pair at `from`.
std::size_t run_front(std::string_view window, std::size_t from) {
  std::size_t begin = from;
  while (begin > 0) {
    const auto last = window.find_last_not_of('\0', begin - 1);
    if (last == std::string_view::npos || last + 1 == begin || begin - last > max_padding) return begin;
    const auto nul = window.rfind('\0', last);
    const auto start = nul == std::string_view::npos ? 0 : nul + 1;
    const auto text = window.substr(start, last + 1 - start);
    if (!is_pair(text)) {
      const auto rest = without_garbage(text);
      return rest.empty() ? begin : last + 1 - rest.size();
    }
    begin = start;
  }
  return begin;
}

std::size_t run_begin(std::string_view window, std::size_t from) {
  const auto begin = run_front(window, from);
  const auto first = ByteView{window}.c_string(begin);
  return begin + (first.size() - without_false_letters(first).size());
}

}  // namespace

ModuleInfo parse_modinfo(std::string_view section) {
  ModuleInfo info;
  std::size_t at = 0;
  while (at < section.size()) {
    const auto end = std::min(section.find('\0', at), section.size());
    const auto text = section.substr(at, end - at);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0) info.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    at = end + 1;
  }
  return info;
}

tl::expected<ModuleInfo, std::string> read_modinfo_section(FileReader& file) {
  const auto header = read_elf_header(file);
  if (!header) return tl::unexpected(header.error());
  const auto section = find_section(file, *header, ".modinfo");
  if (!section) return failure("no .modinfo section");
  if (section->size > max_section) return failure(".modinfo section too big");
  const auto bytes = file.read_at(section->offset, static_cast<std::size_t>(section->size));
  if (!bytes) return tl::unexpected(bytes.error().message);
  if (bytes->size() < section->size) return failure(".modinfo section beyond the end of the file");
  return parse_modinfo(*bytes);
}

tl::expected<ModuleInfo, std::string> read_module_info(std::string_view elf_bytes) {
  MemoryReader file(elf_bytes);
  auto info = read_modinfo_section(file);
  if (info) return info;
  const auto header = parse_elf_header(elf_bytes);
  if (!header) return tl::unexpected(header.error());
  ModinfoScanner scanner;
  if (scanner.feed(elf_bytes) || scanner.finish()) return std::move(scanner.info);
  return tl::unexpected(info.error());
}

bool ModinfoScanner::feed(std::string_view piece) {
  // A long piece goes in parts, so that the window keeps its bound.
  for (; !piece.empty(); piece.remove_prefix(std::min(piece.size(), kept_window))) {
    if (window_.size() > max_window) {
      window_.erase(0, window_.size() - kept_window);
      searched_ = 0;
    }
    window_.append(piece.substr(0, kept_window));
    if (scan(false)) return true;
  }
  return false;
}

bool ModinfoScanner::finish() { return scan(true); }

bool ModinfoScanner::scan(bool at_end) {
  const std::string_view window = window_;
  std::size_t at = searched_;
  while ((at = window.find(landmark, at)) != std::string_view::npos) {
    const bool starts = at == 0 || window[at - 1] == '\0';
    const char first = at + landmark.size() < window.size() ? window[at + landmark.size()] : '\0';
    if (!starts || first < '0' || first > '9') {
      at += landmark.size();
      continue;
    }
    const auto end = run_end(window, at, at_end);
    if (end == std::string_view::npos) {
      searched_ = at;  // the rest of the run comes with the next piece
      return false;
    }
    const auto begin = run_begin(window, at);
    info = parse_modinfo(window.substr(begin, end - begin));
    return true;
  }
  searched_ = window.size() - std::min(window.size(), landmark.size());
  return false;
}

}  // namespace gpuvet
