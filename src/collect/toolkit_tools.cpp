// Tools of a toolkit: are they programs, and does the loader find what they need?
#include <algorithm>
#include <array>

#include "collect/lines.h"
#include "collect/loader_view.h"
#include "collect/toolkit_parts.h"
#include "elf/dynamic.h"
#include "elf/ldso_cache.h"
#include "loader/search_path.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::array tool_names{
    "nvcc"sv,       "ptxas"sv,    "fatbinary"sv, "cudafe++"sv,          "nvlink"sv,        "cuobjdump"sv, "nvdisasm"sv,
    "nvprune"sv,    "cu++filt"sv, "cuda-gdb"sv,  "compute-sanitizer"sv, "cuda-memcheck"sv, "nsys"sv,      "ncu"sv,
    "nsight-sys"sv, "nvprof"sv,   "nvvp"sv};
/// Parts of the C library and of the compiler's own runtime: without them nothing at all runs, so they are never what a tool
/// lacks.
constexpr std::array everywhere{"libc.so."sv,     "libm.so."sv,    "libdl.so."sv,   "libpthread.so."sv,
                                "librt.so."sv,    "ld-linux"sv,    "libutil.so."sv, "libstdc++.so."sv,
                                "libgcc_s.so."sv, "libcuda.so."sv, "linux-vdso"sv};
constexpr std::size_t max_needed = 64;

bool is_everywhere(std::string_view soname) {
  return std::ranges::any_of(everywhere, [&](std::string_view prefix) { return soname.starts_with(prefix); });
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Folders of an RPATH or RUNPATH; an element with another variable than $ORIGIN is given back as empty.
std::vector<std::string> expand_run_path(std::string_view value, const std::string& origin) {
  std::vector<std::string> folders;
  for (const auto part : split(value, ':')) {
    std::string folder(part);
    for (const auto name : {"${ORIGIN}"sv, "$ORIGIN"sv})
      if (const auto at = folder.find(name); at != std::string::npos) folder.replace(at, name.size(), origin);
    folders.push_back(folder.find('$') == std::string::npos ? folder : "");
  }
  return folders;
}

struct Program {
  std::vector<std::string> needed, folders;
  bool understood = true;
};

Program read_program(FileReader& file, const std::string& real_path) {
  Program program;
  const auto header = read_elf_header(file);
  if (!header) return program;
  const ElfFile elf{file, *header, read_segments(file, *header)};
  const auto dynamic = read_dynamic_section(elf);
  if (!dynamic) return program;
  for (const auto offset : dynamic->needed)
    if (program.needed.size() < max_needed) program.needed.push_back(dynamic_string(elf, *dynamic, offset));
  const auto path = dynamic->runpath ? dynamic->runpath : dynamic->rpath;
  if (path) program.folders = expand_run_path(dynamic_string(elf, *dynamic, *path), folder_of(real_path));
  program.understood = std::ranges::find(program.folders, "") == program.folders.end();
  return program;
}

std::string state_of(System& system, const std::string& path, std::unique_ptr<FileReader>& file) {
  const auto status = system.status(path);
  if (!status)
    return status.error().code == ErrorCode::NotFound || status.error().code == ErrorCode::Loop ? "dangling" : "unreadable";
  if (status->type != FileType::Regular) return "not-a-program";
  if (status->size == 0) return "empty";
  if ((status->mode & 0111) == 0) return "not-executable";
  auto opened = system.open(path);
  const auto head = opened ? (*opened)->read_at(0, 4) : Result<std::string>(tl::unexpected(opened.error()));
  if (!head) return "unreadable";
  if (head->starts_with("#!")) return "script";
  if (*head !=
      "\x7f"
      "ELF")
    return "not-a-program";
  file = std::move(*opened);
  return "elf";
}

std::vector<std::string> missing_libraries(System& system, const ToolkitCandidate& candidate, SonameSearch& search,
                                           const std::string& path, FileReader& file) {
  std::vector<std::string> missing;
  const auto real = system.real_path(path);
  const auto program = read_program(file, real ? *real : path);
  if (!program.understood) return missing;
  for (const auto& soname : program.needed) {
    if (soname.empty() || soname.find('/') != std::string::npos || is_everywhere(soname)) continue;
    // The toolkit's own libraries are another matter: a shell has to put their folder on the path.
    if (find_entry(system, candidate.layout.libs, soname)) continue;
    if (!search.may_find(soname, program.folders)) missing.push_back(soname);
  }
  return missing;
}

}  // namespace

SonameSearch::SonameSearch(System& system, const Machine& machine) : system_(system) {
  if (const auto value = machine.environment.find("LD_LIBRARY_PATH"); value != machine.environment.end())
    for (auto& folder : split_library_path(value->second)) folders_.push_back(std::move(folder));
  for (auto& folder : default_folders(system, machine)) folders_.push_back(std::move(folder));
  // A root without a C library holds only a part of a machine: there nothing is missing for sure.
  const bool has_libc =
      std::ranges::any_of(folders_, [&](const auto& folder) { return in_folder(folder, "libc.so.6"); }) || in_cache("libc.so.6");
  complete_ = complete_ && has_libc;
}

bool SonameSearch::in_folder(const std::string& folder, const std::string& soname) {
  const auto status = system_.status(folder + "/" + soname);
  if (!status && status.error().code != ErrorCode::NotFound) complete_ = false;
  return status.has_value();
}

bool SonameSearch::in_cache(const std::string& soname) {
  if (!cache_) {
    cache_.emplace();
    const auto bytes = system_.read_file("/etc/ld.so.cache", std::size_t{16} << 20);
    const auto entries = bytes ? read_loader_cache(*bytes) : tl::unexpected<std::string>("");
    if (entries)
      for (const auto& entry : *entries) cache_->insert(entry.soname);
    if (!bytes ? bytes.error().code != ErrorCode::NotFound : !entries) complete_ = false;
  }
  return cache_->contains(soname);
}

bool SonameSearch::may_find(const std::string& soname, const std::vector<std::string>& own_folders) {
  if (!complete_) return true;
  if (std::ranges::any_of(own_folders, [&](const auto& folder) { return in_folder(folder, soname); })) return true;
  const auto [it, added] = known_.try_emplace(soname, false);
  if (added)
    it->second = std::ranges::any_of(folders_, [&](const auto& folder) { return in_folder(folder, soname); }) || in_cache(soname);
  return it->second || !complete_;
}

void read_toolkit_tools(System& system, const ToolkitCandidate& candidate, SonameSearch& search, Toolkit& toolkit) {
  const auto add = [&](std::string_view name, const std::vector<std::string>& folders) {
    const auto path = find_entry(system, folders, name);
    if (!path) return;
    ToolkitTool tool{std::string(name), *path, "", {}};
    std::unique_ptr<FileReader> file;
    tool.state = state_of(system, *path, file);
    if (file) tool.missing_libraries = missing_libraries(system, candidate, search, *path, *file);
    toolkit.tools.push_back(std::move(tool));
  };
  for (const auto name : tool_names) add(name, candidate.layout.bins);
  add("cicc", candidate.layout.cicc);
}

}  // namespace gpuvet
