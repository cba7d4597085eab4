// The driver's side of a pasted text: what is read, and what is not concluded.

#include <gtest/gtest.h>

#include <algorithm>

#include "text_reader.h"

namespace gpuvet {
namespace {

Machine driver(std::string_view text) { return read_with(read_driver, text); }

const LoadedModule* module_named(const Machine& machine, std::string_view name) {
  const auto* list = machine.kernel_driver.loaded.get();
  if (list == nullptr) return nullptr;
  const auto at = std::ranges::find(*list, name, &LoadedModule::name);
  return at == list->end() ? nullptr : &*at;
}

const Package* package_named(const Machine& machine, std::string_view name) {
  const auto* list = machine.packages.installed.get();
  if (list == nullptr) return nullptr;
  const auto at = std::ranges::find(*list, name, &Package::name);
  return at == list->end() ? nullptr : &*at;
}

std::string version_of(const Machine& machine, std::string_view package) {
  const Package* found = package_named(machine, package);
  return found == nullptr ? "(none)" : found->version;
}

// ---- the loaded module --------------------------------------------------------------------------------------------------

TEST(DriverText, BannerOfProc) {
  const Machine machine = driver(
      "$ cat /proc/driver/nvidia/version\n"
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  Thu Oct  6 21:38:55 UTC 2022\n"
      "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
  EXPECT_EQ(machine.kernel_driver.version.value_or(""), "520.56.06");
  EXPECT_EQ(machine.kernel_driver.flavor.value_or(""), "proprietary");
  EXPECT_EQ(machine.kernel_driver.version.origin().line, 2u);
}

TEST(DriverText, BannerOfTheOpenModule) {
  const Machine machine =
      driver("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3)\n");
  EXPECT_EQ(machine.kernel_driver.version.value_or(""), "580.95.05");
  EXPECT_EQ(machine.kernel_driver.flavor.value_or(""), "open");
}

TEST(DriverText, ProcCountsMoreThanAnOldLineOfTheLog) {
  const Machine machine = driver(
      "[    3.1] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n"
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n");
  EXPECT_EQ(machine.kernel_driver.version.value_or(""), "550.54.14");
}

TEST(DriverText, VersionOfSys) {
  EXPECT_EQ(driver("$ cat /sys/module/nvidia/version\n470.82.00\n").kernel_driver.version.value_or(""), "470.82.00");
  EXPECT_FALSE(driver("$ cat /sys/module/nvidia/version\ncat: /sys/module/nvidia/version: No such file or directory\n")
                   .kernel_driver.version.is_known());
}

TEST(DriverText, NvmlSaysThatNoDriverIsLoaded) {
  constexpr std::string_view message =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is "
      "installed and running.\n";
  EXPECT_TRUE(driver("$ nvidia-smi\n" + std::string(message)).kernel_driver.version.is_absent());
  // In a container it says nothing about the host; and what /proc shows counts more.
  EXPECT_TRUE(driver("$ docker run --rm x nvidia-smi\n" + std::string(message)).kernel_driver.version.is_not_seen());
  EXPECT_TRUE(driver(std::string(message) + "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  x\n")
                  .kernel_driver.version.is("550.54.14"));
}

TEST(DriverText, Lsmod) {
  const Machine machine = driver(
      "$ lsmod\n"
      "Module                  Size  Used by\n"
      "nvidia_uvm           1527808  2\n"
      "nvidia              56823808  82 nvidia_uvm,nvidia_modeset\n"
      "i915                 3555328  12\n"
      "snd_hda_intel          57344  1\n");
  ASSERT_NE(module_named(machine, "nvidia"), nullptr);
  EXPECT_EQ(module_named(machine, "nvidia")->use_count, 82);
  EXPECT_EQ(module_named(machine, "nvidia")->used_by.size(), 2u);
  EXPECT_NE(module_named(machine, "i915"), nullptr);
  EXPECT_EQ(module_named(machine, "snd_hda_intel"), nullptr);
  EXPECT_EQ(module_named(machine, "nvidia")->origin.line, 4u);
}

TEST(DriverText, LsmodWithoutAPromptAndProcModules) {
  const Machine machine = driver("nvidia 56823808 82 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n");
  ASSERT_NE(module_named(machine, "nvidia"), nullptr);
  EXPECT_EQ(module_named(machine, "nvidia")->state, "Live");
  EXPECT_EQ(module_named(machine, "nvidia")->used_by.size(), 2u);
  // Three words and two numbers are no module: a table of something else.
  EXPECT_TRUE(driver("i915 12 3\n").kernel_driver.loaded.is_not_seen());
}

TEST(DriverText, AListThatHidesNvidiaSaysNothingAboutIt) {
  EXPECT_TRUE(driver("$ lsmod | grep nouveau\nnouveau              2334720  1\n$ uname -r\n").kernel_driver.loaded.is_not_seen());
  const Machine none = driver("$ lsmod | grep nvidia\n$ uname -r\n6.5.0\n");
  ASSERT_TRUE(none.kernel_driver.loaded.is_known());
  EXPECT_TRUE(none.kernel_driver.loaded.get()->empty());
  // The text ends there: perhaps it was cut.
  EXPECT_TRUE(driver("$ lsmod | grep nvidia\n").kernel_driver.loaded.is_not_seen());
}

TEST(DriverText, Modinfo) {
  const Machine machine = driver(
      "$ modinfo nvidia\n"
      "filename:       /lib/modules/6.5.0-14-generic/updates/dkms/nvidia.ko.zst\n"
      "alias:          char-major-195-*\n"
      "version:        535.129.03\n"
      "license:        NVIDIA\n"
      "srcversion:     7850503DF85713C6E0D88A3\n"
      "vermagic:       6.5.0-14-generic SMP preempt mod_unload modversions\n"
      "sig_id:         PKCS#7\n"
      "signer:         host Secure Boot Module Signature key\n");
  const auto* files = machine.kernel_driver.module_files.get();
  ASSERT_NE(files, nullptr);
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().kernel, "6.5.0-14-generic");
  EXPECT_EQ(files->front().name, "nvidia");
  EXPECT_EQ(files->front().compression, "zst");
  EXPECT_EQ(files->front().version.value_or(""), "535.129.03");
  EXPECT_EQ(files->front().license.value_or(""), "NVIDIA");
  EXPECT_TRUE(files->front().has_signature.is(true));
  // Another module's version is not the driver's.
  EXPECT_TRUE(driver("filename:       /lib/modules/6.5.0/updates/dkms/gdrdrv.ko\nversion:        1.1\n")
                  .kernel_driver.module_files.is_not_seen());
}

TEST(DriverText, DkmsOldNewAndFailed) {
  const Machine machine = driver(
      "$ dkms status\n"
      "nvidia, 455.45.01, 5.4.0-42-generic, x86_64: installed\n"
      "nvidia/535.129.03, 6.5.0-14-generic, x86_64: installed (original_module exists)\n"
      "nvidia/550.54.14: added\n"
      "zfs/2.2.2, 6.5.0-14-generic, x86_64: installed\n"
      "Error! Bad return status for module build on kernel: 6.8.0-36-generic (x86_64)\n"
      "Consult /var/lib/dkms/nvidia/535.129.03/build/make.log for more information.\n");
  const auto* modules = machine.kernel_driver.dkms.get();
  ASSERT_NE(modules, nullptr);
  ASSERT_EQ(modules->size(), 4u);
  EXPECT_EQ(modules->at(0).kernel, "5.4.0-42-generic");
  EXPECT_EQ(modules->at(1).version, "535.129.03");
  EXPECT_EQ(modules->at(2).state, "added");
  EXPECT_EQ(modules->at(2).kernel, "");
  EXPECT_EQ(modules->at(3).state, "failed");
  EXPECT_EQ(modules->at(3).kernel, "6.8.0-36-generic");
  EXPECT_EQ(modules->at(3).version, "535.129.03");
  // Another module's failed build is none of the driver's.
  EXPECT_TRUE(driver("Error! Bad return status for module build on kernel: 6.8.0 (x86_64)\n"
                     "Consult /var/lib/dkms/zfs/2.2.2/build/make.log\n")
                  .kernel_driver.dkms.is_not_seen());
}

TEST(DriverText, KernelsOnDiskAndMissingHeaders) {
  const Machine machine = driver(
      "$ ls /lib/modules\n"
      "5.15.0-91-generic  6.5.0-14-generic\n"
      "$ ls -d /lib/modules/5.4.0-58-generic/build\n"
      "ls: cannot access '/lib/modules/5.4.0-58-generic/build': No such file or directory\n");
  const auto* kernels = machine.kernel_driver.kernels.get();
  ASSERT_NE(kernels, nullptr);
  EXPECT_EQ(kernels->size(), 2u);
  EXPECT_TRUE(kernels->front().headers.is_not_seen());
  EXPECT_EQ(value(seen(machine, "kernel-headers-missing"), "kernel"), "5.4.0-58-generic");
  EXPECT_TRUE(driver("$ ls /lib/modules/6.5.0\nbuild  kernel  updates\n").kernel_driver.kernels.is_not_seen());
}

TEST(DriverText, ModprobeLinesBelongToTheirFile) {
  const Machine machine = driver(
      "$ cat /etc/modprobe.d/blacklist-nvidia.conf\n"
      "# Automatically generated by EnvyControl\n"
      "blacklist nvidia\n"
      "blacklist nvidia-drm\n"
      "alias nvidia off\n"
      "$ grep -r nouveau /etc/modprobe.d\n"
      "/etc/modprobe.d/nvidia-installer-disable-nouveau.conf:blacklist nouveau\n");
  const auto& lines = machine.kernel_driver.modprobe;
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1].module, "nvidia_drm");
  EXPECT_EQ(lines[2].kind, "alias");
  EXPECT_EQ(lines[2].value, "off");
  EXPECT_EQ(lines[2].origin.source, "/etc/modprobe.d/blacklist-nvidia.conf");
  EXPECT_EQ(lines[3].origin.source, "/etc/modprobe.d/nvidia-installer-disable-nouveau.conf");
  // Advice is no file.
  EXPECT_TRUE(driver("Add this line:\nblacklist nouveau\n").kernel_driver.modprobe.empty());
}

TEST(DriverText, ModulesOfTheKernelCommandLine) {
  const Machine machine = driver(
      "$ cat /proc/cmdline\n"
      "BOOT_IMAGE=/vmlinuz-6.1.0 root=UUID=1 ro rd.driver.blacklist=nouveau,floppy module_blacklist=nvidia,nvidia_drm quiet\n");
  const auto& lines = machine.kernel_driver.modprobe;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].module, "nouveau");
  EXPECT_EQ(lines[0].value, "rd.driver.blacklist");
  EXPECT_EQ(lines[2].module, "nvidia_drm");
  EXPECT_EQ(lines[2].value, "module_blacklist");
}

