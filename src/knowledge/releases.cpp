// Driver branches and CUDA releases.

#include <algorithm>

#include "knowledge/impl.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

DriverBranch to_branch(const Knowledge::Table& table, const Row& row) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  DriverBranch branch;
  branch.branch = parse_number(table.cell(row, "branch")).value_or(0);
  branch.cuda = CudaVersion::parse(without_marker(table.cell(row, "cuda_version")));
  branch.type = text("type");
  branch.end_of_life = text("end_of_life");
  branch.first_release = text("first_release");
  branch.last_known_release = text("last_known_release");
  branch.notes = text("notes");
  branch.source = text("source");
  return branch;
}

CudaRelease to_release(const Knowledge::Table& table, const Row& row) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  const auto driver = [&](std::string_view column) { return DriverVersion::parse(without_marker(table.cell(row, column))); };
  CudaRelease release;
  release.version = text("toolkit_version");
  release.label = text("label");
  release.driver_linux = driver("driver_linux");
  release.runfile_driver_linux = driver("runfile_driver_linux");
  release.min_driver_linux = driver("min_driver_linux_minor_compat");
  release.libcudart_soname = text("libcudart_soname");
  release.supported_sm_min = text("supported_sm_min");
  release.supported_sm_max = text("supported_sm_max");
  release.sm_added = text("sm_added");
  release.sm_removed = text("sm_removed");
  release.notes = text("notes");
  release.source = text("source");
  return release;
}

// "11.0.1" is a release candidate and "13.4.0" a developer preview: "11.0" and "13.4" mean the first real release.
bool is_preview(std::string_view label) { return label.ends_with(" RC") || label.find("preview") != std::string_view::npos; }

}  // namespace

std::optional<DriverBranch> Knowledge::driver_branch(std::uint32_t branch) const {
  const Table& branches = table("driver_branches");
  const Row* row = branches.find("branch", std::to_string(branch));
  if (!row) return std::nullopt;
  return to_branch(branches, *row);
}

std::vector<DriverBranch> Knowledge::driver_branches() const {
  const Table& branches = table("driver_branches");
  std::vector<DriverBranch> all;
  for (const Row& row : branches.rows) {
    DriverBranch branch = to_branch(branches, row);
    // An added row stands before the one that it corrects.
    if (std::none_of(all.begin(), all.end(), [&](const DriverBranch& b) { return b.branch == branch.branch; }))
      all.push_back(std::move(branch));
  }
  std::sort(all.begin(), all.end(), [](const DriverBranch& a, const DriverBranch& b) { return a.branch < b.branch; });
  return all;
}

std::optional<CudaRelease> Knowledge::cuda_release(std::string_view version) const {
  const Table& releases = table("cuda_releases");
  if (const Row* row = releases.find("toolkit_version", version)) return to_release(releases, *row);
  if (std::count(version.begin(), version.end(), '.') != 1) return std::nullopt;
  const std::string prefix = std::string(version) + ".";
  const Row* first = nullptr;
  for (const Row& row : releases.rows) {
    if (!releases.cell(row, "toolkit_version").starts_with(prefix)) continue;
    if (!first) first = &row;
    if (is_preview(releases.cell(row, "label"))) continue;
    return to_release(releases, row);
  }
  if (!first) return std::nullopt;
  return to_release(releases, *first);
}

std::vector<CudaRelease> Knowledge::cuda_releases() const {
  const Table& releases = table("cuda_releases");
  std::vector<CudaRelease> all;
  for (const Row& row : releases.rows) {
    CudaRelease release = to_release(releases, row);
    if (std::none_of(all.begin(), all.end(), [&](const CudaRelease& r) { return r.version == release.version; }))
      all.push_back(std::move(release));
  }
  return all;
}

std::optional<CudaVersion> Knowledge::native_cuda(const DriverVersion& driver) const {
  const auto branch = driver_branch(driver.branch);
  return branch ? branch->cuda : std::nullopt;
}

std::optional<DriverVersion> Knowledge::least_driver_for_runtime(const CudaVersion& runtime) const {
  std::optional<DriverVersion> least;
  const Table& releases = table("cuda_releases");
  for (const Row& row : releases.rows) {
    const auto version = CudaVersion::parse(releases.cell(row, "toolkit_version"));
    if (!version || version->major != runtime.major || version->minor != runtime.minor) continue;
    const auto driver = DriverVersion::parse(without_marker(releases.cell(row, "min_driver_linux_minor_compat")));
    if (!driver) continue;
    if (*version == runtime) return driver;
    // The update is not given or not in the table: nothing more than the least of its minor release is sure.
    if (!least || *driver < *least) least = driver;
  }
  return least;
}

}  // namespace gpuvet
