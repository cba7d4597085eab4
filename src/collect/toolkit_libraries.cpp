// The sonames in a toolkit's library folders: what a framework could load if the loader looked there.

#include <algorithm>
#include <array>
#include <set>

#include "collect/lines.h"
#include "collect/toolkit_parts.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_entries = 8192;
constexpr std::array<std::string_view, 18> prefixes{
    "libcudart.so.",   "libcublas.so.", "libcublasLt.so.", "libcufft.so.", "libcurand.so.",   "libcusolver.so.",
    "libcusparse.so.", "libcudnn.so.",  "libnvrtc.so.",    "libcupti.so.", "libnccl.so.",     "libnvJitLink.so.",
    "libnvjpeg.so.",   "libnppc.so.",   "libcufile.so.",   "libnvvm.so.",  "libcutensor.so.", "libcusparseLt.so."};

/// A soname has one or two numbers ("libcublas.so.12", "libcudart.so.11.0"); the file behind it has more.
bool is_cuda_soname(std::string_view name) {
  const auto prefix = std::ranges::find_if(prefixes, [&](std::string_view p) { return name.starts_with(p); });
  if (prefix == prefixes.end()) return false;
  const auto number = name.substr(prefix->size());
  return !number.empty() && number.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::ranges::count(number, '.') <= 1;
}

}  // namespace

std::vector<std::string> sonames_of_toolkit(System& system, const ToolkitCandidate& candidate) {
  std::vector<std::string> folders = candidate.layout.libs;
  folders.push_back(candidate.path + "/extras/CUPTI/lib64");
  std::set<std::string> found;
  for (const auto& folder : folders) {
    for (const auto& entry : entries_of(system, folder, max_entries)) {
      if (!is_cuda_soname(entry.name)) continue;
      // A link that leads nowhere loads nothing.
      if (entry.type == FileType::Link && !system.status(folder + "/" + entry.name)) continue;
      found.insert(entry.name);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace gpuvet
