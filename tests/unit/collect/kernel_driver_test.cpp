// /proc/modules, /sys/module and /proc/driver/nvidia, in their real formats.
#include <gtest/gtest.h>

#include "collect/kernel_driver_parts.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

Machine collect_driver(RecordedTree tree, Machine machine = {}) {
  auto system = make_recorded_system(std::move(tree));
  collect_kernel_driver(*system, {}, machine);
  return machine;
}

const LoadedModule* find(const Machine& machine, std::string_view name) {
  const auto* loaded = machine.kernel_driver.loaded.get();
  if (loaded == nullptr) return nullptr;
  for (const auto& module : *loaded)
    if (module.name == name) return &module;
  return nullptr;
}

RecordedTree loaded_550() {
  RecordedTree tree;
  tree.add_file("/proc/modules",
                "nvidia_uvm 4915200 0 - Live 0x0000000000000000 (POE)\n"
                "nvidia_modeset 1536000 2 nvidia_drm, Live 0x0000000000000000 (POE)\n"
                "nvidia 56823808 20 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n"
                "snd_hda_intel 61440 3 - Live 0x0000000000000000\n");
  tree.add_file("/sys/module/nvidia/version", "550.120\n");
  tree.add_file("/sys/module/nvidia/taint", "POE\n");
  tree.add_file("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n");
  tree.add_file("/proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120  Fri Sep 13 10:10:01 UTC 2024\nGCC version:  gcc "
                "version 13.2.0\n");
  tree.add_file("/proc/driver/nvidia/params", "ModifyDeviceFiles: 1\nDeviceFileMode: 438\nRegistryDwords: \"\"\n");
  tree.add_file("/proc/driver/nvidia/registry", "Binary: \"\"\n");
  tree.add_file("/proc/driver/nvidia/gpus/0000:01:00.0/information",
                "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ:   \t\t 151\nGPU UUID: \t "
                "GPU-0824627d-4c4a-ad7a-4a5a-ea73a67cb7a0\nVideo BIOS: \t 95.02.3c.40.12\n"
                "Bus Location: \t 0000:01:00.0\nDevice Minor: \t 3\nGPU Firmware: \t N/A\nGPU Excluded:\t No\n");
  tree.add_file("/proc/driver/nvidia/capabilities/mig/config", "DeviceFileMinor: 1\n");
  tree.add_file("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access", "DeviceFileMinor: 5\n");
  return tree;
}

