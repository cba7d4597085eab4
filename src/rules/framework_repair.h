#pragma once
// Repairs of frameworks: exact commands for the environment that needs them, from the release tables.

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/wheel_choice.h"
#include "rules/rule.h"

namespace gpuvet {

/// What a build of `framework` must serve in this environment. `driver` is the loaded one, else the installed one; the GPUs are
/// those whose compute capability is known.
WheelNeeds wheel_needs(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework);

/// The steps that put a GPU build of the framework into the environment, keeping the release where possible: one installation
/// (pip, uv, conda: the environment's own way first), or, when no build serves, what has to change first (update-driver,
/// create-python-environment). Empty: the tables do not know one.
std::vector<Action> reinstall_framework(const RuleContext& context, const PythonEnvironment& environment,
                                        std::string_view framework);
inline std::vector<Action> reinstall_torch(const RuleContext& context, const PythonEnvironment& environment) {
  return reinstall_framework(context, environment, "torch");
}
/// The same from a choice that was made already.
std::vector<Action> install_choice(const RuleContext& context, const PythonEnvironment& environment, const WheelChoice& choice);

/// Install (or reinstall) these requirements from PyPI; `conda` are the conda-forge requirements, empty: pip and uv only.
Action install_packages(const PythonEnvironment& environment, const std::vector<std::string>& requirements,
                        std::string_view conda = {});
/// The same release of a distribution once more, freshly downloaded.
Action reinstall_package(const PythonEnvironment& environment, const PythonPackage& package);
/// Remove these distributions.
Action uninstall_packages(const PythonEnvironment& environment, const std::vector<std::string>& names);
/// Use the environment that has the GPU build: activate it.
Action activate_environment(const PythonEnvironment& environment);

/// The tool that the environment was made with: "pip", "uv", "conda", "mamba", "poetry", "pixi", "pipx".
std::string installer_of(const PythonEnvironment& environment);

}  // namespace gpuvet
