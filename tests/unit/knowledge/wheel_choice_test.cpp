// Which build a machine should install.

#include "knowledge/wheel_choice.h"

#include <gtest/gtest.h>

using namespace gpuvet;

namespace {

const Knowledge& knowledge() {
  static const Knowledge all;
  return all;
}

struct Case {
  std::string framework = "torch";
  std::string release = {}, python = "3.12", driver = {};
  std::vector<ComputeCapability> gpus = {};
  Platform platform = Platform::LinuxX86_64;
  bool windows_driver = false, driver_stays = false, jetson = false;
  std::vector<std::string> companions = {};
};

WheelChoice choose(const Case& given) {
  WheelNeeds needs;
  needs.framework = given.framework;
  needs.release = ReleaseVersion::parse(given.release);
  needs.python = PythonVersion::parse(given.python);
  needs.driver = DriverVersion::parse(given.driver);
  needs.platform = given.platform;
  needs.gpus = given.gpus;
  needs.windows_driver = given.windows_driver;
  needs.driver_stays = given.driver_stays;
  needs.jetson = given.jetson;
  needs.companions = given.companions;
  return choose_wheel(knowledge(), needs);
}

std::string text(const WheelChoice& choice) { return choice.found ? choice.release + "+" + choice.variant : "none"; }
std::string torch(const Case& given) { return text(choose(given)); }

constexpr ComputeCapability k80{3, 7}, gtx1080ti{6, 1}, rtx4090{8, 9}, h100{9, 0}, rtx5080{12, 0}, b200{10, 0}, v100{7, 0};

TEST(WheelChoice, KeepsTheReleaseAndPyPisBuildWhereItFits) {
  EXPECT_EQ(torch({.release = "2.5.1+cpu", .driver = "550.120", .gpus = {rtx4090}}), "2.5.1+cu124");
  EXPECT_EQ(torch({.release = "2.6.0", .driver = "570.86.15", .gpus = {h100}}), "2.6.0+cu124");
  EXPECT_EQ(torch({.release = "2.7.1", .driver = "580.65.06", .gpus = {h100}}), "2.7.1+cu126");
  const WheelChoice choice = choose({.release = "2.6.0", .driver = "550.120", .gpus = {h100}, .companions = {"torchvision"}});
  EXPECT_TRUE(choice.same_release);
  EXPECT_EQ(choice.index, "https://download.pytorch.org/whl/cu124");
  EXPECT_EQ(choice.packages, (std::vector<std::string>{"torch==2.6.0", "torchvision==0.21.0"}));
  EXPECT_EQ(choice.conda_spec, "pytorch=2.6.*=cuda* cuda-version=12 torchvision");
}

TEST(WheelChoice, MinorVersionCompatibilityIsEnough) {
  const WheelChoice choice = choose({.release = "2.5.1", .driver = "535.183.01", .gpus = {rtx4090}});
  EXPECT_EQ(text(choice), "2.5.1+cu124");
  EXPECT_TRUE(choice.by_minor_version);
  EXPECT_FALSE(choose({.release = "2.5.1", .driver = "550.120", .gpus = {rtx4090}}).by_minor_version);
  EXPECT_EQ(torch({.release = "2.5.1", .driver = "525.60.13", .gpus = {h100}}), "2.5.1+cu124");
}

TEST(WheelChoice, OldDriversGetTheOlderCudaOfTheSameRelease) {
  EXPECT_EQ(torch({.release = "2.5.1", .driver = "525.60.11", .gpus = {v100}}), "2.5.1+cu118");
  EXPECT_EQ(torch({.release = "2.5.1", .driver = "470.256.02", .gpus = {v100}}), "2.5.1+cu118");
  EXPECT_EQ(torch({.release = "2.12.0", .driver = "570.86.15", .gpus = {h100}}), "2.12.0+cu126");
  EXPECT_EQ(torch({.release = "2.12.0", .driver = "580.95.05", .gpus = {h100}}), "2.12.0+cu130");
}

TEST(WheelChoice, ADriverThatIsTooOldForEveryBuildIsToldSo) {
  const WheelChoice choice = choose({.release = "2.12.0", .driver = "470.256.02", .gpus = {v100}});
  EXPECT_FALSE(choice.found);
  EXPECT_EQ(choice.obstacle, WheelObstacle::DriverTooOld);
  EXPECT_EQ(choice.needed_driver, "525.60.13");
  // Where the driver cannot change, the last release that it runs is the answer.
  const WheelChoice fixed = choose({.release = "2.12.0", .driver = "470.256.02", .gpus = {v100}, .driver_stays = true});
  EXPECT_EQ(text(fixed), "2.7.1+cu118");
  EXPECT_TRUE(fixed.older_release);
  EXPECT_EQ(torch({.driver = "470.256.02", .gpus = {v100}}), "2.7.1+cu118");
}

TEST(WheelChoice, BlackwellNeedsTheNextRelease) {
  const WheelChoice choice = choose({.release = "2.6.0", .driver = "570.124.06", .gpus = {rtx5080}});
  EXPECT_EQ(text(choice), "2.7.0+cu128");
  EXPECT_FALSE(choice.same_release);
  EXPECT_EQ(choice.obstacle, WheelObstacle::GpuTooNew);
  EXPECT_EQ(torch({.release = "2.7.1+cu126", .driver = "570.124.06", .gpus = {rtx5080}}), "2.7.1+cu128");
  EXPECT_EQ(torch({.release = "2.4.0", .driver = "575.57.08", .gpus = {b200}}), "2.7.0+cu128");
  EXPECT_EQ(torch({.release = "2.7.0", .driver = "580.65.06", .gpus = {{12, 1}}}), "2.7.0+cu128");
}

TEST(WheelChoice, OldGpusKeepTheBuildThatStillHasThem) {
  EXPECT_EQ(torch({.release = "2.8.0", .driver = "580.65.06", .gpus = {gtx1080ti}}), "2.8.0+cu126");
  EXPECT_EQ(torch({.release = "2.11.0+cu130", .driver = "580.95.05", .gpus = {gtx1080ti}}), "2.11.0+cu126");
  EXPECT_EQ(torch({.release = "2.11.0+cu128", .driver = "580.95.05", .gpus = {v100}}), "2.11.0+cu126");
  EXPECT_EQ(torch({.release = "2.15.0", .driver = "580.95.05", .gpus = {gtx1080ti}}), "2.14.1+cu126");
  const WheelChoice choice = choose({.release = "2.11.0", .driver = "470.256.02", .gpus = {k80}});
  EXPECT_EQ(text(choice), "2.7.1+cu118");
  EXPECT_TRUE(choice.older_release);
  EXPECT_EQ(choice.obstacle, WheelObstacle::GpuDropped);
}

TEST(WheelChoice, EveryGpuOfTheMachineMustBeServed) {
  EXPECT_EQ(torch({.release = "2.7.0", .driver = "575.57.08", .gpus = {{7, 5}, rtx5080}}), "2.7.0+cu128");
  EXPECT_EQ(choose({.release = "2.7.0", .driver = "575.57.08", .gpus = {gtx1080ti, rtx5080}}).found, false);
}

TEST(WheelChoice, AarchBuilds) {
  EXPECT_EQ(torch({.release = "2.5.1", .driver = "550.120", .gpus = {h100}, .platform = Platform::LinuxAarch64}), "2.7.0+cu128");
  EXPECT_EQ(torch({.release = "2.9.1", .driver = "580.65.06", .gpus = {h100}, .platform = Platform::LinuxAarch64}),
            "2.9.1+cu128");
  EXPECT_EQ(torch({.release = "2.11.0", .driver = "580.65.06", .gpus = {h100}, .platform = Platform::LinuxAarch64}),
            "2.11.0+cu130");
}

TEST(WheelChoice, PythonTooNewGoesToTheReleaseThatHasIt) {
  const WheelChoice choice = choose({.release = "2.6.0", .python = "3.14", .driver = "570.124.06", .gpus = {rtx4090}});
  EXPECT_EQ(text(choice), "2.9.0+cu128");
  EXPECT_EQ(choice.obstacle, WheelObstacle::PythonTooNew);
  const WheelChoice none = choose({.release = "2.6.0", .python = "3.16", .driver = "570.124.06", .gpus = {rtx4090}});
  EXPECT_FALSE(none.found);
  EXPECT_EQ(none.obstacle, WheelObstacle::PythonTooNew);
  ASSERT_TRUE(none.needed_python.has_value());
}

TEST(WheelChoice, UnknownStaysUnknown) {
  EXPECT_EQ(choose({.release = "2.99.0", .driver = "580.65.06"}).obstacle, WheelObstacle::UnknownRelease);
  EXPECT_EQ(choose({.framework = "mindspore", .release = "2.0"}).obstacle, WheelObstacle::UnknownFramework);
  EXPECT_EQ(choose({.release = "2.6.0", .gpus = {{8, 7}}, .jetson = true}).obstacle, WheelObstacle::Jetson);
  // Nothing known of the machine: PyPI's own build of the release.
  EXPECT_EQ(torch({.release = "2.6.0", .python = ""}), "2.6.0+cu124");
}

TEST(WheelChoice, WindowsAndItsDriverNumbers) {
  EXPECT_EQ(torch({.release = "2.5.1+cpu", .driver = "551.86", .gpus = {rtx4090}, .platform = Platform::WindowsX86_64}),
            "2.5.1+cu124");
  EXPECT_EQ(torch({.release = "2.5.1", .driver = "527.41", .gpus = {rtx4090}, .windows_driver = true}), "2.5.1+cu118");
  EXPECT_EQ(choose({.release = "2.5.1", .platform = Platform::MacOs}).obstacle, WheelObstacle::NoBuild);
}

TEST(WheelChoice, ReleasesBeforeTheIndexes) {
  const WheelChoice choice = choose({.release = "1.10.1",
                                     .python = "3.9",
                                     .driver = "470.256.02",
                                     .gpus = {v100},
                                     .companions = {"torchvision", "torchaudio"}});
  EXPECT_EQ(text(choice), "1.10.1+cu102");
  EXPECT_EQ(choice.find_links, "https://download.pytorch.org/whl/cu102/torch_stable.html");
  EXPECT_EQ(choice.packages,
            (std::vector<std::string>{"torch==1.10.1+cu102", "torchvision==0.11.2+cu102", "torchaudio==0.10.1"}));
  EXPECT_TRUE(choice.index.empty());
}

TEST(WheelChoice, TensorFlow) {
  const WheelChoice choice = choose({.framework = "tensorflow", .release = "2.17.1", .driver = "550.120", .gpus = {rtx4090}});
  EXPECT_EQ(choice.packages, std::vector<std::string>{"tensorflow[and-cuda]==2.17.1"});
  EXPECT_TRUE(choice.same_release);
  EXPECT_EQ(choose({.framework = "tensorflow-cpu", .release = "2.15.0", .python = "3.11", .driver = "550.120"}).packages,
            std::vector<std::string>{"tensorflow[and-cuda]==2.15.0"});
  const WheelChoice too_new = choose({.framework = "tensorflow", .python = "3.14", .driver = "550.120"});
  EXPECT_EQ(too_new.obstacle, WheelObstacle::PythonTooNew);
  EXPECT_EQ(too_new.needed_python->text(), "3.13");
  const WheelChoice old_driver = choose({.framework = "tensorflow", .release = "2.18.0", .driver = "470.256.02", .gpus = {v100}});
  EXPECT_EQ(old_driver.obstacle, WheelObstacle::DriverTooOld);
  EXPECT_EQ(old_driver.needed_driver, "525.60.13");
  EXPECT_EQ(choose({.framework = "tensorflow", .release = "2.18.0", .platform = Platform::WindowsX86_64}).obstacle,
            WheelObstacle::NoBuild);
  EXPECT_EQ(choose({.framework = "tensorflow", .release = "2.18.0", .platform = Platform::LinuxAarch64}).obstacle,
            WheelObstacle::NoBuild);
}

TEST(WheelChoice, Jax) {
  EXPECT_EQ(choose({.framework = "jax", .release = "0.4.35", .driver = "535.183.01", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"jax[cuda12]==0.4.35"});
  EXPECT_EQ(choose({.framework = "jaxlib", .release = "0.8.1", .driver = "580.65.06", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"jax[cuda13]==0.8.1"});
  EXPECT_EQ(choose({.framework = "jax", .release = "0.8.1", .driver = "570.86.15", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"jax[cuda12]==0.8.1"});
  EXPECT_EQ(choose({.framework = "jax", .release = "0.8.1", .driver = "580.65.06", .gpus = {v100}}).packages,
            std::vector<std::string>{"jax[cuda12]==0.8.1"});
  const WheelChoice old_driver = choose({.framework = "jax", .release = "0.8.1", .driver = "470.256.02", .gpus = {v100}});
  EXPECT_EQ(old_driver.obstacle, WheelObstacle::DriverTooOld);
  EXPECT_EQ(old_driver.needed_driver, "525.60.13");
}

TEST(WheelChoice, Cupy) {
  EXPECT_EQ(choose({.framework = "cupy-cuda13x", .release = "13.6.0", .driver = "550.120", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"cupy-cuda12x==13.6.0"});
  EXPECT_EQ(choose({.framework = "cupy", .release = "13.3.0", .driver = "550.120", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"cupy-cuda12x==13.3.0"});
  EXPECT_EQ(choose({.framework = "cupy", .release = "13.3.0", .driver = "470.256.02", .gpus = {v100}}).packages,
            std::vector<std::string>{"cupy-cuda11x==13.3.0"});
  EXPECT_EQ(choose({.framework = "cupy", .driver = "580.65.06", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"cupy-cuda13x[ctk]==14.0.*"});
}

TEST(WheelChoice, Onnxruntime) {
  EXPECT_EQ(choose({.framework = "onnxruntime-gpu", .release = "1.22.0", .driver = "535.183.01"}).packages,
            std::vector<std::string>{"onnxruntime-gpu[cuda,cudnn]==1.22.0"});
  EXPECT_EQ(choose({.framework = "onnxruntime", .release = "1.20.1", .driver = "535.183.01", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"onnxruntime-gpu==1.20.1"});
  EXPECT_EQ(choose({.framework = "onnxruntime-gpu", .driver = "535.183.01", .gpus = {rtx4090}}).packages,
            std::vector<std::string>{"onnxruntime-gpu[cuda,cudnn]==1.26.*"});
  const WheelChoice old_driver =
      choose({.framework = "onnxruntime-gpu", .release = "1.27.0", .driver = "535.183.01", .gpus = {rtx4090}});
  EXPECT_EQ(old_driver.obstacle, WheelObstacle::DriverTooOld);
  EXPECT_EQ(old_driver.needed_driver, "580.65.06");
}

}  // namespace
