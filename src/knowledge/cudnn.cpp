// cuDNN: what its releases need.

#include <algorithm>

#include "knowledge/framework_cells.h"
#include "knowledge/frameworks.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

CudnnRelease to_release(const Knowledge::Table& table, const Row& row) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  CudnnRelease release;
  release.cudnn = text("cudnn");
  release.cuda = text("cuda");
  release.min_capability_text = text("min_compute_capability");
  release.min_capability = capability_in_cell(release.min_capability_text);
  release.min_driver_text = text("min_driver_linux");
  release.min_driver_linux = driver_in_cell(release.min_driver_text.substr(0, release.min_driver_text.find_first_of(";,")));
  release.min_driver_windows_text = text("min_driver_windows");
  release.note = text("note");
  release.source = text("source");
  return release;
}

std::vector<std::uint32_t> numbers_of(std::string_view text) {
  const auto version = ReleaseVersion::parse(text);
  return version ? version->release : std::vector<std::uint32_t>();
}

int compare_front(const std::vector<std::uint32_t>& version, const std::vector<std::uint32_t>& front, std::size_t most) {
  for (std::size_t i = 0; i < front.size() && i < most && i < version.size(); ++i) {
    if (version[i] != front[i]) return version[i] < front[i] ? -1 : 1;
  }
  return 0;
}

/// "9.3.0", "9.0.0-9.1.1", "8.9.x", "9.10.0+": is the release in it? A question with fewer numbers ("9.3") means all of them.
bool covers(std::string_view cell, const std::vector<std::uint32_t>& version) {
  const bool open = cell.ends_with('+');
  const std::size_t dash = cell.find('-');
  const std::size_t parts = 3;
  const auto low = numbers_of(trim_blanks(cell.substr(0, dash)));
  if (low.empty() || version.empty()) return false;
  if (open) return compare_front(version, low, parts) >= 0;
  if (dash == std::string_view::npos) return compare_front(version, low, parts) == 0;
  const auto high = numbers_of(trim_blanks(cell.substr(dash + 1)));
  return compare_front(version, low, parts) >= 0 && !high.empty() && compare_front(version, high, parts) <= 0;
}

std::uint32_t major_of(const CudnnRelease& release) {
  const auto majors = cuda_majors_in(release.cuda);
  return majors.empty() ? 0 : majors.front();
}

/// A release between two rows for the same CUDA major that agree needs what both need; nothing when they differ.
std::optional<CudnnRelease> between(const std::vector<CudnnRelease>& all, const std::vector<std::uint32_t>& version,
                                    std::string_view asked, std::uint32_t cuda_major) {
  const CudnnRelease *before = nullptr, *after = nullptr;
  for (const CudnnRelease& release : all) {
    if (major_of(release) != cuda_major || !release.min_capability) continue;
    const auto low = numbers_of(release.cudnn.substr(0, release.cudnn.find('-')));
    if (low.empty() || version.empty() || low[0] != version[0]) continue;
    if (compare_front(version, low, 3) > 0) before = &release;
    if (compare_front(version, low, 3) < 0 && !after) after = &release;
  }
  if (!before || !after || before->min_capability != after->min_capability) return std::nullopt;
  CudnnRelease release = *before;
  release.note = "inferred: lies between " + before->cudnn + " and " + after->cudnn + ", which agree";
  if (before->min_driver_text != after->min_driver_text) {
    release.min_driver_text.clear();
    release.min_driver_linux.reset();
    release.min_driver_windows_text.clear();
  }
  release.cudnn = std::string(asked);
  release.cuda = std::to_string(cuda_major) + ".x";
  return release;
}

}  // namespace

std::vector<CudnnRelease> cudnn_releases(const Knowledge& knowledge) {
  std::vector<CudnnRelease> releases;
  const Knowledge::Table& table = knowledge.table("cudnn");
  for (const Row& row : table.rows) releases.push_back(to_release(table, row));
  return releases;
}

std::vector<CudnnRelease> cudnn_releases_of(const Knowledge& knowledge, const ReleaseVersion& cudnn, std::uint32_t cuda_major) {
  std::vector<CudnnRelease> releases;
  const auto all = cudnn_releases(knowledge);
  for (const CudnnRelease& release : all) {
    const auto majors = cuda_majors_in(release.cuda);
    const bool other_cuda =
        cuda_major != 0 && !majors.empty() && std::find(majors.begin(), majors.end(), cuda_major) == majors.end();
    if (covers(release.cudnn, cudnn.release) && !other_cuda) releases.push_back(release);
  }
  if (!releases.empty()) return releases;
  for (const std::uint32_t major : {11u, 12u, 13u}) {
    if (cuda_major != 0 && cuda_major != major) continue;
    if (auto release = between(all, cudnn.release, cudnn.public_text(), major)) releases.push_back(std::move(*release));
  }
  return releases;
}

}  // namespace gpuvet
