// The toolkit's release against the driver, the framework and the GPUs.

#include <algorithm>

#include "rules/evidence.h"
#include "rules/framework_contract.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

/// What a toolkit's compiler targets, from its own bytes, else from the table of releases.
struct Targets {
  std::vector<ComputeCapability> listed;  ///< empty: only the range is known
  std::optional<ComputeCapability> least, greatest;
  Origin origin;
  bool known() const { return least && greatest; }
};

Targets targets_of(const RuleContext& context, const Toolkit& toolkit) {
  Targets targets;
  for (const std::string& text : toolkit.architectures)
    if (const auto one = ComputeCapability::parse(text)) targets.listed.push_back(*one);
  if (!targets.listed.empty()) {
    std::ranges::sort(targets.listed);
    targets.least = targets.listed.front(), targets.greatest = targets.listed.back();
    targets.origin = {toolkit.nvcc.value_or(toolkit.path), 0,
                      "targets " + targets.least->text() + " to " + targets.greatest->text()};
    return targets;
  }
  const auto version = cuda_version_of(toolkit);
  const auto release = version ? context.knowledge.cuda_release(version->text()) : std::nullopt;
  if (!release) return targets;
  targets.least = ComputeCapability::parse(release->supported_sm_min);
  targets.greatest = ComputeCapability::parse(release->supported_sm_max);
  targets.origin = quote(toolkit);
  return targets;
}

/// Code for an older chip of the same generation runs as it is: sm_86 on 8.9.
bool has_code_of_generation(const Targets& targets, const ComputeCapability& gpu) {
  if (targets.listed.empty()) return targets.greatest->major == gpu.major;
  return std::ranges::any_of(targets.listed,
                             [&](const ComputeCapability& t) { return t.major == gpu.major && t.minor <= gpu.minor; });
}

struct Unserved {
  std::vector<const MachineGpu*> gpus;
  std::size_t of = 0;
};

Unserved gpus_that(const RuleContext& context, auto&& condition) {
  Unserved found;
  for (const MachineGpu& gpu : context.gpus) {
    // A GPU that its driver left behind is none for CUDA.
    const bool left_behind =
        context.loaded_driver && driver_serves(*context.loaded_driver, gpu.identity) == Served::DroppedByDriver;
    if (!gpu.identity.compute_capability || left_behind) continue;
    ++found.of;
    if (condition(*gpu.identity.compute_capability)) found.gpus.push_back(&gpu);
  }
  return found;
}

Finding finding_about(const Toolkit& toolkit, const Targets& targets, const MachineGpu& gpu) {
  Finding finding;
  const ComputeCapability capability = *gpu.identity.compute_capability;
  finding.parameters = {{"toolkit", label(toolkit)},
                        {"gpu", gpu.identity.label()},
                        {"sm", "sm_" + std::to_string(capability.major) + std::to_string(capability.minor)},
                        {"least", targets.least->text()},
                        {"greatest", targets.greatest->text()}};
  finding.evidence = {
      targets.origin,
      {"/sys/bus/pci/devices/" + gpu.device->address, 0, gpu.identity.label() + ", compute capability " + capability.text()}};
  return finding;
}

/// Another GPU is served: torch's builder asks for the architectures of all of them, whoever runs nvcc chooses one.
Severity severity_beside_served(const RuleContext& context) {
  return context.purpose.name == "build" ? Severity::Warning : Severity::Note;
}

/// Some release that takes all GPUs and this driver, if it is another one.
void advise_release(const RuleContext& context, const Toolkit& toolkit, Finding& finding) {
  const std::string release = advised_release(context);
  if (!release.empty() && release != release_text(toolkit)) finding.repair = install_toolkit_actions(context, release);
}

const FrameworkInstall* torch_of(const RuleContext& context, std::optional<FrameworkInstall>& holder) {
  for (const JudgedEnvironment& judged : context.environments) {
    holder = framework_install(context, *judged.environment, "torch");
    if (holder && holder->flavour == "cuda" && holder->cuda) return &*holder;
  }
  return nullptr;
}

}  // namespace

std::optional<Finding> judge_toolkit_newer_than_driver(const RuleContext& context) {
  const Toolkit* toolkit = meant_toolkit(context).toolkit;
  const auto own = toolkit != nullptr ? cuda_version_of(*toolkit) : std::nullopt;
  const auto driver = driver_cuda(context);
  if (!own || !driver) return std::nullopt;
  const bool newer_major = own->major > driver->major;
  const bool newer_minor = own->major == driver->major && own->minor > driver->minor;
  if (!newer_major && !newer_minor) return std::nullopt;
  Finding finding;
  finding.severity = newer_major ? Severity::Warning : Severity::Note;
  finding.variant = newer_major ? "" : "minor";
  const std::string version = context.loaded_driver        ? context.loaded_driver->text
                              : context.libcuda != nullptr ? context.libcuda->version.value_or("?")
                                                           : "?";
  finding.parameters = {{"toolkit", label(*toolkit)}, {"driver", version}, {"driver_cuda", driver->text()}};
  finding.evidence = {quote(*toolkit),
                      quote(context.machine.kernel_driver.version, "driver", "driver " + version + ": CUDA " + driver->text())};
  if (!newer_major) return finding;
  const bool windows = context.in(World::Wsl2);
  if (const auto least = least_driver_for_framework(context.knowledge, *own, windows)) {
    if (windows)
      finding.repair.push_back(make_action("update-windows-driver", {{"driver", least->text}, {"cuda", own->text()}}));
    else if (context.in(World::Container))
      finding.repair.push_back(make_action("update-driver-on-host", {{"branch", std::to_string(least->branch)}}));
    else
      finding.repair.push_back(make_action("update-driver-to-version", {{"driver", least->text}}));
  }
  for (Action& action : install_toolkit_actions(context, advised_release(context))) finding.repair.push_back(std::move(action));
  return finding;
}

