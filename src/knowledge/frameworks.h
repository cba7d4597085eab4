#pragma once
// What the releases of frameworks need and carry: typed rows of data/facts (torch, TensorFlow, JAX, others, cuDNN, uv).
// A release that is not in a table is unknown and gives nothing: never an older or newer one in its place.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/gpu_targets.h"
#include "knowledge/knowledge.h"
#include "knowledge/python_range.h"
#include "model/release_version.h"

namespace gpuvet {

/// What a wheel is made for.
enum class Platform : std::uint8_t { Unknown, LinuxX86_64, LinuxAarch64, WindowsX86_64, WindowsArm64, MacOs };
/// "linux_x86_64", "linux_aarch64", "windows_x86_64", …
std::string_view platform_name(Platform platform);
/// From uname's machine: "x86_64", "aarch64"; what Linux (WSL too) runs there.
Platform linux_platform(std::string_view architecture);

// ---- driver -----------------------------------------------------------------------------------------------------------

/// Least driver that runs a program built with this CUDA release: minor-version compatibility from 11 on, before that the
/// release's own driver. On Windows (and for the Windows driver under WSL2) the Windows number. Nothing: unknown release.
std::optional<DriverVersion> least_driver_for_framework(const Knowledge& knowledge, const CudaVersion& cuda,
                                                        bool windows = false);

/// Does a driver run a program built with this CUDA release? The three numbers of a release are never mixed up: the driver's
/// own CUDA version, minor-version compatibility, and (a matter of other rules) forward compatibility.
enum class DriverFit : std::uint8_t {
  Native,        ///< the driver's CUDA version is at least the release's
  MinorVersion,  ///< same major, driver above the floor: runs, except PTX of the newer compiler and newer features
  TooOld,
  Unknown,  ///< driver branch or release not in the tables
};
DriverFit driver_fit(const Knowledge& knowledge, const DriverVersion& driver, const CudaVersion& cuda, bool windows = false);
/// The same when only the driver's CUDA version is known (cuDriverGetVersion, nvidia-smi's header).
DriverFit driver_fit(const Knowledge& knowledge, const CudaVersion& native_of_driver, const CudaVersion& cuda);
inline bool fits(DriverFit fit) { return fit == DriverFit::Native || fit == DriverFit::MinorVersion; }

// ---- torch ------------------------------------------------------------------------------------------------------------

/// One build of one PyTorch release.
struct TorchBuild {
  ReleaseVersion release;           ///< 2.5.1
  std::string variant;              ///< "cu124", "cpu", "rocm6.2", "xpu": the local version and the index tag
  std::optional<CudaVersion> cuda;  ///< toolkit that it was built with; nothing: no CUDA build
  std::vector<Platform> platforms;  ///< empty: not known
  PythonRange python;
  std::string cudnn, nccl, triton;  ///< versions; empty: not known (or none)
  bool pypi_default_linux_x86_64 = false, pypi_default_linux_aarch64 = false, pypi_default_windows = false;
  GpuTargets targets_linux_x86_64, targets_linux_aarch64, targets_windows;
  std::optional<DriverVersion> min_driver_linux;  ///< to run: floor of minor-version compatibility (10.x: toolkit's driver)
  std::optional<DriverVersion> min_driver_windows;
  std::string status;  ///< "stable", "experimental", …
  std::string notes, source;

