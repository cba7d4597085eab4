#include "collect/host_compilers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "collect/lines.h"
#include "elf/elf_header.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_compilers = 256;
constexpr std::size_t max_path_folders = 128;
constexpr std::size_t max_features = std::size_t{256} << 10;
constexpr std::array families{"clang++"sv, "clang"sv, "g++"sv, "gcc"sv, "c++"sv, "cc"sv};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_version(std::string_view text) {
  return !text.empty() && is_digit(text.front()) && std::ranges::all_of(text, [](char c) { return is_digit(c) || c == '.'; });
}

/// The compiler's family in a name "TRIPLET-FAMILY-VERSION", both ends optional.
struct NameParts {
  std::string_view triplet, family, version;
};
std::optional<NameParts> parse_name(std::string_view name) {
  for (const auto family : families) {
    const auto at = name.rfind(family);
    if (at == std::string_view::npos) continue;
    if (at > 0 && name[at - 1] != '-') continue;
    auto rest = name.substr(at + family.size());
    if (!rest.empty() && (rest.front() != '-' || !is_version(rest.substr(1)))) continue;
    if (!rest.empty()) rest.remove_prefix(1);
    return NameParts{name.substr(0, at > 0 ? at - 1 : 0), family, rest};
  }
  return std::nullopt;
}

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }
std::string folder_of(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

/// Versions in lib/gcc/TRIPLET/VERSION or lib/clang/VERSION beside the compiler's bin folder.
std::vector<std::string> version_folders(System& system, const std::string& prefix, bool clang) {
  std::vector<std::string> versions;
  const auto add = [&](const std::string& folder) {
    for (const auto& entry : entries_of(system, folder, 64))
      if (is_version(entry.name) && entry.type != FileType::Regular && system.exists(folder + "/" + entry.name + "/include"))
        versions.push_back(entry.name);
  };
  if (clang) {
    add(prefix + "/lib/clang");
    if (versions.empty()) add(prefix + "/lib64/clang");
    return versions;
  }
  for (const auto& entry : entries_of(system, prefix + "/lib/gcc", 64))
    if (entry.type == FileType::Directory && entry.name.find("-w64-") == std::string::npos)
      add(prefix + "/lib/gcc/" + entry.name);
  return versions;
}

/// "GCC: (GNU) 14.2.1 20240912": which compiler made this compiler. A distribution's gcc is made by itself in its last stage.
std::string version_in_comment(System& system, const std::string& path) {
  const auto file = system.open(path);
  if (!file) return "";
  const auto header = read_elf_header(**file);
  const auto section = header ? find_section(**file, *header, ".comment") : std::nullopt;
  if (!section) return "";
  const auto text = (*file)->read_at(section->offset, static_cast<std::size_t>(std::min<std::uint64_t>(section->size, 4096)));
  if (!text) return "";
  const auto at = text->find("GCC: (");
  const auto close = at == std::string::npos ? at : text->find(") ", at);
  if (close == std::string::npos) return "";
  const auto rest = std::string_view(*text).substr(close + 2);
  const auto end = std::ranges::find_if_not(rest, [](char c) { return is_digit(c) || c == '.'; });
  const auto version = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  return is_version(version) ? std::string(version) : "";
}

/// The one version folder that no compiler with a version in its name belongs to.
std::string own_version_folder(System& system, const std::string& real_path, bool clang) {
  const auto bin = folder_of(real_path);
  auto versions = version_folders(system, folder_of(bin), clang);
  if (versions.size() > 1)
    std::erase_if(versions, [&](const std::string& v) {
      return system.exists(bin + (clang ? "/clang-" : "/gcc-") + v.substr(0, v.find('.'))) && folder_of(real_path) == bin;
    });
  return versions.size() == 1 ? versions.front() : "";
}

Fact<std::string> compiler_version(System& system, const std::string& real_path) {
  const auto name = file_name(real_path);
  if (const auto version = version_in_compiler_name(name); !version.empty())
    return Fact<std::string>::known(version, origin_of(real_path));
  const auto head = system.read_head(real_path, 4);
  if (!head) return not_seen_because<std::string>(head.error(), real_path);
  if (head->starts_with("#!"))
    return Fact<std::string>::not_seen(real_path + ": a script chooses the compiler", origin_of(real_path));
  const bool clang = name.find("clang") != std::string::npos;
  if (clang)  // …/lib/llvm-14/bin/clang
    for (const auto part : split(real_path, '/'))
      if (part.starts_with("llvm-"sv) && is_version(part.substr(5)))
        return Fact<std::string>::known(std::string(part.substr(5)), origin_of(real_path));
  if (const auto version = own_version_folder(system, real_path, clang); !version.empty())
    return Fact<std::string>::known(version, origin_of(folder_of(folder_of(real_path)) + (clang ? "/lib/clang/" : "/lib/gcc")));
  if (const auto version = clang ? "" : version_in_comment(system, real_path); !version.empty())
    return Fact<std::string>::known(version, origin_of(real_path, "GCC: … " + version));
  return Fact<std::string>::not_seen(real_path + ": no version in its name, its folders or its bytes", origin_of(real_path));
}

class Compilers {
 public:
  Compilers(System& system, const Machine& machine) : system_(system), machine_(machine) {}
  std::vector<HostCompiler> found;

  void file(const std::string& path, std::string_view found_by) {
    if (found.size() >= max_compilers) return;
    const auto real = system_.real_path(path);
    if (!real) return;
    HostCompiler compiler;
    compiler.name = file_name(path), compiler.path = path, compiler.real_path = *real, compiler.found_by = found_by;
    compiler.version = compiler_version(system_, *real);
    found.push_back(std::move(compiler));
  }

  /// What a variable names: a path, a folder (nvcc's -ccbin), or a name to look for on PATH; a launcher before it is passed over.
  void variable(std::string_view name, std::string_view value) {
    auto parts = words(value);
    if (parts.size() > 1 && (parts[0].ends_with("ccache") || parts[0] == "env")) parts.erase(parts.begin());
    if (parts.empty()) return;
    const std::string wanted(parts[0]);
    if (wanted.starts_with('/')) return system_.is_directory(wanted) ? file(wanted + "/g++", name) : file(wanted, name);
    if (wanted.find('/') != std::string::npos) return;
    for (const auto& folder : path_folders())
      if (system_.exists(folder + "/" + wanted)) return file(folder + "/" + wanted, name);
  }

  /// Names that no earlier folder of PATH has.
  void folder(const std::string& path, std::string_view found_by) {
    const auto real = system_.real_path(path);
    if (!real || !folders_.insert(*real).second) return;
    for (const auto& entry : entries_of(system_, path)) {
      if (entry.name.size() > 64 || entry.type == FileType::Directory || !is_compiler_name(entry.name)) continue;
      if (names_.insert(entry.name).second) file(path + "/" + entry.name, found_by);
    }
  }

  std::vector<std::string> path_folders() const {
    std::vector<std::string> folders;
    const auto path = machine_.environment.find("PATH");
    if (path == machine_.environment.end()) return folders;
    for (const auto part : split(path->second, ':'))
      if (part.starts_with('/') && folders.size() < max_path_folders) folders.emplace_back(part);
    return folders;
  }

 private:
  System& system_;
  const Machine& machine_;
  std::set<std::string> folders_, names_;
};

/// The argument of -ccbin or --compiler-bindir in a variable of options.
std::string ccbin_of(std::string_view options) {
  const auto parts = words(options);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const auto option : {"-ccbin"sv, "--compiler-bindir"sv}) {
      if (parts[i] == option && i + 1 < parts.size()) return std::string(parts[i + 1]);
      if (parts[i].starts_with(option) && parts[i].substr(option.size()).starts_with('='))
        return std::string(parts[i].substr(option.size() + 1));
    }
  return "";
}

