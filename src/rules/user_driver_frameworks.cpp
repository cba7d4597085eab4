// The contract between frameworks and the driver: the runtime's CUDA release, and PTX that the driver must compile.

#include <algorithm>
#include <charconv>

#include "rules/evidence.h"
#include "rules/framework_arch.h"
#include "rules/framework_repair.h"
#include "rules/hardware.h"
#include "rules/software.h"
#include "rules/user_driver.h"

namespace gpuvet::user_driver {
namespace {

/// Something installed that brings, or was built for, a CUDA runtime.
struct NeedsCuda {
  std::string name;       ///< "torch 2.5.1+cu124"
  std::string framework;  ///< "torch"
  CudaVersion cuda;
  const PythonEnvironment* environment = nullptr;
  std::vector<Origin> evidence;
};

/// "cupy-cuda12x", "cudf-cu13", "mxnet-cu112", "cupy-cuda111" → the CUDA release that the name tells.
std::optional<CudaVersion> cuda_of_name(std::string_view name) {
  std::size_t at = name.rfind("-cuda");
  std::size_t prefix = 5;
  if (at == std::string_view::npos) at = name.rfind("-cu"), prefix = 3;
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + prefix);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const bool major_only = number < 20 && (end == rest.data() + rest.size() || *end == 'x');
  if (major_only) return CudaVersion{number, number == 11 ? 2U : 0U, 0};
  if (end != rest.data() + rest.size() || number < 90 || number > 139) return std::nullopt;
  return CudaVersion{number / 10, number % 10, 0};
}

void add_installs(const RuleContext& context, const PythonEnvironment& environment, std::vector<NeedsCuda>& all) {
  for (const FrameworkInstall& install : wanted_installs(context, environment)) {
    if (install.flavour != "cuda" || !install.cuda) continue;
    NeedsCuda one{label_of(install), install.framework, *install.cuda, &environment, {install.origin}};
    if (install.package != nullptr) one.evidence.push_back(quote(*install.package));
    all.push_back(std::move(one));
  }
}

/// CuPy, RAPIDS, …: the CUDA major is part of the distribution's name.
void add_named_packages(const RuleContext& context, const PythonEnvironment& environment, std::vector<NeedsCuda>& all) {
  for (const PythonPackage& package : environment.packages) {
    const std::string framework = framework_of_package(package.name);
    if (framework != "cupy" && framework != "rapids" && framework != "tensorrt" && framework != "mxnet") continue;
    if (package.state == "files-missing" || !wants_framework(context, environment, framework)) continue;
    if (const auto cuda = cuda_of_name(package.name))
      all.push_back({package.name + " " + package.version, framework, *cuda, &environment, {quote(package)}});
  }
}

/// onnxruntime-gpu: its release tells the CUDA major.
void add_onnxruntime(const RuleContext& context, const PythonEnvironment& environment, std::vector<NeedsCuda>& all) {
  const PythonPackage* package = find_package(environment, "onnxruntime-gpu");
  if (package == nullptr || package->manager == "conda" || !wants_framework(context, environment, "onnxruntime")) return;
  const auto version = ReleaseVersion::parse(package->version);
  if (!version) return;
  const auto rows = framework_rows(context.knowledge, "onnxruntime-gpu", *version);
  if (rows.size() != 1) return;
  const auto majors = cuda_majors_in(rows.front().cuda_needed);
  if (majors.size() == 1 && majors.front() >= 11)
    all.push_back({package->name + " " + package->version,
                   "onnxruntime",
                   CudaVersion{majors.front(), majors.front() == 11 ? 2U : 0U, 0},
                   &environment,
                   {quote(*package)}});
}

/// conda's cuda-compat brings a newer user-mode driver into the environment.
bool brings_own_driver(const PythonEnvironment& environment) { return !packages_with_prefix(environment, "cuda-compat").empty(); }

std::vector<NeedsCuda> all_needs(const RuleContext& context) {
  std::vector<NeedsCuda> all;
  for (const JudgedEnvironment& judged : context.environments) {
    if (brings_own_driver(*judged.environment)) continue;
    add_installs(context, *judged.environment, all);
    add_named_packages(context, *judged.environment, all);
    add_onnxruntime(context, *judged.environment, all);
  }
  return all;
}

/// Another build that the present driver serves; none when the user would have to go back in time for it.
void add_other_build(const RuleContext& context, const NeedsCuda& need, Finding& finding) {
  WheelNeeds needs = wheel_needs(context, *need.environment, need.framework);
  if (!needs.driver && !needs.native_cuda) return;
  const WheelChoice choice = choose_wheel(context.knowledge, needs);
  if (!choice.found || (choice.older_release && !finding.repair.empty())) return;
  if (!finding.repair.empty())
    finding.repair.push_back(make_action(
        "keep-driver-instead", {{"cuda", choice.cuda ? choice.cuda->text() : "-"}, {"driver", finding.parameters["driver"]}}));
  for (Action& action : install_choice(context, *need.environment, choice)) finding.repair.push_back(std::move(action));
}

/// Releases for which neither the distribution nor NVIDIA's repository has the branches of today: Ubuntu's packages were named
/// nvidia-NNN until 18.04; NVIDIA's repositories for today's branches begin with Ubuntu 20.04, Debian 11 and RHEL 8
/// (CUDA 12.9 installation guide, table of distributions).
bool is_older_than_packaged_branches(const Machine& machine) {
  const auto release = ReleaseVersion::parse(machine.os.version_id.value_or(""));
  if (!release) return false;
  const auto before = [&](std::string_view id, std::string_view first) {
    return machine.os.id.is(std::string(id)) && *release < *ReleaseVersion::parse(first);
  };
  return before("ubuntu", "18.04") || before("debian", "10") || before("centos", "7") || before("rhel", "7") ||
         before("fedora", "34");
}

}  // namespace

