// The rules of layer hardware on machines made by hand: each fires on its case and stays silent on the neighbour's.

#include "rules/hardware.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

const Knowledge& tables() {
  static const Knowledge knowledge;
  return knowledge;
}

using Judge = std::optional<Finding> (*)(const RuleContext&);
std::optional<Finding> run(Judge rule, const Machine& machine) { return rule(make_rule_context(machine, tables())); }

template <class T>
Fact<T> known(T value) {
  return Fact<T>::known(std::move(value));
}
Fact<std::string> text(const char* value) { return Fact<std::string>::known(value); }

PciDevice function(std::string address, std::int64_t vendor, std::int64_t device, std::int64_t class_code) {
  PciDevice pci;
  pci.address = std::move(address);
  pci.vendor = vendor;
  pci.device = device;
  pci.class_code = class_code;
  pci.driver = Fact<std::string>::absent();
  return pci;
}

PciDevice gpu(std::int64_t device, const char* driver = nullptr, std::string address = "0000:01:00.0") {
  PciDevice pci = function(std::move(address), 0x10de, device, 0x030000);
  pci.parent = "0000:00:01.0";
  if (driver) pci.driver = text(driver);
  pci.config_all_ones = known(false);
  pci.bars = known(std::vector<PciBar>{
      {0, 0xa2000000, 0x1000000, 0x40200}, {1, 0x7000000000, 0x10000000, 0x14220c}, {3, 0x7800000000, 0x2000000, 0x14220c}});
  return pci;
}

Machine machine_with(std::vector<PciDevice> devices) {
  Machine machine;
  machine.pci = known(std::move(devices));
  machine.kernel_driver.loaded = known(std::vector<LoadedModule>{});
  return machine;
}

void load_driver(Machine& machine, const char* version) {
  machine.kernel_driver.version = text(version);
  machine.kernel_driver.loaded = known(std::vector<LoadedModule>{{.name = "nvidia"}});
}

void log(Machine& machine, std::string kind, std::string line, std::int64_t code = -1, std::string pci = {}, double seconds = -1,
         std::int64_t boot = 0) {
  if (!machine.kernel_log.events.is_known()) machine.kernel_log.events = known(std::vector<LogEvent>{});
  LogEvent event;
  event.kind = std::move(kind);
  event.text = std::move(line);
  event.code = code;
  event.pci = std::move(pci);
  event.seconds = seconds;
  event.boot = boot;
  machine.kernel_log.events.get()->push_back(std::move(event));
}

void xid(Machine& machine, std::int64_t code, double seconds = -1, std::string line = {}, std::int64_t boot = 0) {
  log(machine, "xid", line.empty() ? "NVRM: Xid (PCI:0000:01:00): " + std::to_string(code) : line, code, "0000:01:00", seconds,
      boot);
}

// ---- presence --------------------------------------------------------------------------------------------------------

TEST(NoNvidiaGpu, NeedsASeenBus) {
  EXPECT_FALSE(run(judge_no_nvidia_gpu, Machine{}));
  const auto finding = run(judge_no_nvidia_gpu, machine_with({}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "");
}

TEST(NoNvidiaGpu, NamesTheOthersAndTheHypervisor) {
  Machine machine = machine_with({function("0000:00:02.0", 0x8086, 0x46a6, 0x030000)});
  auto finding = run(judge_no_nvidia_gpu, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "other-gpu");
  EXPECT_EQ(finding->parameters["others"], "Intel [8086:46a6]");
  machine.os.hypervisor = text("kvm");
  finding = run(judge_no_nvidia_gpu, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "vm");
  EXPECT_EQ(finding->repair.front().type, "pass-gpu-to-vm");
}

TEST(NoNvidiaGpu, SilentWhereTheBusIsNoWitness) {
  Machine container = machine_with({});
  container.os.container = text("docker");
  EXPECT_FALSE(run(judge_no_nvidia_gpu, container));
  Machine desktop = machine_with({function("0000:00:02.0", 0x1af4, 0x1050, 0x030000)});
  desktop.os.kernel = text("6.6.26-linuxkit");
  EXPECT_FALSE(run(judge_no_nvidia_gpu, desktop));
}

TEST(DgpuSwitchedOff, ByRuleByProfileAndByLog) {
  Machine machine = machine_with({function("0000:00:02.0", 0x8086, 0x46a6, 0x030000)});
  machine.os.chassis_type = known<std::int64_t>(10);
  EXPECT_FALSE(run(judge_dgpu_switched_off, machine));
  Machine by_rule = machine;
  by_rule.kernel_driver.gpu_remove_rules = {{"/etc/udev/rules.d/50-remove-nvidia.rules", 7, "ACTION==\"add\" …"}};
  const auto finding = run(judge_dgpu_switched_off, by_rule);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "removed");
  EXPECT_EQ(finding->repair.front().type, "switch-gpu-on-envycontrol");
  EXPECT_FALSE(run(judge_no_nvidia_gpu, by_rule));
  Machine by_profile = machine;
  by_profile.kernel_driver.prime_profile = text("intel");
  EXPECT_TRUE(run(judge_dgpu_switched_off, by_profile));
  Machine by_log = machine;
  log(by_log, "pci", "pci 0000:01:00.0: [10de:25a2] type 00 class 0x030000", -1, "0000:01:00");
  EXPECT_TRUE(run(judge_dgpu_switched_off, by_log));
}

