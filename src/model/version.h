#pragma once
// Versions, one type a scheme: comparing a driver version as a Debian version, or a CUDA version as a decimal number,
// is a mistake that these types make impossible.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuvet {

/// Version of NVIDIA's driver: "535.129.03", "470.82.00", "575.51". Compared by number; printed as it was written.
struct DriverVersion {
  std::uint32_t branch = 0;  ///< 535
  std::uint32_t minor = 0;   ///< 129
  std::uint32_t patch = 0;   ///< 3; 0 when not given
  std::string text;

  /// Parses the whole text; nothing when it is not two or three dotted numbers. O(length).
  static std::optional<DriverVersion> parse(std::string_view text);
  friend std::strong_ordering operator<=>(const DriverVersion& a, const DriverVersion& b);
  friend bool operator==(const DriverVersion& a, const DriverVersion& b);
};

/// CUDA release "12.4" (an update number is kept apart): what a driver reports, a toolkit is, a framework was built with.
struct CudaVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t update = 0;  ///< third number of "12.4.1"; 0 when not given

  /// "12.4", "12.4.1"; nothing for anything else.
  static std::optional<CudaVersion> parse(std::string_view text);
  /// cuDriverGetVersion's integer: 12020 is 12.2.
  static CudaVersion from_driver_api(int number);
  std::string text() const;  ///< "12.4" (without the update number)
  friend auto operator<=>(const CudaVersion&, const CudaVersion&) = default;
};

/// Compute capability "8.9"; `a` and `f` targets are a matter of GPU code, not of a device.
struct ComputeCapability {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;

  /// "8.9", "89", "sm_89", "compute_120".
  static std::optional<ComputeCapability> parse(std::string_view text);
  std::string text() const;  ///< "8.9"
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// Kernel release "6.8.0-49-generic", "5.14.0-503.22.1.el9_5.x86_64": ordered by its leading x.y.z, then by the text's numbers.
struct KernelVersion {
  std::uint32_t major = 0, minor = 0, patch = 0;
  std::string text;

  static std::optional<KernelVersion> parse(std::string_view text);
  friend std::strong_ordering operator<=>(const KernelVersion& a, const KernelVersion& b);
  friend bool operator==(const KernelVersion& a, const KernelVersion& b);
};

/// Order of two Debian package versions (epoch:upstream-revision), as `dpkg --compare-versions` has it:
/// deb-version(7). O(length).
std::strong_ordering compare_dpkg_versions(std::string_view a, std::string_view b);

/// Order of two rpm versions "[epoch:]version[-release]", as rpm's rpmvercmp has it, `~` and `^` included. O(length).
std::strong_ordering compare_rpm_versions(std::string_view a, std::string_view b);

/// The upstream driver version inside a package version: "550.120-0ubuntu0.22.04.1" → 550.120,
/// "3:550.127.05-1.el9" → 550.127.05. Nothing when the upstream part is no driver version.
std::optional<DriverVersion> driver_version_in_package_version(std::string_view package_version);

}  // namespace gpuvet
