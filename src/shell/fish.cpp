#include "shell/start_up.h"
namespace gpuvet::shell {
Outcome follow_fish(const ShellFiles&, const Identity&, const Start&, Variables environment) {
  for (const std::string& name : reported_names) environment[name].value = Value::unknown("fish's files are not followed yet");
  return {{}, std::move(environment)};
}

}  // namespace gpuvet::shell
