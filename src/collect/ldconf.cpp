#include "collect/ldconf.h"

#include <algorithm>
#include <set>

namespace gpuvet {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::string_view wildcards = "*?[";
constexpr int max_depth = 8;
constexpr std::size_t max_files = 256;
constexpr std::size_t max_folders = 1024;
constexpr std::size_t max_file = std::size_t{256} << 10;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Matches one "[…]" at the front of `pattern` and takes it off; nothing changes when it has no end.
bool match_class(std::string_view& pattern, char c, bool& matched) {
  const auto end = pattern.find(']', 2);
  if (end == std::string_view::npos) return false;
  auto set = pattern.substr(1, end - 1);
  const bool negated = set.front() == '!' || set.front() == '^';
  if (negated) set.remove_prefix(1);
  matched = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool range = i + 2 < set.size() && set[i + 1] == '-';
    if (range ? c >= set[i] && c <= set[i + 2] : c == set[i]) matched = true;
    if (range) i += 2;
  }
  matched = matched != negated;
  pattern.remove_prefix(end + 1);
  return true;
}

/// Does the first character of `name` match what `pattern` begins with (no '*')? Takes that off the pattern.
bool match_one(std::string_view& pattern, char c) {
  bool matched = false;
  if (pattern.front() == '[' && match_class(pattern, c, matched)) return matched;
  matched = pattern.front() == '?' || pattern.front() == c;
  pattern.remove_prefix(1);
  return matched;
}

struct Reader {
  System& system;
  std::vector<std::string>& problems;
  std::vector<SearchFolder> folders;
  std::set<std::string> seen;

  void read(const std::string& path, int depth) {
    if (depth > max_depth || seen.size() >= max_files || !seen.insert(path).second) return;
    const auto text = system.read_file(path, max_file);
    if (!text) {
      if (text.error().code != ErrorCode::NotFound) problems.push_back(text.error().message);
      return;
    }
    std::string_view rest = *text;
    for (std::uint32_t number = 1; !rest.empty(); ++number) {
      const auto end = rest.find('\n');
      const auto line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      take(parse_ldconf_line(line, path), {path, number, std::string(trim(line))}, depth);
    }
  }

  void take(const LdConfLine& line, Origin origin, int depth) {
    for (const auto& pattern : line.includes) include(pattern, depth);
    if (line.folder.empty() || folders.size() >= max_folders) return;
    const auto same = [&](const SearchFolder& f) { return f.path == line.folder; };
    if (std::ranges::any_of(folders, same)) return;
    origin.text.resize(std::min<std::size_t>(origin.text.size(), 300));
    folders.push_back({line.folder, "ld.so.conf", std::move(origin), system.is_directory(line.folder), {}});
  }

  /// Only the last component may be a pattern; nobody writes others.
  void include(const std::string& pattern, int depth) {
    const auto slash = pattern.rfind('/');
    const auto folder = slash == 0 ? std::string("/") : pattern.substr(0, slash);
    const auto last = std::string_view(pattern).substr(slash + 1);
    if (last.find_first_of(wildcards) == std::string_view::npos) return read(pattern, depth + 1);
    const auto entries = system.list(folder);
    if (!entries) {
      if (entries.error().code != ErrorCode::NotFound) problems.push_back(entries.error().message);
      return;
    }
    for (const auto& entry : *entries)
      if (glob_match(last, entry.name)) read((folder == "/" ? "" : folder) + "/" + entry.name, depth + 1);
  }
};

}  // namespace

LdConfLine parse_ldconf_line(std::string_view line, std::string_view including) {
  LdConfLine parsed;
  line = trim(line.substr(0, line.find('#')));
  const auto word = line.substr(0, line.find_first_of(blanks));
  if (word == "hwcap" && word.size() < line.size()) return parsed;  // of old glibc; ignored since 2.37
  if (word == "include" && word.size() < line.size()) {
    for (auto rest = trim(line.substr(word.size())); !rest.empty();) {
      const auto pattern = rest.substr(0, rest.find_first_of(blanks));
      const auto folder = including.substr(0, including.rfind('/') + 1);
      parsed.includes.push_back(pattern.starts_with('/') ? std::string(pattern) : std::string(folder) + std::string(pattern));
      rest = trim(rest.substr(pattern.size()));
    }
    return parsed;
  }
  // "folder=TYPE" named the C library of a folder long ago.
  line = trim(line.substr(0, line.find('=')));
  if (!line.starts_with('/')) return parsed;  // ldconfig refuses relative folders
  while (line.size() > 1 && line.back() == '/') line.remove_suffix(1);
  parsed.folder = line;
  return parsed;
}

bool glob_match(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  std::string_view after_star;  // pattern behind the last '*', and where in the name it was tried
  std::size_t at = 0, star_at = 0;
  bool star = false;
  while (at < name.size()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      after_star = pattern;
      star_at = at;
      star = true;
    } else if (auto rest = pattern; !rest.empty() && match_one(rest, name[at])) {
      pattern = rest;
      ++at;
    } else if (star) {
      pattern = after_star;
      at = ++star_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

std::vector<SearchFolder> read_ldconf(System& system, std::vector<std::string>& problems) {
  Reader reader{system, problems, {}, {}};
  reader.read("/etc/ld.so.conf", 0);
  return std::move(reader.folders);
}

}  // namespace gpuvet
