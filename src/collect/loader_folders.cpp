// Where libraries of the driver may lie, per distribution.

#include <algorithm>
#include <array>

#include "collect/ldconf.h"
#include "collect/loader_view.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_expanded = 128;

std::string multiarch_triplet(std::string_view architecture) {
  if (architecture == "x86_64" || architecture == "amd64") return "x86_64-linux-gnu";
  if (architecture == "aarch64" || architecture == "arm64") return "aarch64-linux-gnu";
  if (architecture == "ppc64le") return "powerpc64le-linux-gnu";
  if (architecture == "i686" || architecture == "i386") return "i386-linux-gnu";
  return "";
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    const bool starts = at == 0 || text[at - 1] == ' ';
    const bool ends = at + word.size() == text.size() || text[at + word.size()] == ' ';
    if (starts && ends) return true;
  }
  return false;
}

bool is_family(const Machine& machine, std::string_view family) {
  return machine.os.id.is(std::string(family)) || has_word(machine.os.id_like.value_or(""), family);
}

/// Replaces the '*' of one component by what is there: "/usr/local/cuda*/compat" → the compat folders that exist.
void expand(System& system, std::string_view pattern, std::vector<std::string>& folders) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) {
    if (folders.size() < max_expanded && system.is_directory(pattern)) folders.emplace_back(pattern);
    return;
  }
  const auto slash = pattern.rfind('/', star);
  const auto end = std::min(pattern.find('/', star), pattern.size());
  const auto parent = std::string(pattern.substr(0, slash));
  const auto component = pattern.substr(slash + 1, end - slash - 1);
  const auto entries = system.list(parent.empty() ? "/" : parent);
  if (!entries) return;
  for (const auto& entry : *entries)
    if (entry.type != FileType::Regular && glob_match(component, entry.name))
      expand(system, parent + "/" + entry.name + std::string(pattern.substr(end)), folders);
}

// Debian keeps each branch below …/nvidia and chooses by alternatives; Ubuntu up to 18.04 used /usr/lib/nvidia-BRANCH; images of
// CUDA have compat; WSL mounts /usr/lib/wsl; L4T has tegra; NixOS, snap and GKE hosts have folders of their own.
constexpr std::array usual_patterns{"/usr/lib/x86_64-linux-gnu/nvidia"sv,
                                    "/usr/lib/x86_64-linux-gnu/nvidia/*"sv,
                                    "/usr/lib/aarch64-linux-gnu/nvidia"sv,
                                    "/usr/lib/aarch64-linux-gnu/nvidia/*"sv,
                                    "/usr/lib/aarch64-linux-gnu/tegra"sv,
                                    "/usr/lib/x86_64-linux-gnu"sv,
                                    "/usr/lib/aarch64-linux-gnu"sv,
                                    "/usr/lib/i386-linux-gnu"sv,
                                    "/usr/lib/i386-linux-gnu/nvidia/*"sv,
                                    "/usr/lib64"sv,
                                    "/usr/lib64/nvidia"sv,
                                    "/usr/lib"sv,
                                    "/usr/lib32"sv,
                                    "/usr/lib/nvidia"sv,
                                    "/usr/lib/nvidia/*"sv,
                                    "/usr/lib/nvidia-*"sv,
                                    "/usr/lib/wsl/lib"sv,
                                    "/usr/lib/wsl/drivers/*"sv,
                                    "/usr/local/nvidia/lib"sv,
                                    "/usr/local/nvidia/lib64"sv,
                                    "/usr/local/lib"sv,
                                    "/usr/local/lib64"sv,
                                    "/usr/local/cuda*/compat"sv,
                                    "/usr/local/cuda*/lib64/stubs"sv,
                                    "/usr/local/cuda*/lib/stubs"sv,
                                    "/usr/local/cuda*/targets/*/lib/stubs"sv,
                                    "/usr/local/cuda*/lib64"sv,
                                    "/opt/cuda/lib64"sv,
                                    "/opt/cuda/lib64/stubs"sv,
                                    "/opt/cuda/targets/*/lib/stubs"sv,
                                    "/usr/lib/x86_64-linux-gnu/stubs"sv,
                                    "/usr/lib/aarch64-linux-gnu/stubs"sv,
                                    "/usr/lib/cuda/lib64/stubs"sv,
                                    "/usr/lib64/stubs"sv,
                                    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu"sv,
                                    "/run/nvidia/driver/usr/lib64"sv,
                                    "/run/opengl-driver/lib"sv,
                                    "/var/lib/snapd/lib/gl"sv,
                                    "/home/kubernetes/bin/nvidia/lib64"sv};

}  // namespace

std::vector<std::string> default_folders(System& system, const Machine& machine) {
  const auto triplet = multiarch_triplet(machine.os.architecture.value_or(program_kind(system, machine).machine));
  const bool debian = is_family(machine, "debian") || is_family(machine, "ubuntu") ||
                      (!triplet.empty() && machine.os.id.is_not_seen() && system.is_directory("/usr/lib/" + triplet));
  if (debian && !triplet.empty()) return {"/lib/" + triplet, "/usr/lib/" + triplet, "/lib", "/usr/lib"};
  if (system.exists("/lib/ld-musl-x86_64.so.1") || system.exists("/lib/ld-musl-aarch64.so.1") || is_family(machine, "alpine"))
    return {"/lib", "/usr/local/lib", "/usr/lib"};
  const bool arch = is_family(machine, "arch");
  const auto lib64 = system.status("/usr/lib64", false);
  // Arch and its kin have one folder, to which lib64 is a link.
  if (arch || !lib64 || lib64->type == FileType::Link) return {"/lib", "/usr/lib"};
  return {"/lib64", "/usr/lib64"};
}

std::vector<std::string> usual_folders(System& system) {
  std::vector<std::string> folders;
  for (const auto pattern : usual_patterns) expand(system, pattern, folders);
  return folders;
}

}  // namespace gpuvet
