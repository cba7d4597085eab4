#pragma once
// The GPU code that a build carries, as release tables and build files list it, and whether a GPU can run it (design §5).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/version.h"

namespace gpuvet {

/// One target: machine code (SASS) or PTX, which the driver compiles for newer GPUs.
struct GpuTarget {
  ComputeCapability capability;
  bool ptx = false;
  char variant = 0;  ///< 'a': exactly this GPU; 'f': its family at an equal or higher minor; 0: plain
  friend bool operator==(const GpuTarget&, const GpuTarget&) = default;
};

struct GpuTargets {
  std::vector<GpuTarget> list;  ///< empty: not known
  bool inferred = false;        ///< concluded from another build, not read
  bool known() const { return !list.empty(); }
  /// "5.0 6.0 7.0 9.0+PTX".
  std::string text() const;
};

/// "7.5;8.0;8.6;12.0+PTX (inferred …)" as torch builds list them, "sm_60,sm_70,compute_80" as TensorFlow and JAX do (compute_XY
/// there means SASS and PTX), "70;75;80;90a + PTX". A word that is no target makes the whole unknown. O(length).
GpuTargets parse_targets(std::string_view cell);

/// Can this GPU run code for these targets?
enum class GpuCode : std::uint8_t {
  Runs,         ///< machine code
  RunsByPtx,    ///< compiled by the driver at first use: needs a driver that is no older than the compiler (see ptx_is_readable)
  TooNew,       ///< the GPU is newer than every target, and no PTX helps
  Dropped,      ///< the GPU is older than every target
  NotIncluded,  ///< in between: its architecture was left out
  Unknown,      ///< targets or GPU not known
};
GpuCode code_for(const GpuTargets& targets, const ComputeCapability& gpu);
inline bool runs(GpuCode code) { return code == GpuCode::Runs || code == GpuCode::RunsByPtx; }

/// Can this GPU use code for this one target? Unknown: a family that is newer than the rules that were measured, or a GPU whose
/// capability was renumbered (10.1 of CUDA 12.8 and 12.9 is 11.0 since 13.0).
enum class Serves : std::uint8_t { No, Unknown, Yes };
Serves serves(const GpuTarget& target, const ComputeCapability& gpu);

/// "sm_90a", "compute_120f" (PTX); nothing for anything else.
std::optional<GpuTarget> parse_gpu_arch(std::string_view arch);

/// 3.2, 5.3, 6.2, 7.2, 8.7, 8.8, 10.1, 11.0: integrated GPUs (Jetson …), not binary compatible with the others of their major.
/// Sources: data/facts/gpu_architectures.tsv (class Jetson); NVIDIA's tables of compute capabilities, column
/// Jetson: 5.3, 6.2, 7.2, 8.7, 11.0 (developer.nvidia.com/cuda-gpus and cuda-legacy-gpus); 10.1 is 11.0's number before CUDA 13.
bool is_tegra(const ComputeCapability& capability);

/// The driver's compiler reads PTX of this CUDA release only when the driver itself is not older (else error 222).
inline bool ptx_is_readable(const CudaVersion& compiled_with, const CudaVersion& native_of_driver) {
  return compiled_with.major < native_of_driver.major ||
         (compiled_with.major == native_of_driver.major && compiled_with.minor <= native_of_driver.minor);
}

}  // namespace gpuvet