void from_variables(const Machine& machine, Compilers& compilers) {
  for (const auto name : {"CC"sv, "CXX"sv, "CUDAHOSTCXX"sv, "NVCC_CCBIN"sv})
    if (const auto value = machine.environment.find(std::string(name)); value != machine.environment.end())
      compilers.variable(name, value->second);
  for (const auto name : {"NVCC_PREPEND_FLAGS"sv, "NVCC_APPEND_FLAGS"sv})
    if (const auto value = machine.environment.find(std::string(name)); value != machine.environment.end())
      if (const auto compiler = ccbin_of(value->second); !compiler.empty()) compilers.variable(name, compiler);
}

/// nvcc puts its own folder in front of PATH: a gcc there wins, be it a link that someone made or Debian's script.
void beside_nvcc(System& system, const Machine& machine, Compilers& compilers) {
  const auto* toolkits = machine.toolkits.found.get();
  if (toolkits == nullptr) return;
  for (const auto& toolkit : *toolkits) {
    if (!toolkit.nvcc.is_known() || toolkit.origin == "conda") continue;
    const auto folder = toolkit.origin == "distribution" ? "/usr/lib/nvidia-cuda-toolkit/bin" : toolkit.path + "/bin";
    for (const auto* name : {"/gcc", "/g++"})
      if (system.exists(folder + name)) compilers.file(folder + name, "beside nvcc");
  }
}

