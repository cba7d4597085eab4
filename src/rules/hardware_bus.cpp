// Does the GPU answer on the bus, with addresses, at full width and without errors?

#include <algorithm>
#include <array>
#include <set>

#include "rules/evidence.h"
#include "rules/hardware.h"

namespace gpuvet {
namespace {

/// Bridges above a device, nearest first; a bus is never this deep, so a loop in the data ends.
std::vector<const PciDevice*> bridges_above(const Machine& machine, const PciDevice& device) {
  std::vector<const PciDevice*> bridges;
  const PciDevice* current = pci_device(machine, device.parent);
  while (current && bridges.size() < 16) {
    bridges.push_back(current);
    current = pci_device(machine, current->parent);
  }
  return bridges;
}

/// Ports of one slot share its number, so a bridge must be named in full.
bool on_path_to(const Machine& machine, const MachineGpu& gpu, const LogEvent& event) {
  if (names_device(event.pci, gpu.device->address)) return true;
  return std::ranges::any_of(bridges_above(machine, *gpu.device), [&](const PciDevice* bridge) {
    return event.pci == bridge->address || contains_ignoring_case(event.text, bridge->address);
  });
}

}  // namespace

// ---- xid79-fell-off-bus --------------------------------------------------------------------------------------------

namespace {

/// A GPU of the driver that reads as ones and is not asleep: lspci calls it "(rev ff)".
const MachineGpu* silent_gpu(const RuleContext& context) {
  for (const auto& gpu : context.gpus) {
    const auto& device = *gpu.device;
    if (!device.config_all_ones.is(true) || is_asleep(device) || is_passthrough_driver(device)) continue;
    if (device.driver.is_known()) return &gpu;  // with no driver it may have been switched off
  }
  return nullptr;
}

std::vector<const LogEvent*> fell_off_events(const Machine& machine) {
  std::vector<const LogEvent*> events;
  for (const auto* event : leading_xids(machine))
    if (event->code == 79) events.push_back(event);
  if (!events.empty()) return events;
  // An earlier Xid of the same GPU is the cause then.
  if (!current_xids(machine, {79}).empty()) return events;
  events = events_with(machine, {"GPU has fallen off the bus"});
  keep_since_last_load(machine, events);
  return events;
}

}  // namespace

std::optional<Finding> judge_fell_off_bus(const RuleContext& context) {
  const auto& machine = context.machine;
  const auto events = fell_off_events(machine);
  const MachineGpu* silent = silent_gpu(context);
  if (events.empty() && !silent) return std::nullopt;
  if (events.empty() && !leading_xids(machine).empty()) return std::nullopt;

  Finding finding;
  finding.parameters["address"] = "-";
  if (silent) {
    finding.parameters["gpu"] = silent->identity.label();
    finding.parameters["address"] = silent->device->address;
  }
  if (!events.empty()) {
    finding.parameters["gpu"] = label_of_event(context, *events.front());
    if (!events.front()->pci.empty()) finding.parameters["address"] = events.front()->pci;
  }
  quote_events(finding.evidence, events);
  if (silent) finding.evidence.push_back(quote(*silent->device, "config", "ff ff ff ff"));
  finding.repair.push_back(make_action("power-cycle"));
  finding.repair.push_back(make_action("check-gpu-power-and-seating"));
  return finding;
}

// ---- bar-or-4g-decoding-bios ---------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t resource_memory = 0x200;
constexpr std::uint64_t resource_unset = 0x20000000;  // IORESOURCE_UNSET: wanted, no address

/// Register file and memory window (BAR 0 and 1), and the instance window where there is one: without them the driver refuses
/// the GPU. The I/O BAR and the ROM may go without an address.
const PciBar* unassigned_bar(const PciDevice& device) {
  const auto* bars = device.bars.get();
  if (!bars) return nullptr;
  for (const auto& bar : *bars) {
    const bool needed = bar.index <= 3 && (bar.flags & resource_memory) != 0;
    if (needed && (bar.size == 0 || bar.start == 0 || (bar.flags & resource_unset) != 0)) return &bar;
  }
  return nullptr;
}

/// Older kernels clear the whole line of a BAR that got no address: every NVIDIA GPU has a BAR 0 and a BAR 1.
int missing_bar(const PciDevice& device) {
  const auto* bars = device.bars.get();
  if (!bars || bars->empty() || device.physical_function.is_known()) return -1;
  for (const int index : {0, 1})
    if (std::ranges::none_of(*bars, [&](const PciBar& bar) { return bar.index == index; })) return index;
  return -1;
}

struct BarProblem {
  const MachineGpu* gpu = nullptr;
  std::int64_t index = -1;
};

BarProblem find_bar_problem(const RuleContext& context) {
  for (const auto& gpu : context.gpus) {
    const auto& device = *gpu.device;
    // The driver binds to no GPU without its windows: bound means that they are there.
    if (device.driver.is("nvidia") || is_passthrough_driver(device) || device.config_all_ones.is(true) || is_asleep(device))
      continue;
    if (const auto* bar = unassigned_bar(device)) return {&gpu, bar->index};
    if (const int index = missing_bar(device); index >= 0) return {&gpu, index};
  }
  return {};
}

/// "pci 0000:01:00.0: BAR 1 [mem size 0x1000000000 64bit pref]: can't assign; no space", older: "BAR 1: no space for [mem size
/// …]".
std::vector<const LogEvent*> no_space_events(const RuleContext& context) {
  std::vector<const LogEvent*> found;
  for (const auto* event : current_events(context.machine)) {
    const bool no_space =
        contains_ignoring_case(event->text, "no space") || contains_ignoring_case(event->text, "failed to assign");
    if (!no_space || !contains_ignoring_case(event->text, "BAR ") || contains_ignoring_case(event->text, "VF BAR") ||
        contains_ignoring_case(event->text, "BAR 6") || contains_ignoring_case(event->text, "[io "))
      continue;
    const auto is_its = [&](const MachineGpu& gpu) {
      return names_device(event->pci, gpu.device->address) || contains_ignoring_case(event->text, gpu.device->address);
    };
    if (std::ranges::any_of(context.gpus, is_its)) found.push_back(event);
  }
  return found;
}

}  // namespace

