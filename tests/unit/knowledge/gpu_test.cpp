#include <gtest/gtest.h>

#include <set>

#include "knowledge/embedded.h"
#include "knowledge/knowledge.h"
#include "knowledge/table.h"

namespace gpuvet {
namespace {

const Knowledge& knowledge() {
  static const Knowledge shared;
  return shared;
}

DriverVersion driver(std::string_view text) { return DriverVersion::parse(text).value(); }

struct Expected {
  std::uint16_t id;
  std::string_view chip, architecture;
  ComputeCapability capability;
  OpenModule open;
  std::uint32_t last_branch;  ///< 0: still served
};

class EveryArchitecture : public testing::TestWithParam<Expected> {};

TEST_P(EveryArchitecture, IsIdentifiedByItsId) {
  const Expected& fact = GetParam();
  const GpuIdentity gpu = knowledge().gpu(fact.id);
  EXPECT_TRUE(gpu.in_table);
  EXPECT_EQ(gpu.chip, fact.chip);
  EXPECT_EQ(gpu.architecture, fact.architecture);
  EXPECT_EQ(gpu.compute_capability, fact.capability);
  EXPECT_EQ(gpu.open_module, fact.open);
  EXPECT_EQ(gpu.last_driver_branch.value_or(0), fact.last_branch);
  EXPECT_FALSE(gpu.source.empty());
}

INSTANTIATE_TEST_SUITE_P(Knowledge, EveryArchitecture,
                         testing::Values(Expected{0x0193, "G80", "Tesla", {1, 0}, OpenModule::Impossible, 340},
                                         Expected{0x0DC4, "GF106", "Fermi", {2, 1}, OpenModule::Impossible, 390},
                                         Expected{0x1004, "GK110", "Kepler", {3, 5}, OpenModule::Impossible, 470},
                                         Expected{0x102D, "GK210", "Kepler", {3, 7}, OpenModule::Impossible, 470},
                                         Expected{0x1380, "GM107", "Maxwell", {5, 0}, OpenModule::Impossible, 580},
                                         Expected{0x13C0, "GM204", "Maxwell", {5, 2}, OpenModule::Impossible, 580},
                                         Expected{0x15F8, "GP100", "Pascal", {6, 0}, OpenModule::Impossible, 580},
                                         Expected{0x1B06, "GP102", "Pascal", {6, 1}, OpenModule::Impossible, 580},
                                         Expected{0x1DB1, "GV100", "Volta", {7, 0}, OpenModule::Impossible, 580},
                                         Expected{0x1EB8, "TU104", "Turing", {7, 5}, OpenModule::Possible, 0},
                                         Expected{0x20B0, "GA100", "Ampere", {8, 0}, OpenModule::Possible, 0},
                                         Expected{0x2204, "GA102", "Ampere", {8, 6}, OpenModule::Possible, 0},
                                         Expected{0x2684, "AD102", "Ada Lovelace", {8, 9}, OpenModule::Possible, 0},
                                         Expected{0x2330, "GH100", "Hopper", {9, 0}, OpenModule::Possible, 0},
                                         Expected{0x2342, "GH100", "Hopper", {9, 0}, OpenModule::Required, 0},
                                         Expected{0x2901, "GB100", "Blackwell", {10, 0}, OpenModule::Required, 0},
                                         Expected{0x3182, "GB110", "Blackwell", {10, 3}, OpenModule::Required, 0},
                                         Expected{0x2B85, "GB202", "Blackwell", {12, 0}, OpenModule::Required, 0},
                                         Expected{0x2E12, "GB20B", "Blackwell", {12, 1}, OpenModule::Required, 0}));

TEST(Gpu, UnknownIdIsNeverGuessed) {
  const GpuIdentity gpu = knowledge().gpu(0xffff);
  EXPECT_FALSE(gpu.in_table);
  EXPECT_TRUE(gpu.chip.empty());
  EXPECT_FALSE(gpu.compute_capability);
  EXPECT_EQ(gpu.open_module, OpenModule::Unknown);
  EXPECT_EQ(gpu.label(), "unknown NVIDIA GPU [10de:ffff]");
  EXPECT_EQ(driver_serves(driver("580.65.06"), gpu), Served::Unknown);
}

TEST(Gpu, Label) {
  EXPECT_EQ(knowledge().gpu(0x2684).label(), "RTX 4090 (AD102)");
  EXPECT_EQ(knowledge().gpu(0x2302).label(), "GH100 [10de:2302]");
  EXPECT_EQ(knowledge().gpu(0x1DB1).label(), "Tesla V100-SXM2-16GB (GV100)");
}

// The list of names is no minimum: 520.61.05 does not name the RTX 4090, 520.56.06 is the lower number and does.
TEST(DriverServes, InsideABranchNumbersDoNotMatter) {
  const GpuIdentity rtx4090 = knowledge().gpu(0x2684);
  EXPECT_EQ(driver_serves(driver("520.56.06"), rtx4090), Served::Yes);
  EXPECT_EQ(driver_serves(driver("520.61.05"), rtx4090), Served::Yes);
  EXPECT_EQ(driver_serves(driver("515.105.01"), rtx4090), Served::TooOldDriver);
}

// RTX 4060 Ti: named from 535.43.02 and 525.125.06 on, accepted by every 525.
TEST(DriverServes, NameComesLaterThanTheChip) {
  const GpuIdentity rtx4060ti = knowledge().gpu(0x2803);
  EXPECT_EQ(driver_serves(driver("525.60.13"), rtx4060ti), Served::Yes);
  EXPECT_EQ(driver_serves(driver("530.30.02"), rtx4060ti), Served::Yes);
  EXPECT_EQ(driver_serves(driver("520.56.06"), rtx4060ti), Served::TooOldDriver);
  const GpuIdentity rtx5060 = knowledge().gpu(0x2D05);
  EXPECT_EQ(driver_serves(driver("570.86.16"), rtx5060), Served::Yes);
  EXPECT_EQ(driver_serves(driver("565.77"), rtx5060), Served::TooOldDriver);
}

TEST(DriverServes, HardFloorsOfChips) {
  const std::pair<std::uint16_t, std::uint32_t> floors[] = {{0x2684, 520}, {0x2330, 520}, {0x2882, 525}, {0x2901, 560},
                                                            {0x2B85, 570}, {0x3182, 575}, {0x2E12, 575}};
  for (const auto& [id, branch] : floors) {
    const GpuIdentity gpu = knowledge().gpu(id);
    ASSERT_TRUE(gpu.first_driver) << std::hex << id;
    EXPECT_EQ(gpu.first_driver->branch, branch) << std::hex << id;
  }
}

// 515.43.04 is where the public record of the open module begins, not where Turing and Ampere begin.
TEST(DriverServes, FirstPublicTagIsNoFloor) {
  EXPECT_EQ(driver_serves(driver("450.80.02"), knowledge().gpu(0x1EB8)), Served::Yes);
  EXPECT_EQ(driver_serves(driver("460.32.03"), knowledge().gpu(0x2204)), Served::Yes);
  EXPECT_EQ(driver_serves(driver("450.80.02"), knowledge().gpu(0x2204)), Served::TooOldDriver);
  EXPECT_EQ(driver_serves(driver("396.54"), knowledge().gpu(0x1EB8)), Served::TooOldDriver);
}

TEST(DriverServes, LegacyBranches) {
  EXPECT_EQ(driver_serves(driver("470.256.02"), knowledge().gpu(0x1004)), Served::Yes);
  EXPECT_EQ(driver_serves(driver("495.46"), knowledge().gpu(0x1004)), Served::DroppedByDriver);
  EXPECT_EQ(driver_serves(driver("580.126.09"), knowledge().gpu(0x1DB1)), Served::Yes);
  EXPECT_EQ(driver_serves(driver("590.48.01"), knowledge().gpu(0x1DB1)), Served::DroppedByDriver);
  EXPECT_EQ(driver_serves(driver("390.157"), knowledge().gpu(0x0DC4)), Served::Yes);
  EXPECT_EQ(driver_serves(driver("418.39"), knowledge().gpu(0x0DC4)), Served::DroppedByDriver);
}

// A branch that we do not know: what it dropped is unknown, but what was dropped before does not come back.
TEST(DriverServes, BranchBeyondTheTables) {
  EXPECT_EQ(driver_serves(driver("999.10"), knowledge().gpu(0x2684)), Served::Unknown);
  EXPECT_EQ(driver_serves(driver("999.10"), knowledge().gpu(0x1004)), Served::DroppedByDriver);
}

TEST(DriverServes, JetsonFollowsItsOwnReleases) {
  EXPECT_EQ(driver_serves(driver("540.4.0"), knowledge().gpu(0x2B00)), Served::Unknown);
}

// GRID K1 and K2 stop earlier than other Kepler boards.
TEST(DriverServes, GridK2StopsEarlier) {
  EXPECT_EQ(driver_serves(driver("470.256.02"), knowledge().gpu(0x11BF)), Served::DroppedByDriver);
  EXPECT_EQ(driver_serves(driver("470.256.02"), knowledge().gpu(0x1183)), Served::Yes);
}

// For every device: going up the branches it is too old, then served, then dropped or unknown, and never goes back.
TEST(DriverServes, IsMonotoneForEveryDevice) {
  const auto order = [](Served served) {
    switch (served) {
      case Served::TooOldDriver:
        return 0;
      case Served::Yes:
        return 1;
      default:
        return 2;
    }
  };
  const Knowledge::Table& devices = knowledge().table("pci_devices");
  ASSERT_GT(devices.rows.size(), 1400u);
  for (const auto& row : devices.rows) {
    const auto id = static_cast<std::uint16_t>(std::stoul(std::string(devices.cell(row, "device_id")), nullptr, 16));
    const GpuIdentity gpu = knowledge().gpu(id);
    ASSERT_TRUE(gpu.in_table) << std::hex << id;
    ASSERT_FALSE(gpu.first_driver && gpu.last_driver_branch && gpu.first_driver->branch > *gpu.last_driver_branch)
        << std::hex << id;
    int last = 0;
    for (std::uint32_t branch = 60; branch < 700; branch += 5) {
      DriverVersion version;
      version.branch = branch;
      const int now = order(driver_serves(version, gpu));
      EXPECT_GE(now, last) << std::hex << id << std::dec << " at branch " << branch;
      last = now;
    }
  }
}

// A name is no identity: GT 730 exists as Fermi and as Kepler.
TEST(GpusNamed, AmbiguousNamesListAll) {
  std::set<std::string> architectures;
  for (const GpuIdentity& gpu : knowledge().gpus_named("GT 730")) architectures.insert(gpu.architecture);
  EXPECT_EQ(architectures, (std::set<std::string>{"Fermi", "Kepler"}));
}

TEST(GpusNamed, WholeNamesFirst) {
  const auto gpus = knowledge().gpus_named("nvidia geforce rtx4090");
  ASSERT_GT(gpus.size(), 1u);
  EXPECT_EQ(gpus.front().device_id, 0x2684);
  EXPECT_TRUE(knowledge().gpus_named("Voodoo 2").empty());
  EXPECT_TRUE(knowledge().gpus_named("").empty());
}

TEST(GpuClass, FollowsTheProductLineOfTheName) {
  EXPECT_EQ(knowledge().gpu(0x2684).gpu_class, "desktop");
  EXPECT_EQ(knowledge().gpu(0x1DB1).gpu_class, "data-centre");
  EXPECT_EQ(knowledge().gpu(0x2330).gpu_class, "data-centre");
  EXPECT_EQ(knowledge().gpu(0x2D19).gpu_class, "mobile");
  EXPECT_EQ(knowledge().gpu(0x2BB1).gpu_class, "professional");
}

PciDevice pci(std::int64_t vendor, std::int64_t device, std::int64_t class_code) {
  PciDevice out;
  out.vendor = vendor;
  out.device = device;
  out.class_code = class_code;
  return out;
}

TEST(NvidiaGpus, AreDisplayAndThreeDControllersOfNvidia) {
  Machine machine;
  EXPECT_TRUE(nvidia_gpus(machine, knowledge()).empty());
  machine.pci = Fact<std::vector<PciDevice>>::known({pci(0x10de, 0x2684, 0x030000), pci(0x10de, 0x22ba, 0x040300),
                                                     pci(0x8086, 0x4680, 0x030000), pci(0x10de, 0x2330, 0x030200),
                                                     pci(0x10de, 0x22a3, 0x068000)});
  const auto gpus = nvidia_gpus(machine, knowledge());
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].identity.chip, "AD102");
  EXPECT_EQ(gpus[1].identity.chip, "GH100");
  ASSERT_EQ(nvswitches(machine).size(), 1u);
  EXPECT_EQ(nvswitches(machine)[0]->device, 0x22a3);
}

}  // namespace
}  // namespace gpuvet
