// Which files of a toolkit are there. The table holds, for each component of version.json, files that all its releases from CUDA
// 11 on have. Sources: file lists of NVIDIA's wheels of CUDA 13.0 (RECORD of nvidia-cuda-nvcc, -nvvm, -crt, -runtime, -nvrtc,
// -cupti, -cccl, cublas …) and of Debian's packages of CUDA 11.8 (nvidia-cuda-toolkit, nvidia-cuda-dev). A component whose files
// moved between releases is not in it: nothing is said about that one.
#include <algorithm>
#include <array>

#include "collect/toolkit_parts.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

enum class Place { Bin, Cicc, Libdevice, Include, Lib };

struct Marker {
  std::string_view component;
  Place place;
  std::string_view file;
  std::string_view shown;  ///< relative path as NVIDIA's tree has it
};
constexpr std::array markers{Marker{"cuda_nvcc"sv, Place::Bin, "nvcc"sv, "bin/nvcc"sv},
                             Marker{"cuda_nvcc"sv, Place::Bin, "ptxas"sv, "bin/ptxas"sv},
                             Marker{"cuda_nvcc"sv, Place::Bin, "fatbinary"sv, "bin/fatbinary"sv},
                             Marker{"cuda_nvcc"sv, Place::Bin, "cudafe++"sv, "bin/cudafe++"sv},
                             Marker{"cuda_nvcc"sv, Place::Cicc, "cicc"sv, "nvvm/bin/cicc"sv},
                             Marker{"cuda_nvcc"sv, Place::Libdevice, "libdevice.10.bc"sv, "nvvm/libdevice/libdevice.10.bc"sv},
                             Marker{"cuda_cudart"sv, Place::Include, "cuda_runtime.h"sv, "include/cuda_runtime.h"sv},
                             Marker{"cuda_cudart"sv, Place::Lib, "libcudart_static.a"sv, "lib64/libcudart_static.a"sv},
                             Marker{"cuda_cudart"sv, Place::Lib, "libcudart.so"sv, "lib64/libcudart.so"sv},
                             Marker{"cuda_cuobjdump"sv, Place::Bin, "cuobjdump"sv, "bin/cuobjdump"sv},
                             Marker{"cuda_cuxxfilt"sv, Place::Bin, "cu++filt"sv, "bin/cu++filt"sv},
                             Marker{"cuda_nvdisasm"sv, Place::Bin, "nvdisasm"sv, "bin/nvdisasm"sv},
                             Marker{"cuda_nvprune"sv, Place::Bin, "nvprune"sv, "bin/nvprune"sv},
                             Marker{"cuda_gdb"sv, Place::Bin, "cuda-gdb"sv, "bin/cuda-gdb"sv},
                             Marker{"cuda_sanitizer_api"sv, Place::Bin, "compute-sanitizer"sv, "bin/compute-sanitizer"sv},
                             Marker{"cuda_nvrtc"sv, Place::Lib, "libnvrtc.so"sv, "lib64/libnvrtc.so"sv},
                             Marker{"libcublas"sv, Place::Lib, "libcublas.so"sv, "lib64/libcublas.so"sv},
                             Marker{"libcublas"sv, Place::Lib, "libcublasLt.so"sv, "lib64/libcublasLt.so"sv},
                             Marker{"libcufft"sv, Place::Lib, "libcufft.so"sv, "lib64/libcufft.so"sv},
                             Marker{"libcurand"sv, Place::Lib, "libcurand.so"sv, "lib64/libcurand.so"sv},
                             Marker{"libcusolver"sv, Place::Lib, "libcusolver.so"sv, "lib64/libcusolver.so"sv},
                             Marker{"libcusparse"sv, Place::Lib, "libcusparse.so"sv, "lib64/libcusparse.so"sv},
                             Marker{"libnpp"sv, Place::Lib, "libnppc.so"sv, "lib64/libnppc.so"sv},
                             Marker{"libnvjitlink"sv, Place::Lib, "libnvJitLink.so"sv, "lib64/libnvJitLink.so"sv},
                             Marker{"libnvjpeg"sv, Place::Lib, "libnvjpeg.so"sv, "lib64/libnvjpeg.so"sv}};

/// What a compilation of any .cu file needs, whatever the manifest says. libdevice's folder, because its file has had other
/// names.
constexpr std::array compilation{Marker{""sv, Place::Bin, "ptxas"sv, "bin/ptxas"sv},
                                 Marker{""sv, Place::Bin, "fatbinary"sv, "bin/fatbinary"sv},
                                 Marker{""sv, Place::Bin, "cudafe++"sv, "bin/cudafe++"sv},
                                 Marker{""sv, Place::Bin, "nvlink"sv, "bin/nvlink"sv},
                                 Marker{""sv, Place::Cicc, "cicc"sv, "nvvm/bin/cicc"sv},
                                 Marker{""sv, Place::Include, "cuda_runtime.h"sv, "include/cuda_runtime.h"sv},
                                 Marker{""sv, Place::Lib, "libcudart_static.a"sv, "lib64/libcudart_static.a"sv}};

const std::vector<std::string>& folders_of(const ToolkitLayout& layout, Place place) {
  switch (place) {
    case Place::Bin:
      return layout.bins;
    case Place::Cicc:
      return layout.cicc;
    case Place::Libdevice:
      return layout.libdevice;
    case Place::Include:
      return layout.includes;
    case Place::Lib:
      break;
  }
  return layout.libs;
}

/// Missing only when the folders say so: one that may not be looked into proves nothing.
bool is_missing(System& system, const ToolkitLayout& layout, const Marker& marker) {
  for (const auto& folder : folders_of(layout, marker.place)) {
    const auto status = system.status(folder + "/" + std::string(marker.file));
    if (status || status.error().code != ErrorCode::NotFound) return false;
  }
  return true;
}

bool has_libdevice(System& system, const ToolkitLayout& layout) {
  return std::ranges::any_of(layout.libdevice, [&](const std::string& folder) {
    const auto entries = system.list(folder, 64);
    if (!entries) return entries.error().code != ErrorCode::NotFound;
    return std::ranges::any_of(*entries, [](const DirectoryEntry& e) { return e.name.ends_with(".bc"); });
  });
}

}  // namespace

void check_toolkit_files(System& system, const ToolkitCandidate& candidate, Toolkit& toolkit) {
  const auto& layout = candidate.layout;
  if (auto* components = toolkit.components.get())
    for (auto& component : *components)
      for (const auto& marker : markers) {
        if (marker.component != component.name) continue;
        ++component.checked;
        if (is_missing(system, layout, marker)) component.missing.emplace_back(marker.shown);
      }
  if (!toolkit.nvcc.is_known() || !layout.well_known) return;
  for (const auto& marker : compilation)
    if (is_missing(system, layout, marker)) toolkit.missing.emplace_back(marker.shown);
  if (!has_libdevice(system, layout)) toolkit.missing.emplace_back("nvvm/libdevice");
}

}  // namespace gpuvet