std::optional<Finding> judge_bar_without_address(const RuleContext& context) {
  const auto& machine = context.machine;
  // The driver's own words; "assigned to your NVIDIA device is invalid: BAR1 is 0M @ 0x0".
  const auto refusals = events_with(machine, {"I/O region assigned to your NVIDIA device is invalid"});
  const BarProblem problem = find_bar_problem(context);
  const MachineGpu* gpu = !refusals.empty() ? gpu_of_event(context, *refusals.front()) : problem.gpu;
  // A refusal was followed by success when the driver has the GPU now.
  const bool all_taken = !context.gpus.empty() &&
                         std::ranges::all_of(context.gpus, [&](const MachineGpu& g) { return g.device->driver.is("nvidia"); });
  if ((refusals.empty() || all_taken) && !problem.gpu) return std::nullopt;
  if (!gpu) gpu = problem.gpu;
  if (!gpu && context.gpus.size() == 1) gpu = &context.gpus.front();

  Finding finding;
  finding.parameters["gpu"] = gpu ? gpu->identity.label() : "GPU";
  quote_events(finding.evidence, refusals, 2);
  quote_events(finding.evidence, no_space_events(context), 3);
  if (problem.gpu)
    finding.evidence.push_back(
        quote(*problem.gpu->device, "resource", "BAR " + std::to_string(problem.index) + " has no address"));
  if (machine.os.hypervisor.is_known()) {
    finding.variant = "vm";
    finding.repair.push_back(make_action("give-vm-64bit-mmio"));
    return finding;
  }
  finding.repair.push_back(make_action("enable-above-4g-decoding"));
  finding.repair.push_back(make_action("add-kernel-parameter", {{"parameter", "pci=realloc"}}));
  return finding;
}

// ---- pcie-link-degraded --------------------------------------------------------------------------------------------

namespace {

/// GH200, GB200, GB300, GB10: the GPU reaches its CPU by NVLink-C2C, and the PCIe link beside it is narrow by design.
bool is_joined_to_its_cpu(const GpuIdentity& gpu) {
  return std::ranges::any_of(std::array{"GH200", "GB200", "GB300", "GB10", "480GB"},
                             [&](const char* part) { return gpu.name.find(part) != std::string::npos; });
}

}  // namespace

