#include "loader/candidate.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuvet {
namespace {

/// What a loader does with a file that it could open.
struct Judgement {
  std::string error;         ///< it ends with this
  std::string passed_over;   ///< it goes on, because
  bool leaves_list = false;  ///< but not with this list of folders
};

/// Errors that open_verify() of glibc finds before it looks at the machine.
bool before_machine(std::string_view error) {
  constexpr std::array<std::string_view, 4> early{"file too short", "invalid ELF header", "nonzero padding in e_ident",
                                                  "ELF file data encoding"};
  return error.starts_with("ELF file") ? !error.starts_with("ELF file's phentsize")
                                       : std::ranges::any_of(early, [&](auto e) { return error.starts_with(e); });
}

std::string error_without_header(const LibraryFile& file) {
  if (!file.loader_error.empty()) return file.loader_error;
  if (file.state == "empty" || (file.size > 0 && file.size < 64)) return "file too short";
  return "invalid ELF header";
}

Judgement judge_glibc(const LoadState& state, const LibraryFile& file) {
  if (file.state == "dangling") return {"", "dangling link"};
  if (file.state == "unreadable" && file.loader_error.empty()) return {"", "unreadable"};
  if (file.state == "unreadable") return {"", file.loader_error, true};
  if (file.state == "too-big") return {"", "too big to be read"};
  if (file.state != "elf") return {error_without_header(file), ""};
  if (!state.elf_class.empty() && file.elf_class != state.elf_class) return {"", file.elf_class + "-bit"};
  if (before_machine(file.loader_error)) return {file.loader_error, ""};
  if (!state.machine.empty() && file.machine != state.machine) return {"", file.machine};
  if (!file.loader_error.empty()) return {file.loader_error, ""};
  if (file.type == "object" || file.type == "core") return {"only ET_DYN and ET_EXEC can be loaded", ""};
  return {};
}

/// musl takes what it can open and then maps it or fails.
Judgement judge_musl(const LoadState& state, const LibraryFile& file) {
  if (file.state == "dangling") return {"", "dangling link"};
  if (file.state == "unreadable" && file.loader_error.empty()) return {"", "unreadable"};
  if (file.state == "unreadable") return {file.loader_error, ""};
  if (file.state == "too-big") return {"", "too big to be read"};
  const bool fits = file.state == "elf" && (state.elf_class.empty() || file.elf_class == state.elf_class) &&
                    (state.machine.empty() || file.machine == state.machine) && file.type != "object";
  return {fits ? "" : "Exec format error", ""};
}

}  // namespace

void Search::passed_over(const std::string& path, std::string_view rule, std::string why) {
  if (!decided()) found_.tried.push_back({path, std::string(rule), std::move(why)});
}

/// The winner or a shadowed copy already, perhaps by another path.
bool Search::known_copy(const LibraryFile& file) const {
  const auto same = [&](const LibraryFile* other) {
    return other != nullptr && (other == &file || (!file.inode.empty() && other->inode == file.inode) ||
                                (!file.real_path.empty() && other->real_path == file.real_path));
  };
  return same(found_.file) || std::ranges::any_of(found_.shadows, [&](const auto& s) { return same(s.file); });
}

void Search::settle(const LibraryFile& file, const std::string& path, std::string_view rule, std::string_view detail,
                    std::string error) {
  if (!decided()) {
    found_.path = path;
    found_.rule = rule;
    found_.detail = detail;
    found_.error = std::move(error);
    found_.file = &file;
  } else if (error.empty() && !known_copy(file)) {
    found_.shadows.push_back({&file, path, std::string(rule)});
  }
}

void Search::at(const std::string& path, std::string_view rule, std::string_view detail) {
  const auto absolute = absolute_path(state_, path);
  const LibraryFile* file = absolute.empty() ? nullptr : state_.source.open(absolute);
  if (file == nullptr) return passed_over(path, rule, absolute.empty() ? "current folder not known" : "not there");
  auto [error, why, leaves] = state_.musl() ? judge_musl(state_, *file) : judge_glibc(state_, *file);
  found_.leaves_list = leaves;
  if (!why.empty()) return passed_over(path, rule, std::move(why));
  settle(*file, path, rule, detail, std::move(error));
}

void Search::folders(const std::vector<SearchPlace>& places, std::string_view rule) {
  for (const auto& place : places) {
    if (done()) return;
    const auto& below = existing_below(state_, *place.folder);
    if (below.empty()) passed_over(place.folder->prefix + std::string(name_), rule, "no such folder");
    for (const auto& sub : below) {
      if (done()) return;
      at(place.folder->prefix + sub + std::string(name_), rule, place.written);
      if (std::exchange(found_.leaves_list, false)) return;
    }
  }
}

Found open_path(LoadState& state, const std::string& path) {
  Search search(state, path);
  search.at(path, "path", "");
  return search.take();
}

}  // namespace gpuvet
