// Where toolkits may lie: usual folders, the judged process' variables, alternatives, module files.

#include <algorithm>
#include <array>
#include <set>

#include "collect/ldconf.h"
#include "collect/lines.h"
#include "collect/toolkit_parts.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_candidates = 64;
constexpr std::size_t max_entries = 4096;
constexpr std::size_t max_path_folders = 128;
constexpr std::size_t max_module_files = 64;

struct UsualPlace {
  std::string_view pattern, origin;
};
// NVIDIA's installers, HPC SDK, Arch and Gentoo, Spack's and EasyBuild's usual prefixes, Bright's shared applications.
constexpr std::array usual_places{UsualPlace{"/usr/local/cuda*"sv, ""sv},
                                  UsualPlace{"/opt/cuda*"sv, ""sv},
                                  UsualPlace{"/opt/nvidia/cuda*"sv, ""sv},
                                  UsualPlace{"/opt/nvidia/hpc_sdk/Linux_*/*/cuda/*"sv, "hpc-sdk"sv},
                                  UsualPlace{"/opt/spack/opt/spack/*/*/cuda-*"sv, "spack"sv},
                                  UsualPlace{"/opt/spack/opt/spack/*/cuda-*"sv, "spack"sv},
                                  UsualPlace{"/opt/apps/CUDA/*"sv, "easybuild"sv},
                                  UsualPlace{"/opt/apps/cuda/*"sv, ""sv},
                                  UsualPlace{"/opt/easybuild/software/CUDA/*"sv, "easybuild"sv},
                                  UsualPlace{"/apps/software/CUDA/*"sv, "easybuild"sv},
                                  UsualPlace{"/apps/cuda/*"sv, ""sv},
                                  UsualPlace{"/software/CUDA/*"sv, "easybuild"sv},
                                  UsualPlace{"/sw/CUDA/*"sv, "easybuild"sv},
                                  UsualPlace{"/cm/shared/apps/cuda*/toolkit/*"sv, ""sv}};

constexpr std::array root_variables{
    "CUDA_HOME"sv, "CUDA_PATH"sv, "CUDA_ROOT"sv, "CUDAToolkit_ROOT"sv, "CUDA_TOOLKIT_ROOT_DIR"sv, "CUDA_BIN_PATH"sv};

class Places {
 public:
  Places(System& system, const Machine& machine) : system_(system), machine_(machine) {}

  ToolkitPlaces found;

  void folder(const std::string& path, std::string_view origin = {}) {
    if (found.candidates.size() >= max_candidates || !path.starts_with('/')) return;
    const auto real = system_.real_path(path);
    if (!real) {
      if (real.error().code == ErrorCode::Denied) found.problems.push_back(real.error().message);
      return;
    }
    // The distribution's own parts are looked at as one.
    if (*real == "/usr/lib/nvidia-cuda-toolkit" || *real == "/usr/lib/cuda") return;
    if (*real == "/usr" || *real == "/" || !seen_.insert(*real).second || !system_.is_directory(*real)) return;
    ToolkitCandidate candidate{path, std::string(origin), "", standard_layout(system_, path)};
    if (system_.is_directory(*real + "/conda-meta")) candidate.origin = "conda", candidate.environment = *real;
    if (looks_like_toolkit(system_, candidate)) found.candidates.push_back(std::move(candidate));
  }

  /// The folders that a pattern of '*' stands for. Links are remembered, and looked at after the folders themselves: a toolkit's
  /// path is its own, not one of its names.
  void pattern(std::string_view text, std::string_view origin) {
    const auto star = text.find('*');
    if (star == std::string_view::npos) return folder(std::string(text), origin);
    const auto slash = text.rfind('/', star);
    const auto end = std::min(text.find('/', star), text.size());
    const std::string parent(text.substr(0, slash));
    const auto entries = system_.list(parent, max_entries);
    if (!entries) {
      if (entries.error().code == ErrorCode::Denied) found.problems.push_back(entries.error().message);
      return;
    }
    for (const auto& entry : *entries) {
      const auto component = text.substr(slash + 1, end - slash - 1);
      if (entry.type == FileType::Regular || !glob_match(component, entry.name)) continue;
      // A folder of releases holds other things too: HPC SDK has cuda/12.5 and beside it cuda/bin, a link into it.
      const bool is_release = entry.name[0] >= '0' && entry.name[0] <= '9';
      if (component == "*" && end == text.size() && !is_release) continue;
      const auto path = parent + "/" + entry.name;
      if (entry.type == FileType::Link && end == text.size()) {
        link(path);
      } else {
        pattern(path + std::string(text.substr(end)), origin);
      }
    }
  }

  void link(const std::string& path) {
    const auto target = system_.read_link(path);
    if (!target || found.links.size() >= max_candidates || !link_paths_.insert(path).second) return;
    ToolkitLink link{path, *target, "", ""};
    const auto real = system_.real_path(path);
    if (real) link.real_path = *real;
    if (!real) link.state = real.error().code == ErrorCode::Denied ? "unreadable" : "dangling";
    found.links.push_back(std::move(link));
  }

  void follow_links() {
    for (const auto& link : found.links)
      if (!link.real_path.empty() && !link.path.ends_with("/nvcc")) folder(link.real_path);
  }

