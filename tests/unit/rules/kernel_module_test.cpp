// The rules of layer kernel-module on machines made by hand: each fires on its case and stays silent on the neighbour's.

#include <gtest/gtest.h>

#include <algorithm>

#include "rules/kernel_module.h"

namespace gpuvet {
namespace {

using namespace kernel_module;

constexpr const char* kernel = "6.8.0-49-generic";

const Knowledge& tables() {
  static const Knowledge knowledge;
  return knowledge;
}

Judged run(Judged (*rule)(const RuleContext&), const Machine& machine) { return rule(make_rule_context(machine, tables())); }

PciDevice gpu(std::int64_t device, const char* driver = nullptr) {
  PciDevice pci;
  pci.address = "0000:01:00.0";
  pci.vendor = 0x10de;
  pci.device = device;
  pci.class_code = 0x030000;
  pci.driver = driver ? Fact<std::string>::known(driver) : Fact<std::string>::absent();
  return pci;
}

ModuleFile module_file(std::string version, std::string for_kernel = kernel, std::string folder = "updates/dkms") {
  ModuleFile file;
  file.kernel = for_kernel;
  file.name = "nvidia";
  file.path = "/lib/modules/" + for_kernel + "/" + folder + "/nvidia.ko";
  file.version = Fact<std::string>::known(std::move(version));
  file.vermagic = Fact<std::string>::known(for_kernel + " SMP preempt mod_unload modversions ");
  file.license = Fact<std::string>::known("NVIDIA");
  file.has_signature = Fact<bool>::known(true);
  return file;
}

Package package(std::string name, std::string version, std::string status = "installed") {
  return {.name = std::move(name),
          .version = std::move(version),
          .architecture = "amd64",
          .manager = "dpkg",
          .status = std::move(status)};
}

DriverLibrary library(std::string name, std::string version, bool wins = true, std::string folder = "/usr/lib/x86_64-linux-gnu") {
  DriverLibrary lib;
  lib.name = name;
  lib.path = folder + "/" + name;
  lib.real_path = lib.path + "." + version;
  lib.kind = "driver";
  lib.elf_class = "64";
  lib.machine = "x86_64";
  lib.version = Fact<std::string>::known(version);
  lib.wins = wins;
  lib.package = wins ? Fact<std::string>::known("libnvidia-compute-550") : Fact<std::string>::absent();
  return lib;
}

LogEvent event(std::string kind, std::string text, std::int64_t code = -1) {
  LogEvent e;
  e.kind = std::move(kind);
  e.text = std::move(text);
  e.code = code;
  e.pci = code >= 0 ? "0000:01:00" : "";
  return e;
}

void log(Machine& machine, std::vector<LogEvent> events) {
  machine.kernel_log.events = Fact<std::vector<LogEvent>>::known(std::move(events));
}

/// An Ubuntu workstation with an RTX 4090, packages of 550.120 and its module on disk, not loaded.
Machine installed_machine(std::int64_t device = 0x2684) {
  Machine machine;
  machine.os.id = Fact<std::string>::known("ubuntu");
  machine.os.architecture = Fact<std::string>::known("x86_64");
  machine.os.kernel = Fact<std::string>::known(kernel);
  machine.os.boot_time = Fact<std::int64_t>::known(1700000000);
  machine.pci = Fact<std::vector<PciDevice>>::known({gpu(device)});
  auto& driver = machine.kernel_driver;
  driver.loaded = Fact<std::vector<LoadedModule>>::known({});
  driver.version = Fact<std::string>::absent();
  driver.kernels =
      Fact<std::vector<InstalledKernel>>::known({{kernel, Fact<std::string>::known("/usr/src/linux-headers-6.8.0-49-generic")}});
  driver.module_files = Fact<std::vector<ModuleFile>>::known({module_file("550.120")});
  driver.dkms = Fact<std::vector<DkmsModule>>::known(
      {{"nvidia", "550.120", kernel, "x86_64", "installed", Fact<std::string>::absent(), {}}});
  driver.firmware = Fact<std::vector<FirmwareFolder>>::known({{"550.120", {"gsp_ga10x.bin", "gsp_tu10x.bin"}}});
  machine.packages.manager = Fact<std::string>::known("dpkg");
  machine.packages.installed = Fact<std::vector<Package>>::known(
      {package("nvidia-dkms-550", "550.120-0ubuntu0.24.04.1"), package("libnvidia-compute-550", "550.120-0ubuntu0.24.04.1")});
  machine.packages.runfile_driver = Fact<std::string>::absent();
  machine.user_driver.libraries =
      Fact<std::vector<DriverLibrary>>::known({library("libcuda.so.1", "550.120"), library("libnvidia-ml.so.1", "550.120")});
  return machine;
}

/// The same machine with the module running.
Machine running_machine(std::string version = "550.120", std::int64_t device = 0x2684, std::string flavor = "proprietary") {
  Machine machine = installed_machine(device);
  machine.pci = Fact<std::vector<PciDevice>>::known({gpu(device, "nvidia")});
  std::vector<LoadedModule> loaded(2);
  loaded[0].name = "nvidia";
  loaded[1].name = "nvidia_uvm";
  machine.kernel_driver.loaded = Fact<std::vector<LoadedModule>>::known(loaded);
  machine.kernel_driver.version = Fact<std::string>::known(version);
  machine.kernel_driver.flavor = Fact<std::string>::known(flavor);
  return machine;
}

Machine bare_machine() {
  Machine machine = installed_machine();
  machine.kernel_driver.module_files = Fact<std::vector<ModuleFile>>::known({});
  machine.kernel_driver.dkms = Fact<std::vector<DkmsModule>>::absent();
  machine.packages.installed = Fact<std::vector<Package>>::known({package("nvidia-settings", "510.47.03-0ubuntu1")});
  machine.user_driver.libraries = Fact<std::vector<DriverLibrary>>::known({});
  return machine;
}

TEST(KernelModuleRules, NothingFiresOnAMachineThatWorks) {
  const Machine machine = running_machine();
  for (const Rule& rule : kernel_module_rules()) EXPECT_FALSE(rule.judge(make_rule_context(machine, tables()))) << rule.slug;
}

TEST(KernelModuleRules, NothingFiresOnAnUnseenMachine) {
  const Machine machine;
  for (const Rule& rule : kernel_module_rules()) EXPECT_FALSE(rule.judge(make_rule_context(machine, tables()))) << rule.slug;
}

TEST(KernelModuleRules, EveryRuleHasItsRecordAndItsVariantsTexts) {
  for (const Rule& rule : kernel_module_rules()) {
    const RuleRecord* record = find_rule_record(rule.slug);
    ASSERT_TRUE(record) << rule.slug;
    EXPECT_EQ(record->layer, Layer::KernelModule) << rule.slug;
  }
}

TEST(DriverNotInstalled, FiresWithoutAnyTraceOfADriver) {
  EXPECT_TRUE(run(driver_not_installed, bare_machine()));
  EXPECT_FALSE(run(driver_not_installed, installed_machine()));
}

TEST(DriverNotInstalled, LibrariesAloneAreNoDriver) {
  Machine machine = bare_machine();
  machine.user_driver = installed_machine().user_driver;
  const auto finding = run(driver_not_installed, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "libraries-only");
}

TEST(DriverNotInstalled, SilentWithoutGpuWithoutBusAndWithARunfileLog) {
  Machine machine = bare_machine();
  machine.pci = Fact<std::vector<PciDevice>>::known({});
  EXPECT_FALSE(run(driver_not_installed, machine));
  machine.pci = {};
  EXPECT_FALSE(run(driver_not_installed, machine));
  machine = bare_machine();
  machine.packages.runfile_driver = Fact<std::string>::known("550.120");
  EXPECT_FALSE(run(driver_not_installed, machine));
}

TEST(DriverNotInstalled, AFolderThatDkmsKeptIsNoDriver) {
  Machine machine = bare_machine();
  machine.kernel_driver.dkms = Fact<std::vector<DkmsModule>>::known({{"nvidia", "535.54.03", "", "", "added", {}, {}}});
  machine.kernel_driver.driver_sources = Fact<std::vector<std::string>>::absent();
  EXPECT_TRUE(run(driver_not_installed, machine));
}

TEST(ModuleNotLoaded, OnlyWithoutABetterReason) {
  Machine machine = installed_machine();
  EXPECT_TRUE(run(module_not_loaded, machine));
  machine.kernel_driver.modprobe = {{"blacklist", "nvidia", "", true, {"/etc/modprobe.d/off.conf", 1, "blacklist nvidia"}}};
  EXPECT_FALSE(run(module_not_loaded, machine));
  EXPECT_TRUE(run(module_blacklisted, machine));
}

TEST(ModuleBlacklisted, BlacklistOfNouveauAndOverriddenLinesDoNotCount) {
  Machine machine = installed_machine();
  machine.kernel_driver.modprobe = {
      {"blacklist", "nouveau", "", true, {"/etc/modprobe.d/nvidia.conf", 1, "blacklist nouveau"}},
      {"blacklist", "nvidia", "", false, {"/usr/lib/modprobe.d/x.conf", 1, "blacklist nvidia"}},
      {"alias", "nvidia", "nvidia-current", true, {"/etc/modprobe.d/nvidia.conf", 2, "alias nvidia nvidia-current"}},
      {"install", "nvidia", "modprobe -i nvidia-current $CMDLINE_OPTS", true, {"/etc/modprobe.d/nvidia.conf", 3, ""}}};
  EXPECT_FALSE(run(module_blacklisted, machine));
}

TEST(ModuleBlacklisted, UvmIsOnlyStoppedByWhatStopsEveryLoad) {
  Machine machine = running_machine();
  machine.kernel_driver.loaded.get()->pop_back();
  machine.kernel_driver.modprobe = {{"blacklist", "nvidia_uvm", "", true, {"/etc/modprobe.d/x.conf", 1, "blacklist nvidia-uvm"}}};
  EXPECT_FALSE(run(module_blacklisted, machine));
  machine.kernel_driver.modprobe = {
      {"install", "nvidia_uvm", "/bin/false", true, {"/etc/modprobe.d/x.conf", 1, "install nvidia-uvm /bin/false"}}};
  const auto finding = run(module_blacklisted, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "uvm");
}

TEST(PrimeSelect, TheSwitchersFileIsTheSwitchersMatter) {
  Machine machine = installed_machine();
  machine.kernel_driver.modprobe = {
      {"alias", "nvidia", "off", true, {"/lib/modprobe.d/blacklist-nvidia.conf", 4, "alias nvidia off"}}};
  machine.kernel_driver.prime_profile = Fact<std::string>::known("intel");
  EXPECT_TRUE(run(prime_select_intel_blacklist, machine));
  EXPECT_FALSE(run(module_blacklisted, machine));
  EXPECT_FALSE(run(module_not_loaded, machine));
}

TEST(Nouveau, HoldsTheGpuOnlyWhereADriverIsInstalled) {
  Machine machine = installed_machine();
  machine.pci = Fact<std::vector<PciDevice>>::known({gpu(0x2684, "nouveau")});
  EXPECT_TRUE(run(nouveau_holds_the_gpu, machine));
  EXPECT_FALSE(run(module_not_loaded, machine));
  Machine bare = bare_machine();
  bare.pci = machine.pci;
  EXPECT_FALSE(run(nouveau_holds_the_gpu, bare));
  EXPECT_TRUE(run(driver_not_installed, bare));
}

TEST(SecureBoot, RefusalInTheLogOrUnsignedUnderLockdown) {
  Machine machine = installed_machine();
  log(machine, {event("secure-boot", "Loading of unsigned module is rejected")});
  EXPECT_TRUE(run(secure_boot_module_rejected, machine));

  machine = installed_machine();
  machine.os.secure_boot = Fact<bool>::known(true);
  machine.kernel_driver.module_files.get()->front().has_signature = Fact<bool>::known(false);
  EXPECT_TRUE(run(secure_boot_module_rejected, machine));
  machine.os.lockdown = Fact<std::string>::known("none");
  EXPECT_FALSE(run(secure_boot_module_rejected, machine));
}

const Action* step(const Judged& finding, std::string_view type) {
  if (!finding) return nullptr;
  const auto found = std::ranges::find_if(finding->repair, [&](const Action& action) { return action.type == type; });
  return found == finding->repair.end() ? nullptr : &*found;
}

std::string parameter(const Judged& finding, std::string_view type, const std::string& name) {
  const Action* action = step(finding, type);
  return action && action->parameters.contains(name) ? action->parameters.at(name) : "";
}

TEST(SecureBoot, UbuntusSignedModuleIsOfferedWithTheSuffixOfItsPackages) {
  Machine machine = installed_machine();
  log(machine, {event("secure-boot", "Loading of unsigned module is rejected")});
  const auto branch = [&] { return parameter(run(secure_boot_module_rejected, machine), "install-signed-module", "branch"); };
  EXPECT_EQ(branch(), "550");
  auto& packages = machine.packages.installed.get()->front();
  packages = package("nvidia-dkms-550-open", "550.120-0ubuntu0.24.04.1");
  EXPECT_EQ(branch(), "550-open");
  packages = package("nvidia-dkms-550-server-open", "550.120-0ubuntu0.24.04.1");
  EXPECT_EQ(branch(), "550-server-open");
  packages = package("nvidia-dkms-550-server", "550.120-0ubuntu0.24.04.1");
  EXPECT_EQ(branch(), "550-server");
  machine.os.id = Fact<std::string>::known("debian");
  EXPECT_EQ(step(run(secure_boot_module_rejected, machine), "install-signed-module"), nullptr);
  EXPECT_NE(step(run(secure_boot_module_rejected, machine), "enroll-module-key"), nullptr);
}

TEST(SecureBoot, TaintLineOfALoadedModuleIsHarmless) {
  Machine machine = running_machine();
  log(machine, {event("module", "nvidia: module verification failed: signature and/or required key missing - tainting kernel"),
                event("secure-boot", "Loading of unsigned module is rejected")});
  EXPECT_FALSE(run(secure_boot_module_rejected, machine));
}

TEST(ModuleMissing, TellsHeadersBuildAndNeverTriedApart) {
  Machine machine = installed_machine();
  machine.kernel_driver.module_files = Fact<std::vector<ModuleFile>>::known({module_file("550.120", "6.8.0-48-generic")});
  machine.kernel_driver.dkms =
      Fact<std::vector<DkmsModule>>::known({{"nvidia", "550.120", "6.8.0-48-generic", "x86_64", "installed", {}, {}}});
  EXPECT_TRUE(run(module_missing_for_running_kernel, machine));
  EXPECT_FALSE(run(dkms_headers_missing, machine));
  EXPECT_FALSE(run(dkms_build_failed, machine));

  Machine headers = machine;
  headers.kernel_driver.kernels.get()->front().headers = Fact<std::string>::absent();
  EXPECT_TRUE(run(dkms_headers_missing, headers));

  Machine build = machine;
  build.kernel_driver.dkms =
      Fact<std::vector<DkmsModule>>::known({{"nvidia",
                                             "550.120",
                                             kernel,
                                             "x86_64",
                                             "failed",
                                             Fact<std::string>::known("nv-mmap.c:42: error: implicit declaration of function"),
                                             {}}});
  EXPECT_TRUE(run(dkms_build_failed, build));
  EXPECT_FALSE(run(dkms_headers_missing, build));
}

TEST(ModuleMissing, HeadersComeWithTheMetapackageOfTheKernel) {
  Machine machine = installed_machine();
  machine.kernel_driver.module_files = Fact<std::vector<ModuleFile>>::known({});
  machine.kernel_driver.dkms =
      Fact<std::vector<DkmsModule>>::known({{"nvidia", "550.120", "6.8.0-48-generic", "x86_64", "installed", {}, {}}});
  machine.kernel_driver.kernels.get()->front().headers = Fact<std::string>::absent();
  const auto headers = [&] { return parameter(run(dkms_headers_missing, machine), "install-kernel-headers", "debian_headers"); };
  EXPECT_EQ(headers(), "linux-headers-6.8.0-49-generic");
  auto& packages = *machine.packages.installed.get();
  packages.push_back(package("linux-image-6.8.0-49-generic", "6.8.0-49.49"));
  packages.push_back(package("linux-image-virtual", "6.8.0-49.49"));
  EXPECT_EQ(headers(), "linux-headers-6.8.0-49-generic");
  packages.push_back(package("linux-image-generic-hwe-22.04", "6.8.0-49.49"));
  EXPECT_EQ(headers(), "linux-headers-6.8.0-49-generic linux-headers-generic-hwe-22.04");
}

TEST(DriverNotInstalled, InstallsTheBranchThatServesTheGpu) {
  Machine machine = bare_machine();
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "flavor"), "open");
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "branch"), "");
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "ubuntu_install"), "sudo ubuntu-drivers install");
  machine.packages.installed.get()->push_back(package("ubuntu-server", "1.539"));
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "ubuntu_install"), "sudo ubuntu-drivers install --gpgpu");
  machine.os.kernel = Fact<std::string>::known("6.6.63-1-lts");
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "arch_headers"), "linux-lts-headers");
  machine.pci = Fact<std::vector<PciDevice>>::known({gpu(0x1b80)});  // Pascal
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "branch"), "580");
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "flavor"), "proprietary");
  EXPECT_EQ(parameter(run(driver_not_installed, machine), "install-driver", "arch_install"),
            "yay -S nvidia-580xx-dkms nvidia-580xx-utils");
}