// ---- the bus --------------------------------------------------------------------------------------------------------

TEST(DriverText, LspciWithIdsAndDrivers) {
  const Machine machine = driver(
      "$ lspci -nnk\n"
      "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:4660] (rev 02)\n"
      "00:02.0 VGA compatible controller [0300]: Intel Corporation AlderLake-S GT1 [8086:4680] (rev 0c)\n"
      "\tKernel driver in use: i915\n"
      "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)\n"
      "\tSubsystem: Gigabyte Technology Co., Ltd Device [1458:404b]\n"
      "\tKernel driver in use: nouveau\n"
      "\tKernel modules: nvidiafb, nouveau\n"
      "01:00.1 Audio device [0403]: NVIDIA Corporation GA102 High Definition Audio Controller [10de:1aef] (rev a1)\n"
      "\tKernel driver in use: snd_hda_intel\n");
  const auto* devices = machine.pci.get();
  ASSERT_NE(devices, nullptr);
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ(devices->at(0).vendor, 0x8086);
  EXPECT_EQ(devices->at(1).address, "0000:01:00.0");
  EXPECT_EQ(devices->at(1).device, 0x2204);
  EXPECT_EQ(devices->at(1).class_code, 0x030000);
  EXPECT_EQ(devices->at(1).driver.value_or(""), "nouveau");
  EXPECT_EQ(devices->at(1).origin.line, 5u);
}

