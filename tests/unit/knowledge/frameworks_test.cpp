// Typed rows of the framework tables, GPU targets and Python ranges.

#include "knowledge/frameworks.h"

#include <gtest/gtest.h>

using namespace gpuvet;

namespace {

const Knowledge& knowledge() {
  static const Knowledge all;
  return all;
}
ReleaseVersion release(std::string_view text) { return *ReleaseVersion::parse(text); }
DriverVersion driver(std::string_view text) { return *DriverVersion::parse(text); }
GpuCode code(std::string_view targets, ComputeCapability gpu) { return code_for(parse_targets(targets), gpu); }
PythonFit fit(std::string_view range, std::string_view python) {
  return parse_python_range(range).fit(*PythonVersion::parse(python));
}

TEST(GpuTargets, ReadsTheListsOfTheTables) {
  EXPECT_EQ(parse_targets("7.5;8.0;8.6;9.0;10.0;12.0+PTX (inferred from the 2.14 table)").text(),
            "7.5 8.0 8.6 9.0 10.0 12.0+PTX");
  EXPECT_TRUE(parse_targets("8.0;9.0 (inferred from 2.11)").inferred);
  EXPECT_FALSE(parse_targets("3.5;5.0;6.0;7.0;7.5;8.0+ (generic install docs)").inferred);
  EXPECT_EQ(parse_targets("3.5;5.0;8.0+ (generic install docs)").text(), "3.5 5.0 8.0+PTX");
  EXPECT_EQ(parse_targets("sm_60;sm_70;sm_80;sm_89;compute_90").text(), "6.0 7.0 8.0 8.9 9.0+PTX");
  EXPECT_EQ(parse_targets("70;75;80;86;89;90;100;120 + PTX").text(), "7.0 7.5 8.0 8.6 8.9 9.0 10.0 12.0+PTX");
  EXPECT_EQ(parse_targets("75-real;80-virtual;90a").text(), "7.5 9.0a 8.0(PTX)");
  EXPECT_FALSE(parse_targets("").known());
  EXPECT_FALSE(parse_targets("7.0;JIT through NVVM").known());
}

TEST(GpuTargets, MachineCodeRunsOnTheSameMajorAtAnEqualOrHigherMinor) {
  EXPECT_EQ(code("8.0;9.0", {8, 9}), GpuCode::Runs);
  EXPECT_EQ(code("8.6", {8, 0}), GpuCode::Dropped);
  EXPECT_EQ(code("12.0", {12, 1}), GpuCode::Runs);
  EXPECT_EQ(code("5.0;6.0;7.0", {6, 1}), GpuCode::Runs);
  EXPECT_EQ(code("5.0;6.0;7.0;7.5;8.0;8.6;9.0", {12, 0}), GpuCode::TooNew);
  EXPECT_EQ(code("7.5;8.0;8.6;9.0;10.0;12.0", {6, 1}), GpuCode::Dropped);
  EXPECT_EQ(code("3.7;5.0;6.0", {3, 5}), GpuCode::Dropped);
  EXPECT_EQ(code("5.0;7.0", {6, 1}), GpuCode::NotIncluded);
  EXPECT_EQ(code("", {8, 6}), GpuCode::Unknown);
}

TEST(GpuTargets, PtxRunsOnAnythingNewer) {
  EXPECT_EQ(code("sm_50,sm_60,sm_70,sm_80,compute_90", {12, 0}), GpuCode::RunsByPtx);
  EXPECT_EQ(code("sm_60;sm_70;sm_80;sm_89;compute_90", {5, 2}), GpuCode::Dropped);
  EXPECT_EQ(code("3.7+PTX;5.0", {12, 0}), GpuCode::RunsByPtx);
}

TEST(GpuTargets, TegraArchitectureAndFamilyTargetsAreTheirOwn) {
  EXPECT_EQ(code("8.0;8.6;9.0", {8, 7}), GpuCode::NotIncluded);
  EXPECT_EQ(code("8.7", {8, 9}), GpuCode::TooNew);
  EXPECT_EQ(code("8.7", {8, 7}), GpuCode::Runs);
  EXPECT_EQ(code("9.0a", {9, 0}), GpuCode::Runs);
  EXPECT_EQ(code("10.0a", {10, 3}), GpuCode::TooNew);
  EXPECT_EQ(code("10.0f", {10, 3}), GpuCode::Runs);
  EXPECT_EQ(code("10.0f", {12, 0}), GpuCode::TooNew);
}

TEST(PythonRange, ReadsTheCellsOfTheTables) {
  EXPECT_EQ(fit("3.9-3.13, 3.13t experimental", "3.13.1"), PythonFit::Fits);
  EXPECT_EQ(fit("3.9-3.13, 3.13t experimental", "3.13t"), PythonFit::Experimental);
  EXPECT_EQ(fit("3.9-3.13, 3.13t experimental", "3.14"), PythonFit::TooNew);
  EXPECT_EQ(fit("3.9-3.13, 3.13t experimental", "3.8"), PythonFit::TooOld);
  EXPECT_EQ(fit("3.10-3.14, 3.14t", "3.14t"), PythonFit::Fits);
  EXPECT_EQ(fit("3.10-3.14, 3.14t", "3.13t"), PythonFit::TooNew);
  EXPECT_EQ(fit("3.8-3.11, 3.12 experimental", "3.12"), PythonFit::Experimental);
  EXPECT_EQ(fit("3.6-3.9 (3.10 for later patch builds)", "3.10"), PythonFit::Experimental);
  EXPECT_EQ(fit("2.7,3.3-3.7", "3.7"), PythonFit::Fits);
  EXPECT_EQ(fit("2.7,3.3-3.7", "3.0"), PythonFit::TooOld);
  EXPECT_EQ(fit(">=3.10 (classifiers 3.10-3.12)", "3.13"), PythonFit::Unknown);
  EXPECT_EQ(fit(">=3.10 (classifiers 3.10-3.12)", "3.9"), PythonFit::TooOld);
  EXPECT_EQ(fit("3.10+", "3.14"), PythonFit::Unknown);
  EXPECT_EQ(fit("", "3.14"), PythonFit::Unknown);
  EXPECT_EQ(PythonVersion::parse("cp312")->text(), "3.12");
  EXPECT_EQ(PythonVersion::parse("cp313t")->text(), "3.13t");
  EXPECT_FALSE(PythonVersion::parse("three").has_value());
}

TEST(Drivers, MinorVersionCompatibilityIsNotTheDriversOwnVersion) {
  EXPECT_EQ(driver_fit(knowledge(), driver("535.183.01"), {12, 4, 0}), DriverFit::MinorVersion);
  EXPECT_EQ(driver_fit(knowledge(), driver("550.54.15"), {12, 4, 0}), DriverFit::Native);
  EXPECT_EQ(driver_fit(knowledge(), driver("525.60.13"), {12, 8, 0}), DriverFit::MinorVersion);
  EXPECT_EQ(driver_fit(knowledge(), driver("525.60.11"), {12, 8, 0}), DriverFit::TooOld);
  EXPECT_EQ(driver_fit(knowledge(), driver("470.256.02"), {11, 8, 0}), DriverFit::MinorVersion);
  EXPECT_EQ(driver_fit(knowledge(), driver("470.256.02"), {12, 1, 0}), DriverFit::TooOld);
  EXPECT_EQ(driver_fit(knowledge(), driver("575.57.08"), {13, 0, 0}), DriverFit::TooOld);
  EXPECT_EQ(driver_fit(knowledge(), driver("580.65.06"), {13, 2, 0}), DriverFit::MinorVersion);
  EXPECT_EQ(driver_fit(knowledge(), driver("580.65.06"), {12, 6, 0}), DriverFit::Native);
  EXPECT_EQ(driver_fit(knowledge(), driver("440.33.01"), {10, 2, 0}), DriverFit::Native);
  EXPECT_EQ(driver_fit(knowledge(), driver("430.64"), {10, 2, 0}), DriverFit::TooOld);
  EXPECT_EQ(driver_fit(knowledge(), driver("580.65.06"), {19, 0, 0}), DriverFit::Unknown);
  EXPECT_EQ(driver_fit(knowledge(), CudaVersion{12, 2, 0}, CudaVersion{12, 4, 0}), DriverFit::MinorVersion);
  EXPECT_EQ(driver_fit(knowledge(), CudaVersion{12, 2, 0}, CudaVersion{13, 0, 0}), DriverFit::TooOld);
}

TEST(Drivers, WindowsHasItsOwnNumbers) {
  EXPECT_EQ(driver_fit(knowledge(), driver("528.33"), {12, 4, 0}, true), DriverFit::MinorVersion);
  EXPECT_EQ(driver_fit(knowledge(), driver("527.41"), {12, 4, 0}, true), DriverFit::TooOld);
  EXPECT_EQ(driver_fit(knowledge(), driver("581.80"), {13, 0, 0}, true), DriverFit::MinorVersion);
}

TEST(Torch, BuildsAsTheTableTells) {
  const auto build = torch_build(knowledge(), release("2.5.1"), "cu124");
  ASSERT_TRUE(build.has_value());
  EXPECT_EQ(build->cuda->text(), "12.4");
  EXPECT_EQ(build->cudnn, "9.1.0.70");
  EXPECT_EQ(build->min_driver_linux->text, "525.60.13");
  EXPECT_EQ(build->min_driver_windows->text, "528.33");
  EXPECT_TRUE(build->pypi_default_linux_x86_64);
  EXPECT_TRUE(build->has_platform(Platform::WindowsX86_64));
  EXPECT_FALSE(build->has_platform(Platform::LinuxAarch64));
  EXPECT_EQ(build->targets(Platform::LinuxX86_64).text(), "5.0 6.0 7.0 7.5 8.0 8.6 9.0");
  EXPECT_FALSE(build->source.empty());
}

TEST(Torch, FindsTheBuildOfAnInstalledVersion) {
  EXPECT_EQ(torch_build(knowledge(), "2.5.1+cu124")->variant, "cu124");
  EXPECT_EQ(torch_build(knowledge(), "2.5.1+cu121.with.pypi.cudnn")->variant, "cu121");
  EXPECT_EQ(torch_build(knowledge(), "2.5.1+cpu.cxx11.abi")->variant, "cpu");
  EXPECT_EQ(torch_build(knowledge(), "2.5.1", CudaVersion{12, 4, 0})->variant, "cu124");
  EXPECT_FALSE(torch_build(knowledge(), "2.5.1").has_value());
  EXPECT_FALSE(torch_build(knowledge(), "2.5.1", CudaVersion{13, 0, 0}).has_value());
}

TEST(Torch, AnUnknownReleaseIsUnknown) {
  EXPECT_TRUE(torch_builds_of(knowledge(), release("2.99.0")).empty());
  EXPECT_TRUE(torch_builds_of(knowledge(), release("2.5.7")).empty());
  EXPECT_FALSE(torch_build(knowledge(), release("2.5.7"), "cu124").has_value());
  const auto near = torch_build_near(knowledge(), release("2.5.7"), "cu124");
  ASSERT_TRUE(near.has_value());
  EXPECT_FALSE(near->exact);
  EXPECT_EQ(near->build.release.public_text(), "2.5.1");
  EXPECT_TRUE(torch_build_near(knowledge(), release("2.5.1"), "cu124")->exact);
  EXPECT_FALSE(torch_build_near(knowledge(), release("3.0.0"), "cu124").has_value());
}

TEST(Torch, EveryRowIsRead) {
  const auto builds = torch_builds(knowledge());
  EXPECT_GT(builds.size(), 200u);
  for (const TorchBuild& build : builds) {
    const std::string name = build.release.text + "+" + build.variant;
    EXPECT_FALSE(build.platforms.empty()) << name;
    EXPECT_TRUE(build.python.known()) << name;
    EXPECT_EQ(build.is_cuda(), build.variant.starts_with("cu")) << name;
    if (build.is_cuda()) EXPECT_TRUE(build.min_driver_linux.has_value()) << name;
  }
}

TEST(Torch, ForwardCompatibleFloorBeforeElevenIsTheToolkits) {
  EXPECT_EQ(torch_build(knowledge(), release("1.12.1"), "cu102")->min_driver_linux->text, "440.33");
}

TEST(Torch, CompanionsOfARelease) {
  EXPECT_EQ(torch_companions(knowledge(), release("2.6.0"))->torchvision, "0.21.0");
  EXPECT_EQ(torch_companions(knowledge(), release("2.6.0+cu124"))->torchaudio, "2.6.0");
  EXPECT_EQ(torch_companions(knowledge(), release("2.12.0"))->torchaudio, "2.11.0");
  EXPECT_FALSE(torch_companions(knowledge(), release("2.99.0")).has_value());
  EXPECT_EQ(torch_of_companion(knowledge(), "torchvision", release("0.20.1+cu124")), "2.5.1");
  EXPECT_EQ(torch_of_companion(knowledge(), "torchaudio", release("2.4.1")), "2.4.1");
  EXPECT_EQ(torch_of_companion(knowledge(), "torchvision", release("9.9")), "");
}

TEST(TensorFlow, ReleaseAndItsPatchReleases) {
  const auto exact = tensorflow_release(knowledge(), release("2.15.0"));
  ASSERT_TRUE(exact.has_value());
  EXPECT_TRUE(exact->exact);
  EXPECT_EQ(exact->cuda->text(), "12.2");
  EXPECT_TRUE(exact->and_cuda_extra);
  const auto patch = tensorflow_release(knowledge(), release("2.15.1"));
  ASSERT_TRUE(patch.has_value());
  EXPECT_FALSE(patch->exact);
  EXPECT_TRUE(tensorflow_release(knowledge(), release("2.10.1"))->windows_native_gpu);
  EXPECT_FALSE(tensorflow_release(knowledge(), release("2.11.0"))->windows_native_gpu);
  EXPECT_EQ(tensorflow_release(knowledge(), release("2.18.0"))->targets.text(), "6.0 7.0 8.0 8.9 9.0+PTX");
  EXPECT_GT(tensorflow_release(knowledge(), release("2.18.0"))->and_cuda_pins.size(), 5u);
  EXPECT_FALSE(tensorflow_release(knowledge(), release("2.99.0")).has_value());
}

TEST(Jax, OneOrTwoCudaMajorsInARelease) {
  const auto old = jax_release(knowledge(), release("0.4.35"));
  ASSERT_TRUE(old.has_value());
  ASSERT_EQ(old->cuda.size(), 1u);
  EXPECT_EQ(old->cuda[0].extra, "cuda12");
  EXPECT_EQ(old->cuda[0].min_driver_linux->text, "525.60.13");
  EXPECT_EQ(old->cuda[0].min_cudnn, ">=9.1,<10.0");
  EXPECT_EQ(old->cuda[0].built_with->text(), "12.3");
  const auto both = jax_release(knowledge(), release("0.8.1"));
  ASSERT_EQ(both->cuda.size(), 2u);
  EXPECT_EQ(both->of_major(13)->targets.text(), "7.5 8.0 9.0 10.0 12.0+PTX");
  EXPECT_EQ(both->of_major(13)->min_driver_linux->text, "580.65.06");
  EXPECT_EQ(both->of_major(13)->min_cudnn, ">=9.12.0.46,<10.0");
  EXPECT_EQ(both->of_major(12)->built_with->text(), "12.9");
  EXPECT_EQ(*both->of_major(12)->min_capability, (ComputeCapability{5, 2}));
  EXPECT_EQ(both->of_major(11), nullptr);
  EXPECT_FALSE(jax_release(knowledge(), release("9.9.9")).has_value());
}

TEST(OtherFrameworks, RowsByNamePackageAndVersion) {
  EXPECT_GT(framework_rows(knowledge(), "CuPy").size(), 5u);
  EXPECT_GT(framework_rows(knowledge(), "cupy-cuda12x").size(), 3u);
  const auto rows = framework_rows(knowledge(), "onnxruntime-gpu", release("1.20.1"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].version, "1.19-1.20 (PyPI)");
  EXPECT_EQ(cuda_majors_in(rows[0].cuda_needed), std::vector<std::uint32_t>{12});
  EXPECT_EQ(framework_rows(knowledge(), "bitsandbytes", release("0.45.3")).size(), 1u);
  EXPECT_TRUE(framework_rows(knowledge(), "onnxruntime-gpu", release("1.99")).empty());
  EXPECT_TRUE(framework_rows(knowledge(), "").empty());
  EXPECT_EQ(newest_on_pypi(knowledge(), "cupy-cuda11x"), "13.6.0");
}

TEST(OtherFrameworks, CudaMajorsThatACellNames) {
  using Majors = std::vector<std::uint32_t>;
  EXPECT_EQ(cuda_majors_in("11.8; 12.0-12.4"), (Majors{11, 12}));
  EXPECT_EQ(cuda_majors_in("11.2-13.0"), (Majors{11, 12, 13}));
  EXPECT_EQ(cuda_majors_in("12.x/13.x"), (Majors{12, 13}));
  EXPECT_EQ(cuda_majors_in("12.1-12.5 (cu121..cu125)"), (Majors{12}));
  EXPECT_EQ(cuda_majors_in("none"), (Majors{}));
}

TEST(Cudnn, RowsOfARelease) {
  EXPECT_EQ(cudnn_releases_of(knowledge(), release("9.10.2"), 12).size(), 2u);
  EXPECT_EQ(cudnn_releases_of(knowledge(), release("9.17.0.29"), 13).size(), 1u);
  ASSERT_FALSE(cudnn_releases_of(knowledge(), release("9.5.1.17"), 12).empty());
  EXPECT_TRUE(cudnn_releases_of(knowledge(), release("19.0")).empty());
  const auto between = cudnn_releases_of(knowledge(), release("9.3.0.75"), 12);
  ASSERT_EQ(between.size(), 1u);
  EXPECT_EQ(*between[0].min_capability, (ComputeCapability{5, 0}));
  EXPECT_NE(between[0].note.find("inferred"), std::string::npos);
  // Between 9.10 (5.0) and 9.11 (7.5) nothing is sure.
  EXPECT_TRUE(cudnn_releases_of(knowledge(), release("9.10.9"), 12).empty());
}

TEST(Uv, LooksAtTheDriverAlone) {
  EXPECT_EQ(uv_auto_backend(knowledge(), driver("580.65.06")), "cu132");
  EXPECT_EQ(uv_auto_backend(knowledge(), driver("470.256.02")), "cu118");
  EXPECT_EQ(uv_auto_backend(knowledge(), driver("300.10")), "");
  EXPECT_TRUE(uv_has_backend(knowledge(), "cu126"));
  EXPECT_FALSE(uv_has_backend(knowledge(), "cu999"));
}

}  // namespace