TEST(ModuleBlacklisted, AVendorsFileIsOverriddenNotEdited) {
  Machine machine = installed_machine();
  machine.kernel_driver.modprobe = {{"blacklist", "nvidia", "", true, {"/usr/lib/modprobe.d/x.conf", 1, "blacklist nvidia"}}};
  auto finding = run(module_blacklisted, machine);
  EXPECT_EQ(parameter(finding, "override-modprobe-file", "override"), "/etc/modprobe.d/x.conf");
  EXPECT_NE(step(finding, "rebuild-initramfs"), nullptr);
  machine.kernel_driver.modprobe.front().origin.source = "/etc/modprobe.d/x.conf";
  finding = run(module_blacklisted, machine);
  EXPECT_EQ(parameter(finding, "remove-modprobe-line", "file"), "/etc/modprobe.d/x.conf");
}

TEST(ModuleMissing, AReplacedKernelOnlyNeedsAReboot) {
  Machine machine = installed_machine();
  machine.kernel_driver.kernels = Fact<std::vector<InstalledKernel>>::known({{"6.8.0-50-generic", {}}});
  machine.kernel_driver.module_files = Fact<std::vector<ModuleFile>>::known({module_file("550.120", "6.8.0-50-generic")});
  const auto finding = run(module_missing_for_running_kernel, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "kernel-replaced");
}