Fact<std::string> libc_headers(System& system, const Machine& machine) {
  const auto triplet = machine.os.architecture.value_or("x86_64") + "-linux-gnu";
  for (const auto& path : {std::string("/usr/include/features.h"), "/usr/include/" + triplet + "/features.h"}) {
    const auto text = system.read_file(path, max_features);
    if (!text && text.error().code == ErrorCode::NotFound) continue;
    if (!text) return not_seen_because<std::string>(text.error(), path);
    const auto version = glibc_version_in_header(*text);
    if (version.empty()) return Fact<std::string>::not_seen(path + ": no __GLIBC__ in it", origin_of(path));
    return Fact<std::string>::known(version, origin_of(path, "__GLIBC__ " + version));
  }
  return Fact<std::string>::absent(origin_of("/usr/include/features.h"));
}

}  // namespace

bool is_compiler_name(std::string_view name) {
  const auto parts = parse_name(name);
  return parts && (parts->triplet.empty() || parts->triplet.ends_with("-conda-linux-gnu"sv));
}

std::string version_in_compiler_name(std::string_view name) {
  const auto parts = parse_name(name);
  return parts ? std::string(parts->version) : "";
}

std::string glibc_version_in_header(std::string_view text) {
  std::string major, minor;
  for_each_line(text, [&](std::string_view line, std::uint32_t) {
    line = trim(line);
    if (!line.starts_with('#')) return true;
    const auto parts = words(line.substr(1));
    if (parts.size() < 3 || parts[0] != "define" || !decimal(parts[2])) return true;
    if (parts[1] == "__GLIBC__") major = parts[2];
    if (parts[1] == "__GLIBC_MINOR__") minor = parts[2];
    return major.empty() || minor.empty();
  });
  return major.empty() || minor.empty() ? "" : major + "." + minor;
}

void collect_host_compilers(System& system, Machine& machine) {
  Compilers compilers(system, machine);
  from_variables(machine, compilers);
  for (const auto& folder : compilers.path_folders()) compilers.folder(folder, "PATH");
  for (const auto* folder : {"/usr/bin", "/usr/local/bin"}) compilers.folder(folder, "usual folder");
  for (const auto& entry : entries_of(system, "/opt/rh", 256))
    if (entry.name.find("toolset-") != std::string::npos)
      compilers.folder("/opt/rh/" + entry.name + "/root/usr/bin", "usual folder");
  beside_nvcc(system, machine, compilers);
  machine.toolkits.compilers = Fact<std::vector<HostCompiler>>::known(std::move(compilers.found));
  machine.toolkits.libc_headers = libc_headers(system, machine);
}

}  // namespace gpuvet
