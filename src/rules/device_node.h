#pragma once
// The rules of the link "device nodes", one function each; device_node.cpp lists them.

#include <optional>

#include "rules/rule.h"

namespace gpuvet {

std::optional<Finding> judge_nodes_missing(const RuleContext& context);
std::optional<Finding> judge_uvm_node_missing(const RuleContext& context);
std::optional<Finding> judge_major_mismatch(const RuleContext& context);
std::optional<Finding> judge_node_permissions(const RuleContext& context);
std::optional<Finding> judge_selinux_denial(const RuleContext& context);
std::optional<Finding> judge_mig_without_instance(const RuleContext& context);

/// The kernel driver of the machine is loaded, so that it wants nodes.
bool driver_is_loaded(const RuleContext& context);

}  // namespace gpuvet
