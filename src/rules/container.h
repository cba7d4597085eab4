#pragma once
// Rules of the two worlds that are no links of the chain: containers and WSL, as their files show them. (What only a text
// can tell of them is decided in observed_worlds.cpp.)

#include "rules/rule.h"

namespace gpuvet::container {

// container.cpp: from inside a container
std::optional<Finding> right_to_gpu_lost(const RuleContext& context);
std::optional<Finding> given_no_gpu(const RuleContext& context);
std::optional<Finding> capabilities_without_compute(const RuleContext& context);
std::optional<Finding> stale_driver_libraries(const RuleContext& context);
std::optional<Finding> shared_memory_too_small(const RuleContext& context);

// container_host.cpp: from the host, by what starts its containers
std::optional<Finding> toolkit_missing(const RuleContext& context);
std::optional<Finding> snap_conflict(const RuleContext& context);
std::optional<Finding> desktop_virtual_machine(const RuleContext& context);

}  // namespace gpuvet::container

namespace gpuvet::wsl {

// wsl.cpp: from inside WSL
std::optional<Finding> is_wsl1(const RuleContext& context);
std::optional<Finding> windows_too_old(const RuleContext& context);
std::optional<Finding> linux_driver_inside(const RuleContext& context);
std::optional<Finding> foreign_driver_libraries(const RuleContext& context);
std::optional<Finding> libraries_not_on_loader_path(const RuleContext& context);
std::optional<Finding> windows_driver_too_old(const RuleContext& context);
std::optional<Finding> gpu_in_tcc_mode(const RuleContext& context);

}  // namespace gpuvet::wsl
