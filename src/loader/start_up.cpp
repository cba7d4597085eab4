// What is there before any library is searched for: the program, its interpreter, and what is to be preloaded.

#include <algorithm>

#include "loader/load_state.h"
#include "loader/tokens.h"

namespace gpuvet {
namespace {

std::string variable(const LoadState& state, const std::string& name) {
  const auto found = state.environment.find(name);
  return found == state.environment.end() ? std::string() : found->second;
}

/// Variables that change the search in ways that are not followed here.
void note_unfollowed(LoadState& state) {
  if (state.musl() || state.rules.secure) return;
  if (!variable(state, "LD_AUDIT").empty()) state.note("LD_AUDIT is set: that library may change what is found");
  if (variable(state, "GLIBC_TUNABLES").find("glibc.cpu.hwcaps") != std::string::npos)
    state.note("GLIBC_TUNABLES changes which CPU features count: other glibc-hwcaps folders may be searched");
}

void prepare_interpreter(LoadState& state, const LibraryFile& program) {
  state.interpreter = program.interpreter.empty() ? state.rules.loader_path : program.interpreter;
  if (state.interpreter.empty()) return;
  state.by_name.try_emplace(state.interpreter, interpreter_index);
  if (state.musl()) return;
  const auto* file = state.source.open(state.interpreter);
  if (file != nullptr && !file->soname.empty()) state.by_name.try_emplace(file->soname, interpreter_index);
}

void preload(LoadState& state, std::string_view name, std::string_view rule) {
  if (name.empty()) return;
  if (state.rules.secure && rule == "LD_PRELOAD") {
    // glibc takes such a library only from a default folder and with its set-user-ID bit set.
    state.note("LD_PRELOAD " + std::string(name) + " counts only with a set-user-ID bit of its own: the program is set-user-ID");
    return;
  }
  Request request;
  request.name = name;
  if (!state.musl() && has_tokens(name))
    request.name = expand_tokens(name, {state.memory[0].origin, state.rules.platform, state.rules.lib, false}).text;
  request.by = state.musl() ? -1 : 0;
  request.rule = rule;
  request.optional = true;
  // The loader itself is there already: glibc leaves it where something needs it.
  const auto known = state.by_name.find(request.name);
  const bool is_loader = !state.musl() && known != state.by_name.end() && known->second == interpreter_index;
  if (!request.name.empty() && !is_loader) load(state, request);
}

/// What the kernel refuses to execute (load_elf_binary of fs/binfmt_elf.c): fewer things than the loader refuses to map.
bool refused_by_kernel(std::string_view loader_error) {
  static constexpr std::string_view errors[] = {"ELF file data encoding", "ELF file's phentsize", "only ET_DYN and ET_EXEC",
                                                "cannot read file data", "file too short"};
  return std::ranges::any_of(errors, [&](std::string_view e) { return loader_error.starts_with(e); });
}

/// A library in the place of the program has to be one that the loader can map; that it is an executable does not matter there.
std::string error_of_main(const LibraryFile& file, bool is_library) {
  if (file.state != "elf") return "not an ELF file";
  if (!is_library) return refused_by_kernel(file.loader_error) ? "Exec format error" : "";
  return !file.loader_error.starts_with("cannot dynamically load") ? file.loader_error : std::string();
}

}  // namespace

void prepare_folders(LoadState& state) {
  const auto& rules = state.rules;
  state.hwcaps_folders = hwcaps_folders(rules);
  const auto list = rules.secure ? std::string() : variable(state, "LD_LIBRARY_PATH");
  if (state.musl()) {
    std::string present;
    for (const auto element : split_list(list, ":\n"))
      if (!element.empty()) present.append(present.empty() ? "" : ":").append(element);
    state.library_path = places_of(state, present, ":", -1, "LD_LIBRARY_PATH");
    static const std::vector<std::string> usual{"/lib", "/usr/local/lib", "/usr/lib"};
    state.defaults = places_of(state, rules.musl_path.empty() ? usual : rules.musl_path);
    return;
  }
  state.library_path = places_of(state, list, ":;", 0, "LD_LIBRARY_PATH");
  state.defaults = places_of(state, rules.defaults);
}

bool load_main(LoadState& state, const std::string& path, bool is_library) {
  const auto absolute = absolute_path(state, path);
  const LibraryFile* file = absolute.empty() ? nullptr : state.source.open(absolute);
  const auto error = file == nullptr ? std::string() : error_of_main(*file, is_library);
  if (file == nullptr || !error.empty()) {
    MissingLibrary missing;
    missing.name = path;
    if (file != nullptr) missing.blocked_by = path, missing.error = error;
    state.result.missing.push_back(std::move(missing));
    return false;
  }
  state.elf_class = file->elf_class;
  state.machine = file->machine;
  LoadedObject object;
  object.name = path;
  object.path = path;
  object.file = file;
  object.rule = "program";
  // A program knows the place of its real file (/proc/self/exe), a library the path by which it was opened.
  const auto& place = is_library || file->real_path.empty() ? absolute : file->real_path;
  add_object(state, std::move(object), {-1, folder_of(place), {}, {}});
  // Neither loader knows the program's inode: a library that needs the program's file opens it once more.
  if (!state.musl() && is_library) state.by_name.try_emplace(path, 0);
  if (!state.musl() && !file->soname.empty()) state.by_name.try_emplace(file->soname, 0);
  // A program without interpreter is started by the kernel alone; a record that does not tell its kind is taken for dynamic.
  const bool told_static = file->type == "program" && file->interpreter.empty();
  if (is_library || !file->needed.empty() || !file->interpreter.empty() || (file->dynamic && !told_static))
    prepare_interpreter(state, *file);
  prepare_folders(state);
  note_unfollowed(state);
  return true;
}

void load_preloads(LoadState& state) {
  const auto list = variable(state, "LD_PRELOAD");
  const std::string_view separators = state.musl() ? " \t\n\v\f\r:" : " :";
  if (!list.empty() && !(state.musl() && state.rules.secure))
    for (const auto name : split_list(list, separators)) preload(state, name, "LD_PRELOAD");
  if (state.musl()) return;
  for (const auto& name : state.rules.preload) preload(state, name, "ld.so.preload");
}

}  // namespace gpuvet