TEST(DriverText, LspciThatLostItsIndentationAndHasNoDriver) {
  const Machine machine = driver(
      "3e:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3080] [10de:2206] (rev a1)\n"
      "Subsystem: Gigabyte Technology Co., Ltd Device [1458:404b]\n"
      "Kernel modules: nouveau, nvidia_drm, nvidia\n");
  ASSERT_TRUE(machine.pci.is_known());
  EXPECT_TRUE(machine.pci.get()->front().driver.is_absent());
}

TEST(DriverText, LspciOfNamesNumbersAndUnnamedDevices) {
  EXPECT_EQ(driver("01:00.0 3D controller: NVIDIA Corporation TU104GL [Tesla T4] (rev a1)\n").pci.get()->front().device, 0x1eb8);
  EXPECT_EQ(driver("00:1e.0 3D controller: NVIDIA Corporation Device 2237 (rev a1)\n").pci.get()->front().device, 0x2237);
  EXPECT_EQ(driver("0001:00:00.0 0302: 10de:20b5 (rev a1)\n").pci.get()->front().address, "0001:00:00.0");
  const Machine switches = driver("07:00.0 Bridge: NVIDIA Corporation Device 1af1 (rev a1)\n");
  EXPECT_EQ(switches.pci.get()->front().class_code, 0x068000);
}

