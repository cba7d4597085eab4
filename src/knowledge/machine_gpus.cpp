#include "knowledge/knowledge.h"

namespace gpuvet {
namespace {

constexpr std::int64_t nvidia = 0x10de;

}  // namespace

std::vector<MachineGpu> nvidia_gpus(const Machine& machine, const Knowledge& knowledge) {
  std::vector<MachineGpu> gpus;
  const auto* devices = machine.pci.get();
  if (!devices) return gpus;
  for (const PciDevice& device : *devices) {
    if (device.vendor != nvidia || (device.class_code >> 16) != 0x03) continue;
    gpus.push_back({&device, knowledge.gpu(static_cast<std::uint16_t>(device.device))});
  }
  return gpus;
}

std::vector<const PciDevice*> nvswitches(const Machine& machine) {
  std::vector<const PciDevice*> switches;
  const auto* devices = machine.pci.get();
  if (!devices) return switches;
  for (const PciDevice& device : *devices) {
    if (device.vendor == nvidia && (device.class_code >> 8) == 0x0680) switches.push_back(&device);
  }
  return switches;
}

}  // namespace gpuvet
