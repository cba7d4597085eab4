// JAX: one row a release, with one or two CUDA majors in each.

#include <algorithm>

#include "knowledge/framework_cells.h"
#include "knowledge/frameworks.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

/// The part of "cu12 >=9.8,<10.0; cu13 >=9.12" (or "cuda12: 12.1; cuda13: 13.0", "CUDA 12: 5.2; CUDA 13: 7.5") that is about one
/// major; a cell that names no major is about all of them.
std::string_view of_major(std::string_view cell, std::uint32_t major) {
  const std::string number = std::to_string(major);
  bool names_major = false;
  for (std::string_view part : split_cells(cell, ';')) {
    part = trim_blanks(part);
    for (const std::string_view prefix : {"cuda", "cu", "CUDA "}) {
      if (!part.starts_with(prefix)) continue;
      std::string_view rest = part.substr(prefix.size());
      if (rest.empty() || rest[0] < '0' || rest[0] > '9') continue;
      names_major = true;
      if (!rest.starts_with(number)) break;
      rest.remove_prefix(number.size());
      if (rest.starts_with(':')) rest.remove_prefix(1);
      return trim_blanks(rest);
    }
  }
  return names_major ? std::string_view() : trim_blanks(cell);
}

/// "12.9.1/13.0.0", "12.3.2": the one of this major.
std::optional<CudaVersion> built_with(std::string_view cell, std::uint32_t major) {
  for (const std::string_view part : split_cells(cell, '/')) {
    const auto version = cuda_in(part);
    if (version && version->major == major) return version;
  }
  return std::nullopt;
}

/// "cuda12", else "cuda12_pip", else "cuda": as pip's extra is called.
std::string extra_for(const std::vector<std::string>& extras, std::uint32_t major) {
  const std::string name = "cuda" + std::to_string(major);
  for (const std::string& wanted : {name, name + "_pip", std::string("cuda")}) {
    if (std::find(extras.begin(), extras.end(), wanted) != extras.end()) return wanted;
  }
  return {};
}

/// Several majors stand in one cell, in ascending order, as "sm_50,… | sm_75,…".
GpuTargets targets_of(std::string_view cell, std::size_t position) {
  const auto sets = split_cells(cell, '|');
  return sets.size() <= position ? GpuTargets() : parse_targets(trim_blanks(sets[position]));
}

JaxCuda to_cuda(const Knowledge& knowledge, const Knowledge::Table& table, const Row& row, std::uint32_t major,
                std::size_t position, const std::vector<std::string>& extras) {
  const auto cell = [&](std::string_view column) { return table.cell(row, column); };
  JaxCuda cuda;
  cuda.major = major;
  cuda.extra = extra_for(extras, major);
  cuda.built_with = built_with(cell("cuda_built_with"), major);
  cuda.min_runtime = std::string(without_marker(of_major(cell("cuda_min_runtime"), major)));
  cuda.min_cudnn = std::string(of_major(cell("cudnn_min"), major));
  cuda.min_nccl = std::string(of_major(cell("nccl_min"), major));
  cuda.targets = targets_of(cell("compute_capabilities_in_binary"), position);
  cuda.min_capability = capability_in_cell(of_major(cell("cc_min_documented"), major));
  cuda.min_driver_linux = driver_in_cell(cell("driver_min_linux_cuda" + std::to_string(major)));
  // The documentation rounds ("525", "580"); below the floor of the major's runtime nothing runs.
  const auto floor = knowledge.least_driver_for_runtime(CudaVersion{major, 0, 0});
  if (floor && (!cuda.min_driver_linux || *cuda.min_driver_linux < *floor)) cuda.min_driver_linux = floor;
  return cuda;
}

std::optional<JaxRelease> to_release(const Knowledge& knowledge, const Knowledge::Table& table, const Row& row) {
  const auto cell = [&](std::string_view column) { return table.cell(row, column); };
  const auto version = ReleaseVersion::parse(cell("jax_version"));
  if (!version) return std::nullopt;
  JaxRelease release;
  release.release = *version;
  release.date = std::string(cell("release_date"));
  release.python = parse_python_range(cell("python"));
  for (const std::string_view extra : split_cells(cell("pip_extras"), ';')) {
    if (!extra.empty()) release.extras.emplace_back(extra);
  }
  std::size_t position = 0;
  for (const std::string_view word : split_cells(cell("cuda_majors"), ';')) {
    const auto major = cuda_in(word);
    if (major) release.cuda.push_back(to_cuda(knowledge, table, row, major->major, position++, release.extras));
  }
  release.requirements = std::string(cell("pip_requirements"));
  release.notes = std::string(cell("notes"));
  release.source = std::string(cell("source"));
  return release;
}

}  // namespace

const JaxCuda* JaxRelease::of_major(std::uint32_t major) const {
  for (const JaxCuda& each : cuda) {
    if (each.major == major) return &each;
  }
  return nullptr;
}

std::vector<JaxRelease> jax_releases(const Knowledge& knowledge) {
  std::vector<JaxRelease> releases;
  const Knowledge::Table& table = knowledge.table("jax_releases");
  for (const Row& row : table.rows) {
    if (auto release = to_release(knowledge, table, row)) releases.push_back(std::move(*release));
  }
  return releases;
}

std::optional<JaxRelease> jax_release(const Knowledge& knowledge, const ReleaseVersion& version) {
  const Knowledge::Table& table = knowledge.table("jax_releases");
  for (const Row& row : table.rows) {
    const auto here = ReleaseVersion::parse(table.cell(row, "jax_version"));
    if (here && *here == version) return to_release(knowledge, table, row);
  }
  return std::nullopt;
}

}  // namespace gpuvet
