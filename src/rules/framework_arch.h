#pragma once
// Which GPUs here a framework's build has code for.

#include <vector>

#include "rules/framework_facts.h"

namespace gpuvet {

struct GpuCodeOfInstall {
  const MachineGpu* gpu = nullptr;
  GpuCode code = GpuCode::Unknown;
};
/// One entry a usable GPU; empty when the build's targets are not known.
std::vector<GpuCodeOfInstall> gpu_code_of(const RuleContext& context, const FrameworkInstall& install);
/// Surely none of the GPUs is served; false when there is none.
bool serves_none(const std::vector<GpuCodeOfInstall>& codes);

}  // namespace gpuvet
