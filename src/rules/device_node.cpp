#include "rules/device_node.h"

#include <array>

#include "rules/evidence.h"

namespace gpuvet {
namespace {

// The more specific first: that order decides between equals.
constexpr std::array rules = {
    Rule{"device-major-mismatch", judge_major_mismatch},       Rule{"device-nodes-missing", judge_nodes_missing},
    Rule{"selinux-denies-devices", judge_selinux_denial},      Rule{"device-node-permissions", judge_node_permissions},
    Rule{"nvidia-uvm-device-missing", judge_uvm_node_missing}, Rule{"mig-enabled-no-instance", judge_mig_without_instance},
};

}  // namespace

std::span<const Rule> device_node_rules() { return rules; }

bool driver_is_loaded(const RuleContext& context) {
  return context.loaded_driver.has_value() || loaded_module(context.machine, "nvidia") != nullptr;
}

}  // namespace gpuvet
