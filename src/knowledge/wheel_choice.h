#pragma once
// Which build of a framework a machine should install: one that serves its driver, its GPUs and its Python, and keeps the
// user's release where one of its builds does.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/frameworks.h"

namespace gpuvet {

/// What the build must serve. What is not known does not stand in the way.
struct WheelNeeds {
  std::string framework;  ///< "torch", "tensorflow", "jax", "cupy", "onnxruntime-gpu"; their plug-ins' names mean the same
  std::optional<ReleaseVersion> release;  ///< what the user has now; nothing: not installed
  std::optional<PythonVersion> python;
  Platform platform = Platform::LinuxX86_64;
  std::optional<DriverVersion> driver;
  std::optional<CudaVersion> native_cuda;  ///< of the driver, when its version is not known
  bool windows_driver = false;             ///< `driver` counts as Windows' do (Windows, WSL2)
  bool jetson = false;                     ///< wheels of PyPI and PyTorch's index do not serve Jetson (before Thor)
  bool driver_stays = false;               ///< the driver cannot be changed here (container): older releases are an answer too
  std::vector<ComputeCapability> gpus;     ///< every one of them must be served
  std::vector<std::string> companions;     ///< packages to install along: "torchvision", "torchaudio"
};

/// Why a build does not serve, or why there is none at all.
enum class WheelObstacle : std::uint8_t {
  None,
  UnknownFramework,  ///< the tables say nothing about it
  UnknownRelease,    ///< the user's release is newer than the tables
  NoBuild,           ///< no GPU build for this platform
  DriverTooOld,
  PythonTooNew,
  PythonTooOld,
  GpuTooNew,
  GpuDropped,
  Jetson,  ///< wheels come from the JetPack index instead
};

struct WheelChoice {
  bool found = false;
  std::string framework;  ///< "torch"
  std::string release;    ///< "2.6.0"
  std::string variant;    ///< "cu126"; jax: "cuda12"; cupy: "cuda12x"
  std::optional<CudaVersion> cuda;
  std::string index;                  ///< "https://download.pytorch.org/whl/cu126"; empty: PyPI
  std::string find_links;             ///< page of wheels, for releases that are in no index (torch before 1.11); empty: none
  std::vector<std::string> packages;  ///< requirements for pip and uv: "torch==2.6.0", "torchvision==0.21.0"
  std::string conda_spec;             ///< requirements from conda-forge, blank-separated; empty: none known
  bool same_release = false;          ///< the user's release is kept
  bool older_release = false;         ///< no newer release serves: this is the last one that does
  bool by_minor_version = false;      ///< the driver runs it by minor-version compatibility
  bool inferred = false;              ///< some fact of the choice was concluded, not read

  /// Not found: the obstacle that would have to go (that of the build that came nearest). Found, but not the same release: what
  /// is wrong with the user's release.
  WheelObstacle obstacle = WheelObstacle::None;
  std::string needed_driver;                   ///< DriverTooOld: the least that would do
  std::optional<PythonVersion> needed_python;  ///< PythonTooNew/Old: the newest (oldest) that would do
  std::string source;
};

WheelChoice choose_wheel(const Knowledge& knowledge, const WheelNeeds& needs);

/// Does one build serve? None when it does. The first obstacle in the order platform, driver, GPU, Python.
WheelObstacle obstacle_of(const Knowledge& knowledge, const TorchBuild& build, const WheelNeeds& needs);

/// "torch" for "torchvision", "jax" for "jaxlib" and "jax-cuda12-plugin", "tensorflow" for "tensorflow-gpu", …; else the name.
std::string framework_family(std::string_view distribution);

/// "https://download.pytorch.org/whl/cu126".
std::string torch_index(std::string_view variant);

}  // namespace gpuvet
