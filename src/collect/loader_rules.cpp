// LoaderRules of a machine. Most of them stand in the loader's own file: its built-in folders, $LIB and the release of glibc;
// what a distribution is known for decides only where that file cannot be read.

#include <algorithm>
#include <array>
#include <charconv>

#include "collect/cpu_levels.h"
#include "collect/loader_view.h"
#include "collect/object_files.h"
#include "collect/working_folder.h"
#include "elf/elf.h"
#include "elf/elf_header.h"
#include "elf/read_only_data.h"
#include "elf/window_reader.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_loader_file = std::size_t{4} << 20;

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// 36 of "stable release version 2.36" in the loader's bytes, or of its file's name ("ld-2.31.so", before 2.34).
int glibc_minor_in(std::string_view bytes, std::string_view real_path) {
  constexpr auto words = "release version 2."sv;
  if (const auto at = bytes.find(words); at != std::string_view::npos) return number_at(bytes.substr(at + words.size(), 4));
  const auto name = real_path.substr(real_path.rfind('/') + 1);
  return name.starts_with("ld-2.") ? number_at(name.substr(5)) : 0;
}

bool is_folder_text(std::string_view text) {
  return text.size() < 512 && text.starts_with('/') && text.ends_with('/') && text.find("/lib") != std::string_view::npos &&
         std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 127; });
}

/// The built-in folders stand in the loader as one row of strings, each with a slash at both ends (glibc's SYSTEM_DIRS).
std::vector<std::string> built_in_folders(std::string_view bytes) {
  for (auto at = bytes.find("/\0"sv); at != std::string_view::npos; at = bytes.find("/\0"sv, at + 1)) {
    const auto start = bytes.substr(0, at).rfind('\0') + 1;
    std::vector<std::string> folders;
    for (auto next = start; next < bytes.size();) {
      const auto text = bytes.substr(next, bytes.find('\0', next) - next);
      if (!is_folder_text(text)) break;
      folders.emplace_back(text.substr(0, text.size() - 1));
      next += text.size() + 1;
    }
    if (!folders.empty()) return folders;
  }
  return {};
}

/// $LIB: the first built-in folder without its slash: "lib/x86_64-linux-gnu", "lib64".
std::string lib_token(const std::vector<std::string>& defaults) {
  if (defaults.empty()) return {};
  const auto& first = defaults.front();
  const auto at = first.find("/lib");
  return at == std::string::npos ? std::string() : first.substr(at + 1);
}

struct Target {
  std::string elf_class, machine, interpreter;
  bool wants_musl = false, wants_glibc = false;
};

Target target_of(System& system, const Machine& machine, const LibraryFile* program) {
  Target target;
  if (program != nullptr && program->state == "elf") {
    target.elf_class = program->elf_class;
    target.machine = program->machine;
    target.interpreter = program->interpreter;
    for (const auto& name : program->needed) {
      target.wants_glibc |= name == "libc.so.6";
      target.wants_musl |= name == "libc.so" || name.starts_with("libc.musl-");
    }
    return target;
  }
  const auto kind = program_kind(system, machine);
  target.elf_class = kind.elf_class;
  target.machine = kind.machine;
  return target;
}