std::optional<Finding> judge_torch_cuda_mismatch(const RuleContext& context) {
  std::optional<FrameworkInstall> holder;
  const FrameworkInstall* torch = torch_of(context, holder);
  if (torch == nullptr || context.purpose.name == "nvcc" || context.purpose.name == "cuda-toolkit") return std::nullopt;
  const auto builder = toolkit_of_extension_builder(context.machine);
  if (builder.toolkit == nullptr || !builder.toolkit->nvcc.is_known()) return std::nullopt;
  const auto own = cuda_version_of(*builder.toolkit);
  if (!own || (own->major == torch->cuda->major && own->minor == torch->cuda->minor)) return std::nullopt;
  const bool asked = context.purpose.name == "build", other_major = own->major != torch->cuda->major;
  Finding finding;
  // Only a build of extensions compares the two: for everything else torch brings its own CUDA.
  finding.severity = !asked ? Severity::Note : other_major ? Severity::Error : Severity::Warning;
  finding.variant = !asked ? "not-building" : other_major ? "" : "minor";
  finding.parameters = {{"toolkit", label(*builder.toolkit)},
                        {"nvcc", builder.toolkit->nvcc.value_or("")},
                        {"torch", torch->version ? torch->version->text : "?"},
                        {"torch_cuda", torch->cuda->text()},
                        {"environment", torch->environment->prefix}};
  finding.evidence = {torch->origin, quote(*builder.toolkit)};
  if (!builder.origin.source.empty()) finding.evidence.push_back(builder.origin);
  if (!asked) return finding;
  for (const Toolkit* toolkit : reachable_toolkits(context)) {
    const auto version = cuda_version_of(*toolkit);
    if (!version || version->major != torch->cuda->major || (!other_major && version->minor != torch->cuda->minor)) continue;
    finding.repair.push_back(make_action("set-variable", {{"variable", "CUDA_HOME"}, {"value", toolkit->path}}));
    finding.repair.push_back(make_action("put-folder-first-on-path", {{"folder", bin_folder(*toolkit)}}));
    return finding;
  }
  finding.repair = install_toolkit_actions(context, torch->cuda->text());
  return finding;
}

std::optional<Finding> judge_nvcc_too_old(const RuleContext& context) {
  const Toolkit* toolkit = meant_toolkit(context).toolkit;
  if (toolkit == nullptr) return std::nullopt;
  const Targets targets = targets_of(context, *toolkit);
  if (!targets.known()) return std::nullopt;
  const auto too_new = gpus_that(context, [&](const ComputeCapability& gpu) { return gpu > *targets.greatest; });
  if (too_new.gpus.empty()) return std::nullopt;
  const MachineGpu& gpu = *too_new.gpus.front();
  Finding finding = finding_about(*toolkit, targets, gpu);
  if (has_code_of_generation(targets, *gpu.identity.compute_capability)) {
    finding.severity = Severity::Note;
    finding.variant = "same-generation";
    return finding;
  }
  // Builders ask for the GPU's own architecture; a plain nvcc run embeds PTX, which the driver compiles for it.
  const bool builds = context.purpose.name == "build",
             chosen_by_hand = !variable(context.machine, "TORCH_CUDA_ARCH_LIST").empty();
  finding.severity = builds && !chosen_by_hand            ? Severity::Error
                     : wants_compiler(context) && !builds ? Severity::Warning
                                                          : Severity::Note;
  if (too_new.gpus.size() < too_new.of) finding.severity = std::min(finding.severity, severity_beside_served(context));
  advise_release(context, *toolkit, finding);
  return finding;
}

std::optional<Finding> judge_nvcc_dropped_arch(const RuleContext& context) {
  const Toolkit* toolkit = meant_toolkit(context).toolkit;
  if (toolkit == nullptr) return std::nullopt;
  const Targets targets = targets_of(context, *toolkit);
  if (!targets.known()) return std::nullopt;
  const auto dropped = gpus_that(context, [&](const ComputeCapability& gpu) { return gpu < *targets.least; });
  if (dropped.gpus.empty()) return std::nullopt;
  Finding finding = finding_about(*toolkit, targets, *dropped.gpus.front());
  finding.severity = severity_if_meant(context);
  if (dropped.gpus.size() < dropped.of) finding.severity = severity_beside_served(context);
  advise_release(context, *toolkit, finding);
  return finding;
}

}  // namespace gpuvet
