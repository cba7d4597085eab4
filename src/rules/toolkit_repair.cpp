// What brings a toolkit, and how a shell comes to find it.

#include <algorithm>

#include "rules/evidence.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

bool targets_all(const CudaRelease& release, const std::vector<ComputeCapability>& gpus) {
  const auto low = ComputeCapability::parse(release.supported_sm_min), high = ComputeCapability::parse(release.supported_sm_max);
  if (!low || !high) return gpus.empty();
  return std::ranges::all_of(gpus, [&](const ComputeCapability& gpu) { return gpu >= *low && gpu <= *high; });
}

std::string shell_name(const Machine& machine) {
  const std::string shell = machine.shells.login_shell.value_or(std::string(variable(machine, "SHELL")));
  return shell.substr(shell.rfind('/') + 1);
}

std::string dashed(std::string release) {
  std::ranges::replace(release, '.', '-');
  return release;
}

}  // namespace

std::vector<ComputeCapability> gpu_capabilities(const RuleContext& context) {
  std::vector<ComputeCapability> found;
  for (const MachineGpu& gpu : context.gpus)
    if (gpu.identity.compute_capability) found.push_back(*gpu.identity.compute_capability);
  return found;
}

std::optional<CudaVersion> driver_cuda(const RuleContext& context) {
  std::optional<CudaVersion> best;
  const auto consider = [&](const std::optional<DriverVersion>& driver) {
    const auto cuda = driver ? context.knowledge.native_cuda(*driver) : std::nullopt;
    if (cuda && (!best || *cuda > *best)) best = cuda;
  };
  if (context.loaded_driver) consider(context.loaded_driver);
  // A compat libcuda serves more than its driver; without a module (WSL2) the library is all there is.
  if (context.libcuda != nullptr && (context.libcuda->kind == "compat" || !context.loaded_driver) &&
      context.libcuda->kind != "stub")
    if (const auto* version = context.libcuda->version.get()) consider(DriverVersion::parse(*version));
  if (!best && !context.loaded_driver) consider(context.installed_driver);
  return best;
}

std::string advised_release(const RuleContext& context, std::optional<std::uint32_t> major) {
  const auto limit = driver_cuda(context);
  const auto gpus = gpu_capabilities(context);
  std::optional<CudaVersion> best;
  for (const CudaRelease& release : context.knowledge.cuda_releases()) {
    const auto version = CudaVersion::parse(release.version);
    if (!version || (major && version->major != *major)) continue;
    if (limit && (version->major > limit->major || (version->major == limit->major && version->minor > limit->minor))) continue;
    if (!targets_all(release, gpus)) continue;
    if (!best || *version > *best) best = version;
  }
  return best ? best->text() : std::string();
}

std::vector<Action> install_toolkit_actions(const RuleContext& context, const std::string& release) {
  if (release.empty()) return {make_action("install-any-cuda-toolkit")};
  const std::map<std::string, std::string> parameters{{"release", release}, {"package_release", dashed(release)}};
  const auto* active = active_environment(context.machine);
  const bool has_conda_release = !release.starts_with("11.") && !release.starts_with("10.") && !release.starts_with("9.");
  if (active != nullptr && active->kind == "conda" && has_conda_release)
    return {make_action("install-conda-cuda-compiler", {{"release", release}, {"environment", active->prefix}})};
  return {make_action("install-cuda-toolkit", parameters)};
}

Action install_cuda_libraries(const std::string& release) {
  return make_action("install-cuda-libraries", {{"release", release}, {"package_release", dashed(release)}});
}

std::string start_up_file(const Machine& machine) {
  const std::string home = machine.shells.home.value_or("~"), shell = shell_name(machine);
  if (shell == "zsh") return home + "/.zshrc";
  if (shell == "fish") return home + "/.config/fish/config.fish";
  if (shell == "bash" || shell.empty()) return home + "/.bashrc";
  return home + "/.profile";
}

Action add_to_path_action(const Machine& machine, const std::string& folder) {
  if (machine.os.container.is_known()) return make_action("set-path-in-image", {{"folder", folder}});
  const bool fish = shell_name(machine) == "fish";
  return make_action(fish ? "add-folder-to-fish-path" : "add-folder-to-path",
                     {{"folder", folder}, {"file", start_up_file(machine)}});
}

std::string stable_name(const Toolkit& toolkit) {
  const bool usual = std::ranges::find(toolkit.names, "/usr/local/cuda") != toolkit.names.end();
  return usual ? "/usr/local/cuda" : toolkit.path;
}

std::string bin_folder(const Toolkit& toolkit) {
  if (toolkit.origin != "distribution" && toolkit.nvcc.is_known() && toolkit.nvcc.get()->starts_with(toolkit.path + "/bin/"))
    return stable_name(toolkit) + "/bin";
  const std::string nvcc = toolkit.nvcc.value_or(toolkit.path + "/bin/nvcc");
  return nvcc.substr(0, nvcc.rfind('/'));
}

}  // namespace gpuvet
