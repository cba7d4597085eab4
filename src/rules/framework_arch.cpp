// Does a build carry code for the GPUs of this machine? From its release's targets: machine code runs on the same major and an
// equal or higher minor, PTX on anything newer (design §5).

#include <algorithm>

#include "rules/evidence.h"
#include "rules/framework.h"
#include "rules/framework_arch.h"
#include "rules/program.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// Targets that were concluded from another release decide only where no neighbour could differ: another major.
bool is_sure(const FrameworkInstall& install, const ComputeCapability& gpu) {
  if (!install.targets.inferred && !install.targets_are_of_neighbour) return true;
  return std::ranges::none_of(install.targets.list, [&](const GpuTarget& t) { return t.capability.major == gpu.major; });
}

std::string flavour_text(const FrameworkInstall& install) { return install.cuda ? "CUDA " + install.cuda->text() : "CUDA"; }

}  // namespace

std::vector<GpuCodeOfInstall> gpu_code_of(const RuleContext& context, const FrameworkInstall& install) {
  std::vector<GpuCodeOfInstall> all;
  if (install.flavour != "cuda" || !install.targets.known()) return all;
  for (const MachineGpu* gpu : usable_gpus(context)) {
    const ComputeCapability& capability = *gpu->identity.compute_capability;
    const GpuCode code = code_for(install.targets, capability);
    all.push_back({gpu, runs(code) || is_sure(install, capability) ? code : GpuCode::Unknown});
  }
  return all;
}

bool serves_none(const std::vector<GpuCodeOfInstall>& codes) {
  return !codes.empty() &&
         std::ranges::none_of(codes, [](const GpuCodeOfInstall& one) { return runs(one.code) || one.code == GpuCode::Unknown; });
}

namespace framework {
namespace {

/// The first wanted build that serves none of the GPUs here, for the reason that `wanted` names.
template <typename Wanted>
std::optional<Finding> judge_code(const RuleContext& context, Wanted wanted) {
  for (const JudgedEnvironment& judged : context.environments) {
    for (const FrameworkInstall& install : wanted_installs(context, *judged.environment)) {
      const auto codes = gpu_code_of(context, install);
      if (!serves_none(codes) || !wanted(codes.front().code)) continue;
      Finding finding;
      finding.parameters = {{"framework", label_of(install)},
                            {"cuda", flavour_text(install)},
                            {"gpu", codes.front().gpu->identity.label()},
                            {"capability", codes.front().gpu->identity.compute_capability->text()},
                            {"targets", install.targets.text()},
                            {"environment", label_of(*judged.environment)}};
      finding.evidence = {quote_capability(*codes.front().gpu), install.origin};
      if (install.package != nullptr) finding.evidence.push_back(quote(*install.package));
      if (!install.targets_origin.source.empty())
        finding.evidence.push_back(install.targets_origin);
      else
        finding.evidence.push_back(
            {"release tables", 0,
             label_of(install) + " (" + flavour_text(install) + ") carries code for " + install.targets.text()});
      finding.repair = steps_to_gpu_build(context, *judged.environment, install.framework);
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> arch_missing(const RuleContext& context) {
  auto finding = judge_code(context, [](GpuCode code) { return code == GpuCode::TooNew || code == GpuCode::NotIncluded; });
  return finding ? finding : program::arch_missing(context);
}

std::optional<Finding> arch_dropped(const RuleContext& context) {
  auto finding = judge_code(context, [](GpuCode code) { return code == GpuCode::Dropped; });
  return finding ? finding : program::arch_dropped(context);
}

}  // namespace framework
}  // namespace gpuvet