TEST(DgpuSwitchedOff, DesktopMayRememberAProfile) {
  Machine machine = machine_with({});
  machine.os.chassis_type = known<std::int64_t>(3);
  machine.kernel_driver.prime_profile = text("intel");
  EXPECT_FALSE(run(judge_dgpu_switched_off, machine));
  EXPECT_TRUE(run(judge_no_nvidia_gpu, machine));
}

TEST(AmdWithCuda, NotOnLaptopsWithADriver) {
  Machine machine = machine_with({function("0000:03:00.0", 0x1002, 0x744c, 0x030000)});
  machine.packages.installed = known(std::vector<Package>{{.name = "nvidia-dkms-550",
                                                           .version = "550.120-0ubuntu1",
                                                           .architecture = "amd64",
                                                           .manager = "dpkg",
                                                           .status = "installed"}});
  EXPECT_TRUE(run(judge_amd_with_cuda_package, machine));
  // Intel's processor graphics are no other card: the NVIDIA one is missing.
  machine.pci = known(std::vector<PciDevice>{function("0000:00:02.0", 0x8086, 0x46a6, 0x030000)});
  EXPECT_FALSE(run(judge_amd_with_cuda_package, machine));
  machine.pci = known(std::vector<PciDevice>{function("0000:03:00.0", 0x1002, 0x744c, 0x030000)});
  machine.os.chassis_type = known<std::int64_t>(10);
  EXPECT_FALSE(run(judge_amd_with_cuda_package, machine));
}