std::optional<Finding> judge_link_degraded(const RuleContext& context) {
  const auto& machine = context.machine;
  if (is_portable(machine)) return std::nullopt;  // few lanes are wired there, and the link sleeps
  Finding finding;
  for (const auto& gpu : context.gpus) {
    const auto& device = *gpu.device;
    if (is_joined_to_its_cpu(gpu.identity)) continue;
    const auto* slot = pci_device(machine, device.parent);
    const auto width = device.link_width.value_or(0);
    const auto card_max = device.link_width_max.value_or(0);
    const auto slot_max = slot ? slot->link_width_max.value_or(0) : 0;
    const auto possible = std::min(card_max, slot_max);
    const bool credible = width > 0 && possible > 0 && card_max <= 32 && slot_max <= 32;  // 63 and 255: no link told
    if (!credible || width >= possible || is_asleep(device) || device.config_all_ones.is(true)) continue;
    if (finding.evidence.empty()) {
      finding.parameters = {
          {"gpu", gpu.identity.label()}, {"width", std::to_string(width)}, {"possible", std::to_string(possible)}};
      finding.parameters["address"] = device.address;
    }
    finding.evidence.push_back(quote(device, "current_link_width", std::to_string(width)));
    finding.evidence.push_back(quote(device, "max_link_width", std::to_string(card_max)));
    finding.evidence.push_back(quote(*slot, "max_link_width", std::to_string(slot_max)));
  }
  if (finding.evidence.empty()) return std::nullopt;
  finding.repair.push_back(make_action("reseat-gpu"));
  finding.repair.push_back(make_action("check-bios-lane-split"));
  return finding;
}

// ---- pcie-errors ---------------------------------------------------------------------------------------------------

namespace {

// Chosen so that what a sound machine collects at boot and in sleep states stays silent; a bad riser counts thousands.
constexpr std::int64_t many_corrected = 500;
constexpr std::int64_t many_nonfatal = 5;

bool counters_alarm(const AerCounters& counters) {
  return counters.fatal > 0 || counters.nonfatal >= many_nonfatal || counters.correctable >= many_corrected;
}

/// Lines of AER about the GPU or a bridge above it.
std::vector<const LogEvent*> aer_events(const RuleContext& context, const MachineGpu& gpu) {
  auto events = current_events(context.machine, "aer");
  std::erase_if(events, [&](const LogEvent* event) { return !on_path_to(context.machine, gpu, *event); });
  return events;
}

bool log_alarms(const std::vector<const LogEvent*>& events) {
  std::int64_t corrected = 0;
  for (const auto* event : events) {
    if (contains_ignoring_case(event->text, "severity=Uncorrect") || contains_ignoring_case(event->text, "severity=Fatal"))
      return true;
    if (contains_ignoring_case(event->text, "corrected")) corrected += event->count;
  }
  return corrected >= many_corrected;
}

}  // namespace

std::optional<Finding> judge_pcie_errors(const RuleContext& context) {
  for (const auto& gpu : context.gpus) {
    const auto* slot = pci_device(context.machine, gpu.device->parent);
    const auto events = aer_events(context, gpu);
    Finding finding;
    for (const PciDevice* device : {gpu.device, slot}) {
      const auto* counters = device ? device->aer.get() : nullptr;
      if (counters && counters_alarm(*counters))
        finding.evidence.push_back(quote(*device, "aer_dev_correctable",
                                         "corrected " + std::to_string(counters->correctable) + ", non-fatal " +
                                             std::to_string(counters->nonfatal) + ", fatal " + std::to_string(counters->fatal)));
    }
    if (finding.evidence.empty() && !log_alarms(events)) continue;
    quote_events(finding.evidence, events, 3);
    finding.parameters = {{"gpu", gpu.identity.label()}, {"address", gpu.device->address}};
    finding.repair.push_back(make_action("reseat-gpu"));
    finding.repair.push_back(make_action("lower-pcie-generation"));
    return finding;
  }
  return std::nullopt;
}