void add_driver_update(const RuleContext& context, const DriverVersion& least, const CudaVersion& cuda, Finding& finding) {
  if (context.in(World::Wsl2)) {
    finding.repair.push_back(make_action("update-windows-driver", {{"driver", least.text}, {"cuda", cuda.text()}}));
    return;
  }
  const std::uint32_t recommended = recommended_branch(context);
  // No GPU, no advice on a branch or a flavour: neither is known to serve it.
  if (context.gpus.empty() && !context.in(World::Container)) {
    finding.repair.push_back(make_action("update-driver-to", {{"least", least.text}}));
    return add_forward_compatibility(context, cuda, finding);
  }
  // What the newest branch's packages are called on a distribution of that time is not known, nor whether it has them.
  if (is_older_than_packaged_branches(context.machine)) {
    finding.repair.push_back(make_action("update-driver-to", {{"least", least.text}}));
    return add_forward_compatibility(context, cuda, finding);
  }
  const std::uint32_t branch = context.gpus.empty() ? least.branch : recommended >= least.branch ? recommended : 0;
  // 0: no branch that serves these GPUs is new enough
  if (branch != 0 && context.in(World::Container)) {
    finding.repair.push_back(make_action("update-driver-on-host", {{"branch", std::to_string(branch)}}));
  } else if (branch != 0) {
    finding.repair.push_back(
        make_action("install-driver-branch", {{"branch", std::to_string(branch)}, {"flavor", recommended_flavor(context)}}));
    finding.repair.push_back(make_action("reboot"));
  }
  add_forward_compatibility(context, cuda, finding);
}

std::optional<Finding> driver_too_old_for_wheel(const RuleContext& context) {
  const auto driver = running_driver(context);
  if (!driver) return std::nullopt;
  for (const NeedsCuda& need : all_needs(context)) {
    if (fit_of(context, *driver, need.cuda) != DriverFit::TooOld) continue;
    const auto least = least_driver_for_framework(context.knowledge, need.cuda, driver->from_windows);
    if (!least) continue;
    Finding finding;
    // Minor-version compatibility begins with CUDA 11 (docs.nvidia.com/deploy/cuda-compatibility).
    finding.variant = driver->from_windows ? "windows" : need.cuda.major < 11 ? "before-11" : "";
    finding.parameters = {{"framework", need.name},
                          {"cuda", need.cuda.text()},
                          {"major", std::to_string(need.cuda.major)},
                          {"driver", driver->version.text},
                          {"least", least->text},
                          {"native", driver->native ? driver->native->text() : "?"},
                          {"environment", label_of(*need.environment)}};
    finding.evidence = {driver->origin};
    finding.evidence.insert(finding.evidence.end(), need.evidence.begin(), need.evidence.end());
    add_driver_update(context, *least, need.cuda, finding);
    add_other_build(context, need, finding);
    if (finding.repair.empty()) finding.repair.push_back(make_action("find-gpu-build", {{"framework", need.framework}}));
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> ptx_newer_than_driver(const RuleContext& context) {
  const auto driver = running_driver(context);
  if (!driver || !driver->native) return program_ptx_newer_than_driver(context);
  for (const JudgedEnvironment& judged : context.environments) {
    for (const FrameworkInstall& install : wanted_installs(context, *judged.environment)) {
      if (!install.cuda || fit_of(context, *driver, *install.cuda) != DriverFit::MinorVersion) continue;
      const auto codes = gpu_code_of(context, install);
      const auto by_ptx = std::ranges::find_if(codes, [](const GpuCodeOfInstall& c) { return c.code == GpuCode::RunsByPtx; });
      if (by_ptx == codes.end() || install.targets.inferred || install.targets_are_of_neighbour) continue;
      if (std::ranges::any_of(codes, [](const GpuCodeOfInstall& c) { return c.code == GpuCode::Runs; })) continue;
      Finding finding;
      finding.parameters = {
          {"framework", label_of(install)},       {"cuda", install.cuda->text()},
          {"gpu", by_ptx->gpu->identity.label()}, {"capability", by_ptx->gpu->identity.compute_capability->text()},
          {"targets", install.targets.text()},    {"driver", driver->version.text},
          {"native", driver->native->text()}};
      finding.evidence = {driver->origin, quote_capability(*by_ptx->gpu), install.origin};
      const auto release = context.knowledge.cuda_release(install.cuda->text());
      if (release && release->driver_linux) add_driver_update(context, *release->driver_linux, *install.cuda, finding);
      return finding;
    }
  }
  return program_ptx_newer_than_driver(context);
}

}  // namespace gpuvet::user_driver
