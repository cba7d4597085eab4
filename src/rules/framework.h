#pragma once
// Rules of the link "framework": what is installed in the judged Python environments, and whether it can use the GPUs here.

#include <optional>

#include "rules/rule.h"

namespace gpuvet::framework {

// framework_environment.cpp: is it there, and where
std::optional<Finding> framework_not_installed(const RuleContext& context);
std::optional<Finding> framework_in_other_environment(const RuleContext& context);
/// Not installed, and no release has a wheel for this Python: part of python_too_new.
std::optional<Finding> python_too_new_to_install(const RuleContext& context);

// framework_flavour.cpp: builds that have no CUDA, or the wrong one for this machine
std::optional<Finding> jetson_desktop_wheel(const RuleContext& context);
std::optional<Finding> cpu_only_aarch64(const RuleContext& context);
std::optional<Finding> python_too_new(const RuleContext& context);
std::optional<Finding> cpu_only(const RuleContext& context);

// framework_arch.cpp: does the build carry code for these GPUs
std::optional<Finding> arch_missing(const RuleContext& context);
std::optional<Finding> arch_dropped(const RuleContext& context);

// framework_companions.cpp, framework_extensions.cpp: what was built for another torch, or for other GPUs
std::optional<Finding> torchvision_mismatch(const RuleContext& context);
std::optional<Finding> extension_abi_mismatch(const RuleContext& context);
std::optional<Finding> extension_arch_missing(const RuleContext& context);

}  // namespace gpuvet::framework