// ---- pcie-acs-iommu-p2p-hang ---------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t acs_redirect =
    0x4 | 0x8;  // P2P Request Redirect, P2P Completion Redirect: PCIe base specification, ACS control register

bool translates(const PciDevice& device) {
  const auto* domain = device.iommu_domain.get();
  return domain && domain->starts_with("DMA");
}

bool redirects(const PciDevice& bridge) {
  const auto* control = bridge.acs_control.get();
  return control && (*control & acs_redirect) != 0;
}

/// Two GPUs below one PCIe switch whose ports send their traffic up to the root, where an IOMMU translates it.
std::vector<const PciDevice*> redirected_ports(const RuleContext& context) {
  std::vector<const PciDevice*> ports;
  std::map<std::string, int> gpus_below;  // upstream port of the switch → GPUs under redirecting ports
  std::vector<std::pair<const PciDevice*, std::string>> candidates;
  for (const auto& gpu : context.gpus) {
    const auto bridges = bridges_above(context.machine, *gpu.device);
    if (bridges.size() < 2 || !translates(*gpu.device) || !redirects(*bridges[0]) || is_passthrough_driver(*gpu.device)) continue;
    ++gpus_below[bridges[1]->address];
    candidates.emplace_back(bridges[0], bridges[1]->address);
  }
  for (const auto& [port, above] : candidates)
    if (gpus_below[above] >= 2) ports.push_back(port);
  return ports;
}

std::string addresses_of(const std::vector<const PciDevice*>& devices) {
  std::vector<std::string> addresses;
  for (const auto* device : devices)
    if (std::ranges::find(addresses, device->address) == addresses.end()) addresses.push_back(device->address);
  return join(addresses, " ");
}

/// The IOMMU refused an access of a GPU: "AMD-Vi: Event logged [IO_PAGE_FAULT device=01:00.0 …", "DMAR: [DMA Read] Request device
/// [01:00.0] fault addr …".
std::vector<const LogEvent*> iommu_faults(const RuleContext& context) {
  std::vector<const LogEvent*> faults;
  for (const auto* event : current_events(context.machine)) {
    if (!contains_ignoring_case(event->text, "IO_PAGE_FAULT") && !contains_ignoring_case(event->text, "fault addr")) continue;
    const auto is_its = [&](const MachineGpu& gpu) {
      const std::string short_address = gpu.device->address.substr(gpu.device->address.find(':') + 1);
      return contains_ignoring_case(event->text, short_address);
    };
    if (std::ranges::any_of(context.gpus, is_its)) faults.push_back(event);
  }
  return faults;
}

}  // namespace

std::optional<Finding> judge_acs_iommu(const RuleContext& context) {
  const auto& machine = context.machine;
  if (context.gpus.size() < 2) return std::nullopt;
  const auto ports = redirected_ports(context);
  const auto faults = iommu_faults(context);
  if (ports.empty() && faults.empty()) return std::nullopt;

  Finding finding;
  // What is configured slows peer traffic and is known to stop it; only a fault in the log shows that it did.
  finding.severity = faults.empty() ? Severity::Warning : Severity::Error;
  if (!nvswitches(machine).empty() && faults.empty()) finding.severity = Severity::Note;  // peers talk over NVLink there
  finding.variant = faults.empty() ? "" : "fault";
  for (const auto* port : std::span(ports).first(std::min<std::size_t>(ports.size(), 4)))
    finding.evidence.push_back(quote(*port, "config", "ACSCtl ReqRedir+ CmpltRedir+"));
  for (const auto& gpu : context.gpus)
    if (translates(*gpu.device) && finding.evidence.size() < 6)
      finding.evidence.push_back(quote(*gpu.device, "iommu_group/type", *gpu.device->iommu_domain.get()));
  quote_events(finding.evidence, faults, 3);
  finding.repair.push_back(make_action("disable-acs"));
  if (!ports.empty()) finding.repair.push_back(make_action("disable-acs-on-ports", {{"ports", addresses_of(ports)}}));
  finding.repair.push_back(make_action("add-kernel-parameter", {{"parameter", "iommu=pt"}}));
  return finding;
}

}  // namespace gpuvet