TEST(Vermagic, AnotherKernelsModuleButNotAWeakUpdate) {
  Machine machine = installed_machine();
  machine.kernel_driver.module_files.get()->front().vermagic =
      Fact<std::string>::known("6.8.0-31-generic SMP preempt mod_unload modversions ");
  EXPECT_TRUE(run(module_vermagic_mismatch, machine));
  machine.kernel_driver.module_files.get()->front().path = "/lib/modules/6.8.0-49-generic/weak-updates/nvidia/nvidia.ko";
  EXPECT_FALSE(run(module_vermagic_mismatch, machine));
}

TEST(VersionMismatch, PendingReboot) {
  Machine machine = running_machine("550.90.07");
  auto finding = run(driver_library_version_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "pending-reboot");
  machine.packages.history = {{.time = "",
                               .epoch = 1600000000,
                               .command = "apt upgrade",
                               .changes = {{"upgrade", "libnvidia-compute-550", "550.90.07-0ubuntu1", "550.120-0ubuntu1"}}}};
  finding = run(driver_library_version_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "initramfs");
}

TEST(VersionMismatch, HalfUpgradedIsNoMixOfBranches) {
  Machine machine = running_machine("535.183.01");
  machine.kernel_driver.module_files.get()->front().version = Fact<std::string>::known("535.183.01");
  machine.packages.installed = Fact<std::vector<Package>>::known(
      {package("nvidia-dkms-535", "535.183.01-0ubuntu1"), package("nvidia-dkms-550", "550.120-0ubuntu1", "half-configured"),
       package("libnvidia-compute-550", "550.120-0ubuntu1")});
  const auto finding = run(driver_library_version_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "half-upgraded");
  EXPECT_FALSE(run(driver_package_branches_mixed, machine));
}

