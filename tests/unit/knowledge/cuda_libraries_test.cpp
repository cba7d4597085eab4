#include "knowledge/cuda_libraries.h"

#include <gtest/gtest.h>

#include "knowledge/table.h"

namespace gpuvet {
namespace {

const Knowledge& knowledge() {
  static const Knowledge all;
  return all;
}

std::string belongs(std::string_view soname) {
  const auto library = cuda_library(knowledge(), soname);
  return library ? library->belongs_to() : "NOTHING";
}

TEST(CudaLibraries, SonameBelongsToReleases) {
  EXPECT_EQ(belongs("libcudart.so.12"), "CUDA 12");
  EXPECT_EQ(belongs("libcudart.so.11.0"), "CUDA 11");
  EXPECT_EQ(belongs("libcusolver.so.11"), "CUDA 11.1–11.8, 12");
  EXPECT_EQ(belongs("libcudnn_graph.so.9"), "cuDNN 9");
  EXPECT_EQ(belongs("libnvrtc-builtins.so.12.6"), "CUDA 12.6");
  EXPECT_EQ(belongs("libnvrtc-builtins.so.x"), "NOTHING");
  EXPECT_EQ(belongs("libcupti.so.11.8"), "CUDA 11.8");
  EXPECT_EQ(belongs("libcudart.so"), "NOTHING");
  EXPECT_EQ(belongs(""), "NOTHING");
  EXPECT_TRUE(cuda_library(knowledge(), "libcuda.so.1")->is_of_driver());
}

TEST(CudaLibraries, NamesOfARelease) {
  const auto name = [](const char* stem, std::uint32_t major, std::uint32_t minor) {
    return cuda_soname(knowledge(), stem, CudaVersion{major, minor}).value_or("NOTHING");
  };
  EXPECT_EQ(name("libcudart", 11, 8), "libcudart.so.11.0");
  EXPECT_EQ(name("libcublas", 10, 0), "libcublas.so.10.0");
  EXPECT_EQ(name("libcublas", 10, 2), "libcublas.so.10");
  EXPECT_EQ(name("libcusolver", 11, 0), "libcusolver.so.10");
  EXPECT_EQ(name("libcusolver", 11, 8), "libcusolver.so.11");
  EXPECT_EQ(name("libcufft", 12, 4), "libcufft.so.11");
  EXPECT_EQ(name("libcusparse", 13, 0), "libcusparse.so.12");
  EXPECT_EQ(name("libnvrtc", 11, 2), "libnvrtc.so.11.2");
  EXPECT_EQ(name("libnvToolsExt", 12, 9), "NOTHING");
  EXPECT_EQ(name("libcublas", 99, 0), "NOTHING");
  EXPECT_EQ(name("libcu", 12, 0), "NOTHING");
  EXPECT_EQ(own_soname(knowledge(), "libcudnn", 9), "libcudnn.so.9");
  EXPECT_EQ(own_soname(knowledge(), "libcudnn", 6), std::nullopt);
  EXPECT_EQ(cuda_library(knowledge(), "libcufft.so.11")->cuda_majors(), std::vector<std::uint32_t>{12});
  EXPECT_EQ(cuda_library(knowledge(), "libcusparse.so.12")->cuda_majors(), (std::vector<std::uint32_t>{12, 13}));
  EXPECT_TRUE(cuda_library(knowledge(), "libcudnn.so.9")->cuda_majors().empty());
}

TEST(CudaLibraries, ReleasesThatServeAGpu) {
  const auto serve = [](std::vector<std::uint32_t> majors, unsigned major, unsigned minor) {
    return all_releases_serve(knowledge(), majors, ComputeCapability{major, minor});
  };
  EXPECT_TRUE(serve({12}, 6, 1));
  EXPECT_FALSE(serve({13}, 6, 1));
  EXPECT_FALSE(serve({13}, 7, 0));
  EXPECT_TRUE(serve({13}, 7, 5));
  EXPECT_FALSE(serve({12, 13}, 7, 0));
  EXPECT_FALSE(serve({12}, 12, 0)) << "since 12.8";
  EXPECT_TRUE(serve({13}, 12, 0));
  EXPECT_EQ(oldest_gpu(knowledge(), {13})->text(), "7.5");
  EXPECT_EQ(oldest_gpu(knowledge(), {12, 13})->text(), "5.0");
  EXPECT_EQ(oldest_gpu(knowledge(), {}), std::nullopt);
}

TEST(CudaLibraries, EveryRowSaysWhereItBelongs) {
  for (const CudaLibrary& library : cuda_libraries(knowledge())) {
    EXPECT_NE(library.cuda.empty(), library.release.empty()) << library.soname;
    EXPECT_FALSE(library.name.empty() || library.source.empty()) << library.soname;
  }
}

// The two tables that know libcudart's name say the same.
TEST(CudaLibraries, RuntimeAsInTheReleases) {
  for (const CudaRelease& release : knowledge().cuda_releases()) {
    if (release.libcudart_soname.empty()) continue;
    const auto version = CudaVersion::parse(release.version);
    ASSERT_TRUE(version);
    const std::string wanted = version->major >= 11 ? std::to_string(version->major) : version->text();
    EXPECT_EQ(belongs(release.libcudart_soname), "CUDA " + wanted) << release.version;
  }
}

TEST(DriverEntryPoints, FirstDriver) {
  const auto batch = driver_entry_point(knowledge(), "cuMemcpyBatchAsync");
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->cuda.text(), "12.8");
  EXPECT_EQ(batch->branch, 570U);
  EXPECT_EQ(driver_entry_point(knowledge(), "cuMemcpyBatchAsync_v2")->cuda.text(), "13.0");
  EXPECT_EQ(driver_entry_point(knowledge(), "cuLaunchKernelEx")->branch, 510U);
  EXPECT_EQ(driver_entry_point(knowledge(), "cuInit")->branch, 0U);
  EXPECT_EQ(driver_entry_point(knowledge(), "cuCtxCreate_v4")->cuda.text(), "12.5");
  EXPECT_EQ(driver_entry_point(knowledge(), "cuMemcpyHtoD_v2_ptds")->cuda.text(), "7.0");
  EXPECT_FALSE(driver_entry_point(knowledge(), "cu"));
  EXPECT_FALSE(driver_entry_point(knowledge(), "cuInit cuDeviceGet"));
}

}  // namespace
}  // namespace gpuvet