  void on_path() {
    const auto path = machine_.environment.find("PATH");
    if (path == machine_.environment.end()) return;
    std::size_t count = 0;
    for (const auto part : split(path->second, ':')) {
      if (!part.starts_with('/') || ++count > max_path_folders) continue;
      std::string directory(part);
      while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
      nvcc(directory + "/nvcc");
    }
  }

  /// A file nvcc that someone may call: its toolkit is two folders above it.
  void nvcc(const std::string& path, bool is_wrapped = false) {
    const auto status = system_.status(path, false);
    if (!status) return;
    if (status->type == FileType::Link) link(path);
    const auto real = system_.real_path(path);
    if (!real) return;
    // A script is not a compiler: it calls one that lies elsewhere, by its whole path.
    if (const auto head = system_.read_head(*real, 4096); head && head->starts_with("#!")) {
      for (const auto word : words(*head))
        if (!is_wrapped && word.starts_with('/') && word.ends_with("/nvcc")) nvcc(std::string(word), true);
      return;
    }
    const auto bin = real->rfind('/');
    const auto root = bin == 0 ? 0 : real->rfind('/', bin - 1);
    if (root != std::string::npos && root > 0) folder(real->substr(0, root));
  }

  void distribution() {
    ToolkitCandidate candidate{"/usr", "distribution", "", distribution_layout(system_, machine_)};
    // Links only (some people link nvcc into /usr/bin) do not make a distribution's toolkit.
    const auto nvcc = system_.status("/usr/bin/nvcc", false);
    const bool own_nvcc = nvcc && nvcc->type == FileType::Regular;
    const auto ptxas = system_.status("/usr/bin/ptxas", false);
    const bool own_ptxas = ptxas && ptxas->type == FileType::Regular;
    if (own_nvcc || own_ptxas || candidate.layout.well_known ||
        find_entry(system_, candidate.layout.includes, "cuda_runtime.h") || find_runtime_library(system_, candidate.layout))
      found.candidates.push_back(std::move(candidate));
  }

  /// Module files name a prefix in one of their lines; the modules' own language is not run, only paths are picked out of it.
  void modules() {
    const auto path = machine_.environment.find("MODULEPATH");
    if (path == machine_.environment.end()) return;
    std::size_t count = 0;
    for (const auto part : split(path->second, ':')) {
      const std::string directory(part);
      if (!directory.starts_with('/')) continue;
      for (const auto& entry : entries_of(system_, directory, max_entries)) {
        const auto name = lower(entry.name);
        if (!name.starts_with("cuda") && !name.starts_with("nvhpc")) continue;
        if (entry.type == FileType::Regular && ++count <= max_module_files) module_file(directory + "/" + entry.name);
        if (entry.type == FileType::Directory)
          for (const auto& version : entries_of(system_, directory + "/" + entry.name, max_module_files))
            if (++count <= max_module_files) module_file(directory + "/" + entry.name + "/" + version.name);
      }
    }
  }

 private:
  void module_file(const std::string& path) {
    const auto text = system_.read_head(path, std::size_t{64} << 10);
    if (!text) return;
    const auto is_path = [](char c) {
      return c > ' ' && c != '"' && c != '\'' && c != ')' && c != '(' && c != ',' && c != ':' && c != ';';
    };
    std::size_t tried = 0;
    for (std::size_t at = 0; (at = text->find('/', at)) != std::string::npos && tried < 64; ++at) {
      if (at > 0 && is_path((*text)[at - 1])) continue;
      const auto end = std::find_if_not(text->begin() + static_cast<std::ptrdiff_t>(at), text->end(), is_path);
      std::string prefix(text->begin() + static_cast<std::ptrdiff_t>(at), end);
      at += prefix.size();
      if (prefix.ends_with("/bin")) prefix.resize(prefix.size() - 4);
      ++tried;
      if (system_.exists(prefix + "/bin/nvcc")) folder(prefix);
    }
  }

  System& system_;
  const Machine& machine_;
  std::set<std::string> seen_, link_paths_;
};

}  // namespace

ToolkitPlaces find_toolkit_places(System& system, const Machine& machine) {
  Places places(system, machine);
  for (const auto& place : usual_places) places.pattern(place.pattern, place.origin);
  if (const auto home = machine.environment.find("HOME"); home != machine.environment.end() && home->second.starts_with('/')) {
    places.pattern(home->second + "/spack/opt/spack/*/*/cuda-*", "spack");
    places.pattern(home->second + "/spack/opt/spack/*/cuda-*", "spack");
    places.pattern(home->second + "/cuda*", "");
    places.pattern(home->second + "/.local/cuda*", "");
  }
  for (const auto& entry : entries_of(system, "/etc/alternatives", max_entries))
    if (entry.name == "cuda" || entry.name.starts_with("cuda-") || entry.name == "nvcc")
      places.link("/etc/alternatives/" + entry.name);
  places.nvcc("/usr/bin/nvcc");
  places.nvcc("/usr/local/bin/nvcc");
  places.on_path();
  for (const auto variable : root_variables)
    if (const auto value = machine.environment.find(std::string(variable)); value != machine.environment.end())
      places.folder(value->second);
  places.modules();
  places.follow_links();
  places.distribution();
  return std::move(places.found);
}

}  // namespace gpuvet