TEST(KernelDriver, ReadsALoadedDriver) {
  const Machine machine = collect_driver(loaded_550());
  const KernelDriver& driver = machine.kernel_driver;
  EXPECT_TRUE(driver.version.is("550.120"));
  EXPECT_EQ(driver.version.origin().source, "/proc/driver/nvidia/version");
  EXPECT_TRUE(driver.flavor.is("proprietary"));
  ASSERT_EQ(driver.loaded.get()->size(), 3U);
  const LoadedModule* nvidia = find(machine, "nvidia");
  ASSERT_NE(nvidia, nullptr);
  EXPECT_EQ(nvidia->use_count, 20);
  EXPECT_EQ(nvidia->used_by, (std::vector<std::string>{"nvidia_uvm", "nvidia_modeset"}));
  EXPECT_EQ(nvidia->state, "Live");
  EXPECT_EQ(nvidia->origin.line, 3U);
  EXPECT_EQ(find(machine, "nvidia_uvm")->parameters.at("uvm_disable_hmm"), "N");
  EXPECT_TRUE(find(machine, "nvidia_uvm")->version.is_absent());
  EXPECT_EQ(driver.parameters.at("DeviceFileMode"), "438");
  ASSERT_EQ(driver.gpus.size(), 1U);
  EXPECT_EQ(driver.gpus[0].model, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(driver.gpus[0].device_minor, 3);
  EXPECT_FALSE(driver.gpus[0].excluded);
  EXPECT_EQ(*driver.mig_capabilities.get(), (std::vector<std::string>{"gpu0/mig/gi1/ci0/access", "mig/config"}));
}

TEST(KernelDriver, WithoutProcNothingIsKnownAbsent) {
  const Machine machine = collect_driver({});
  EXPECT_TRUE(machine.kernel_driver.loaded.is_not_seen());
  EXPECT_TRUE(machine.kernel_driver.version.is_not_seen());
}

TEST(KernelDriver, AnEmptyModuleListIsAFact) {
  RecordedTree tree;
  tree.add_file("/proc/modules", "");
  const Machine machine = collect_driver(std::move(tree));
  ASSERT_TRUE(machine.kernel_driver.loaded.is_known());
  EXPECT_TRUE(machine.kernel_driver.loaded.get()->empty());
  EXPECT_TRUE(machine.kernel_driver.version.is_absent());
  EXPECT_TRUE(machine.kernel_driver.banner.is_absent());
}

TEST(KernelDriver, BuiltInModulesAreOnlyInSysfs) {
  RecordedTree tree;
  tree.add_file("/proc/modules", "ext4 1 1 - Live 0x0\n");
  tree.add_file("/sys/module/nouveau/parameters/modeset", "-1\n");
  const Machine machine = collect_driver(std::move(tree));
  const LoadedModule* nouveau = find(machine, "nouveau");
  ASSERT_NE(nouveau, nullptr);
  EXPECT_EQ(nouveau->state, "Built-in");
  EXPECT_EQ(nouveau->parameters.at("modeset"), "-1");
}

TEST(KernelDriver, TaintTellsTheFlavorWhereThereIsNoBanner) {
  RecordedTree tree;
  tree.add_file("/proc/modules", "nvidia 56823808 0 - Live 0x0 (OE)\n");
  tree.add_file("/sys/module/nvidia/version", "580.95.05\n");
  tree.add_file("/sys/module/nvidia/taint", "OE\n");
  const Machine machine = collect_driver(std::move(tree));
  EXPECT_TRUE(machine.kernel_driver.version.is("580.95.05"));
  EXPECT_TRUE(machine.kernel_driver.flavor.is("open"));
}

TEST(Banner, HasTheVersionOfEveryArchitectureAndFlavor) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024", "535.183.01", "proprietary"},
      {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.153.02  Release Build  (dvs-builder@U16-I3-A16-4-1)  Thu "
       "Apr 10 18:01:02 UTC 2025",
       "570.153.02", "open"},
      {"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  (buildbrain@mobile-u64)", "540.4.0",
       "open"},
      {"NVRM version: NVIDIA UNIX aarch64 Kernel Module  580.173.02  Wed Oct 1", "580.173.02", "proprietary"},
      {"NVRM version: NVIDIA UNIX ppc64le Kernel Module  535.54.03  Tue Jun  6", "535.54.03", "proprietary"},
      {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.51  Mon", "575.51", "proprietary"},
      {"something else 1.2.3", "", ""},
      {"", "", ""},
  };
  for (const auto& [banner, version, flavor] : cases) {
    EXPECT_EQ(driver_version_in_banner(banner), version) << banner;
    EXPECT_EQ(flavor_in_banner(banner), flavor) << banner;
  }
}

TEST(Firmware, FoldersOfVersionsOnly) {
  RecordedTree tree;
  tree.add_file("/usr/lib/firmware/nvidia/550.120/gsp_ga10x.bin.xz", "x");
  tree.add_file("/usr/lib/firmware/nvidia/550.120/gsp_tu10x.bin", "x");
  tree.add_file("/usr/lib/firmware/nvidia/ga102/gsp/gsp-535.113.01.bin", "x");
  tree.add_link("/lib", "usr/lib");
  const Machine machine = collect_driver(std::move(tree));
  const auto* firmware = machine.kernel_driver.firmware.get();
  ASSERT_NE(firmware, nullptr);
  ASSERT_EQ(firmware->size(), 1U);
  EXPECT_EQ((*firmware)[0].version, "550.120");
  EXPECT_EQ((*firmware)[0].files, (std::vector<std::string>{"gsp_ga10x.bin", "gsp_tu10x.bin"}));
}

TEST(Firmware, NoneIsKnownWhereTheFolderIsThere) {
  RecordedTree tree;
  tree.add_file("/lib/firmware/intel/x.bin", "x");
  EXPECT_TRUE(collect_driver(std::move(tree)).kernel_driver.firmware.get()->empty());
  EXPECT_TRUE(collect_driver({}).kernel_driver.firmware.is_absent());
}

}  // namespace
}  // namespace gpuvet
