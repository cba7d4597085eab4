// DKMS' own tree and make.log, akmods' failed logs.
#include <gtest/gtest.h>

#include "collect/kernel_driver_parts.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

constexpr const char* failed_log =
    "DKMS make.log for nvidia-535.129.03 for kernel 6.8.0-31-generic (x86_64)\n"
    "Thu Apr 25 09:00:00 UTC 2024\n"
    "make[1]: Entering directory '/usr/src/linux-headers-6.8.0-31-generic'\n"
    "warning: the compiler differs from the one used to build the kernel\n"
    "  CC [M]  /var/lib/dkms/nvidia/535.129.03/build/nvidia-drm/nvidia-drm-drv.o\n"
    "/var/lib/dkms/nvidia/535.129.03/build/nvidia-drm/nvidia-drm-drv.c:748:6: error: 'DRM_UNLOCKED' undeclared here (not in a "
    "function)\n"
    "/var/lib/dkms/nvidia/535.129.03/build/nvidia-drm/nvidia-drm-fb.c:44:9: error: implicit declaration of function 'x'\n"
    "make[3]: *** [scripts/Makefile.build:243: /var/lib/dkms/nvidia/535.129.03/build/nvidia-drm/nvidia-drm-drv.o] Error 1\n"
    "make: *** [Makefile:82: modules] Error 2\n";

Machine collect(RecordedTree tree, std::vector<ModuleFile> files = {}) {
  Machine machine;
  machine.kernel_driver.module_files = Fact<std::vector<ModuleFile>>::known(std::move(files));
  auto system = make_recorded_system(std::move(tree));
  collect_dkms(*system, machine);
  return machine;
}

std::string show(const Machine& machine) {
  const auto* records = machine.kernel_driver.dkms.get();
  if (records == nullptr) return machine.kernel_driver.dkms.is_absent() ? "absent" : "not seen";
  std::string out;
  for (const auto& r : *records) out += r.name + " " + r.version + " " + r.kernel + " " + r.architecture + " " + r.state + "\n";
  return out;
}

TEST(MakeLog, FindsTheErrorThatEndedTheBuild) {
  const MakeLog log = parse_make_log("/x/make.log", failed_log);
  EXPECT_EQ(log.kernel, "6.8.0-31-generic");
  EXPECT_EQ(log.architecture, "x86_64");
  ASSERT_EQ(log.error_lines.size(), 2U);
  EXPECT_EQ(log.error_lines[0].line, 6U);
  EXPECT_NE(log.error.find("'DRM_UNLOCKED' undeclared"), std::string::npos);
}

TEST(MakeLog, KnowsOtherEnds) {
  const char* ends[] = {
      "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu_read_lock'",
      "cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'",
      "/bin/sh: 1: gcc-12: not found: cc: not found",
      "Error! Your kernel headers for kernel 6.8.0-31-generic cannot be found at /lib/modules/6.8.0-31-generic/build",
      "fatal error: error writing to /tmp/x.s: No space left on device",
      "make[1]: *** No rule to make target 'modules'.  Stop.",
      "Makefile:1: *** The kernel is too new.  Stop.",
      "Compiler version check failed:",
  };
  for (const char* end : ends)
    EXPECT_EQ(parse_make_log("/x", std::string("a\n") + end + "\nmake: *** [Makefile:82: modules] Error 2\n").error, end);
  EXPECT_EQ(parse_make_log("/x", "a\nmake: *** [Makefile:82: modules] Error 2\n").error,
            "make: *** [Makefile:82: modules] Error 2");
  EXPECT_EQ(
      parse_make_log("/x", "DKMS (dkms-3.1.0) make.log for nvidia/560.35.03 for kernel 6.12.1-arch1 (x86_64)\nall fine\n").error,
      "");
  EXPECT_EQ(parse_make_log("/x", "DKMS (dkms-3.1.0) make.log for nvidia/560.35.03 for kernel 6.12.1-arch1 (x86_64)\n").kernel,
            "6.12.1-arch1");
  EXPECT_EQ(parse_make_log("/x", "DKMS make.log for nvidia-1 for kernel 5.0.0-15-generic (x86_64)Mon May 27\n").architecture,
            "x86_64");
}