TEST(DriverText, AGpuThatDoesNotAnswer) {
  const Machine machine = driver(
      "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev ff) (prog-if ff)\n"
      "\t!!! Unknown header type 7f\n");
  EXPECT_TRUE(machine.pci.get()->front().config_all_ones.is(true));
}

TEST(DriverText, OtherVendors) {
  const Machine machine = driver(
      "$ lspci | grep -iE 'vga|3d|display'\n"
      "03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 21 [Radeon RX 6800] (rev c1)\n");
  ASSERT_TRUE(machine.pci.is_known());
  EXPECT_EQ(machine.pci.get()->front().vendor, 0x1002);
  EXPECT_EQ(value(seen(machine, "other-gpu"), "vendor"), "amd");
}

TEST(DriverText, AFilterForVgaHidesThreeDControllers) {
  // A laptop's or a server's NVIDIA GPU is no VGA controller: nothing is known about it.
  EXPECT_TRUE(
      driver("$ lspci | grep VGA\n00:02.0 VGA compatible controller: Intel Corporation Iris Xe (rev 0c)\n").pci.is_not_seen());
  // A laptop's switch that turned it off makes the list credible.
  const Machine off = driver(
      "$ lspci | grep VGA\n00:02.0 VGA compatible controller: Intel Corporation Iris Xe (rev 0c)\n$ envycontrol "
      "--query\nintegrated\n");
  EXPECT_TRUE(off.pci.is_known());
  EXPECT_EQ(off.kernel_driver.prime_profile.value_or(""), "integrated");
}

TEST(DriverText, NoGpuBehindAFilterForNvidia) {
  const Machine none = driver("$ lspci | grep -i nvidia\n$ uname -r\n6.5.0\n");
  ASSERT_TRUE(none.pci.is_known());
  EXPECT_TRUE(none.pci.get()->empty());
  EXPECT_TRUE(driver("$ lspci | grep -i nvidia\n").pci.is_not_seen());
}

