// Drivers and frameworks: platforms, minor-version compatibility, what uv chooses.

#include "knowledge/frameworks.h"
#include "knowledge/table.h"

namespace gpuvet {
namespace {

/// "580" of a Windows column means any release of that branch.
std::optional<DriverVersion> driver_in(std::string_view cell) {
  cell = without_marker(cell);
  if (cell.empty()) return std::nullopt;
  if (cell.find('.') != std::string_view::npos) return DriverVersion::parse(cell);
  auto driver = DriverVersion::parse(std::string(cell) + ".0");
  if (driver) driver->text = std::string(cell);
  return driver;
}

std::optional<DriverVersion> least_in_releases(const Knowledge& knowledge, const CudaVersion& cuda, std::string_view column) {
  std::optional<DriverVersion> least;
  const Knowledge::Table& releases = knowledge.table("cuda_releases");
  for (const auto& row : releases.rows) {
    const auto version = CudaVersion::parse(releases.cell(row, "toolkit_version"));
    if (!version || version->major != cuda.major || version->minor != cuda.minor) continue;
    const auto driver = driver_in(releases.cell(row, column));
    if (driver && (!least || *driver < *least)) least = driver;
  }
  return least;
}

}  // namespace

std::string_view platform_name(Platform platform) {
  constexpr std::string_view names[] = {"", "linux_x86_64", "linux_aarch64", "windows_x86_64", "windows_arm64", "macos"};
  return names[static_cast<std::size_t>(platform)];
}

Platform linux_platform(std::string_view architecture) {
  if (architecture == "x86_64" || architecture == "amd64") return Platform::LinuxX86_64;
  if (architecture == "aarch64" || architecture == "arm64") return Platform::LinuxAarch64;
  return Platform::Unknown;
}

std::optional<DriverVersion> least_driver_for_framework(const Knowledge& knowledge, const CudaVersion& cuda, bool windows) {
  if (windows) return least_in_releases(knowledge, cuda, "min_driver_windows_minor_compat");
  return knowledge.least_driver_for_runtime(cuda);
}

DriverFit driver_fit(const Knowledge& knowledge, const DriverVersion& driver, const CudaVersion& cuda, bool windows) {
  const auto least = least_driver_for_framework(knowledge, cuda, windows);
  if (!least) {
    const auto native = windows ? std::nullopt : knowledge.native_cuda(driver);
    return native && ptx_is_readable(cuda, *native) ? DriverFit::Native : DriverFit::Unknown;
  }
  if (driver < *least) return DriverFit::TooOld;
  const auto own = least_in_releases(knowledge, cuda, windows ? "driver_windows" : "driver_linux");
  const auto native = windows ? std::nullopt : knowledge.native_cuda(driver);
  if (native) return ptx_is_readable(cuda, *native) ? DriverFit::Native : DriverFit::MinorVersion;
  if (own && *own <= driver) return DriverFit::Native;
  return DriverFit::MinorVersion;
}

DriverFit driver_fit(const Knowledge& knowledge, const CudaVersion& native_of_driver, const CudaVersion& cuda) {
  if (!least_driver_for_framework(knowledge, cuda)) return DriverFit::Unknown;
  if (ptx_is_readable(cuda, native_of_driver)) return DriverFit::Native;
  // The floor of 11.x (450.80.02) lies inside branch 450, whose libcuda reports 11.0; that of 12.x is a release of the branch
  // that reports 12.0, that of 13.x likewise: the same major says enough.
  return cuda.major == native_of_driver.major && cuda.major >= 11 ? DriverFit::MinorVersion : DriverFit::TooOld;
}

std::string uv_auto_backend(const Knowledge& knowledge, const DriverVersion& driver, bool windows) {
  const Knowledge::Table& table = knowledge.table("uv_torch_backend");
  for (const auto& row : table.rows) {
    if (table.cell(row, "tool") != "uv" || table.cell(row, "topic") != "min driver for backend") continue;
    const auto least = driver_in(table.cell(row, windows ? "windows" : "linux"));
    if (least && *least <= driver) return std::string(table.cell(row, "key"));
  }
  return {};
}

bool uv_has_backend(const Knowledge& knowledge, std::string_view variant) {
  if (variant == "cpu") return true;
  const Knowledge::Table& table = knowledge.table("uv_torch_backend");
  for (const auto& row : table.rows) {
    if (table.cell(row, "topic") == "min driver for backend" && table.cell(row, "key") == variant) return true;
  }
  return false;
}

}  // namespace gpuvet
