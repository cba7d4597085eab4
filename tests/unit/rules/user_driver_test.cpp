// The rules of layer user-driver on machines made by hand: each fires on its case and stays silent on the neighbour's.

#include "rules/user_driver.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gpuvet {
namespace {

using namespace user_driver;

const Knowledge& tables() {
  static const Knowledge knowledge;
  return knowledge;
}

std::optional<Finding> run(std::optional<Finding> (*rule)(const RuleContext&), const Machine& machine) {
  return rule(make_rule_context(machine, tables()));
}

PciDevice device(std::int64_t id, std::int64_t class_code = 0x030000, const char* driver = "nvidia") {
  PciDevice pci;
  pci.address = "0000:01:00.0";
  pci.vendor = 0x10de;
  pci.device = id;
  pci.class_code = class_code;
  pci.driver = Fact<std::string>::known(driver);
  return pci;
}

DriverLibrary library(std::string name, std::string path, std::string version, std::string kind = "driver", bool wins = true) {
  DriverLibrary lib;
  lib.name = std::move(name);
  lib.path = path;
  lib.real_path = path;
  lib.kind = std::move(kind);
  lib.elf_class = "64";
  lib.machine = "x86_64";
  if (!version.empty()) lib.version = Fact<std::string>::known(std::move(version));
  lib.wins = wins;
  lib.found_by = wins ? "LD_LIBRARY_PATH" : "";
  return lib;
}

const std::string lib_folder = "/usr/lib/x86_64-linux-gnu/";

/// A machine with one GPU and a loaded driver whose libraries are where they belong.
Machine whole(std::string version = "550.120", std::int64_t gpu = 0x2684) {
  Machine machine;
  machine.os.kernel = Fact<std::string>::known("6.8.0-49-generic");
  machine.os.architecture = Fact<std::string>::known("x86_64");
  machine.pci = Fact<std::vector<PciDevice>>::known({device(gpu)});
  machine.kernel_driver.version = Fact<std::string>::known(version);
  machine.user_driver.libraries =
      Fact<std::vector<DriverLibrary>>::known({library("libcuda.so.1", lib_folder + "libcuda.so.1", version),
                                               library("libnvidia-ml.so.1", lib_folder + "libnvidia-ml.so.1", version)});
  machine.user_driver.libcuda_dev_link = Fact<bool>::known(true);
  machine.user_driver.search_complete = Fact<bool>::known(true);
  machine.services = Fact<std::vector<Service>>::known({});
  machine.processes = Fact<std::vector<std::string>>::known({});
  machine.kernel_log.events = Fact<std::vector<LogEvent>>::known({});
  return machine;
}

std::vector<DriverLibrary>& libraries(Machine& machine) { return *machine.user_driver.libraries.get(); }

Machine with_compat(std::string module, std::string compat, std::int64_t gpu) {
  Machine machine = whole(std::move(module), gpu);
  libraries(machine).front().wins = false;
  libraries(machine).push_back(library("libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1", std::move(compat), "compat"));
  return machine;
}

Machine with_switches(const char* driver = "nvidia-nvswitch") {
  Machine machine = whole("550.127.05", 0x2330);
  machine.pci.get()->push_back(device(0x22a3, 0x068000, driver));
  return machine;
}

Machine image(std::string driver, std::string variable, std::string value) {
  Machine machine = whole(std::move(driver));
  machine.environment[std::move(variable)] = std::move(value);
  return machine;
}

void log(Machine& machine, std::string text) {
  LogEvent event;
  event.kind = "user";
  event.text = std::move(text);
  machine.kernel_log.events.get()->push_back(std::move(event));
}

Package package(std::string name, std::string version) {
  Package installed;
  installed.name = std::move(name);
  installed.version = std::move(version);
  installed.architecture = "amd64";
  installed.manager = "dpkg";
  installed.status = "installed";
  return installed;
}

TEST(UserDriverRules, NothingFiresOnAMachineThatWorks) {
  const Machine machine = whole();
  for (const Rule& rule : user_driver_rules()) EXPECT_FALSE(rule.judge(make_rule_context(machine, tables()))) << rule.slug;
}

TEST(UserDriverRules, NothingFiresOnAMachineOfWhichNothingIsKnown) {
  for (const Rule& rule : user_driver_rules()) EXPECT_FALSE(rule.judge(make_rule_context({}, tables()))) << rule.slug;
}

TEST(LibcudaMissing, OnlyWhenEverythingWasSearched) {
  Machine machine = whole();
  libraries(machine).clear();
  EXPECT_TRUE(run(libcuda_missing, machine));
  machine.user_driver.search_complete = Fact<bool>::known(false);
  EXPECT_FALSE(run(libcuda_missing, machine));
  machine.user_driver.libraries = Fact<std::vector<DriverLibrary>>::not_seen("permission denied");
  EXPECT_FALSE(run(libcuda_missing, machine));
}

TEST(LibcudaMissing, NamesACopyThatTheLoaderDoesNotReach) {
  Machine machine = whole();
  libraries(machine) = {library("libcuda.so.1", "/opt/nvidia/libcuda.so.1", "550.120", "driver", false)};
  const auto finding = run(libcuda_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "off-path");
  EXPECT_EQ(finding->parameters.at("path"), "/opt/nvidia/libcuda.so.1");
  // A 32-bit copy, and the driver of Kubernetes' GPU operator, are no such thing.
  libraries(machine).front().elf_class = "32";
  EXPECT_EQ(run(libcuda_missing, machine)->variant, "");
  libraries(machine) = {
      library("libcuda.so.1", "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libcuda.so.1", "550.120", "driver", false)};
  const auto operator_node = run(libcuda_missing, machine);
  EXPECT_TRUE(!operator_node || operator_node->severity == Severity::Note);
}

TEST(LibcudaMissing, IsNoNewsWithoutADriver) {
  Machine machine = whole();
  libraries(machine).clear();
  machine.kernel_driver.version = Fact<std::string>::absent();
  EXPECT_FALSE(run(libcuda_missing, machine));
}

TEST(NvmlMissing, IsAWarningWhileLibcudaIsThere) {
  Machine machine = whole();
  libraries(machine).pop_back();
  const auto finding = run(nvml_missing, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Warning);
  EXPECT_FALSE(run(libcuda_missing, machine));
}

TEST(LibcudaSymlink, IsNeverMoreThanANote) {
  Machine machine = whole();
  machine.user_driver.libcuda_dev_link = Fact<bool>::known(false);
  ASSERT_TRUE(run(libcuda_so_symlink_missing, machine));
  EXPECT_EQ(run(libcuda_so_symlink_missing, machine)->severity, Severity::Note);
  machine.user_driver.libcuda_dev_link = Fact<bool>::not_seen("no loader path");
  EXPECT_FALSE(run(libcuda_so_symlink_missing, machine));
}

TEST(Stub, OnlyWhenItWins) {
  Machine machine = whole();
  libraries(machine).front().wins = false;
  libraries(machine).push_back(library("libcuda.so.1", "/usr/local/cuda/lib64/stubs/libcuda.so.1", "", "stub"));
  const auto finding = run(stub_libcuda_loaded, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->parameters.at("folder"), "/usr/local/cuda/lib64/stubs");
  libraries(machine).back().wins = false;
  libraries(machine).front().wins = true;
  EXPECT_FALSE(run(stub_libcuda_loaded, machine));
}

TEST(MultipleLibcuda, IsANoteAboutAnotherVersionOfThisArchitecture) {
  Machine machine = whole();
  libraries(machine).push_back(library("libcuda.so.1", "/opt/old/libcuda.so.1", "535.54.03", "driver", false));
  ASSERT_TRUE(run(multiple_libcuda, machine));
  EXPECT_EQ(run(multiple_libcuda, machine)->severity, Severity::Note);
  libraries(machine).back().elf_class = "32";
  EXPECT_FALSE(run(multiple_libcuda, machine));
}

TEST(Compat, OlderThanTheModuleShadowsIt) {
  EXPECT_TRUE(run(compat_libcuda_shadows_driver, with_compat("550.120", "535.183.06", 0x20b5)));
  EXPECT_TRUE(run(compat_libcuda_shadows_driver, with_compat("550.120", "550.54.15", 0x2684)));
  EXPECT_FALSE(run(compat_libcuda_shadows_driver, with_compat("535.183.06", "550.54.15", 0x20b5)));
  EXPECT_FALSE(run(compat_libcuda_shadows_driver, with_compat("550.120", "550.120", 0x20b5)));
}

TEST(Compat, NewerIsFineOnADataCentreGpuAndNotOnGeForce) {
  EXPECT_TRUE(run(forward_compat_on_unsupported_gpu, with_compat("535.183.06", "550.54.15", 0x2684)));
  EXPECT_TRUE(run(forward_compat_on_unsupported_gpu, with_compat("550.90.07", "550.120", 0x2684)));
  EXPECT_FALSE(run(forward_compat_on_unsupported_gpu, with_compat("535.183.06", "550.54.15", 0x20b5)));
  EXPECT_FALSE(run(forward_compat_on_unsupported_gpu, with_compat("550.120", "535.183.06", 0x2684)));
  EXPECT_FALSE(
      run(forward_compat_on_unsupported_gpu, with_compat("535.183.06", "550.54.15", 0xfff0)));  // unknown GPU: nothing is said
}

TEST(Image, MinorVersionCompatibilityCounts) {
  EXPECT_FALSE(run(driver_too_old_for_container_image, image("535.183.06", "NVIDIA_REQUIRE_CUDA", "cuda>=12.4")));
  EXPECT_TRUE(run(driver_too_old_for_container_image, image("470.256.02", "NVIDIA_REQUIRE_CUDA", "cuda>=12.4")));
  EXPECT_TRUE(run(driver_too_old_for_container_image,
                  image("570.133.20", "NVIDIA_REQUIRE_CUDA", "cuda>=13.0 brand=tesla,driver>=535,driver<536")));
  EXPECT_FALSE(run(driver_too_old_for_container_image, image("580.95.05", "NVIDIA_REQUIRE_CUDA", "cuda>=13.0")));
  EXPECT_TRUE(run(driver_too_old_for_container_image, image("470.256.02", "CUDA_VERSION", "12.4.1")));
}

TEST(Image, AlternativesAndConditions) {
  const auto unmet = [](std::string driver, std::string value) {
    return run(driver_too_old_for_container_image, image(std::move(driver), "NVIDIA_REQUIRE_DRIVER", std::move(value)))
        .has_value();
  };
  EXPECT_TRUE(unmet("550.120", "driver>=560"));
  EXPECT_FALSE(unmet("550.120", "driver>=560 driver>=550,driver<551"));
  EXPECT_TRUE(unmet("550.120", "driver>=560 driver>=535,driver<536"));
  EXPECT_TRUE(unmet("550.120", "driver>=560 brand=tesla,driver>=550,driver<551"));     // a GeForce is no Tesla
  EXPECT_FALSE(unmet("550.120", "driver>=560 brand=geforce,driver>=550,driver<551"));  // may be met
  EXPECT_FALSE(unmet("550.120", "driver>550.90"));
  EXPECT_TRUE(unmet("550.120", "driver>=550.120.1"));
  for (const char* odd :
       {"", " ", ",", "driver", "driver>=", ">=550", "driver>=a.b", "jetpack>=6", "driver>=999999999999999999", "csv-mounts=all"})
    EXPECT_FALSE(unmet("550.120", odd)) << odd;
  Machine disabled = image("550.120", "NVIDIA_REQUIRE_DRIVER", "driver>=560");
  disabled.environment["NVIDIA_DISABLE_REQUIRE"] = "1";
  EXPECT_FALSE(run(driver_too_old_for_container_image, disabled));
}

TEST(FabricManager, MustRunWhereThisMachineDrivesSwitches) {
  EXPECT_TRUE(run(fabric_manager_not_running, with_switches()));
  EXPECT_FALSE(run(fabric_manager_not_running, with_switches("vfio-pci")));
  Machine running = with_switches();
  running.processes.get()->push_back("nv-fabricmanage");
  EXPECT_FALSE(run(fabric_manager_not_running, running));
  Machine unseen = with_switches();
  unseen.processes = Fact<std::vector<std::string>>::not_seen("hidepid");
  EXPECT_FALSE(run(fabric_manager_not_running, unseen));
}

TEST(FabricManager, MustHaveTheDriversVersion) {
  Machine machine = with_switches();
  machine.packages.installed = Fact<std::vector<Package>>::known({package("nvidia-fabricmanager-550", "550.127.05-1")});
  EXPECT_FALSE(run(fabric_manager_version_mismatch, machine));
  machine.packages.installed = Fact<std::vector<Package>>::known({package("nvidia-fabricmanager-550", "550.90.07-1")});
  ASSERT_TRUE(run(fabric_manager_version_mismatch, machine));
  EXPECT_EQ(run(fabric_manager_version_mismatch, machine)->parameters.at("version"), "550.90.07");
}

TEST(Vgpu, TheLastWordAboutTheLicenceCounts) {
  Machine machine = whole();
  log(machine, "nvidia-gridd: Failed to acquire license from 10.0.0.7");
  EXPECT_TRUE(run(vgpu_unlicensed, machine));
  log(machine, "nvidia-gridd: License acquired successfully.");
  EXPECT_FALSE(run(vgpu_unlicensed, machine));
}

TEST(Vgpu, HostAndGuestThatDoNotFit) {
  Machine machine = whole();
  log(machine,
      "NVRM: Incompatible Guest/Host drivers: Guest VGX version is older than the minimum version supported by the Host. "
      "Disabling vGPU.");
  EXPECT_TRUE(run(vgpu_guest_driver_mismatch, machine));
  machine = whole();
  log(machine, "NVRM: GPU0 NVRM_RPC: SetGuestSystemInfo: Guest VGX version (14.2) is newer than the host VGX version (14.1)");
  EXPECT_FALSE(run(vgpu_guest_driver_mismatch, machine));
  log(machine, "NVRM: GPU0 NVRM_RPC: SetGuestSystemInfo: The host version (13.0) is too old.");
  EXPECT_TRUE(run(vgpu_guest_driver_mismatch, machine));
}

TEST(Persistence, IsANoteWhereItIsEnabledAndDoesNotRun) {
  Machine machine = whole();
  Service daemon;
  daemon.name = "nvidia-persistenced";
  daemon.unit = Fact<std::string>::known("/usr/lib/systemd/system/nvidia-persistenced.service");
  daemon.enabled = Fact<bool>::known(true);
  daemon.running = Fact<bool>::known(false);
  machine.services = Fact<std::vector<Service>>::known({daemon});
  ASSERT_TRUE(run(nvidia_persistenced_down, machine));
  EXPECT_EQ(run(nvidia_persistenced_down, machine)->severity, Severity::Note);
  machine.services.get()->front().enabled = Fact<bool>::known(false);
  EXPECT_FALSE(run(nvidia_persistenced_down, machine));
}

TEST(UserDriverRules, EveryVariantThatIsToldHasItsTexts) {
  for (const Rule& rule : user_driver_rules()) {
    const RuleRecord* record = find_rule_record(rule.slug);
    ASSERT_TRUE(record) << rule.slug;
    EXPECT_EQ(record->layer, Layer::UserDriver) << rule.slug;
  }
  for (const char* slug : {"libcuda-missing", "nvml-missing"}) {
    for (const char* variant : {"off-path", "private-folder", "unusable", "container", "system-container", "apptainer"}) {
      const auto texts = find_rule_record(slug)->texts;
      EXPECT_TRUE(std::ranges::any_of(texts, [&](const RuleText& text) { return text.variant == variant; }))
          << slug << " " << variant;
    }
  }
}

/// A whole machine whose libcuda is somewhere else, or nowhere.
Machine without_libcuda() {
  Machine machine = whole();
  libraries(machine).erase(libraries(machine).begin());
  return machine;
}

std::string first_repair(const std::optional<Finding>& finding) {
  return finding && !finding->repair.empty() ? finding->repair.front().type : "";
}

TEST(LibcudaMissing, TheRepairFollowsTheInstaller) {
  Machine machine = without_libcuda();
  EXPECT_EQ(first_repair(run(libcuda_missing, machine)), "install-compute-libraries");
  machine.packages.installed = Fact<std::vector<Package>>::known({package("nvidia-dkms-550-server", "550.120-0ubuntu1")});
  EXPECT_EQ(run(libcuda_missing, machine)->repair.front().parameters["branch"], "550-server");
  machine.packages.runfile_driver = Fact<std::string>::known("550.120");
  EXPECT_EQ(first_repair(run(libcuda_missing, machine)), "run-installer-again");
}

TEST(LibcudaMissing, TheRepairFollowsTheContainer) {
  Machine machine = without_libcuda();
  DeviceNode control;
  control.path = "/dev/nvidiactl";
  machine.device_nodes.nodes = Fact<std::vector<DeviceNode>>::known({control});
  for (const auto& [container, repair] :
       {std::pair{"docker", "inject-driver-libraries"}, std::pair{"lxc", "install-driver-libraries-in-lxc"},
        std::pair{"apptainer", "start-apptainer-with-nv"}}) {
    machine.os.container = Fact<std::string>::known(container);
    EXPECT_EQ(first_repair(run(libcuda_missing, machine)), repair);
  }
}

TEST(LibcudaMissing, FoldersForOthersAreOnlyANote) {
  Machine machine = without_libcuda();
  libraries(machine).push_back(
      library("libcuda.so.1", "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libcuda.so.1", "550.120", "driver", false));
  EXPECT_EQ(run(libcuda_missing, machine)->severity, Severity::Note);
  EXPECT_EQ(run(libcuda_missing, machine)->variant, "private-folder");
  libraries(machine).back().path = libraries(machine).back().real_path = "/run/opengl-driver/lib/libcuda.so.1";
  machine.os.id = Fact<std::string>::known("nixos");
  EXPECT_FALSE(run(libcuda_missing, machine)) << "NixOS' programs have the folder in their own path";
}

TEST(LibcudaMissing, AHostOfVgpusHasNone) {
  Machine machine = without_libcuda();
  LoadedModule manager;
  manager.name = "nvidia_vgpu_vfio";
  machine.kernel_driver.loaded = Fact<std::vector<LoadedModule>>::known({manager});
  EXPECT_EQ(run(libcuda_missing, machine)->severity, Severity::Note);
}

TEST(LibcudaMissing, DebianLeadsThereByItsAlternatives) {
  Machine machine = without_libcuda();
  libraries(machine).push_back(library("libcuda.so.1", lib_folder + "nvidia/current/libcuda.so.1", "550.120", "driver", false));
  EXPECT_EQ(first_repair(run(libcuda_missing, machine)), "restore-nvidia-alternative");
}

TEST(LibcudaMissing, AnEmptyFileStopsTheLoader) {
  Machine machine = without_libcuda();
  libraries(machine).push_back(library("libcuda.so.1", lib_folder + "libcuda.so.1", "", "empty"));
  EXPECT_EQ(run(libcuda_missing, machine)->variant, "unusable");
}

Machine with_stub(std::string path, std::string found_by) {
  Machine machine = whole();
  libraries(machine).front().wins = false;
  libraries(machine).push_back(library("libcuda.so.1", std::move(path), "", "stub"));
  libraries(machine).back().found_by = std::move(found_by);
  return machine;
}

TEST(Stub, TheRepairFollowsWhatLeadsThere) {
  const std::string path = "/usr/local/cuda/lib64/stubs/libcuda.so.1";
  EXPECT_EQ(first_repair(run(stub_libcuda_loaded, with_stub(path, "LD_LIBRARY_PATH"))), "remove-from-ld-library-path");
  Machine configured = with_stub(path, "ld.so.cache");
  configured.loader.folders = {{"/usr/local/cuda/lib64/stubs", "ld.so.conf", {"/etc/ld.so.conf.d/cuda.conf", 1, ""}, true}};
  EXPECT_EQ(first_repair(run(stub_libcuda_loaded, configured)), "remove-loader-folder");
  EXPECT_EQ(first_repair(run(stub_libcuda_loaded, with_stub("/usr/lib64/libcuda.so.1", "default"))), "move-stray-library");
}

TEST(Stub, IsANoteOnAMachineThatOnlyBuilds) {
  Machine machine = with_stub("/usr/local/cuda/lib64/stubs/libcuda.so.1", "LD_LIBRARY_PATH");
  EXPECT_EQ(run(stub_libcuda_loaded, machine)->severity, Severity::Error);
  libraries(machine).erase(libraries(machine).begin());
  EXPECT_EQ(run(stub_libcuda_loaded, machine)->severity, Severity::Error)
      << "the driver is loaded: programs are meant to run here";
  machine.kernel_driver.version = Fact<std::string>::absent();
  machine.pci = Fact<std::vector<PciDevice>>::known({});
  EXPECT_EQ(run(stub_libcuda_loaded, machine)->severity, Severity::Note);
}

TEST(Stub, UnderTheNameOfDevelopersIsANote) {
  Machine machine = whole();
  LibraryFile stub;
  stub.path = "/usr/local/cuda/lib64/stubs/libcuda.so";
  stub.stub = true;
  machine.loader.files = {stub};
  machine.user_driver.libcuda_dev_link = Fact<bool>::known(true, {stub.path, 0, ""});
  const auto finding = run(stub_libcuda_loaded, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "dev-name");
  EXPECT_EQ(finding->severity, Severity::Note);
}

TEST(Compat, OneCardThatMayUseItIsEnoughToStaySilent) {
  Machine machine = with_compat("535.183.01", "570.86.15", 0x2684);
  EXPECT_TRUE(run(forward_compat_on_unsupported_gpu, machine));
  machine.pci.get()->push_back(device(0x20b5));
  EXPECT_FALSE(run(forward_compat_on_unsupported_gpu, machine));
}

TEST(Compat, TheDriversOwnListServesWhereTheBusIsNotSeen) {
  Machine machine = with_compat("535.183.01", "570.86.15", 0x2684);
  machine.pci = Fact<std::vector<PciDevice>>::not_seen("no sysfs");
  EXPECT_FALSE(run(forward_compat_on_unsupported_gpu, machine));
  ProcGpu gpu;
  gpu.model = "NVIDIA GeForce RTX 4090";
  machine.kernel_driver.gpus = {gpu};
  EXPECT_TRUE(run(forward_compat_on_unsupported_gpu, machine));
}

TEST(Image, ACardThatNoNewerDriverServesNeedsAnOlderImage) {
  Machine kepler = image("470.256.02", "CUDA_VERSION", "12.4.1");
  kepler.pci = Fact<std::vector<PciDevice>>::known({device(0x1180)});  // GTX 680
  EXPECT_EQ(first_repair(run(driver_too_old_for_container_image, kepler)), "use-older-cuda-image");
  const Machine ampere = image("470.256.02", "CUDA_VERSION", "12.4.1");
  EXPECT_EQ(first_repair(run(driver_too_old_for_container_image, ampere)), "update-driver-on-host");
}

Service stopped_fabric_manager(std::vector<Origin> log = {}) {
  Service unit;
  unit.name = "nvidia-fabricmanager";
  unit.unit = Fact<std::string>::known("/lib/systemd/system/nvidia-fabricmanager.service");
  unit.enabled = Fact<bool>::known(true);
  unit.running = Fact<bool>::known(false);
  unit.log = std::move(log);
  return unit;
}

TEST(FabricManager, AnEmptyListOfProcessesProvesNothingOfAnEnabledUnit) {
  Machine machine = with_switches();
  machine.services = Fact<std::vector<Service>>::known({stopped_fabric_manager()});
  EXPECT_FALSE(run(fabric_manager_not_running, machine));
  machine.processes = Fact<std::vector<std::string>>::known({"nvidia-persistenced"});
  EXPECT_TRUE(run(fabric_manager_not_running, machine));
}

TEST(FabricManager, ItsOwnRefusalIsEnough) {
  const Origin refusal{
      "/var/log/fabricmanager.log", 7,
      "fabric manager NVIDIA GPU driver interface version 550.144.03 don't match with driver version 550.127.05. Please update"};
  Machine machine = with_switches();
  machine.services = Fact<std::vector<Service>>::known({stopped_fabric_manager({refusal})});
  const auto finding = run(fabric_manager_version_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->parameters.at("version"), "550.144.03");
  machine.kernel_driver.version = Fact<std::string>::known("550.144.03");
  EXPECT_FALSE(run(fabric_manager_version_mismatch, machine)) << "another driver is loaded since then";
}

TEST(FabricManager, ThatEqualsTheDriverOnDiskWaitsForAReboot) {
  Machine machine = with_switches();
  machine.packages.installed = Fact<std::vector<Package>>::known(
      {package("nvidia-dkms-550", "550.144.03-0ubuntu1"), package("nvidia-fabricmanager-550", "550.144.03-1")});
  const auto finding = run(fabric_manager_version_mismatch, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "pending-reboot");
  EXPECT_EQ(first_repair(finding), "reboot");
}

TEST(FabricManager, HasNothingToDoWithoutSwitchesOfItsOwn) {
  EXPECT_FALSE(run(fabric_manager_not_running, with_switches("vfio-pci")));
  Machine nforce = whole();
  nforce.pci.get()->push_back(device(0x0057, 0x068000, "forcedeth"));
  nforce.pci.get()->push_back(device(0x0373, 0x068000));
  nforce.pci.get()->back().driver = Fact<std::string>::absent();
  EXPECT_FALSE(run(fabric_manager_not_running, nforce));
  Machine off = with_switches();
  off.kernel_driver.parameters["NvLinkDisable"] = "1";
  EXPECT_FALSE(run(fabric_manager_not_running, off));
}

TEST(Vgpu, ARenewalThatFailedDecidesNothing) {
  Machine machine = whole();
  log(machine, "nvidia-gridd: License acquired successfully. (Info: 10.0.0.5; Expiry: 2025-5-28 9:40:13 GMT)");
  log(machine, "nvidia-gridd: Failed to renew license from 10.0.0.5");
  EXPECT_FALSE(run(vgpu_unlicensed, machine));
}

TEST(Vgpu, ProfilesAreToldFromWholeCards) {
  Machine machine = whole();
  log(machine, "nvidia-gridd: Failed to acquire license from 10.0.0.5");
  for (const char* model : {"NVIDIA A40-8Q", "GRID T4-2C", "NVIDIA A100-1-5CME", "NVIDIA L40S-48C", "NVIDIA A16-2B"}) {
    ProcGpu gpu;
    gpu.model = model;
    machine.kernel_driver.gpus = {gpu};
    EXPECT_EQ(run(vgpu_unlicensed, machine)->variant, "") << model;
  }
  for (const char* model :
       {"NVIDIA A100-SXM4-40GB", "Tesla T4", "NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "Tesla V100-SXM2-16GB"}) {
    machine.kernel_driver.gpus.front().model = model;
    EXPECT_EQ(run(vgpu_unlicensed, machine)->variant, "whole-card") << model;
    EXPECT_EQ(run(vgpu_unlicensed, machine)->severity, Severity::Warning) << model;
  }
}

}  // namespace
}  // namespace gpuvet