TEST(Dkms, InstalledBuiltFailedAndAdded) {
  RecordedTree tree;
  const std::string root = "/var/lib/dkms/nvidia/";
  tree.add_link(root + "535.129.03/source", "/usr/src/nvidia-535.129.03");
  tree.add_file("/usr/src/nvidia-535.129.03/dkms.conf", "");
  tree.add_file(root + "535.129.03/6.5.0-14-generic/x86_64/module/nvidia.ko", "x");
  tree.add_link(root + "kernel-6.5.0-14-generic-x86_64", "535.129.03/6.5.0-14-generic/x86_64");
  tree.add_file(root + "535.129.03/6.5.0-15-generic/x86_64/module/nvidia.ko.zst", "x");
  tree.add_file(root + "535.129.03/build/make.log", failed_log);
  tree.add_link("/var/lib/dkms/nvidia-srv/550.90.07/source", "/usr/src/nvidia-srv-550.90.07");
  tree.add_file("/var/lib/dkms/virtualbox/7.0/build/make.log", failed_log);
  const Machine machine = collect(std::move(tree));
  EXPECT_EQ(show(machine),
            "nvidia 535.129.03 6.5.0-14-generic x86_64 installed\n"
            "nvidia 535.129.03 6.5.0-15-generic x86_64 built\n"
            "nvidia 535.129.03 6.8.0-31-generic x86_64 failed\n"
            "nvidia-srv 550.90.07   broken\n");
  const auto& failed = (*machine.kernel_driver.dkms.get())[2];
  EXPECT_TRUE(failed.error.is_known());
  EXPECT_EQ(failed.error_lines[0].source, "/var/lib/dkms/nvidia/535.129.03/build/make.log");
  EXPECT_EQ(*machine.kernel_driver.driver_sources.get(), std::vector<std::string>{"/usr/src/nvidia-535.129.03"});
}

TEST(Dkms, AnOldBuildLogOfAKernelThatHasItsModuleIsNoFailure) {
  RecordedTree tree;
  tree.add_file("/var/lib/dkms/nvidia/535.129.03/build/make.log", failed_log);
  tree.add_file("/var/lib/dkms/nvidia/535.129.03/6.8.0-31-generic/x86_64/module/nvidia.ko", "x");
  tree.add_file("/var/lib/dkms/nvidia/535.129.03/6.8.0-31-generic/x86_64/log/make.log",
                "DKMS make.log for nvidia-535.129.03 for kernel 6.8.0-31-generic (x86_64)\n");
  ModuleFile file;
  file.kernel = "6.8.0-31-generic";
  file.name = "nvidia";
  EXPECT_EQ(show(collect(std::move(tree), {file})), "nvidia 535.129.03 6.8.0-31-generic x86_64 installed\n");
}

TEST(Dkms, OnlyAdded) {
  RecordedTree tree;
  tree.add_link("/var/lib/dkms/nvidia/550.120/source", "/usr/src/nvidia-550.120");
  tree.add_file("/usr/src/nvidia-550.120/dkms.conf", "");
  EXPECT_EQ(show(collect(std::move(tree))), "nvidia 550.120   added\n");
}

TEST(Dkms, NoTree) {
  EXPECT_EQ(show(collect({})), "absent");
  RecordedTree tree;
  tree.add_directory("/var/lib/dkms");
  EXPECT_EQ(show(collect(std::move(tree))), "");
}

TEST(Akmods, FailedLogs) {
  RecordedTree tree;
  tree.add_file("/var/cache/akmods/nvidia/565.77-1-for-6.12.11-200.fc41.x86_64.failed.log",
                "2025/05/27 akmodsbuild: Building\ncc1: fatal error: x.h: No such file\n");
  tree.add_file("/var/cache/akmods/nvidia/565.77-1-for-6.11.4-301.fc41.x86_64.failed.log", "error\n");
  tree.add_file("/var/cache/akmods/nvidia/565.77-1-for-6.11.4-301.fc41.x86_64.log", "fine\n");
  ModuleFile file;
  file.kernel = "6.11.4-301.fc41.x86_64";
  file.name = "nvidia";
  const Machine machine = collect(std::move(tree), {file});
  EXPECT_EQ(show(machine), "akmod-nvidia 565.77 6.12.11-200.fc41.x86_64 x86_64 failed\n");
  EXPECT_EQ((*machine.kernel_driver.dkms.get())[0].error_lines.size(), 1U);
}

}  // namespace
}  // namespace gpuvet