TEST(DriverText, AnNvidiaGpuOfUnknownNameKeepsTheBusOpen) {
  const Machine machine =
      driver("00:02.0 VGA compatible controller: Intel Corporation UHD\n01:00.0 3D controller: NVIDIA Corporation\n");
  EXPECT_TRUE(machine.pci.is_not_seen());
  EXPECT_EQ(value(seen(machine, "nvidia-pci-device"), "address"), "0000:01:00.0");
}

TEST(DriverText, TheKernelLogNamesAGpuThatTheDriverRefuses) {
  const Machine machine =
      driver("[    5.1] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2c02)\n[    5.1] NVRM: installed in this\n");
  ASSERT_TRUE(machine.pci.is_known());
  EXPECT_EQ(machine.pci.get()->front().device, 0x2c02);
  EXPECT_EQ(driver("NVRM: NVIDIA 535.216.03 driver release.\n").kernel_driver.version.value_or(""), "535.216.03");
  EXPECT_EQ(driver("NVRM:  information.  The 396.26 NVIDIA driver will ignore\n").kernel_driver.version.value_or(""), "396.26");
  EXPECT_TRUE(driver("NVRM:  supported through the NVIDIA 390.xx Legacy drivers. Please\n").kernel_driver.version.is_not_seen());
}

// ---- packages -------------------------------------------------------------------------------------------------------

TEST(DriverText, Dpkg) {
  const Machine machine = driver(
      "||/ Name           Version      Architecture Description\n"
      "ii  libnvidia-compute-460-server:amd64   460.91.03-0ubuntu0.20.04.1   amd64   NVIDIA libcompute package\n"
      "rc  nvidia-dkms-450   450.119.03-0ubuntu0.18.04.1   amd64   NVIDIA DKMS package\n"
      "iF  nvidia-dkms-535   535.129.03-0ubuntu1   amd64   NVIDIA DKMS package\n"
      "hi  nvidia-driver-535   535.129.03-0ubuntu1   amd64   NVIDIA driver metapackage\n"
      "ii  bash   5.1-6ubuntu1   amd64   GNU Bourne Again SHell\n");
  EXPECT_EQ(version_of(machine, "libnvidia-compute-460-server"), "460.91.03-0ubuntu0.20.04.1");
  EXPECT_EQ(package_named(machine, "nvidia-dkms-450")->status, "config-files");
  EXPECT_EQ(package_named(machine, "nvidia-dkms-535")->status, "half-configured");
  EXPECT_TRUE(package_named(machine, "nvidia-driver-535")->held);
  EXPECT_EQ(package_named(machine, "bash"), nullptr);
  EXPECT_EQ(machine.packages.manager.value_or(""), "dpkg");
}

TEST(DriverText, AptListAndPolicy) {
  const Machine machine = driver(
      "nvidia-driver-535/jammy-updates,now 535.129.03-0ubuntu0.22.04.1 amd64 [installed,automatic]\n"
      "nvidia-utils-535/jammy-updates 535.183.01-0ubuntu0.22.04.1 amd64 [upgradable from: 535.129.03-0ubuntu0.22.04.1]\n"
      "nvidia-driver-550/jammy-updates 550.54.14-0ubuntu0.22.04.1 amd64\n"
      "nvidia-dkms-535:\n"
      "  Installed: 535.129.03-0ubuntu0.22.04.1\n"
      "  Candidate: 535.183.01-0ubuntu0.22.04.1\n"
      "nvidia-dkms-550:\n"
      "  Installed: (none)\n"
      "  Candidate: 550.54.14-0ubuntu0.22.04.1\n");
  EXPECT_EQ(version_of(machine, "nvidia-driver-535"), "535.129.03-0ubuntu0.22.04.1");
  EXPECT_EQ(version_of(machine, "nvidia-utils-535"), "535.129.03-0ubuntu0.22.04.1");
  EXPECT_EQ(version_of(machine, "nvidia-driver-550"), "(none)");
  EXPECT_EQ(version_of(machine, "nvidia-dkms-535"), "535.129.03-0ubuntu0.22.04.1");
  EXPECT_EQ(version_of(machine, "nvidia-dkms-550"), "(none)");
}

