// PyTorch: builds and the packages that belong to a release.

#include <algorithm>

#include "knowledge/framework_cells.h"
#include "knowledge/frameworks.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

std::vector<Platform> platforms_in(std::string_view cell) {
  std::vector<Platform> platforms;
  for (const std::string_view word : split_cells(cell, ',')) {
    if (word == "linux_x86_64") platforms.push_back(Platform::LinuxX86_64);
    if (word == "linux_aarch64") platforms.push_back(Platform::LinuxAarch64);
    if (word == "win_amd64") platforms.push_back(Platform::WindowsX86_64);
    if (word == "win_arm64") platforms.push_back(Platform::WindowsArm64);
    if (word == "macos") platforms.push_back(Platform::MacOs);
  }
  return platforms;
}

/// Builds before minor-version compatibility (CUDA 10) need the toolkit's own driver.
std::optional<DriverVersion> floor_in(const Knowledge::Table& table, const Row& row, const std::string& system) {
  const auto floor = driver_in_cell(table.cell(row, "min_driver_" + system + "_major_compat"));
  return floor ? floor : driver_in_cell(table.cell(row, "min_driver_" + system + "_toolkit"));
}

std::optional<TorchBuild> to_build(const Knowledge::Table& table, const Row& row) {
  const auto cell = [&](std::string_view column) { return table.cell(row, column); };
  const auto release = ReleaseVersion::parse(cell("release"));
  if (!release) return std::nullopt;
  TorchBuild build;
  build.release = *release;
  build.variant = std::string(cell("variant"));
  build.cuda = cuda_in(cell("cuda_toolkit_built"));
  build.platforms = platforms_in(cell("platforms"));
  build.python = parse_python_range(cell("python"));
  build.cudnn = std::string(cell("cudnn"));
  build.nccl = std::string(cell("nccl"));
  build.triton = std::string(cell("triton"));
  build.pypi_default_linux_x86_64 = is_yes(cell("pypi_default_linux_x86_64"));
  build.pypi_default_linux_aarch64 = is_yes(cell("pypi_default_linux_aarch64"));
  build.pypi_default_windows = is_yes(cell("pypi_default_windows"));
  build.targets_linux_x86_64 = parse_targets(cell("arch_linux_x86_64"));
  build.targets_linux_aarch64 = parse_targets(cell("arch_linux_aarch64"));
  build.targets_windows = parse_targets(cell("arch_windows"));
  build.min_driver_linux = floor_in(table, row, "linux");
  build.min_driver_windows = floor_in(table, row, "windows");
  build.status = std::string(cell("status"));
  build.notes = std::string(cell("notes"));
  build.source = std::string(cell("source"));
  return build;
}

template <typename Wanted>
std::vector<TorchBuild> builds_where(const Knowledge& knowledge, Wanted wanted) {
  std::vector<TorchBuild> builds;
  const Knowledge::Table& table = knowledge.table("torch_releases");
  const int release = table.column("release");
  if (release < 0) return builds;
  for (const Row& row : table.rows) {
    if (!wanted(row[static_cast<std::size_t>(release)])) continue;
    auto build = to_build(table, row);
    const auto same = [&](const TorchBuild& b) { return b.release == build->release && b.variant == build->variant; };
    // An added row stands before the one that it corrects.
    if (build && std::none_of(builds.begin(), builds.end(), same)) builds.push_back(std::move(*build));
  }
  return builds;
}

/// "cu121" of "cu121.with.pypi.cudnn", "cpu" of "cpu.cxx11.abi"; "rocm6.2" stays.
std::string_view variant_of(std::string_view local) {
  if (local.starts_with("rocm")) return local;
  std::size_t length = 0;
  while (length < local.size() && std::isalnum(static_cast<unsigned char>(local[length])) != 0) ++length;
  return local.substr(0, length);
}

std::string release_key(const ReleaseVersion& release) { return release.public_text(); }

}  // namespace

bool TorchBuild::has_platform(Platform platform) const {
  return std::find(platforms.begin(), platforms.end(), platform) != platforms.end();
}

bool TorchBuild::is_pypi_default(Platform platform) const {
  if (platform == Platform::LinuxX86_64) return pypi_default_linux_x86_64;
  if (platform == Platform::LinuxAarch64) return pypi_default_linux_aarch64;
  return platform == Platform::WindowsX86_64 && pypi_default_windows;
}

const GpuTargets& TorchBuild::targets(Platform platform) const {
  static const GpuTargets none;
  if (platform == Platform::LinuxX86_64) return targets_linux_x86_64;
  if (platform == Platform::LinuxAarch64) return targets_linux_aarch64;
  return platform == Platform::WindowsX86_64 ? targets_windows : none;
}

std::vector<TorchBuild> torch_builds(const Knowledge& knowledge) {
  return builds_where(knowledge, [](std::string_view) { return true; });
}

std::vector<TorchBuild> torch_builds_of(const Knowledge& knowledge, const ReleaseVersion& release) {
  return builds_where(knowledge, [&](std::string_view text) {
    const auto version = ReleaseVersion::parse(text);
    return version && *version == release;
  });
}

std::optional<TorchBuild> torch_build(const Knowledge& knowledge, const ReleaseVersion& release, std::string_view variant) {
  for (TorchBuild& build : torch_builds_of(knowledge, release)) {
    if (build.variant == variant) return std::optional(std::move(build));
  }
  return std::nullopt;
}

std::optional<TorchBuild> torch_build(const Knowledge& knowledge, std::string_view version, std::optional<CudaVersion> cuda) {
  const auto release = ReleaseVersion::parse(version);
  if (!release) return std::nullopt;
  if (!release->local.empty()) return torch_build(knowledge, *release, variant_of(release->local));
  if (!cuda) return std::nullopt;
  for (TorchBuild& build : torch_builds_of(knowledge, *release)) {
    if (build.cuda && build.cuda->major == cuda->major && build.cuda->minor == cuda->minor)
      return std::optional(std::move(build));
  }
  return std::nullopt;
}

std::optional<TorchBuildNear> torch_build_near(const Knowledge& knowledge, const ReleaseVersion& release,
                                               std::string_view variant) {
  if (auto exact = torch_build(knowledge, release, variant)) return TorchBuildNear{std::move(*exact), true};
  std::optional<TorchBuild> best;
  const auto minor = release.minor_text();
  const auto same_minor = builds_where(knowledge, [&](std::string_view text) { return text.starts_with(minor + "."); });
  for (const TorchBuild& build : same_minor) {
    if (build.variant != variant) continue;
    // The last one before the asked release, else the first one after it.
    const bool before = build.release < release;
    if (!best || (before && best->release < build.release)) best = build;
  }
  if (!best) return std::nullopt;
  return TorchBuildNear{std::move(*best), false};
}

std::optional<TorchCompanions> torch_companions(const Knowledge& knowledge, const ReleaseVersion& torch) {
  const Knowledge::Table& table = knowledge.table("torch_companions");
  const Row* row = table.find("torch", release_key(torch));
  if (!row) return std::nullopt;
  const auto text = [&](std::string_view column) { return std::string(table.cell(*row, column)); };
  return TorchCompanions{text("torch"),    text("torchvision"), text("torchaudio"),
                         text("xformers"), text("torchtext"),   text("source")};
}

std::string torch_of_companion(const Knowledge& knowledge, std::string_view package, const ReleaseVersion& version) {
  const Knowledge::Table& table = knowledge.table("torch_companions");
  const Row* row = table.find(package, release_key(version));
  return row ? std::string(table.cell(*row, "torch")) : std::string();
}

}  // namespace gpuvet
