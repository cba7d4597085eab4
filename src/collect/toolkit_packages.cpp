// Who installed a toolkit: NVIDIA's packages carry the release in their names (cuda-nvcc-12-6), a distribution's have one name,
// the runfile leaves its uninstaller.
#include <algorithm>

#include "collect/lines.h"
#include "collect/toolkit_parts.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_list = std::size_t{4} << 20;

bool is_installed(const Package& package) { return package.status != "config-files" && package.status != "not-installed"; }

/// "11.8" of "11.8.89~11.8.0-5~deb12u1", "12.6.85" of "12.6.85-1", of "1:12.4.1-2.fc40" without the epoch.
std::string upstream_version(std::string_view version) {
  if (const auto epoch = version.find(':'); epoch != std::string_view::npos) version.remove_prefix(epoch + 1);
  const auto end = std::ranges::find_if_not(version, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return std::string(version.substr(0, static_cast<std::size_t>(end - version.begin())));
}

const Package* find_installed(const Machine& machine, auto&& wanted) {
  const auto* installed = machine.packages.installed.get();
  if (installed == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*installed, [&](const Package& p) { return is_installed(p) && wanted(p); });
  return found == installed->end() ? nullptr : &*found;
}

/// Release that the folder's own name tells: "12.6" of "/usr/local/cuda-12.6".
std::string release_in_folder(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return name.starts_with("cuda-"sv) ? std::string(name.substr(5)) : std::string();
}

/// Does the package manager's list of the package's files name this one? Nothing where there is no readable list.
std::optional<bool> list_names(System& system, const Package& package, const std::string& path) {
  std::string list;
  if (package.manager == "dpkg") {
    list = "/var/lib/dpkg/info/" + package.name + ".list";
    if (!system.exists(list)) list = "/var/lib/dpkg/info/" + package.name + ":" + package.architecture + ".list";
  } else if (package.manager == "pacman") {
    list = "/var/lib/pacman/local/" + package.name + "-" + package.version + "/files";
  } else {
    return std::nullopt;
  }
  const auto text = system.read_file(list, max_list);
  if (!text) return std::nullopt;
  const auto line = package.manager == "pacman" ? path.substr(1) : path;
  for (std::size_t at = 0; (at = text->find(line, at)) != std::string::npos; at += line.size()) {
    const auto end = at + line.size();
    const bool starts = at == 0 || (*text)[at - 1] == '\n' || (*text)[at - 1] == '/';
    if (starts && (end == text->size() || (*text)[end] == '\n' || (*text)[end] == '\t')) return true;
  }
  return false;
}

std::string origin_for(const Package& package) {
  return package.manager == "dpkg" ? "deb" : package.manager == "rpm" ? "rpm" : "pacman";
}

/// The package that brings (or, of a toolkit without nvcc, would best stand for) this toolkit.
const Package* nvidia_package(const Machine& machine, const std::string& release, bool has_nvcc) {
  if (release.empty()) return nullptr;
  const auto of_release = [&](const Package& p) { return release_in_package_name(p.name) == release; };
  const auto* nvcc = find_installed(machine, [&](const Package& p) { return p.name.starts_with("cuda-nvcc-") && of_release(p); });
  // Up to CUDA 9 and 10 the compiler came with cuda-core and cuda-compiler.
  if (nvcc == nullptr)
    nvcc = find_installed(machine, [&](const Package& p) {
      return (p.name.starts_with("cuda-core-") || p.name.starts_with("cuda-compiler-")) && of_release(p);
    });
  if (nvcc != nullptr || has_nvcc) return nvcc;
  return find_installed(machine, of_release);
}

const Package* distribution_package(const Machine& machine, bool has_nvcc) {
  if (has_nvcc) {
    for (const auto name : {"nvidia-cuda-toolkit"sv, "cuda-nvcc"sv, "cuda"sv, "cuda-devel"sv}) {
      const auto has_name = [&](const Package& p) { return p.name == name; };
      if (const auto* package = find_installed(machine, has_name)) return package;
    }
  }
  const auto is_runtime = [](const Package& p) { return p.name.starts_with("libcudart") || p.name == "cuda-cudart"; };
  return find_installed(machine, is_runtime);
}

void set_versions(const Package& package, Toolkit& toolkit) {
  const auto version = upstream_version(package.version);
  if (version.empty()) return;
  if (!toolkit.version.is_known())
    toolkit.version =
        Fact<std::string>::known(release_of(version), origin_of(package.origin.source, package.name + " " + package.version));
  if (toolkit.nvcc.is_known() && !toolkit.nvcc_version.is_known() && package.name.find("nvcc") != std::string::npos)
    toolkit.nvcc_version =
        Fact<std::string>::known(version, origin_of(package.origin.source, package.name + " " + package.version));
}

bool has_runfile_uninstaller(System& system, const std::string& path) {
  // cuda-uninstaller since 10.1, before it uninstall_cuda_toolkit_10.0.pl and the like.
  if (system.exists(path + "/bin/cuda-uninstaller")) return true;
  const auto release = release_in_folder(path);
  return !release.empty() && (system.exists(path + "/bin/uninstall_cuda_toolkit_" + release + ".pl") ||
                              system.exists(path + "/bin/uninstall_cuda_" + release + ".pl"));
}

void set_package(System& system, const Package* package, const std::string& default_origin, Toolkit& toolkit) {
  const auto* nvcc = toolkit.nvcc.get();
  if (package == nullptr) {
    toolkit.package = Fact<std::string>::absent();
    return;
  }
  const auto listed = nvcc ? list_names(system, *package, *nvcc) : std::nullopt;
  if (listed == false) {
    toolkit.package = Fact<std::string>::absent(origin_of(package->origin.source, "not a file of " + package->name));
    return;
  }
  toolkit.package = Fact<std::string>::known(package->name, package->origin);
  if (!default_origin.empty()) toolkit.origin = default_origin;
  set_versions(*package, toolkit);
}

}  // namespace

