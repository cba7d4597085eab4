// What the files of a distribution say about it: os-release, architecture of its programs, its C library.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "collect/lines.h"
#include "collect/os_parts.h"
#include "elf/elf_header.h"

namespace gpuvet {
namespace {

struct OsReleaseFile {
  std::string path;
  std::string text;
};

Result<OsReleaseFile> read_os_release(System& system) {
  Result<std::string> text;
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    text = system.read_file(path, 65536);
    if (text && text->find("ID=") != std::string::npos) return OsReleaseFile{path, *text};
  }
  if (text) return tl::unexpected(SystemError{ErrorCode::Other, "/etc/os-release: no ID in it"});
  return tl::unexpected(text.error());
}

Origin line_of(const OsReleaseFile& file, std::string_view name) {
  Origin origin = origin_of(file.path);
  for_each_line(file.text, [&](std::string_view line, std::uint32_t number) {
    if (!trim(line).starts_with(std::string(name) + "=")) return true;
    origin = origin_of(file.path, trim(line), number);
    return false;
  });
  return origin;
}

void collect_os_release(System& system, OperatingSystem& os) {
  const std::pair<const char*, Fact<std::string>*> fields[] = {{"ID", &os.id},
                                                               {"ID_LIKE", &os.id_like},
                                                               {"VERSION_ID", &os.version_id},
                                                               {"VERSION_CODENAME", &os.codename},
                                                               {"PRETTY_NAME", &os.pretty_name}};
  const auto file = read_os_release(system);
  if (!file) {
    for (const auto& [name, fact] : fields) *fact = not_seen_because<std::string>(file.error(), "/etc/os-release");
    return;
  }
  const auto variables = parse_os_release(file->text);
  for (const auto& [name, fact] : fields) {
    const auto it = variables.find(name);
    const bool there = it != variables.end() && !it->second.empty();
    *fact = there ? Fact<std::string>::known(it->second, line_of(*file, name)) : Fact<std::string>::absent(origin_of(file->path));
  }
}

// ---- architecture -----------------------------------------------------------------------------------------------------

/// Programs and loaders that every distribution has; of several the first says what the others are.
constexpr const char* program_paths[] = {"/bin/sh",
                                         "/usr/bin/bash",
                                         "/usr/bin/env",
                                         "/bin/busybox",
                                         "/sbin/init",
                                         "/lib64/ld-linux-x86-64.so.2",
                                         "/lib/ld-linux-aarch64.so.1",
                                         "/lib/ld-musl-x86_64.so.1",
                                         "/lib/ld-musl-aarch64.so.1",
                                         "/lib64/ld64.so.2",
                                         "/lib/ld-linux-riscv64-lp64d.so.1",
                                         "/lib/ld64.so.1",
                                         "/lib/ld-linux-armhf.so.3",
                                         "/lib/ld-linux.so.2"};

/// The last part of a kernel release of Fedora's or Debian's kind: "…fc41.x86_64", "…-arm64".
std::string architecture_in_kernel(std::string_view release) {
  if (release.ends_with(".x86_64") || release.ends_with("-amd64")) return "x86_64";
  if (release.ends_with(".aarch64") || release.ends_with("-arm64") || release.ends_with("+64k") || release.ends_with("-tegra"))
    return "aarch64";
  if (release.ends_with(".ppc64le")) return "ppc64le";
  return {};
}

Fact<std::string> find_architecture(System& system, const Fact<std::string>& kernel) {
  for (const char* path : program_paths) {
    const auto head = system.read_head(path, 64);
    if (!head) continue;
    const auto header = parse_elf_header(*head);
    if (!header) continue;
    std::string name = elf_machine_name(header->machine);
    return Fact<std::string>::known(name, origin_of(path, "ELF machine " + name));
  }
  if (const std::string* release = kernel.get()) {
    const std::string name = architecture_in_kernel(*release);
    if (!name.empty()) return Fact<std::string>::known(name, kernel.origin());
  }
  if (const auto name = system.read_line("/var/lib/dpkg/arch-native"))
    return Fact<std::string>::known(*name == "amd64"   ? "x86_64"
                                    : *name == "arm64" ? "aarch64"
                                                       : *name,
                                    origin_of("/var/lib/dpkg/arch-native", *name));
  return Fact<std::string>::not_seen("no program or loader whose ELF header could be read");
}

// ---- C library --------------------------------------------------------------------------------------------------------

std::vector<std::string> libc_paths(const std::string& architecture) {
  std::string triplet = architecture + "-linux-gnu";
  if (architecture == "ppc64le") triplet = "powerpc64le-linux-gnu";
  if (architecture == "arm") triplet = "arm-linux-gnueabihf";
  return {"/lib/" + triplet + "/libc.so.6",
          "/usr/lib/" + triplet + "/libc.so.6",
          "/lib64/libc.so.6",
          "/usr/lib64/libc.so.6",
          "/lib/libc.so.6",
          "/usr/lib/libc.so.6"};
}

/// The banner lies in .rodata, near the end of the file: windows from the end on find it with a tenth of the reading. Without one
/// the names of symbol versions decide; they stand near the start.
std::string glibc_version_of(FileReader& file) {
  constexpr std::uint64_t largest = std::uint64_t{16} << 20, window = 64 << 10, overlap = 256, head = 256 << 10;
  for (std::uint64_t end = std::min(file.size(), largest); end > 0;) {
    const std::uint64_t start = end > window ? end - window : 0;
    const auto bytes = file.read_at(start, static_cast<std::size_t>(end - start + overlap));
    if (!bytes) return {};
    if (std::string version = glibc_banner_version(*bytes); !version.empty()) return version;
    end = start;
  }
  const auto bytes = file.read_at(0, head);
  return bytes ? glibc_version_in(*bytes) : std::string();
}

Fact<std::string> find_glibc(System& system, const std::string& architecture) {
  std::string why = "no libc.so.6 in the usual folders";
  for (const std::string& path : libc_paths(architecture)) {
    const auto file = system.open(path);
    if (!file) {
      if (file.error().code != ErrorCode::NotFound) why = file.error().message;
      continue;
    }
    const std::string version = glibc_version_of(**file);
    if (!version.empty()) return Fact<std::string>::known(version, origin_of(path));
    why = path + ": no glibc release in it";
  }
  for (const char* name : {"x86_64", "aarch64", "armhf", "i386"}) {
    const std::string musl = std::string("/lib/ld-musl-") + name + ".so.1";
    if (system.exists(musl)) return Fact<std::string>::absent(origin_of(musl, "musl"));
  }
  return Fact<std::string>::not_seen(why);
}

/// "2.35" at the front of a text; empty when there is none.
std::string version_at(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto parts = split(text.substr(0, end), '.');
  if (parts.size() < 2 || !decimal(parts[0]) || !decimal(parts[1])) return {};
  return std::string(parts[0]) + "." + std::string(parts[1]);
}

/// The highest GLIBC_2.N among the version definitions: what is left when the banner is not there.
std::string highest_symbol_version(std::string_view libc) {
  constexpr std::string_view mark = "GLIBC_2.";
  std::int64_t highest = -1;
  for (std::size_t at = libc.find(mark); at != std::string_view::npos; at = libc.find(mark, at + 1)) {
    const std::string_view rest = libc.substr(at + mark.size(), 8);
    const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
    highest = std::max(highest, decimal(rest.substr(0, end)).value_or(-1));
  }
  return highest < 0 ? std::string() : "2." + std::to_string(highest);
}

}  // namespace

