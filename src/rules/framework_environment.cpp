// Is the framework that was asked for there, and in the environment that is used?

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/framework.h"
#include "rules/framework_facts.h"
#include "rules/framework_repair.h"
#include "rules/software.h"

namespace gpuvet::framework {
namespace {

const std::vector<PythonEnvironment>* seen_environments(const RuleContext& context) {
  return context.machine.python.environments.get();
}

/// A framework was asked for: by its own name, or by an extension that is built for it. Of other distributions an environment's
/// list keeps nothing, so that one of them is absent cannot be told.
bool asks_for_framework(const RuleContext& context) {
  return context.purpose.needs_framework() && is_known_framework(framework_of_purpose(context.purpose));
}

/// The environment whose packages this one sees too (`--system-site-packages`); null: none, or not listed.
const PythonEnvironment* base_of(const RuleContext& context, const PythonEnvironment& environment) {
  const auto* all = seen_environments(context);
  if (!environment.system_site_packages || all == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*all, [&](const PythonEnvironment& e) { return e.prefix == environment.base; });
  return found != all->end() ? &*found : nullptr;
}

bool sees_framework(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework) {
  if (has_framework(environment, framework)) return true;
  const auto* base = base_of(context, environment);
  return base != nullptr && has_framework(*base, framework);
}

/// Something of the environment could not be read: what is not seen in it is not absent.
bool is_fully_seen(const PythonEnvironment& environment) {
  if (!environment.problems.empty()) return false;
  return std::ranges::none_of(environment.packages, [](const PythonPackage& p) { return p.state == "unreadable"; });
}

Origin quote_environment(const PythonEnvironment& environment) {
  return {environment.prefix, 0, environment.kind + " environment, Python " + environment.python.value_or("?")};
}

std::string name_asked(const RuleContext& context) { return framework_of_purpose(context.purpose) + context.purpose.specifier; }

/// Distributions that bring their own GPU code for every driver that counts, and pin no torch of their own.
bool installs_by_name(std::string_view name) {
  constexpr std::array names = {"bitsandbytes", "deepspeed", "ctranslate2", "numba-cuda"};
  return std::ranges::find(names, name) != names.end();
}

/// Releases of a framework that the tables know, newest first.
std::vector<ReleaseVersion> known_releases(const Knowledge& knowledge, std::string_view framework) {
  std::vector<ReleaseVersion> all;
  if (framework == "torch")
    for (const TorchBuild& build : torch_builds(knowledge)) all.push_back(build.release);
  if (framework == "tensorflow")
    for (const TensorFlowRelease& one : tensorflow_releases(knowledge)) all.push_back(one.release);
  if (framework == "jax")
    for (const JaxRelease& one : jax_releases(knowledge)) all.push_back(one.release);
  std::ranges::sort(all, [](const ReleaseVersion& x, const ReleaseVersion& y) { return y < x; });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// The newest release inside what was asked for that serves this driver, these GPUs and this Python: pip alone would take the
/// newest of all.
std::optional<WheelChoice> choice_within(const RuleContext& context, const PythonEnvironment& environment,
                                         const std::string& framework) {
  WheelNeeds needs = wheel_needs(context, environment, framework);
  for (const ReleaseVersion& release : known_releases(context.knowledge, framework)) {
    if (satisfies(release, context.purpose.specifier) != true) continue;
    needs.release = release;
    WheelChoice choice = choose_wheel(context.knowledge, needs);
    if (choice.found && choice.same_release) return choice;
  }
  return std::nullopt;
}

std::vector<Action> installation(const RuleContext& context, const PythonEnvironment& environment) {
  const std::string name = framework_of_purpose(context.purpose);
  if (context.purpose.specifier.empty()) {
    auto actions = reinstall_framework(context, environment, name == "onnxruntime" ? "onnxruntime-gpu" : name);
    if (!actions.empty()) return actions;
    if (installs_by_name(name)) return {install_packages(environment, {name})};
  } else if (const auto choice = choice_within(context, environment, name)) {
    return install_choice(context, environment, *choice);
  }
  return {make_action("find-gpu-build", {{"framework", name_asked(context)}})};
}

/// NAME@ENV names an environment that is not there.
std::optional<Finding> environment_not_found(const RuleContext& context) {
  Finding finding;
  finding.variant = "no-environment";
  finding.parameters = {{"framework", name_asked(context)}, {"environment", context.purpose.environment}};
  std::vector<std::string> names;
  for (const PythonEnvironment& one : *seen_environments(context))
    if (names.size() < 8) names.push_back(one.prefix);
  finding.parameters["others"] = names.empty() ? "-" : join(names, ", ");
  for (const std::string& name : names) finding.evidence.push_back({name, 0, "Python environment"});
  if (finding.evidence.empty()) finding.evidence.push_back({"Python environments", 0, "none found"});
  finding.repair.push_back(make_action("name-python-environment", {{"framework", name_asked(context)}}));
  return finding;
}

/// No environment is in use here, and none of those that are there has it.
Finding in_no_environment(const RuleContext& context, const std::vector<PythonEnvironment>& all) {
  Finding finding;
  finding.variant = "nowhere";
  finding.parameters = {{"framework", name_asked(context)}, {"count", std::to_string(all.size())}};
  for (const PythonEnvironment& one : all)
    if (finding.evidence.size() < 8) finding.evidence.push_back(quote_environment(one));
  finding.repair = installation(context, all.front());
  return finding;
}

/// It is there, but not the release that was asked for.
std::optional<Finding> wrong_version(const RuleContext& context, const PythonEnvironment& environment) {
  const std::string& specifier = context.purpose.specifier;
  const auto version = framework_version(environment, framework_of_purpose(context.purpose));
  const auto fits = version && !specifier.empty() ? satisfies(*version, specifier) : std::nullopt;
  if (!fits || *fits) return std::nullopt;
  Finding finding;
  finding.variant = "version";
  finding.parameters = {{"framework", name_asked(context)}, {"installed", version->text}, {"environment", label_of(environment)}};
  finding.evidence = {quote_environment(environment)};
  if (const auto* package = find_package(environment, framework_of_purpose(context.purpose)))
    finding.evidence.push_back(quote(*package));
  finding.repair = installation(context, environment);
  return finding;
}

}  // namespace

std::optional<Finding> framework_not_installed(const RuleContext& context) {
  const auto* all = seen_environments(context);
  if (!asks_for_framework(context) || all == nullptr) return std::nullopt;
  const bool something_unread = !context.machine.python.problems.empty();
  if (context.environments.empty()) {
    if (!context.purpose.environment.empty())
      return find_environment(context.machine, context.purpose.environment) == nullptr && !something_unread
                 ? environment_not_found(context)
                 : std::nullopt;
    if (something_unread) return std::nullopt;
    if (!all->empty() && std::ranges::all_of(*all, is_fully_seen)) return in_no_environment(context, *all);
    if (!context.machine.python.python3.is_absent()) return std::nullopt;
    Finding finding;
    finding.variant = "no-python";
    finding.parameters = {{"framework", name_asked(context)}};
    finding.evidence.push_back(quote(context.machine.python.python3, "PATH", "no python3"));
    finding.repair.push_back(make_action("install-python"));
    return finding;
  }
  const PythonEnvironment& environment = *context.environments.front().environment;
  if (sees_framework(context, environment, framework_of_purpose(context.purpose))) return wrong_version(context, environment);
  if (!is_fully_seen(environment)) return std::nullopt;
  Finding finding;
  finding.parameters = {
      {"framework", name_asked(context)}, {"environment", label_of(environment)}, {"python", environment.python.value_or("?")}};
  finding.evidence = {quote_environment(environment)};
  finding.evidence.push_back(
      {environment.site_packages.empty() ? environment.prefix : environment.site_packages.front(), 0,
       std::to_string(environment.package_count) + " packages, no " + framework_of_purpose(context.purpose)});
  finding.repair = installation(context, environment);
  return finding;
}

std::optional<Finding> python_too_new_to_install(const RuleContext& context) {
  if (!asks_for_framework(context) || context.environments.empty() || !context.purpose.specifier.empty()) return std::nullopt;
  const PythonEnvironment& environment = *context.environments.front().environment;
  const std::string name = framework_of_purpose(context.purpose);
  if (sees_framework(context, environment, name) || !is_fully_seen(environment)) return std::nullopt;
  if (name != "torch" && name != "tensorflow" && name != "jax") return std::nullopt;
  WheelNeeds needs;
  needs.framework = name;
  needs.python = PythonVersion::parse(environment.abi.empty() ? environment.python.value_or("") : environment.abi);
  needs.platform =
      linux_platform(environment.machine.empty() ? context.machine.os.architecture.value_or("") : environment.machine);
  if (!needs.python || needs.python->free_threaded || needs.platform == Platform::Unknown) return std::nullopt;
  const WheelChoice choice = choose_wheel(context.knowledge, needs);
  if (choice.found || choice.obstacle != WheelObstacle::PythonTooNew || !choice.needed_python) return std::nullopt;
  Finding finding;
  finding.variant = "not-installed";
  finding.parameters = {{"framework", name},
                        {"environment", label_of(environment)},
                        {"python", needs.python->text()},
                        {"newest", choice.needed_python->text()}};
  finding.evidence = {quote_environment(environment),
                      {"release tables", 0, "wheels of " + name + " for Python up to " + choice.needed_python->text()}};
  finding.repair = steps_to_gpu_build(context, environment, name);
  return finding;
}

// ---- framework-in-other-environment ----------------------------------------------------------------------------------

namespace {

struct Elsewhere {
  const PythonEnvironment* used = nullptr;
  const PythonEnvironment* other = nullptr;
  std::string framework;
  std::string has;  ///< what the used one has instead: "torch 2.5.1+cpu"; empty: nothing
};

const PythonEnvironment* environment_with_gpu_build(const RuleContext& context, std::string_view framework,
                                                    const PythonEnvironment* except) {
  for (const PythonEnvironment& environment : *seen_environments(context)) {
    if (&environment == except) continue;
    const auto install = framework_install(context, environment, framework);
    if (install && install->flavour == "cuda") return &environment;
  }
  return nullptr;
}

std::optional<Elsewhere> gpu_build_elsewhere(const RuleContext& context) {
  const auto* used = active_environment(context.machine);
  if (used == nullptr || seen_environments(context) == nullptr || !context.purpose.environment.empty()) return std::nullopt;
  for (const std::string framework : {"torch", "tensorflow", "jax"}) {
    const bool asked = framework_of_purpose(context.purpose) == framework;
    const bool has = sees_framework(context, *used, framework);
    if (context.purpose.asked() ? !asked : !has) continue;
    const auto install = framework_install(context, *used, framework);
    if (has && (!install || install->flavour != "cpu")) continue;
    if (!has && !is_fully_seen(*used)) continue;
    const auto* other = environment_with_gpu_build(context, framework, used);
    if (other != nullptr) return Elsewhere{used, other, framework, install ? label_of(*install) : ""};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> framework_in_other_environment(const RuleContext& context) {
  const auto found = gpu_build_elsewhere(context);
  if (!found || gpu_here(context) == GpuHere::No) return std::nullopt;
  const auto there = framework_install(context, *found->other, found->framework);
  Finding finding;
  // Two environments for two purposes are in order until somebody asks for this framework.
  finding.severity = context.purpose.asked() ? Severity::Warning : Severity::Note;
  finding.variant = found->has.empty() ? "" : "cpu-build";
  finding.parameters = {{"framework", label_of(*there)},
                        {"environment", label_of(*found->other)},
                        {"used", label_of(*found->used)},
                        {"has", found->has.empty() ? "-" : found->has}};
  finding.evidence = {quote_environment(*found->used), there->origin};
  if (const auto& python = context.machine.python.python3; python.is_known())
    finding.evidence.push_back(quote(python, "PATH", *python.get()));
  finding.repair.push_back(activate_environment(*found->other));
  return finding;
}

}  // namespace gpuvet::framework