TEST(VersionMismatch, StaleCopy) {
  Machine machine = running_machine();
  auto stray = library("libcuda.so.1", "535.54.03", true, "/usr/local/lib");
  stray.package = Fact<std::string>::absent();
  machine.user_driver.libraries.get()->front().wins = false;
  machine.user_driver.libraries.get()->push_back(stray);
  const auto finding = run(driver_library_version_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "stale-copy");
}

TEST(VersionMismatch, CompatStubAndOldLogLinesDoNotCount) {
  Machine machine = running_machine();
  machine.user_driver.libraries.get()->front().kind = "compat";
  machine.user_driver.libraries.get()->front().version = Fact<std::string>::known("560.28.03");
  log(machine,
      {event("nvrm",
             "NVRM: API mismatch: the client has the version 535.54.03, but NVRM: this kernel module has the version 550.120.")});
  EXPECT_FALSE(run(driver_library_version_mismatch, machine));
}

TEST(VersionMismatch, ALogAlone) {
  Machine machine;
  log(machine, {event("nvrm",
                      "NVRM: API mismatch: the client has the version 535.54.03, but NVRM: this kernel module has the version "
                      "530.30.02.  Please")});
  const auto finding = run(driver_library_version_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->parameters.at("library"), "535.54.03");
  EXPECT_EQ(finding->parameters.at("loaded"), "530.30.02");
}