/// Where glibc's loader lies by the ABI of each machine.
std::vector<std::string> glibc_loaders(const Target& target) {
  if (target.machine == "x86_64" && target.elf_class == "32") return {"/libx32/ld-linux-x32.so.2"};
  if (target.machine == "x86_64") return {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2"};
  if (target.machine == "aarch64") return {"/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-aarch64.so.1"};
  if (target.machine == "i386") return {"/lib/ld-linux.so.2"};
  if (target.machine == "ppc64") return {"/lib64/ld64.so.2"};
  if (target.machine == "s390x") return {"/lib/ld64.so.1"};
  if (target.machine == "arm") return {"/lib/ld-linux-armhf.so.3", "/lib/ld-linux.so.3"};
  return {};
}

std::string musl_loader(const Target& target) {
  const auto& arch = target.machine == "arm" ? std::string("armhf") : target.machine;
  return "/lib/ld-musl-" + arch + ".so.1";
}

/// The interpreter of the program; else the loader that this machine has for such files.
std::string loader_path(System& system, const Target& target) {
  if (!target.interpreter.empty()) return target.interpreter;
  const auto musl = musl_loader(target);
  if (target.wants_musl && system.exists(musl)) return musl;
  const auto candidates = glibc_loaders(target);
  for (const auto& path : candidates)
    if (system.exists(path)) return path;
  if (!target.wants_glibc && system.exists(musl)) return musl;
  return candidates.empty() ? std::string() : candidates.front();
}

std::vector<std::string> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  for (auto at = text.find_first_not_of(separators); at < text.size();) {
    const auto end = std::min(text.find_first_of(separators, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(separators, end);
  }
  return words;
}

/// /etc/ld-musl-ARCH.path beside the loader's folder: "/lib/ld-musl-x86_64.so.1" → "/etc/ld-musl-x86_64.path".
std::vector<std::string> musl_path(System& system, std::string_view loader) {
  const auto slash = loader.rfind('/');
  const auto name = loader.substr(slash + 1);
  const auto folder = loader.substr(0, slash);
  const auto prefix = folder.substr(0, folder.rfind('/'));
  const auto text = system.read_file(std::string(prefix) + "/etc/" + std::string(name.substr(0, name.find(".so"))) + ".path",
                                     std::size_t{64} << 10);
  return text ? words_of(*text, ":\n") : std::vector<std::string>{};
}

/// Does the kernel start this program in secure mode? File capabilities, which do the same, are not seen.
bool is_secure(System& system, const LibraryFile* program) {
  if (program == nullptr || program->interpreter.empty() || program->path.empty()) return false;
  const auto status = system.status(program->path);
  if (!status || (status->mode & 06000) == 0) return false;
  const auto identity = system.identity();
  if (!identity) return true;
  const bool other_user = (status->mode & 04000) != 0 && status->uid != identity->uid;
  const bool other_group =
      (status->mode & 02000) != 0 && std::ranges::find(identity->groups, status->gid) == identity->groups.end();
  return other_user || other_group;
}

/// The loader's strings; of a file that is laid out as no loader that we know of, all of its bytes.
std::string loader_bytes(System& system, const std::string& path) {
  const auto opened = system.open(path);
  if (!opened) return {};
  WindowReader file(**opened);
  if (const auto header = read_elf_header(file)) {
    const auto ranges = read_only_data({file, *header, read_segments(file, *header)});
    if (!ranges.empty() && ranges[0].size <= max_loader_file) {
      auto strings = file.read_at(ranges[0].offset, static_cast<std::size_t>(ranges[0].size)).value_or("");
      if (!built_in_folders(strings).empty() && glibc_minor_in(strings, "") != 0) return strings;
    }
  }
  return system.read_file(path, max_loader_file).value_or("");
}

void fill_glibc(System& system, const Machine& machine, const Target& target, LoaderRules& rules) {
  const auto bytes = loader_bytes(system, rules.loader_path);
  rules.defaults = built_in_folders(bytes);
  rules.glibc_minor = glibc_minor_in(bytes, "");
  if (rules.glibc_minor == 0) rules.glibc_minor = glibc_minor_in("", system.real_path(rules.loader_path).value_or(""));
  if (rules.defaults.empty()) rules.defaults = default_folders(system, machine);
  const auto version = machine.os.glibc.value_or(machine.loader.libc_version);
  if (rules.glibc_minor == 0 && version.starts_with("2.")) rules.glibc_minor = number_at(std::string_view(version).substr(2));
  rules.lib = lib_token(rules.defaults);
  const auto levels = read_cpu_levels(system, target.machine);
  const bool wide_x86 = target.machine == "x86_64" && target.elf_class == "64";
  rules.hwcaps = levels.hwcaps.empty() && wide_x86 ? machine.loader.hwcaps : levels.hwcaps;
  rules.isa_level = levels.isa_level;
  rules.platform = levels.platform;
  rules.legacy_hwcaps = levels.legacy;
  if (const auto* names = machine.loader.preload.get())
    rules.preload = *names;
  else if (const auto text = system.read_file("/etc/ld.so.preload", std::size_t{64} << 10))
    rules.preload = words_of(*text, " \t\r\n:");
}

}  // namespace

LoaderRules loader_rules(System& system, const Machine& machine, const LibraryFile* program) {
  LoaderRules rules;
  const auto target = target_of(system, machine, program);
  rules.loader_path = loader_path(system, target);
  if (rules.loader_path.find("/ld-musl-") != std::string::npos) {
    rules.kind = LoaderRules::Kind::Musl;
    rules.musl_path = musl_path(system, rules.loader_path);
  } else {
    fill_glibc(system, machine, target, rules);
  }
  rules.secure = is_secure(system, program);
  rules.working_directory = working_folder(system);
  return rules;
}

}  // namespace gpuvet
