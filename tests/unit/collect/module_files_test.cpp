// Module files of every kernel, wherever distributions put them.
#include <gtest/gtest.h>

#include "collect/kernel_driver_parts.h"
#include "model/module_name.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

Machine collect(RecordedTree tree, const char* running = "6.8.0-49-generic") {
  Machine machine;
  if (*running != '\0') machine.os.kernel = Fact<std::string>::known(running);
  auto system = make_recorded_system(std::move(tree));
  collect_module_files(*system, {}, machine);
  return machine;
}

std::string paths(const Machine& machine) {
  std::string out;
  for (const auto& file : *machine.kernel_driver.module_files.get()) out += file.path + "\n";
  return out;
}

TEST(ModuleFiles, FoundInTheFoldersOfEachDistribution) {
  RecordedTree tree;
  const char* files[] = {
      "/usr/lib/modules/6.8.0-49-generic/kernel/nvidia-550srv-open/nvidia.ko",
      "/usr/lib/modules/6.8.0-49-generic/updates/dkms/nvidia-uvm.ko.zst",
      "/usr/lib/modules/6.8.0-50-generic/extra/nvidia/nvidia.ko.xz",
      "/usr/lib/modules/6.8.0-51-generic/extramodules/nvidia.ko.zst",
      "/usr/lib/modules/6.8.0-52-generic/kernel/drivers/video/nvidia.ko",
      "/usr/lib/modules/6.8.0-53-generic/kernel/drivers/char/drm/nvidia-current-drm.ko.gz",
      "/usr/lib/modules/6.8.0-54-generic/misc/nvidia.ko",
      "/usr/lib/modules/6.8.0-49-generic/kernel/drivers/gpu/drm/nouveau/nouveau.ko",
      "/usr/lib/modules/6.8.0-49-generic/kernel/drivers/video/fbdev/nvidia/nvidiafb.ko",
      "/usr/lib/modules/6.8.0-49-generic/updates/dkms/nvidia.txt",
      "/usr/lib/modules/6.8.0-49-generic/updates/dkms/vboxdrv.ko",
  };
  for (const char* file : files) tree.add_file(file, "not an ELF");
  tree.add_link("/usr/lib/modules/6.8.0-55-generic/weak-updates/nvidia.ko",
                "/lib/modules/6.8.0-50-generic/extra/nvidia/nvidia.ko.xz");
  tree.add_link("/usr/lib/modules/6.8.0-56-generic/weak-updates/nvidia.ko", "/lib/modules/gone/extra/nvidia.ko");
  tree.add_link("/lib", "usr/lib");
  const Machine machine = collect(std::move(tree));
  EXPECT_EQ(paths(machine),
            "/lib/modules/6.8.0-49-generic/updates/dkms/nvidia-uvm.ko.zst\n"
            "/lib/modules/6.8.0-49-generic/kernel/drivers/gpu/drm/nouveau/nouveau.ko\n"
            "/lib/modules/6.8.0-49-generic/kernel/nvidia-550srv-open/nvidia.ko\n"
            "/lib/modules/6.8.0-50-generic/extra/nvidia/nvidia.ko.xz\n"
            "/lib/modules/6.8.0-51-generic/extramodules/nvidia.ko.zst\n"
            "/lib/modules/6.8.0-52-generic/kernel/drivers/video/nvidia.ko\n"
            "/lib/modules/6.8.0-53-generic/kernel/drivers/char/drm/nvidia-current-drm.ko.gz\n"
            "/lib/modules/6.8.0-54-generic/misc/nvidia.ko\n"
            "/lib/modules/6.8.0-55-generic/weak-updates/nvidia.ko\n");
  for (const auto& file : *machine.kernel_driver.module_files.get()) {
    EXPECT_TRUE(file.version.is_not_seen());
    EXPECT_FALSE(file.version.why().empty());
  }
}

