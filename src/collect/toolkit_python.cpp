// Toolkits in Python environments. conda lays NVIDIA's tree over the environment's prefix; pip's wheels put it below
// site-packages/nvidia: one folder a wheel up to CUDA 12, one tree nvidia/cu13 from CUDA 13 on.
#include <algorithm>

#include "collect/lines.h"
#include "collect/toolkit_parts.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_toolkits = 128;

void add_pip(System& system, const PythonEnvironment& environment, const std::string& site,
             std::vector<ToolkitCandidate>& found) {
  const auto nvidia = site + "/nvidia";
  if (!system.is_directory(nvidia)) return;
  for (const auto* name : {"/cu13", "/cu14"})
    if (system.is_directory(nvidia + name))
      found.push_back({nvidia + name, "pip", environment.prefix, standard_layout(system, nvidia + name)});
  const auto nvcc = nvidia + "/cuda_nvcc", runtime = nvidia + "/cuda_runtime";
  const bool has_nvcc = system.is_directory(nvcc);
  if (!has_nvcc && !system.is_directory(runtime)) return;
  ToolkitLayout layout;
  layout.bins = {nvcc + "/bin"};
  layout.cicc = {nvcc + "/nvvm/bin"};
  layout.libdevice = {nvcc + "/nvvm/libdevice"};
  layout.includes = {nvcc + "/include", runtime + "/include"};
  layout.libs = {runtime + "/lib"};
  found.push_back({has_nvcc ? nvcc : runtime, "pip", environment.prefix, std::move(layout)});
}

struct CondaPackage {
  std::string name, version, file;
};

/// "cuda-nvcc-tools-12.6.85-he02047a_0.json" → name, version.
CondaPackage conda_package(std::string_view file) {
  const auto stem = file.substr(0, file.size() - std::min(file.size(), ".json"sv.size()));
  const auto build = stem.rfind('-');
  if (build == std::string_view::npos || build == 0) return {};
  const auto version = stem.rfind('-', build - 1);
  if (version == std::string_view::npos) return {};
  return {std::string(stem.substr(0, version)), std::string(stem.substr(version + 1, build - version - 1)), std::string(file)};
}

std::vector<CondaPackage> conda_cuda_packages(System& system, const std::string& prefix) {
  std::vector<CondaPackage> packages;
  for (const auto& entry : entries_of(system, prefix + "/conda-meta", 4096))
    if (entry.name.starts_with("cuda") && entry.name.ends_with(".json")) packages.push_back(conda_package(entry.name));
  return packages;
}

template <class Packages>
auto first_named(const Packages& packages, std::initializer_list<std::string_view> names) -> decltype(&*packages.begin()) {
  for (const auto name : names)
    for (const auto& package : packages)
      if (package.name == name) return &package;
  return nullptr;
}

void set(Fact<std::string>& fact, const std::string& value, const std::string& source, const std::string& quote) {
  if (!fact.is_known() && !value.empty()) fact = Fact<std::string>::known(value, origin_of(source, quote));
}

}  // namespace

std::vector<ToolkitCandidate> python_toolkits(System& system, const Machine& machine) {
  std::vector<ToolkitCandidate> found;
  const auto* environments = machine.python.environments.get();
  if (environments == nullptr) return found;
  for (const auto& environment : *environments) {
    if (found.size() >= max_toolkits) break;
    if (environment.kind == "conda" || environment.kind == "pixi" || system.is_directory(environment.prefix + "/conda-meta")) {
      ToolkitCandidate candidate{environment.prefix, "conda", environment.prefix, standard_layout(system, environment.prefix)};
      if (looks_like_toolkit(system, candidate)) found.push_back(std::move(candidate));
    }
    for (const auto& site : environment.site_packages) add_pip(system, environment, site, found);
  }
  return found;
}

void read_python_packages(System& system, const Machine& machine, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  if (candidate.origin == "conda") {
    const auto packages = conda_cuda_packages(system, candidate.environment);
    const auto* nvcc =
        first_named(packages, {"cuda-nvcc-tools", "cuda-nvcc-impl", "cuda-nvcc", "cuda-nvcc-dev_linux-64", "cudatoolkit-dev"});
    const auto* release =
        first_named(packages, {"cuda-toolkit", "cudatoolkit-dev", "cudatoolkit", "cuda-version", "cuda-cudart"});
    const auto source = [&](const CondaPackage& p) { return candidate.environment + "/conda-meta/" + p.file; };
    if (nvcc && toolkit.nvcc.is_known())
      set(toolkit.nvcc_version, nvcc->version, source(*nvcc), nvcc->name + " " + nvcc->version);
    if (release)
      set(toolkit.version, release->name == "cuda-cudart" ? release_of(release->version) : release->version, source(*release),
          release->name);
    const auto* owner = nvcc && toolkit.nvcc.is_known() ? nvcc : release;
    toolkit.package = owner ? Fact<std::string>::known(owner->name, origin_of(source(*owner))) : Fact<std::string>::absent();
    return;
  }
  const auto* environments = machine.python.environments.get();
  const auto found = environments == nullptr
                         ? std::vector<PythonEnvironment>::const_iterator{}
                         : std::ranges::find(*environments, candidate.environment, &PythonEnvironment::prefix);
  if (environments == nullptr || found == environments->end()) return;
  const auto* nvcc = first_named(found->packages, {"nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc-cu11"});
  const auto* runtime =
      first_named(found->packages, {"nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu11"});
  const auto* owner = nvcc ? nvcc : runtime;
  if (owner == nullptr) return;
  if (nvcc && toolkit.nvcc.is_known()) set(toolkit.nvcc_version, nvcc->version, nvcc->folder, nvcc->name);
  set(toolkit.version, release_of(owner->version), owner->folder, owner->name + " " + owner->version);
  toolkit.package = Fact<std::string>::known(owner->name, origin_of(owner->folder));
}

}  // namespace gpuvet
