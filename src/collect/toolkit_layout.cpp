#include <algorithm>
#include <array>

#include "collect/toolkit_parts.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_targets = 8;

/// Folders below targets/: "x86_64-linux", "sbsa-linux", "aarch64-linux"; the machine's own comes first when there is but one.
std::vector<std::string> target_folders(System& system, const std::string& root) {
  std::vector<std::string> folders;
  const auto entries = system.list(root + "/targets", max_targets);
  if (!entries) return folders;
  for (const auto& entry : *entries)
    if (entry.name.ends_with("-linux")) folders.push_back(root + "/targets/" + entry.name);
  return folders;
}

/// Keeps folders that exist, each real one once.
std::vector<std::string> existing(System& system, const std::vector<std::string>& folders) {
  std::vector<std::string> kept, reals;
  for (const auto& folder : folders) {
    const auto real = system.real_path(folder);
    if (!real || std::ranges::find(reals, *real) != reals.end()) continue;
    reals.push_back(*real);
    kept.push_back(folder);
  }
  return kept;
}

}  // namespace

ToolkitLayout standard_layout(System& system, const std::string& root) {
  ToolkitLayout layout;
  layout.bins = {root + "/bin"};
  layout.cicc = {root + "/nvvm/bin", root + "/bin"};
  layout.libdevice = {root + "/nvvm/libdevice"};
  std::vector<std::string> includes{root + "/include"}, libs{root + "/lib64", root + "/lib"};
  for (const auto& target : target_folders(system, root)) {
    includes.push_back(target + "/include");
    libs.push_back(target + "/lib");
  }
  layout.includes = existing(system, includes);
  layout.libs = existing(system, libs);
  return layout;
}

ToolkitLayout distribution_layout(System& system, const Machine& machine) {
  ToolkitLayout layout;
  // Debian and Ubuntu: the compiler's own programs in a folder of their own, a script in /usr/bin calls it. Fedora (negativo17):
  // all programs in /usr/bin, headers below /usr/include/cuda, libdevice in /usr/share/cuda.
  const std::string debian = "/usr/lib/nvidia-cuda-toolkit";
  layout.well_known = system.is_directory(debian);
  layout.bins = {"/usr/bin"};
  layout.cicc = {debian + "/bin", "/usr/bin", "/usr/libexec/cuda/nvvm/bin", "/usr/libexec/cuda/open64/bin"};
  layout.libdevice = {debian + "/libdevice", "/usr/share/cuda", "/usr/lib/cuda/nvvm/libdevice"};
  layout.includes = existing(system, {"/usr/include", "/usr/include/cuda"});
  const auto triplet = machine.os.architecture.value_or("x86_64") + "-linux-gnu";
  layout.libs = existing(system, {"/usr/lib/" + triplet, "/usr/lib64", "/usr/lib"});
  if (layout.well_known) layout.bins.push_back(debian + "/bin");
  return layout;
}

std::optional<std::string> find_entry(System& system, const std::vector<std::string>& folders, std::string_view name) {
  for (const auto& folder : folders)
    if (auto path = folder + "/" + std::string(name); system.status(path, false)) return path;
  return std::nullopt;
}

std::optional<std::string> find_runtime_library(System& system, const ToolkitLayout& layout) {
  // libcudart.so.N in every release since 12, libcudart.so.N.M before; the table of releases ends where no CUDA is in use any
  // more.
  static constexpr std::array sonames{"libcudart.so.13"sv,   "libcudart.so.12"sv,   "libcudart.so.11.0"sv, "libcudart.so.10.2"sv,
                                      "libcudart.so.10.1"sv, "libcudart.so.10.0"sv, "libcudart.so.9.2"sv,  "libcudart.so.9.1"sv,
                                      "libcudart.so.9.0"sv,  "libcudart.so.8.0"sv,  "libcudart.so.14"sv,   "libcudart.so.15"sv};
  for (const auto soname : sonames)
    if (auto path = find_entry(system, layout.libs, soname); path && system.exists(*path)) return path;
  return std::nullopt;
}

bool looks_like_toolkit(System& system, const ToolkitCandidate& candidate) {
  const auto& layout = candidate.layout;
  // A wrapper of the name nvcc alone (HPC SDK's compilers/bin) is no toolkit, but a removed file's dangling link is a trace of
  // one.
  const auto has = [&](const std::vector<std::string>& folders, std::string_view name) {
    return find_entry(system, folders, name).has_value();
  };
  if (has(layout.cicc, "cicc") || has(layout.bins, "ptxas") || has(layout.includes, "cuda_runtime.h")) return true;
  if (has({candidate.path}, "version.json") || has({candidate.path}, "version.txt")) return true;
  if (has(layout.bins, "nvcc") && has(layout.bins, "nvcc.profile")) return true;
  return find_runtime_library(system, layout).has_value();
}

}  // namespace gpuvet
