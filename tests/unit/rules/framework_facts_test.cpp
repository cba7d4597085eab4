#include "rules/framework_facts.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

template <class T>
Fact<T> known(T value) {
  return Fact<T>::known(std::move(value));
}

DriverLibrary libcuda(std::string kind, std::string version) {
  DriverLibrary library;
  library.name = "libcuda.so.1";
  library.path = "/lib/libcuda.so.1";
  library.kind = std::move(kind);
  library.elf_class = "64";
  library.wins = true;
  library.version = known(std::move(version));
  return library;
}

std::optional<RunningDriver> driver_of(const Machine& machine) {
  static const Knowledge knowledge;
  return running_driver(make_rule_context(machine, knowledge));
}

TEST(RunningDriver, TheLoadedModule) {
  Machine machine;
  machine.kernel_driver.version = known<std::string>("550.120");
  machine.user_driver.libraries = known(std::vector<DriverLibrary>{libcuda("driver", "560.35.03")});
  const auto driver = driver_of(machine);
  ASSERT_TRUE(driver.has_value());
  EXPECT_EQ(driver->version.text, "550.120");
  EXPECT_EQ(driver->native->text(), "12.4");
}

TEST(RunningDriver, ACompatLibraryBringsItsOwnCuda) {
  Machine machine;
  machine.kernel_driver.version = known<std::string>("470.256.02");
  machine.user_driver.libraries = known(std::vector<DriverLibrary>{libcuda("compat", "550.127.05")});
  const auto driver = driver_of(machine);
  ASSERT_TRUE(driver.has_value());
  EXPECT_EQ(driver->native->text(), "12.4");
}

TEST(RunningDriver, TheLibraryOfWindowsCountsByItsBranch) {
  static const Knowledge knowledge;
  Machine machine;
  machine.os.wsl = known<std::int64_t>(2);
  // 525.85 is the library of Windows' 528.33; as a Windows number it would be too old for CUDA 12.
  machine.user_driver.libraries = known(std::vector<DriverLibrary>{libcuda("wsl", "525.85.05")});
  const auto context = make_rule_context(machine, knowledge);
  const auto driver = running_driver(context);
  ASSERT_TRUE(driver.has_value());
  EXPECT_TRUE(driver->from_windows);
  EXPECT_TRUE(fits(fit_of(context, *driver, *CudaVersion::parse("12.6"))));
  EXPECT_EQ(fit_of(context, *driver, *CudaVersion::parse("13.0")), DriverFit::TooOld);
}

TEST(RunningDriver, NothingIsClaimedWhereNothingWasSeen) {
  Machine machine;
  EXPECT_FALSE(driver_of(machine).has_value());
  machine.os.wsl = known<std::int64_t>(2);
  EXPECT_FALSE(driver_of(machine).has_value());
  machine.os.jetson = known<std::string>("# R36 (release), REVISION: 4.0");
  machine.kernel_driver.version = known<std::string>("540.4.0");
  EXPECT_FALSE(driver_of(machine).has_value());
}

TEST(JetsonRelease, FromTheReleaseLine) {
  Machine machine;
  EXPECT_EQ(jetson_release(machine), 0);
  machine.os.jetson = known<std::string>("# R36 (release), REVISION: 4.0");
  EXPECT_EQ(jetson_release(machine), 36);
  machine.os.jetson = known<std::string>("NVIDIA Jetson AGX Orin Developer Kit");
  EXPECT_EQ(jetson_release(machine), 0);
}

TEST(GpuHere, ContainersMayBeShownAnEmptyBus) {
  static const Knowledge knowledge;
  Machine machine;
  machine.pci = known(std::vector<PciDevice>{});
  EXPECT_EQ(gpu_here(make_rule_context(machine, knowledge)), GpuHere::No);
  machine.os.container = known<std::string>("docker");
  EXPECT_EQ(gpu_here(make_rule_context(machine, knowledge)), GpuHere::Unknown);
  DeviceNode node;
  node.path = "/dev/nvidia0";
  machine.device_nodes.nodes = known(std::vector<DeviceNode>{node});
  EXPECT_EQ(gpu_here(make_rule_context(machine, knowledge)), GpuHere::Yes);
}

}  // namespace
}  // namespace gpuvet
