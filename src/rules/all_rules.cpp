#include "rules/rule.h"

namespace gpuvet {

std::vector<Rule> all_rules() {
  std::vector<Rule> rules;
  for (auto layer : {hardware_rules(), kernel_module_rules(), device_node_rules(), user_driver_rules(), toolkit_rules(),
                     runtime_library_rules(), framework_rules(), container_rules(), wsl_rules()})
    rules.insert(rules.end(), layer.begin(), layer.end());
  return rules;
}

}  // namespace gpuvet
