#pragma once
// CUDA's libraries by soname: to which releases a name belongs. And libcuda's functions: which driver brought each.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.h"

namespace gpuvet {

/// A row of data/facts/cuda_libraries.tsv.
struct CudaLibrary {
  std::string soname;  ///< as it was asked for
  std::string name;    ///< "cuBLAS"
  std::string cuda;  ///< CUDA releases that bring it: "12", "11.1-11.8 12"; empty: it has releases of its own, or is the driver's
  std::string release;  ///< its own major release ("9" of cuDNN); "driver": a part of the NVIDIA driver
  std::string note, source;

  bool is_of_driver() const { return release == "driver"; }
  /// "CUDA 12", "CUDA 11.1–11.8, 12", "cuDNN 9"; empty for the driver's.
  std::string belongs_to() const;
  bool is_in(const CudaVersion& release) const;
  /// CUDA's majors that have it under this name; empty for libraries with releases of their own.
  std::vector<std::uint32_t> cuda_majors() const;
};

/// By its whole soname ("libcudart.so.12", no path); nothing: not in the table.
std::optional<CudaLibrary> cuda_library(const Knowledge& knowledge, std::string_view soname);
/// Every known release of these CUDA majors compiles for such a GPU, and its libraries have code for it.
bool all_releases_serve(const Knowledge& knowledge, const std::vector<std::uint32_t>& majors, const ComputeCapability& gpu);
/// The oldest GPU that any known release of these CUDA majors compiles for; nothing: no table tells.
std::optional<ComputeCapability> oldest_gpu(const Knowledge& knowledge, const std::vector<std::uint32_t>& majors);
/// The name that CUDA's `stem` ("libcublas") has in a release: "libcublas.so.12"; nothing: the table does not tell.
std::optional<std::string> cuda_soname(const Knowledge& knowledge, std::string_view stem, const CudaVersion& release);
/// The name that a library with releases of its own ("libcudnn", 9) has in that major; nothing: the table does not tell.
std::optional<std::string> own_soname(const Knowledge& knowledge, std::string_view stem, std::uint32_t major);
/// Every row, patterns ("libnvrtc-builtins.so.*") as written.
std::vector<CudaLibrary> cuda_libraries(const Knowledge& knowledge);

/// A function of libcuda, and the CUDA version whose driver exports it first.
struct DriverEntryPoint {
  CudaVersion cuda;
  std::uint32_t branch = 0;  ///< first driver branch of that CUDA version; 0: the tables begin later, every driver has it
  std::string source;
};
/// By the exported name ("cuMemcpyBatchAsync_v2"); nothing: no function of the table. O(names of the table).
std::optional<DriverEntryPoint> driver_entry_point(const Knowledge& knowledge, std::string_view name);

}  // namespace gpuvet