TEST(ModuleFiles, ModulesDepNamesUnusualPlaces) {
  RecordedTree tree;
  tree.add_file("/lib/modules/6.8.0-49-generic/odd/place/nvidia.ko", "x");
  tree.add_file("/lib/modules/6.8.0-49-generic/modules.dep",
                "kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko\nodd/place/nvidia.ko: "
                "kernel/drivers/gpu/drm/drm.ko\ngone/nvidia-uvm.ko: odd/place/nvidia.ko\n../../../etc/nvidia.ko:\n");
  EXPECT_EQ(paths(collect(std::move(tree))), "/lib/modules/6.8.0-49-generic/odd/place/nvidia.ko\n");
}

TEST(ModuleFiles, HeadersAreThereWhenTheLinkLeadsToAMakefile) {
  RecordedTree tree;
  for (const char* kernel : {"1", "2", "3", "4"}) tree.add_file(std::string("/lib/modules/") + kernel + "/modules.builtin", "");
  tree.add_file("/usr/src/linux-headers-1/Makefile", "");
  tree.add_link("/lib/modules/1/build", "/usr/src/linux-headers-1");
  tree.add_link("/lib/modules/2/build", "/usr/src/linux-headers-2");
  tree.add_directory("/usr/src/linux-headers-3");
  tree.add_link("/lib/modules/3/build", "/usr/src/linux-headers-3");
  tree.add_file("/lib/modules/4/source/include/generated/autoconf.h", "");
  tree.add_file("/lib/modules/leftover/updates/dkms/nvidia.ko", "x");
  const Machine machine = collect(std::move(tree));
  const auto& kernels = *machine.kernel_driver.kernels.get();
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_TRUE(kernels[0].headers.is("/usr/src/linux-headers-1"));
  EXPECT_TRUE(kernels[1].headers.is_absent());
  EXPECT_NE(kernels[1].headers.origin().text.find("/usr/src/linux-headers-2"), std::string::npos);
  EXPECT_TRUE(kernels[2].headers.is_absent());
  EXPECT_TRUE(kernels[3].headers.is_known());
  EXPECT_EQ(machine.kernel_driver.module_files.get()->size(), 1U);
}

TEST(ModuleFiles, AnUnreadableFolderIsNotAnEmptyOne) {
  RecordedTree tree;
  tree.add_file("/lib/modules/1/updates/nvidia.ko", "x");
  tree.nodes["/lib/modules"] = {FileType::Directory, "", 0700, 0, 0, 0, 0, true};
  EXPECT_TRUE(collect(std::move(tree)).kernel_driver.module_files.is_not_seen());
  EXPECT_TRUE(collect({}).kernel_driver.module_files.is_known());
  EXPECT_TRUE(collect({}).kernel_driver.kernels.is_absent());
}

TEST(ModuleRole, MapsPackagedNames) {
  const std::pair<const char*, const char*> cases[] = {{"nvidia", "nvidia"},
                                                       {"nvidia_uvm", "nvidia-uvm"},
                                                       {"nvidia-current", "nvidia"},
                                                       {"nvidia-current-modeset", "nvidia-modeset"},
                                                       {"nvidia-tesla-470-drm", "nvidia-drm"},
                                                       {"nvidia-legacy-390xx-uvm", "nvidia-uvm"},
                                                       {"nvidia-legacy-390xx", "nvidia"},
                                                       {"nvidia-peermem", "nvidia-peermem"},
                                                       {"nvidia-vgpu-vfio", "nvidia-vgpu-vfio"},
                                                       {"nvidiafb", ""},
                                                       {"nvidia-wmi-ec-backlight", ""},
                                                       {"nvidia_cspmu", ""},
                                                       {"nouveau", ""},
                                                       {"nvidia-fs", "nvidia-fs"},
                                                       {"nvidia-open", "nvidia"},
                                                       {"nvidia-550", "nvidia"},
                                                       {"", ""}};
  for (const auto& [name, role] : cases) EXPECT_EQ(nvidia_module_role(name), role) << name;
}

}  // namespace
}  // namespace gpuvet
