#include "rules/process_repair.h"

#include <algorithm>

#include "loader/library_family.h"
#include "rules/evidence.h"
#include "rules/framework_repair.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// "nvidia-cudnn-cu12==9.1.0.70; platform_system == …" of this family, without its marker; empty: none.
std::string requirement_of(const PythonPackage& package, std::string_view family) {
  for (const std::string& requirement : package.requirements) {
    const std::size_t end = std::min(requirement.find_first_of(" <>=!~;[("), requirement.size());
    std::string name = normalised_distribution_name(requirement.substr(0, end));
    if (!name.starts_with("nvidia-")) continue;
    name.erase(0, 7);
    if (const auto suffix = name.find("-cu1"); suffix != std::string::npos) name.resize(suffix);
    if (name == family) return requirement.substr(0, requirement.find(';'));
  }
  return {};
}

std::string trimmed(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '(' || c == ')'; });
  return text;
}

const PythonPackage* package_of_plan(const RuleContext& context, const ProcessView& view) {
  const PythonEnvironment* environment = environment_of(context, view);
  return environment == nullptr ? nullptr : find_package(*environment, view.plan->framework);
}

}  // namespace

std::span<const ProcessView> sure_forecasts(const RuleContext& context) {
  if (!context.machine.environment_seen.value_or(false)) return {};
  return context.processes;
}

const PythonEnvironment* environment_of(const RuleContext& context, const ProcessView& view) {
  if (view.plan->kind != "python") return nullptr;
  for (const JudgedEnvironment& judged : context.environments)
    if (judged.environment->prefix == view.plan->prefix) return judged.environment;
  return nullptr;
}

std::string pinned_release(const RuleContext& context, const ProcessView& view, std::string_view family) {
  const PythonPackage* package = package_of_plan(context, view);
  if (package == nullptr) return {};
  const std::string requirement = trimmed(requirement_of(*package, family));
  for (const std::string_view sign : {"==", ">="}) {
    const std::size_t at = requirement.find(sign);
    if (at == std::string::npos) continue;
    const std::string version = requirement.substr(at + 2);
    return version.substr(0, version.find_first_not_of("0123456789."));
  }
  return {};
}

std::vector<Action> use_right_copy(const RuleContext& context, const ProcessView& view, const LoadedObject& wrong,
                                   std::string_view family) {
  if (wrong.rule == "LD_LIBRARY_PATH") return {make_action("remove-from-ld-library-path", {{"folder", folder_of_object(wrong)}})};
  if (wrong.rule == "LD_PRELOAD") return {make_action("unset-variable", {{"variable", "LD_PRELOAD"}})};
  const PythonEnvironment* environment = environment_of(context, view);
  const PythonPackage* package = package_of_plan(context, view);
  if (environment != nullptr && package != nullptr)
    if (const std::string pin = trimmed(requirement_of(*package, family)); !pin.empty())
      return {install_packages(*environment, {pin})};
  if (environment != nullptr)
    if (auto steps = reinstall_framework(context, *environment, framework_of_package(view.plan->framework)); !steps.empty())
      return steps;
  return {make_action("use-one-cuda-release", {{"path", wrong.path}, {"program", view.label()}})};
}

std::string words_of_release(const LoadedObject& object) {
  const std::string release = object.file != nullptr ? release_of(*object.file) : "";
  return release.empty() ? "unknown release" : release;
}

}  // namespace gpuvet