TEST(BranchesMixed, ModuleOfOneBranchLibrariesOfAnother) {
  Machine machine = running_machine("535.183.01");
  machine.kernel_driver.module_files.get()->front().version = Fact<std::string>::known("535.183.01");
  machine.packages.installed = Fact<std::vector<Package>>::known({package("nvidia-dkms-535", "535.183.01-0ubuntu1"),
                                                                  package("libnvidia-compute-550", "550.120-0ubuntu1"),
                                                                  package("nvidia-modprobe", "550.54.15-0ubuntu1")});
  EXPECT_TRUE(run(driver_package_branches_mixed, machine));
  EXPECT_FALSE(run(driver_installed_twice, machine));
}

TEST(BranchesMixed, ForeignArchitectureResidueAndOtherNumberingAreNoMix) {
  Machine machine = running_machine();
  auto& packages = *machine.packages.installed.get();
  packages.push_back(package("libnvidia-compute-535", "535.183.01-0ubuntu1", "config-files"));
  packages.push_back(package("libnvidia-compute-535", "535.183.01-0ubuntu1"));
  packages.back().architecture = "i386";
  packages.push_back(package("nvidia-settings", "510.47.03-0ubuntu1"));
  packages.push_back(package("linux-modules-nvidia-535-6.8.0-31-generic", "6.8.0-31.31"));
  packages.push_back(package("nvidia-container-toolkit", "1.17.3-1"));
  EXPECT_FALSE(run(driver_package_branches_mixed, machine));
  EXPECT_FALSE(run(driver_installed_twice, machine));
}

