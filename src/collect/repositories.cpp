// Package sources that may bring the driver: NVIDIA's CUDA repository, RPM Fusion, the graphics-drivers PPA, non-free components.
#include <array>

#include "collect/lines.h"
#include "collect/packages_parts.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_files = 256, max_sources = 32;

bool about_the_driver(std::string_view line) {
  static constexpr std::array<std::string_view, 6> words = {"nvidia",           "/cuda",    "rpmfusion",
                                                            "graphics-drivers", "non-free", "negativo17"};
  for (const std::string_view word : words) {
    if (contains_ignoring_case(line, word)) return true;
  }
  return false;
}

void read_source(System& system, const std::string& path, std::vector<Origin>& found) {
  const auto text = system.read_file(path, std::size_t{1} << 20);
  if (!text) return;
  for_each_line(*text, [&](std::string_view line, std::uint32_t number) {
    const std::string_view content = trim(line);
    if (!content.empty() && content.front() != '#' && about_the_driver(content))
      found.push_back(origin_of(path, content, number));
    return found.size() < max_sources;
  });
}

}  // namespace

std::vector<Origin> read_driver_repositories(System& system) {
  std::vector<Origin> found;
  read_source(system, "/etc/apt/sources.list", found);
  for (const char* folder : {"/etc/apt/sources.list.d", "/etc/yum.repos.d", "/etc/zypp/repos.d"}) {
    for (const DirectoryEntry& entry : entries_of(system, folder, max_files)) {
      const bool source = entry.name.ends_with(".list") || entry.name.ends_with(".sources") || entry.name.ends_with(".repo");
      if (source && found.size() < max_sources) read_source(system, std::string(folder) + "/" + entry.name, found);
    }
  }
  return found;
}

}  // namespace gpuvet
