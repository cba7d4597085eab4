#include "rules/hardware.h"

#include <algorithm>
#include <array>
#include <limits>

#include "rules/evidence.h"

namespace gpuvet {
namespace {

// Long-term branches of data/facts/driver_branches.tsv, the one with the widest range of chips first: 580 serves Maxwell to
// Blackwell, and distributions carry it.
constexpr std::array<std::uint32_t, 4> branches_to_recommend = {580, 620, 470, 390};

bool branch_serves(std::uint32_t branch, const GpuIdentity& gpu) {
  if (gpu.last_driver_branch && branch > *gpu.last_driver_branch) return false;
  return !gpu.first_driver || branch >= gpu.first_driver->branch;
}

// The more specific first: that order decides between equals.
constexpr std::array rules = {
    Rule{"dgpu-switched-off-on-laptop", judge_dgpu_switched_off},
    Rule{"amd-or-rocm-with-cuda-package", judge_amd_with_cuda_package},
    Rule{"no-nvidia-gpu-in-machine", judge_no_nvidia_gpu},
    Rule{"gpu-bound-to-vfio", judge_gpu_bound_to_vfio},
    Rule{"xid79-fell-off-bus", judge_fell_off_bus},
    Rule{"bar-or-4g-decoding-bios", judge_bar_without_address},
    Rule{"mixed-gpus-one-too-old", judge_mixed_gpus},
    Rule{"gpu-dropped-by-driver-branch", judge_gpu_dropped},
    Rule{"gpu-needs-newer-driver", judge_gpu_needs_newer_driver},
    Rule{"failing-hbm-row-remap", judge_row_remap},
    Rule{"xid48-ecc-dbe-page-retirement", judge_double_bit_error},
    Rule{"ecc-uncorrectable-memory", judge_uncorrectable_ecc},
    Rule{"nvlink-bridge-seating", judge_nvlink_bridge},
    Rule{"xid-nvlink-fabric-error", judge_nvlink_fabric},
    Rule{"pcie-acs-iommu-p2p-hang", judge_acs_iommu},
    Rule{"pcie-errors", judge_pcie_errors},
    Rule{"pcie-link-degraded", judge_link_degraded},
    Rule{"gpu-thermal-or-power-brake", judge_thermal_or_power},
};

}  // namespace

std::span<const Rule> hardware_rules() { return rules; }

const MachineGpu* gpu_of_event(const RuleContext& context, const LogEvent& event) {
  for (const auto& gpu : context.gpus)
    if (names_device(event.pci, gpu.device->address)) return &gpu;
  return nullptr;
}

std::string label_of_event(const RuleContext& context, const LogEvent& event) {
  if (const auto* gpu = gpu_of_event(context, event)) return gpu->identity.label();
  return event.pci.empty() ? "GPU" : "GPU " + event.pci;
}

bool is_asleep(const PciDevice& device) {
  return device.runtime_status.is("suspended") || device.power_state.is("D3cold") || device.power_state.is("D3hot");
}

bool is_passthrough_driver(const PciDevice& device) {
  const auto* driver = device.driver.get();
  return driver && (*driver == "vfio-pci" || *driver == "pci-stub" || *driver == "pciback" || *driver == "xen-pciback" ||
                    *driver == "nvgrace-gpu-vfio-pci");
}

bool taken_by_nvidia(const RuleContext& context, const PciDevice& device) {
  if (device.driver.is("nvidia")) return true;
  return std::ranges::any_of(context.machine.kernel_driver.gpus,
                             [&](const ProcGpu& gpu) { return names_device(gpu.address, device.address); });
}

std::uint32_t recommended_branch(const RuleContext& context) {
  for (const auto branch : branches_to_recommend)
    if (std::ranges::all_of(context.gpus, [&](const MachineGpu& gpu) { return branch_serves(branch, gpu.identity); }))
      return branch;
  return 0;
}

std::string recommended_flavor(const RuleContext& context) {
  const auto needs_open = [](const MachineGpu& gpu) { return gpu.identity.open_module == OpenModule::Required; };
  return std::ranges::any_of(context.gpus, needs_open) ? "open" : "proprietary";
}

}  // namespace gpuvet