TEST(InstalledTwice, RunfileOverPackages) {
  Machine machine = running_machine("550.120");
  machine.packages.runfile_driver = Fact<std::string>::known("535.54.03");
  EXPECT_FALSE(run(driver_installed_twice, machine)) << "a log without files is a relic";
  auto stray = library("libcuda.so.1", "535.54.03");
  stray.package = Fact<std::string>::absent();
  machine.user_driver.libraries.get()->front() = stray;
  const auto finding = run(driver_installed_twice, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
}

TEST(Flavour, OpenBeforeTuringProprietaryOnBlackwell) {
  EXPECT_TRUE(run(open_module_on_pre_turing_gpu, running_machine("550.120", 0x1db5, "open")));
  EXPECT_FALSE(run(open_module_on_pre_turing_gpu, running_machine("550.120", 0x1db5, "proprietary")));
  EXPECT_FALSE(run(open_module_on_pre_turing_gpu, running_machine("550.120", 0x2684, "open")));
  EXPECT_TRUE(run(proprietary_module_on_blackwell, running_machine("580.65.06", 0x2b85, "proprietary")));
  EXPECT_FALSE(run(proprietary_module_on_blackwell, running_machine("580.65.06", 0x2b85, "open")));
  EXPECT_FALSE(run(proprietary_module_on_blackwell, running_machine("580.65.06", 0x2684, "proprietary")));
}

TEST(GspFirmware, MissingFolderAndTheLogThatWantedIt) {
  Machine machine = running_machine("550.120", 0x2684, "open");
  log(machine,
      {event("firmware", "nvidia 0000:01:00.0: Direct firmware load for nvidia/550.120/gsp_ga10x.bin failed with error -2"),
       event("nvrm", "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x61:0x56:1697)")});
  machine.kernel_driver.firmware = Fact<std::vector<FirmwareFolder>>::known({});
  auto finding = run(gsp_firmware_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "");
  machine.kernel_driver.firmware = installed_machine().kernel_driver.firmware;
  finding = run(gsp_firmware_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "initramfs");
  log(machine,
      {event("firmware", "nvidia 0000:01:00.0: Direct firmware load for nvidia/550.120/gsp_ga10x.bin failed with error -4")});
  EXPECT_FALSE(run(gsp_firmware_missing, machine));
}

TEST(RmInitAdapter, DecodesWhatIsTheSameInAllReleases) {
  Machine machine = running_machine();
  log(machine, {event("nvrm", "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)")});
  auto finding = run(rm_init_adapter_failed, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "gpu");
  EXPECT_EQ(finding->parameters.at("code"), "0x22:0x56:884");
  machine.kernel_log.events.get()->front().boot = -1;
  EXPECT_FALSE(run(rm_init_adapter_failed, machine)) << "an earlier boot";
}

TEST(Xid119, OnlyAsTheFirst) {
  Machine machine = running_machine();
  log(machine, {event("xid", "NVRM: Xid (PCI:0000:01:00): 119, pid=1, Timeout waiting for RPC from GSP!", 119)});
  EXPECT_TRUE(run(xid119_gsp_timeout, machine));
  log(machine, {event("xid", "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", 79),
                event("xid", "NVRM: Xid (PCI:0000:01:00): 119, x", 119)});
  EXPECT_FALSE(run(xid119_gsp_timeout, machine));
}

TEST(Uvm, HmmMessageAndAResumeWithItsFailure) {
  Machine machine = running_machine();
  log(machine,
      {event("nvidia-uvm", "nvidia-uvm: uvm_pmm_gpu.c:3176 devmem_alloc_pagemap[pid:92821] request_free_mem_region() err -34")});
  EXPECT_TRUE(run(uvm_hmm_init_failure, machine));
  machine.kernel_driver.loaded.get()->back().parameters = {{"uvm_disable_hmm", "Y"}};
  EXPECT_FALSE(run(uvm_hmm_init_failure, machine));

  log(machine, {event("resume", "PM: suspend exit")});
  EXPECT_FALSE(run(uvm_broken_after_suspend, machine)) << "a resume alone";
  log(machine, {event("resume", "PM: suspend exit"), event("user", "cuInit failed: CUDA_ERROR_UNKNOWN (999)")});
  EXPECT_TRUE(run(uvm_broken_after_suspend, machine));
}

TEST(Parameters, OnlyDocumentedHarm) {
  Machine machine = running_machine();
  machine.kernel_driver.parameters = {{"ExcludedGpus", ""}, {"NvLinkDisable", "1"}, {"EnableMSI", "1"}};
  EXPECT_FALSE(run(nvidia_module_parameter_harmful, machine)) << "NVLink off on a single card";
  machine.kernel_driver.parameters["ExcludedGpus"] = "GPU-1234";
  EXPECT_TRUE(run(nvidia_module_parameter_harmful, machine));
}

TEST(PackageManager, BrokenStateIsAnErrorOnlyWithoutARunningDriver) {
  Machine machine = installed_machine();
  machine.packages.installed.get()->front().status = "half-configured";
  auto finding = run(package_manager_blocked, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Warning) << "the module is there: something else keeps it from loading";
  machine.kernel_driver.module_files = Fact<std::vector<ModuleFile>>::known({});
  finding = run(package_manager_blocked, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
  Machine works = running_machine();
  works.packages.installed.get()->front().status = "half-configured";
  finding = run(package_manager_blocked, works);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Note);
}

TEST(DriverPackages, RolesByName) {
  EXPECT_EQ(driver_package_role("nvidia-dkms-550-server-open", "dpkg"), PackageRole::Module);
  EXPECT_EQ(driver_package_role("nvidia-legacy-390xx-kernel-dkms", "dpkg"), PackageRole::Module);
  EXPECT_EQ(driver_package_role("libcuda1", "dpkg"), PackageRole::Compute);
  EXPECT_EQ(driver_package_role("libnvidia-container1", "dpkg"), PackageRole::NoDriver);
  EXPECT_EQ(driver_package_role("nvidia-utils", "pacman"), PackageRole::Compute);
  EXPECT_EQ(driver_package_role("nvidia-utils-550", "dpkg"), PackageRole::Other);
  EXPECT_EQ(driver_package_role("akmod-nvidia", "rpm"), PackageRole::Module);
  EXPECT_EQ(driver_package_role("xorg-x11-drv-nvidia-cuda-libs", "rpm"), PackageRole::Compute);
  EXPECT_EQ(driver_package_role("nvidia-gpu-firmware", "rpm"), PackageRole::NoDriver);
  EXPECT_EQ(driver_package_role("nvidia-open-driver-G06-signed-kmp-default", "rpm"), PackageRole::Module);
  EXPECT_EQ(branch_in_package_name("libnvidia-compute-550-server"), 550u);
  EXPECT_EQ(branch_in_package_name("nvidia-470xx-utils"), 470u);
  EXPECT_FALSE(branch_in_package_name("lib32-nvidia-utils"));
  EXPECT_FALSE(branch_in_package_name("linux-modules-nvidia-fs-6.8.0-107-generic"));
  EXPECT_EQ(driver_package_role("linux-modules-nvidia-fs-6.8.0-107-generic", "dpkg"), PackageRole::NoDriver);
  EXPECT_EQ(driver_package_role("nvidia-fabricmanager-550", "dpkg"), PackageRole::NoDriver);
}

}  // namespace
}  // namespace gpuvet
