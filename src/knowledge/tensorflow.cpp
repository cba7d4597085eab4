// TensorFlow: one row a minor release.

#include "knowledge/framework_cells.h"
#include "knowledge/frameworks.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

std::vector<std::string> pins_in(std::string_view cell) {
  std::vector<std::string> pins;
  cell = without_marker(cell);
  for (const std::string_view pin : split_cells(cell, ';')) {
    if (!pin.empty()) pins.emplace_back(pin);
  }
  return pins;
}

std::optional<TensorFlowRelease> to_release(const Knowledge::Table& table, const Row& row) {
  const auto cell = [&](std::string_view column) { return table.cell(row, column); };
  const auto version = ReleaseVersion::parse(cell("release"));
  if (!version || !cell("release").starts_with(version->public_text())) return std::nullopt;
  TensorFlowRelease release;
  release.release = *version;
  release.python = parse_python_range(cell("python"));
  release.cuda = cuda_in(cell("cuda_tested"));
  release.cudnn = std::string(cell("cudnn_tested"));
  release.and_cuda_extra = is_yes(cell("and_cuda_extra"));
  release.targets = parse_targets(cell("compute_capabilities_in_binary"));
  release.min_driver_linux = driver_in_cell(cell("min_driver_linux_major_compat"));
  if (!release.min_driver_linux) release.min_driver_linux = driver_in_cell(cell("min_driver_linux_documented"));
  release.min_driver_windows = driver_in_cell(cell("min_driver_windows_or_wsl_documented"));
  release.windows_native_gpu = is_yes(cell("windows_native_gpu"));
  release.and_cuda_pins = pins_in(cell("and_cuda_pins"));
  release.notes = std::string(cell("notes"));
  release.source = std::string(cell("source"));
  return release;
}

}  // namespace

std::vector<TensorFlowRelease> tensorflow_releases(const Knowledge& knowledge) {
  std::vector<TensorFlowRelease> releases;
  const Knowledge::Table& table = knowledge.table("tensorflow_releases");
  for (const Row& row : table.rows) {
    if (auto release = to_release(table, row)) releases.push_back(std::move(*release));
  }
  return releases;
}

std::optional<TensorFlowRelease> tensorflow_release(const Knowledge& knowledge, const ReleaseVersion& version) {
  std::optional<TensorFlowRelease> of_minor;
  for (TensorFlowRelease& release : tensorflow_releases(knowledge)) {
    if (release.release == version) return std::optional(std::move(release));
    if (!of_minor && release.release.minor_text() == version.minor_text()) of_minor = std::move(release);
  }
  if (of_minor) of_minor->exact = false;
  return of_minor;
}

}  // namespace gpuvet