TEST(BoundToVfio, NoteWhenAnotherGpuIsLeft) {
  auto finding = run(judge_gpu_bound_to_vfio, machine_with({gpu(0x2684, "vfio-pci")}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
  finding = run(judge_gpu_bound_to_vfio, machine_with({gpu(0x2684, "vfio-pci"), gpu(0x2684, "nvidia", "0000:02:00.0")}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Note);
}

// ---- generation ------------------------------------------------------------------------------------------------------

TEST(GpuDropped, KeplerAfter470) {
  Machine machine = machine_with({gpu(0x128b)});
  load_driver(machine, "535.183.01");
  auto finding = run(judge_gpu_dropped, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->parameters["branch"], "470");
  load_driver(machine, "470.256.02");
  EXPECT_FALSE(run(judge_gpu_dropped, machine));
}

TEST(GpuDropped, LogAloneNamesTheBranch) {
  Machine machine;
  log(machine, "nvrm",
      "NVRM: The NVIDIA Tesla M2070 GPU installed in this system is supported through the NVIDIA 390.xx Legacy drivers. Please "
      "visit … The 396.26 NVIDIA driver will ignore this GPU.");
  const auto finding = run(judge_gpu_dropped, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->parameters.at("branch"), "390");
  EXPECT_EQ(finding->parameters.at("driver"), "396.26");
}

TEST(GpuDropped, ObservedSuccessOverrulesTables) {
  Machine machine = machine_with({gpu(0x128b, "nvidia")});
  load_driver(machine, "535.183.01");
  EXPECT_FALSE(run(judge_gpu_dropped, machine));
}

TEST(GpuNeedsNewerDriver, ByChipNeverByName) {
  Machine machine = machine_with({gpu(0x2b85)});
  load_driver(machine, "550.120");
  const auto finding = run(judge_gpu_needs_newer_driver, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->repair.front().parameters.at("flavor"), "open");
  machine = machine_with({gpu(0x2803)});  // RTX 4060 Ti: not named by 525.60.13
  load_driver(machine, "525.60.13");
  EXPECT_FALSE(run(judge_gpu_needs_newer_driver, machine));
}

TEST(MixedGpus, OneModuleFlavourForBoth) {
  Machine machine = machine_with({gpu(0x1b06), gpu(0x2b85, nullptr, "0000:02:00.0")});
  load_driver(machine, "580.95.05");
  const auto finding = run(judge_mixed_gpus, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "flavor");
}

// ---- bus -------------------------------------------------------------------------------------------------------------

TEST(FellOffBus, FirstXidCounts) {
  Machine machine = machine_with({gpu(0x2684, "nvidia")});
  EXPECT_FALSE(run(judge_fell_off_bus, machine));
  xid(machine, 79, 500);
  EXPECT_TRUE(run(judge_fell_off_bus, machine));
  Machine after_gsp = machine_with({gpu(0x2684, "nvidia")});
  xid(after_gsp, 119, 480);
  xid(after_gsp, 79, 500);
  EXPECT_FALSE(run(judge_fell_off_bus, after_gsp));
  Machine an_hour_later = machine_with({gpu(0x2684, "nvidia")});
  xid(an_hour_later, 63, 480);
  xid(an_hour_later, 79, 4500);
  EXPECT_TRUE(run(judge_fell_off_bus, an_hour_later));
}

TEST(FellOffBus, OlderBootIsHistory) {
  Machine machine = machine_with({gpu(0x2684, "nvidia")});
  xid(machine, 79, 500, {}, -1);
  EXPECT_FALSE(run(judge_fell_off_bus, machine));
}

TEST(FellOffBus, SleepingOrPassedThroughIsNotLost) {
  PciDevice device = gpu(0x2684, "nvidia");
  device.config_all_ones = known(true);
  EXPECT_TRUE(run(judge_fell_off_bus, machine_with({device})));
  device.power_state = text("D3cold");
  EXPECT_FALSE(run(judge_fell_off_bus, machine_with({device})));
}

TEST(Bar, UnassignedUnlessTheDriverHasTheGpu) {
  PciDevice device = gpu(0x1b38);
  (*device.bars.get())[1] = {1, 0, 0, 0x2014220c};
  EXPECT_TRUE(run(judge_bar_without_address, machine_with({device})));
  device.driver = text("nvidia");
  EXPECT_FALSE(run(judge_bar_without_address, machine_with({device})));
  EXPECT_FALSE(run(judge_bar_without_address, machine_with({gpu(0x1b38)})));
  device = gpu(0x1b38);
  device.bars.get()->erase(device.bars.get()->begin() + 1);
  EXPECT_TRUE(run(judge_bar_without_address, machine_with({device})));
}

Machine with_link(std::int64_t width, std::int64_t card, std::int64_t slot) {
  PciDevice port = function("0000:00:01.0", 0x8086, 0x460d, 0x060400);
  port.link_width_max = known(slot);
  PciDevice device = gpu(0x2684, "nvidia");
  device.link_width = known(width);
  device.link_width_max = known(card);
  device.link_speed = text("2.5 GT/s PCIe");
  return machine_with({port, device});
}

TEST(Link, WidthBelowBothSides) {
  EXPECT_TRUE(run(judge_link_degraded, with_link(8, 16, 16)));
  EXPECT_FALSE(run(judge_link_degraded, with_link(8, 16, 8)));
  EXPECT_FALSE(run(judge_link_degraded, with_link(16, 16, 16)));
  EXPECT_FALSE(run(judge_link_degraded, with_link(0, 16, 16)));
  EXPECT_FALSE(run(judge_link_degraded, with_link(8, 16, 255)));
}

TEST(PcieErrors, ManyNotAHandful) {
  PciDevice device = gpu(0x2684, "nvidia");
  device.aer = known(AerCounters{12, 0, 0});
  EXPECT_FALSE(run(judge_pcie_errors, machine_with({device})));
  device.aer = known(AerCounters{48213, 0, 0});
  EXPECT_TRUE(run(judge_pcie_errors, machine_with({device})));
}

Machine below_switch(const char* domain, std::int64_t acs) {
  std::vector<PciDevice> devices = {function("0000:00:01.0", 0x8086, 1, 0x060400),
                                    function("0000:02:00.0", 0x10b5, 0x8747, 0x060400),
                                    function("0000:03:08.0", 0x10b5, 0x8747, 0x060400),
                                    function("0000:03:10.0", 0x10b5, 0x8747, 0x060400),
                                    gpu(0x2204, "nvidia", "0000:04:00.0"),
                                    gpu(0x2204, "nvidia", "0000:05:00.0")};
  devices[1].parent = "0000:00:01.0";
  devices[2].parent = devices[3].parent = "0000:02:00.0";
  devices[4].parent = "0000:03:08.0";
  devices[5].parent = "0000:03:10.0";
  for (int i : {2, 3}) devices[static_cast<std::size_t>(i)].acs_control = known(acs);
  for (int i : {4, 5}) devices[static_cast<std::size_t>(i)].iommu_domain = text(domain);
  return machine_with(devices);
}

TEST(Acs, RedirectAndTranslationTogether) {
  auto finding = run(judge_acs_iommu, below_switch("DMA-FQ", 0x1d));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Warning);
  EXPECT_FALSE(run(judge_acs_iommu, below_switch("identity", 0x1d)));
  EXPECT_FALSE(run(judge_acs_iommu, below_switch("DMA-FQ", 0x01)));
  Machine faulted = below_switch("DMA-FQ", 0x1d);
  log(faulted, "iommu", "DMAR: [DMA Read NO_PASID] Request device [04:00.0] fault addr 0xf0000000 [fault reason 0x06]", -1,
      "0000:04:00");
  finding = run(judge_acs_iommu, faulted);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
}

TEST(Acs, LoopInTheBusEnds) {
  Machine machine = below_switch("DMA-FQ", 0x1d);
  (*machine.pci.get())[0].parent = "0000:02:00.0";
  EXPECT_TRUE(run(judge_acs_iommu, machine));
}

// ---- health ----------------------------------------------------------------------------------------------------------

TEST(Memory, ArchitectureDecidesBetweenPagesAndRows) {
  Machine volta = machine_with({gpu(0x1db1, "nvidia")});
  xid(volta, 63, 10);
  EXPECT_TRUE(run(judge_double_bit_error, volta));
  EXPECT_FALSE(run(judge_row_remap, volta));
  Machine ampere = machine_with({gpu(0x20b0, "nvidia")});
  xid(ampere, 48, 10);
  xid(ampere, 64, 10.1);
  const auto finding = run(judge_row_remap, ampere);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "failed");
  EXPECT_FALSE(run(judge_double_bit_error, ampere));
}

TEST(Memory, ContainedAloneAndUncontained) {
  Machine machine = machine_with({gpu(0x20b0, "nvidia")});
  xid(machine, 94, 10);
  auto finding = run(judge_uncorrectable_ecc, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "");
  xid(machine, 95, 11);
  finding = run(judge_uncorrectable_ecc, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "uncontained");
  EXPECT_FALSE(run(judge_row_remap, machine));
}

TEST(NvLink, BridgeOnlyWithAnInactiveLink) {
  Machine machine = machine_with({gpu(0x2204, "nvidia"), gpu(0x2204, "nvidia", "0000:02:00.0")});
  xid(machine, 74, 10, "NVRM: Xid (PCI:0000:01:00): 74, NVLink: fatal error detected on link 2");
  EXPECT_FALSE(run(judge_nvlink_bridge, machine));
  EXPECT_TRUE(run(judge_nvlink_fabric, machine));
  log(machine, "nvrm", "NVRM: GPU 0000:01:00.0: NVLink link 2 is inactive");
  EXPECT_TRUE(run(judge_nvlink_bridge, machine));
  EXPECT_FALSE(run(judge_nvlink_fabric, machine));
}

TEST(NvLink, NonFatalIsAWarning) {
  Machine machine = machine_with({gpu(0x2901, "nvidia")});
  xid(machine, 144, 10, "NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0");
  const auto finding = run(judge_nvlink_fabric, machine);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Warning);
}

TEST(AllHardwareRules, SilentOnNothingAndOnAHealthyMachine) {
  Machine healthy = machine_with({gpu(0x2684, "nvidia")});
  load_driver(healthy, "550.120");
  for (const Rule& rule : hardware_rules()) {
    EXPECT_FALSE(run(rule.judge, Machine{})) << rule.slug;
    EXPECT_FALSE(run(rule.judge, healthy)) << rule.slug;
    EXPECT_TRUE(find_rule_record(rule.slug)) << rule.slug;
  }
}

}  // namespace
}  // namespace gpuvet
