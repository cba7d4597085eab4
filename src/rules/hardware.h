#pragma once
// The rules of the link "GPU on the PCI bus", one function each; hardware.cpp lists them.

#include <optional>

#include "rules/rule.h"

namespace gpuvet {

// hardware_presence.cpp: is there a GPU, and whose is it
std::optional<Finding> judge_dgpu_switched_off(const RuleContext& context);
std::optional<Finding> judge_amd_with_cuda_package(const RuleContext& context);
std::optional<Finding> judge_no_nvidia_gpu(const RuleContext& context);
std::optional<Finding> judge_gpu_bound_to_vfio(const RuleContext& context);

// hardware_generation.cpp: does the driver serve this chip
std::optional<Finding> judge_mixed_gpus(const RuleContext& context);
std::optional<Finding> judge_gpu_dropped(const RuleContext& context);
std::optional<Finding> judge_gpu_needs_newer_driver(const RuleContext& context);

// hardware_bus.cpp: does it answer, and how well
std::optional<Finding> judge_fell_off_bus(const RuleContext& context);
std::optional<Finding> judge_bar_without_address(const RuleContext& context);
std::optional<Finding> judge_link_degraded(const RuleContext& context);
std::optional<Finding> judge_pcie_errors(const RuleContext& context);
std::optional<Finding> judge_acs_iommu(const RuleContext& context);

// hardware_health.cpp: what the driver says in the log about the GPU's memory, links and clocks
std::optional<Finding> judge_double_bit_error(const RuleContext& context);
std::optional<Finding> judge_row_remap(const RuleContext& context);
std::optional<Finding> judge_uncorrectable_ecc(const RuleContext& context);
std::optional<Finding> judge_nvlink_bridge(const RuleContext& context);
std::optional<Finding> judge_nvlink_fabric(const RuleContext& context);
std::optional<Finding> judge_thermal_or_power(const RuleContext& context);

// What several of these files ask.
/// The GPU of an event ("0000:01:00"), or null.
const MachineGpu* gpu_of_event(const RuleContext& context, const LogEvent& event);
/// "RTX 4090 (AD102)"; the address when the GPU is not on the bus any more.
std::string label_of_event(const RuleContext& context, const LogEvent& event);
/// Is the device powered down on purpose (runtime suspend), so that reads tell nothing?
bool is_asleep(const PciDevice& device);
bool is_passthrough_driver(const PciDevice& device);
/// Did the driver take this GPU (bound to it, or listed in /proc/driver/nvidia/gpus)? A success that overrules tables.
bool taken_by_nvidia(const RuleContext& context, const PciDevice& device);
/// The branch to install for all NVIDIA GPUs of the machine: the newest long-term one that serves them; 0: none known.
std::uint32_t recommended_branch(const RuleContext& context);
/// "open" where a GPU needs the open module, else "proprietary".
std::string recommended_flavor(const RuleContext& context);

}  // namespace gpuvet