TEST(DriverText, RpmDnfAndZypper) {
  const Machine machine = driver(
      "nvidia-driver-cuda-libs-550.54.14-1.el9.x86_64\n"
      "kmod-nvidia-6.0.11-200.fc36.x86_64-520.56.06-1.fc36.x86_64\n"
      "akmod-nvidia.x86_64                 3:525.60.11-1.fc37         @rpmfusion-nonfree-updates\n"
      "i+ | nvidia-driver-G06-kmp-default | package | 550.100_k6.4.0-25.1 | x86_64 | NVIDIA\n"
      "v  | nvidia-open-driver-G06        | package | 555.42-1            | x86_64 | NVIDIA\n"
      "Available Packages\n"
      "nvidia-driver.x86_64                3:555.42.02-1.fc37         cuda-fedora37\n");
  EXPECT_EQ(version_of(machine, "nvidia-driver-cuda-libs"), "550.54.14-1.el9");
  EXPECT_EQ(version_of(machine, "kmod-nvidia-6.0.11-200.fc36.x86_64"), "520.56.06-1.fc36");
  EXPECT_EQ(version_of(machine, "akmod-nvidia"), "3:525.60.11-1.fc37");
  EXPECT_EQ(version_of(machine, "nvidia-driver-G06-kmp-default"), "550.100_k6.4.0-25.1");
  EXPECT_EQ(version_of(machine, "nvidia-open-driver-G06"), "(none)");
  EXPECT_EQ(version_of(machine, "nvidia-driver"), "(none)");
}

TEST(DriverText, PacmanQueriesOnly) {
  EXPECT_EQ(version_of(driver("$ pacman -Q | grep nvidia\nnvidia-utils 550.54.14-1\n"), "nvidia-utils"), "550.54.14-1");
  EXPECT_EQ(version_of(driver("local/nvidia-dkms 550.54.14-1\n    NVIDIA drivers - module sources\n"), "nvidia-dkms"),
            "550.54.14-1");
  EXPECT_EQ(version_of(driver("$ pacman -Ss nvidia\nextra/nvidia-dkms 550.54.14-1\n"), "nvidia-dkms"), "(none)");
}

TEST(DriverText, PackagesOfAContainerAreNotTheHosts) {
  EXPECT_TRUE(driver("$ docker exec c dpkg -l\nii  cuda-toolkit-12-4   12.4.1-1   amd64   x\n").packages.installed.is_not_seen());
}

TEST(DriverText, TransactionsOfApt) {
  const Machine machine = driver(
      "$ sudo apt upgrade\n"
      "Unpacking libnvidia-compute-535:amd64 (535.183.01-0ubuntu0.22.04.1) over (535.129.03-0ubuntu0.22.04.1) ...\n"
      "Removing nvidia-dkms-535 (535.129.03-0ubuntu0.22.04.1) ...\n"
      "Setting up libnvidia-compute-535:amd64 (535.183.01-0ubuntu0.22.04.1) ...\n"
      "Setting up bash (5.1-6ubuntu1) ...\n");
  ASSERT_EQ(machine.packages.history.size(), 1u);
  const PackageTransaction& transaction = machine.packages.history.front();
  EXPECT_EQ(transaction.command, "apt upgrade");
  ASSERT_EQ(transaction.changes.size(), 2u);
  EXPECT_EQ(transaction.changes[0].action, "upgrade");
  EXPECT_EQ(transaction.changes[0].old_version, "535.129.03-0ubuntu0.22.04.1");
  EXPECT_EQ(transaction.changes[1].action, "remove");
}