std::string release_in_package_name(std::string_view name) {
  // The last two parts are numbers: "cuda-nvcc-12-6", "cuda-toolkit-12-6", "libcublas-dev-12-6".
  const auto second = name.rfind('-');
  if (second == std::string_view::npos || second == 0) return "";
  const auto first = name.rfind('-', second - 1);
  if (first == std::string_view::npos) return "";
  const auto major = name.substr(first + 1, second - first - 1), minor = name.substr(second + 1);
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.size() <= 2 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  return is_number(major) && is_number(minor) ? std::string(major) + "." + std::string(minor) : "";
}

void find_toolkit_package(System& system, const Machine& machine, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  toolkit.origin = candidate.origin;
  if (candidate.origin == "conda" || candidate.origin == "pip") return;  // toolkit_python.cpp knows them
  const bool known = machine.packages.installed.is_known();
  if (!known) {
    toolkit.package = Fact<std::string>::not_seen("no package database was read");
  } else if (candidate.origin == "distribution") {
    set_package(system, distribution_package(machine, toolkit.nvcc.is_known()), "", toolkit);
  } else if (const auto* cuda =
                 find_installed(machine, [](const Package& p) { return p.name == "cuda" && p.manager == "pacman"; });
             cuda && toolkit.real_path == "/opt/cuda") {
    set_package(system, cuda, "pacman", toolkit);
  } else {
    const auto release = toolkit.version.is_known() ? release_of(*toolkit.version.get()) : release_in_folder(toolkit.real_path);
    // NVIDIA's packages install nowhere else.
    const bool usual = toolkit.real_path.starts_with("/usr/local/cuda-");
    const auto* package = usual ? nvidia_package(machine, release, toolkit.nvcc.is_known()) : nullptr;
    set_package(system, package, package ? origin_for(*package) : "", toolkit);
  }
  if (!toolkit.origin.empty()) return;
  const auto& path = toolkit.real_path;
  toolkit.origin = has_runfile_uninstaller(system, path)       ? "runfile"
                   : path.starts_with("/nix/store/")           ? "nix"
                   : path.find("/spack/") != std::string::npos ? "spack"
                   : system.is_directory(path + "/easybuild")  ? "easybuild"
                                                               : "unknown";
}

}  // namespace gpuvet