  bool is_cuda() const { return cuda.has_value(); }
  bool has_platform(Platform platform) const;
  bool is_pypi_default(Platform platform) const;
  const GpuTargets& targets(Platform platform) const;
};
std::vector<TorchBuild> torch_builds(const Knowledge& knowledge);
/// The builds of a release; the local part of the version ("+cu124") plays no role. Empty: the release is not in the table.
std::vector<TorchBuild> torch_builds_of(const Knowledge& knowledge, const ReleaseVersion& release);
/// Nothing: not in the table (also a patch release that is missing there).
std::optional<TorchBuild> torch_build(const Knowledge& knowledge, const ReleaseVersion& release, std::string_view variant);
/// "2.5.1+cu124", or a release and the CUDA version of its version file when the local part is missing (PyPI, conda).
std::optional<TorchBuild> torch_build(const Knowledge& knowledge, std::string_view version,
                                      std::optional<CudaVersion> cuda = std::nullopt);
/// Like torch_build, but a missing patch release takes its nearest neighbour of the same minor release, and says so.
struct TorchBuildNear {
  TorchBuild build;
  bool exact = true;  ///< false: another patch release of the same minor release stands in
};
std::optional<TorchBuildNear> torch_build_near(const Knowledge& knowledge, const ReleaseVersion& release,
                                               std::string_view variant);

/// Releases that belong to a torch release: data/facts/torch_companions.tsv. Empty text: not known.
struct TorchCompanions {
  std::string torch, torchvision, torchaudio, xformers, torchtext;
  std::string source;
};
std::optional<TorchCompanions> torch_companions(const Knowledge& knowledge, const ReleaseVersion& torch);
/// The torch release that a torchvision (torchaudio, xformers) release was built for: "2.6.0". Empty: not known.
std::string torch_of_companion(const Knowledge& knowledge, std::string_view package, const ReleaseVersion& version);

// ---- TensorFlow -------------------------------------------------------------------------------------------------------

struct TensorFlowRelease {
  ReleaseVersion release;
  PythonRange python;
  std::optional<CudaVersion> cuda;
  std::string cudnn;
  bool and_cuda_extra = false;  ///< tensorflow[and-cuda] brings the CUDA libraries
  GpuTargets targets;
  std::optional<DriverVersion> min_driver_linux, min_driver_windows;
  bool windows_native_gpu = false;
  std::vector<std::string> and_cuda_pins;  ///< "nvidia-cublas-cu12==12.5.3.2"
  std::string notes, source;
  bool exact = true;  ///< false: the row of the first release of this minor release stands in for a later patch release
};
std::vector<TensorFlowRelease> tensorflow_releases(const Knowledge& knowledge);
/// The table has one row a minor release: a patch release takes it, with exact == false. Unknown minor release: nothing.
std::optional<TensorFlowRelease> tensorflow_release(const Knowledge& knowledge, const ReleaseVersion& release);

// ---- JAX --------------------------------------------------------------------------------------------------------------

/// What a JAX release has for one CUDA major.
struct JaxCuda {
  std::uint32_t major = 0;
  std::string extra;  ///< "cuda12", "cuda12_pip" as pip's extra is called in this release
  std::optional<CudaVersion> built_with;
  std::string min_runtime, min_cudnn, min_nccl;
  GpuTargets targets;
  std::optional<ComputeCapability> min_capability;  ///< documented
  std::optional<DriverVersion> min_driver_linux;
};
struct JaxRelease {
  ReleaseVersion release;
  std::string date;
  PythonRange python;
  std::vector<JaxCuda> cuda;  ///< one an offered major
  std::vector<std::string> extras;
  std::string requirements, notes, source;
  const JaxCuda* of_major(std::uint32_t major) const;
};
std::vector<JaxRelease> jax_releases(const Knowledge& knowledge);
std::optional<JaxRelease> jax_release(const Knowledge& knowledge, const ReleaseVersion& release);

// ---- others -----------------------------------------------------------------------------------------------------------

/// A row of other_frameworks.tsv: texts as the table has them, since every project counts in its own way.
struct FrameworkRow {
  std::string name;     ///< "CuPy", "onnxruntime-gpu", "flash-attn"
  std::string version;  ///< "13.6", "1.21-1.26 (PyPI)"
  std::string package;  ///< "cupy-cuda12x"
  std::string cuda_needed, cudnn_needed, torch_needed, python, driver_min_linux, notes, source;
  std::optional<ComputeCapability> min_capability;
  std::string min_capability_text;
  std::string targets_text;
  bool newest_on_pypi = false;  ///< the row tells only the newest release
};
/// Rows of a framework or a package, by name without regard to case: "cupy", "cupy-cuda12x", "onnxruntime-gpu".
std::vector<FrameworkRow> framework_rows(const Knowledge& knowledge, std::string_view name_or_package);
/// The rows whose version range contains this version; empty: not in the table.
std::vector<FrameworkRow> framework_rows(const Knowledge& knowledge, std::string_view name_or_package,
                                         const ReleaseVersion& version);
/// Newest release of a distribution that the table saw on PyPI; empty: not told.
std::string newest_on_pypi(const Knowledge& knowledge, std::string_view package);
/// CUDA majors that a row's cuda_needed names, ascending: "11.8; 12.x" → 11, 12. Empty: none named.
std::vector<std::uint32_t> cuda_majors_in(std::string_view cuda_needed);

// ---- cuDNN, uv --------------------------------------------------------------------------------------------------------

struct CudnnRelease {
  std::string cudnn;  ///< "9.3.0", or "9.10-9.12"
  std::string cuda;   ///< "12.x"
  std::optional<ComputeCapability> min_capability;
  std::optional<DriverVersion> min_driver_linux;
  std::string min_driver_text, min_driver_windows_text, min_capability_text;
  std::string note, source;
};
std::vector<CudnnRelease> cudnn_releases(const Knowledge& knowledge);
/// Rows of this cuDNN release ("9.3", "9.3.0.75"); with `cuda_major` only those for that CUDA. A release between two rows that
/// agree takes their values, and its note says so; else empty: not in the table.
std::vector<CudnnRelease> cudnn_releases_of(const Knowledge& knowledge, const ReleaseVersion& cudnn,
                                            std::uint32_t cuda_major = 0);

/// The backend ("cu128") that `uv --torch-backend=auto` puts first for a driver; it looks at the driver alone. Empty: cpu.
std::string uv_auto_backend(const Knowledge& knowledge, const DriverVersion& driver, bool windows = false);
/// uv knows a backend of this name.
bool uv_has_backend(const Knowledge& knowledge, std::string_view variant);

}  // namespace gpuvet