TEST(DriverText, NothingInstalledBehindAFilter) {
  EXPECT_EQ(value(seen(driver("$ dpkg -l | grep -c -i nvidia\n0\n"), "driver-not-listed"), "where"), "packages");
  EXPECT_EQ(value(seen(driver("$ find /lib/modules -name 'nvidia.ko*'\n$ ls\n"), "driver-not-listed"), "where"), "modules");
  EXPECT_EQ(seen(driver("$ dpkg -l | grep -c -i nvidia\n12\n"), "driver-not-listed"), nullptr);
  EXPECT_EQ(seen(driver("$ dpkg -l | grep nvidia\n"), "driver-not-listed"), nullptr);
}

// ---- nodes, libraries, services -------------------------------------------------------------------------------------------

TEST(DriverText, NodesInBothForms) {
  const Machine machine = driver(
      "$ ls -l /dev/nvidia*\n"
      "crw-rw---- 1 root video 195,   0 Jul  6 10:14 /dev/nvidia0\n"
      "crw-rw-rw- 1 root root 195, 255 Jul  6 10:14 /dev/nvidiactl\n");
  EXPECT_EQ(count_seen(machine, "device-node"), 2);
  EXPECT_EQ(value(seen(machine, "device-node"), "mode"), "rw-rw----");
  EXPECT_EQ(value(seen(machine, "device-node"), "group"), "video");
  EXPECT_NE(seen(machine, "device-nodes-listed"), nullptr);
  const Machine names = driver("$ ls /dev/nvidia*\n/dev/nvidia0  /dev/nvidiactl  /dev/nvidia-modeset\n");
  EXPECT_EQ(count_seen(names, "device-node"), 3);
  EXPECT_NE(seen(names, "device-nodes-listed"), nullptr);
  // Two that were asked for are not all.
  EXPECT_EQ(seen(driver("$ ls -l /dev/nvidia0 /dev/nvidiactl\n/dev/nvidia0  /dev/nvidiactl\n"), "device-nodes-listed"), nullptr);
  EXPECT_EQ(seen(driver("docker run --device /dev/nvidia0 x\n"), "device-node"), nullptr);
}

TEST(DriverText, AHostWithoutAnyNode) {
  const Machine none = driver("$ ls /dev/nvidia*\nls: cannot access '/dev/nvidia*': No such file or directory\n");
  ASSERT_TRUE(none.device_nodes.nodes.is_known());
  EXPECT_TRUE(none.device_nodes.nodes.get()->empty());
  EXPECT_TRUE(driver("ls: cannot access '/dev/nvidia-uvm': No such file or directory\n").device_nodes.nodes.is_not_seen());
  EXPECT_TRUE(driver("$ docker exec c ls /dev/nvidia*\nls: cannot access '/dev/nvidia*': No such file or directory\n")
                  .device_nodes.nodes.is_not_seen());
}

TEST(DriverText, DxgIsWsl2) {
  EXPECT_TRUE(driver("$ ls /dev/dxg\n/dev/dxg\n").os.wsl.is(2));
  EXPECT_TRUE(driver("$ ls /dev/dxg\nls: cannot access '/dev/dxg': No such file or directory\n").os.wsl.is_not_seen());
}

TEST(DriverText, DriverLibrariesInListings) {
  const Machine machine = driver(
      "$ ls -l /usr/lib/x86_64-linux-gnu/libnvidia-ml.so*\n"
      "lrwxrwxrwx 1 root root     23 Oct 17 11:20 /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 -> libnvidia-ml.so.387.26\n"
      "-rw-r--r-- 1 root root      0 Oct 17 11:02 /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.396.44\n"
      "$ ls /usr/lib64\n"
      "libcuda.so.1  libcuda.so.550.54.14\n");
  EXPECT_EQ(count_seen(machine, "driver-library"), 4);
  EXPECT_EQ(value(seen(machine, "driver-library"), "target"), "libnvidia-ml.so.387.26");
  EXPECT_EQ(
      seen(driver("ImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n"), "driver-library"),
      nullptr);
}

