// What the facts and the tables say together, once for all rules.

#include <algorithm>

#include "rules/driver_packages.h"
#include "rules/rule.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

std::optional<DriverVersion> parsed(const Fact<std::string>& version) {
  const auto* text = version.get();
  return text ? DriverVersion::parse(*text) : std::nullopt;
}

/// The copy that a new 64-bit process gets, or null.
const DriverLibrary* winner(const Machine& machine, std::string_view name) {
  const auto* libraries = machine.user_driver.libraries.get();
  if (!libraries) return nullptr;
  for (const auto& library : *libraries)
    if (library.wins && library.name == name && library.elf_class != "32") return &library;
  return nullptr;
}

/// A stub, a compat package or an injected library says nothing about the driver that is installed here.
std::optional<DriverVersion> version_of_libraries(const Machine& machine) {
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"})
    if (const auto* library = winner(machine, name); library && library->kind == "driver" && !library->bind_mounted)
      if (auto version = parsed(library->version)) return version;
  return std::nullopt;
}

std::optional<DriverVersion> installed_driver(const Machine& machine) {
  if (const auto* kernel = machine.os.kernel.get())
    if (const auto* file = module_file_for(machine, *kernel, "nvidia"))
      if (auto version = parsed(file->version)) return version;
  if (auto version = driver_version_of_packages(machine)) return version;
  if (auto version = parsed(machine.packages.runfile_driver)) return version;
  return version_of_libraries(machine);
}

/// A snapshot may hold plans of more than what is asked for.
bool is_judged(const RuleContext& context, const ProcessPlan& plan) {
  const Purpose& purpose = context.purpose;
  if (plan.kind != "python") return purpose.name == "path" && (plan.name == purpose.target || plan.program == purpose.target);
  const auto here = [&](const JudgedEnvironment& judged) {
    return judged.environment->prefix == plan.prefix &&
           (plan.framework.empty() || wants_framework(context, *judged.environment, framework_of_package(plan.framework)));
  };
  return purpose.name != "path" && std::ranges::any_of(context.environments, here);
}

}  // namespace

RuleContext make_rule_context(const Machine& machine, const Knowledge& knowledge, const Purpose& purpose) {
  RuleContext context{.machine = machine,
                      .knowledge = knowledge,
                      .worlds = worlds_of(machine),
                      .gpus = nvidia_gpus(machine, knowledge),
                      .loaded_driver = parsed(machine.kernel_driver.version),
                      .installed_driver = installed_driver(machine),
                      .libcuda = winner(machine, "libcuda.so.1"),
                      .libnvml = winner(machine, "libnvidia-ml.so.1"),
                      .purpose = purpose,
                      .environments = judged_environments(machine, purpose),
                      .processes = {}};
  if (!machine.loader.plans.empty()) {
    context.processes = process_views(machine);
    std::erase_if(context.processes, [&](const ProcessView& view) { return !is_judged(context, *view.plan); });
  }
  return context;
}

}  // namespace gpuvet
