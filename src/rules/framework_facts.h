#pragma once
// What rules about frameworks ask of the rest of the machine: the driver that a program here gets, the GPUs that it may use.

#include <optional>
#include <string>
#include <vector>

#include "rules/framework_contract.h"
#include "rules/rule.h"

namespace gpuvet {

/// The user-mode driver that a new program here gets: of the loaded module (else of the installed one), of a cuda-compat libcuda
/// that wins, or in WSL2 the one that Windows lends.
struct RunningDriver {
  DriverVersion version;
  std::optional<CudaVersion> native;  ///< CUDA version that it reports; nothing: its branch is in no table
  bool from_windows = false;          ///< WSL2: `version` is the library's own number, which differs from Windows' number
  Origin origin;
};
/// Nothing: no driver seen, or one that the tables of desktop drivers do not describe (Jetson).
std::optional<RunningDriver> running_driver(const RuleContext& context);
DriverFit fit_of(const RuleContext& context, const RunningDriver& driver, const CudaVersion& cuda);

/// May a program here get an NVIDIA GPU?
enum class GpuHere : std::uint8_t { No, Unknown, Yes };
GpuHere gpu_here(const RuleContext& context);

/// GPUs with a known compute capability that CUDA may use: not given to a virtual machine or to another driver.
std::vector<const MachineGpu*> usable_gpus(const RuleContext& context);
/// "RTX 4090 (AD102), compute capability 8.9".
Origin quote_capability(const MachineGpu& gpu);

/// "R36 …" → 36; 0: no Jetson, or the release is not told.
int jetson_release(const Machine& machine);

/// "torch 2.5.1+cu124", "tensorflow 2.19.0".
std::string label_of(const FrameworkInstall& install);
/// What an environment is called of which a text tells no folder.
constexpr std::string_view unnamed_environment = "the Python environment";
/// The judged environment of a finding as people call it: its folder.
std::string label_of(const PythonEnvironment& environment);

/// The steps of reinstall_framework; where the tables know none, the advice to look for a build.
std::vector<Action> steps_to_gpu_build(const RuleContext& context, const PythonEnvironment& environment,
                                       const std::string& framework);

/// An error where it was asked for; else a warning.
Severity by_purpose(const RuleContext& context);

}  // namespace gpuvet