TEST(DriverText, Services) {
  const Machine machine = driver(
      "$ systemctl is-active nvidia-fabricmanager nvidia-persistenced\n"
      "inactive\n"
      "active\n"
      "$ systemctl status nvidia-powerd\n"
      "● nvidia-powerd.service - nvidia-powerd service\n"
      "     Loaded: loaded (/lib/systemd/system/nvidia-powerd.service; enabled; vendor preset: enabled)\n"
      "     Active: failed (Result: exit-code) since Mon 2024-01-01 10:00:00 UTC; 1min ago\n"
      "$ systemctl status nvidia-imex\n"
      "Unit nvidia-imex.service could not be found.\n");
  const auto* services = machine.services.get();
  ASSERT_NE(services, nullptr);
  ASSERT_EQ(services->size(), 4u);
  const auto named = [&](std::string_view name) { return *std::ranges::find(*services, name, &Service::name); };
  EXPECT_TRUE(named("nvidia-fabricmanager").running.is(false));
  EXPECT_TRUE(named("nvidia-persistenced").running.is(true));
  EXPECT_TRUE(named("nvidia-powerd").running.is(false));
  EXPECT_TRUE(named("nvidia-powerd").enabled.is(true));
  EXPECT_EQ(named("nvidia-powerd").unit.value_or(""), "/lib/systemd/system/nvidia-powerd.service");
  EXPECT_TRUE(named("nvidia-imex").unit.is_absent());
}

TEST(DriverText, SecureBootAndShim) {
  EXPECT_TRUE(driver("$ mokutil --sb-state\nSecureBoot enabled\n").os.secure_boot.is(true));
  EXPECT_TRUE(driver("SecureBoot enabled\nSecureBoot validation is disabled in shim\n").os.secure_boot.is(false));
}

TEST(DriverText, SwitchesOfLaptops) {
  EXPECT_EQ(driver("$ prime-select query\non-demand\n").kernel_driver.prime_profile.value_or(""), "on-demand");
  EXPECT_TRUE(driver("$ prime-select query\nError: no integrated GPU detected.\n").kernel_driver.prime_profile.is_not_seen());
  EXPECT_EQ(driver("$ cat /proc/acpi/bbswitch\n0000:01:00.0 OFF\n").kernel_driver.gpu_switch_signs.size(), 1u);
  EXPECT_TRUE(driver("$ cat /proc/acpi/bbswitch\n0000:01:00.0 ON\n").kernel_driver.gpu_switch_signs.empty());
  EXPECT_EQ(driver("$ ls /etc/udev/rules.d\n50-remove-nvidia.rules\n").kernel_driver.gpu_remove_rules.front().source,
            "/etc/udev/rules.d/50-remove-nvidia.rules");
}

TEST(DriverText, TheKernelLogKeepsTheTextsLines) {
  const Machine machine = driver("hello\nworld\n[ 1157.0] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n");
  ASSERT_TRUE(machine.kernel_log.events.is_known());
  EXPECT_EQ(machine.kernel_log.events.get()->front().code, 79);
  EXPECT_EQ(machine.kernel_log.events.get()->front().origin.line, 3u);
}

TEST(DriverText, ProseSaysNothing) {
  const Machine machine = driver(
      "He installed nvidia 535 and rebooted. The active process was inactive.\n"
      "i+ | like | tables | of | text |\nmodule: nvidia\n01:00 a clock\nversion: 12\n");
  EXPECT_TRUE(machine.pci.is_not_seen());
  EXPECT_TRUE(machine.kernel_driver.loaded.is_not_seen());
  EXPECT_TRUE(machine.packages.installed.is_not_seen());
  EXPECT_TRUE(machine.services.is_not_seen());
  EXPECT_TRUE(machine.observations.is_not_seen());
}

}  // namespace
}  // namespace gpuvet