std::string unquote_os_release(std::string_view value) {
  value = trim(value);
  if (value.empty() || (value.front() != '"' && value.front() != '\'')) return std::string(value.substr(0, value.find(' ')));
  const char quote = value.front();
  std::string result;
  for (std::size_t i = 1; i < value.size() && value[i] != quote; ++i) {
    if (quote == '"' && value[i] == '\\' && i + 1 < value.size()) ++i;
    result += value[i];
  }
  return result;
}

std::map<std::string, std::string> parse_os_release(std::string_view text) {
  std::map<std::string, std::string> variables;
  for_each_line(text, [&](std::string_view line, std::uint32_t) {
    line = trim(line);
    const std::size_t equal = line.find('=');
    if (!line.empty() && line.front() != '#' && equal != std::string_view::npos && equal > 0)
      variables[std::string(line.substr(0, equal))] = unquote_os_release(line.substr(equal + 1));
    return variables.size() < 200;
  });
  return variables;
}

std::string glibc_banner_version(std::string_view bytes) {
  // "GNU C Library (Ubuntu GLIBC 2.35-0ubuntu3.8) stable release version 2.35." (csu/version.c)
  constexpr std::string_view mark = "GNU C Library (", words = "release version ";
  // memmem is many times faster than string_view::find.
  const void* banner = bytes.empty() ? nullptr : ::memmem(bytes.data(), bytes.size(), mark.data(), mark.size());
  if (banner == nullptr) return {};
  const std::string_view text = bytes.substr(static_cast<std::size_t>(static_cast<const char*>(banner) - bytes.data()), 200);
  const std::size_t release = text.find(words);
  return release == std::string_view::npos ? std::string() : version_at(text.substr(release + words.size()));
}

std::string glibc_version_in(std::string_view libc) {
  std::string version = glibc_banner_version(libc);
  return version.empty() ? highest_symbol_version(libc) : version;
}

void collect_release(System& system, OperatingSystem& os) {
  collect_os_release(system, os);
  os.architecture = find_architecture(system, os.kernel);
  os.glibc = find_glibc(system, os.architecture.value_or("x86_64"));
}

}  // namespace gpuvet
