// Repairs of frameworks: which build, then the exact commands of pip, uv and conda for the environment.

#include "rules/framework_repair.h"

#include <algorithm>

#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Parameters = std::map<std::string, std::string>;

bool is_conda(const PythonEnvironment& environment) { return environment.kind == "conda"; }

std::string joined(const std::vector<std::string>& words, std::string_view separator = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

std::string interpreter_of(const PythonEnvironment& environment) {
  const auto* path = environment.interpreter.get();
  if (environment.prefix.empty() && (path == nullptr || path->empty())) return "python3";  // of a text: the one on PATH
  return path != nullptr && !path->empty() ? *path : environment.prefix + "/bin/python";
}

std::string conda_tool(const PythonEnvironment& environment) {
  for (const std::string_view tool : {"micromamba", "mamba"})
    if (installer_of(environment) == tool) return std::string(tool);
  return "conda";
}

/// Where the packages go, for every installer.
Parameters place(const PythonEnvironment& environment) {
  Parameters parameters = {{"environment", label_of(environment)}, {"python", interpreter_of(environment)}};
  const std::string installer = installer_of(environment);
  // The record's way is called conda, whatever program runs it; poetry's commands act on the project that one stands in.
  parameters["installer"] = installer == "mamba" || installer == "micromamba" ? "conda" : installer;
  if (is_conda(environment)) {
    parameters["conda"] = conda_tool(environment);
    if (!environment.prefix.empty()) parameters["conda_prefix"] = environment.prefix;
  }
  return parameters;
}

/// The distribution of a framework that is installed, whatever it is called: "torch" or conda's "pytorch", "jax" or "jaxlib".
const PythonPackage* package_of(const PythonEnvironment& environment, std::string_view framework) {
  for (const PythonPackage& package : environment.packages)
    if (package.name == framework) return &package;
  for (const PythonPackage& package : environment.packages) {
    const bool companion = package.name == "torchvision" || package.name == "torchaudio" || package.name == "torchtext";
    if (!companion && framework_family(package.name) == framework) return &package;
  }
  return nullptr;
}

std::optional<ReleaseVersion> installed_release(const PythonEnvironment& environment, const std::string& framework) {
  if (auto version = framework_version(environment, framework)) return version;
  const PythonPackage* package = package_of(environment, framework);
  return package != nullptr ? ReleaseVersion::parse(package->version) : std::nullopt;
}

std::optional<PythonVersion> python_of(const PythonEnvironment& environment) {
  const auto* text = environment.python.get();
  auto version = text != nullptr ? PythonVersion::parse(*text) : std::nullopt;
  if (!version) version = PythonVersion::parse(environment.abi);
  if (version && environment.abi.ends_with('t')) version->free_threaded = true;
  return version;
}

/// Distributions that have the same import package or the same files as what will be installed.
std::vector<std::string> in_the_way(const PythonEnvironment& environment, const WheelChoice& choice) {
  std::vector<std::string> names;
  const std::string wanted =
      choice.framework == "cupy" ? "cupy-" + choice.variant : (choice.framework == "jax" ? std::string() : choice.framework);
  for (const PythonPackage& package : environment.packages) {
    const bool same_files =
        choice.framework == "cupy" || choice.framework == "onnxruntime-gpu" || choice.framework == "tensorflow";
    const bool plain_part = package.name == "tensorflow-estimator" || package.name == "tensorflow-io-gcs-filesystem" ||
                            package.name.starts_with("tensorflow-hub") || package.name.starts_with("tensorflow-datasets") ||
                            package.name.starts_with("tensorflow-probability") || package.name.starts_with("tensorflow-text") ||
                            package.name.starts_with("tensorflow-metadata") || package.name.starts_with("onnxruntime-extensions");
    if (!same_files || plain_part || package.manager == "conda") continue;
    if (framework_family(package.name) == choice.framework && package.name != wanted) names.push_back(package.name);
  }
  return names;
}

std::string last_part(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

/// A name for a new environment beside this one: "ml-cu126".
std::string new_name(const PythonEnvironment& environment, std::string_view suffix) {
  std::string name = environment.name.empty() ? last_part(environment.prefix) : environment.name;
  if (name.empty() || name == "usr" || name.starts_with('.')) name = "gpu";
  return name + "-" + std::string(suffix);
}

bool managed_by_conda(const PythonEnvironment& environment, std::string_view framework) {
  const PythonPackage* package = package_of(environment, framework);
  return is_conda(environment) && package != nullptr && package->manager == "conda";
}

void add_pip_parameters(Parameters& parameters, const WheelChoice& choice) {
  const std::string packages = joined(choice.packages);
  if (!choice.index.empty()) {
    parameters["packages"] = packages;
    parameters["index"] = choice.index;
  } else if (!choice.find_links.empty()) {
    parameters["packages"] = packages;
    parameters["find_links"] = choice.find_links;
  } else {
    parameters["pypi_packages"] = packages;
  }
  if (parameters["installer"] != "poetry") return;
  if (!choice.index.empty()) parameters["poetry_source"] = "pytorch-" + choice.variant;
  if (choice.index.empty() && choice.find_links.empty()) parameters["poetry_packages"] = packages;
}

void add_conda_parameters(Parameters& parameters, const PythonEnvironment& environment, const WheelChoice& choice) {
  if (choice.conda_spec.empty()) return;
  parameters["conda_packages"] = choice.conda_spec;
  if (is_conda(environment)) return;
  parameters["new_environment"] = new_name(environment, choice.variant.empty() ? choice.framework : choice.variant);
  if (const auto python = python_of(environment); python && !python->free_threaded) parameters["python_version"] = python->text();
}

/// pip and uv refuse to install there; into what the distribution's packages brought they should not.
bool needs_own_environment(const PythonEnvironment& environment, std::string_view framework) {
  if (is_conda(environment)) return false;
  const PythonPackage* package =
      environment.kind == "system" && !framework.empty() ? package_of(environment, framework) : nullptr;
  return environment.externally_managed || (package != nullptr && package->manager == "distribution");
}

/// An empty virtual environment of this Python.
PythonEnvironment virtual_environment_of(const PythonEnvironment& base) {
  PythonEnvironment fresh;
  fresh.prefix = "~/gpu";
  fresh.name = "gpu";
  fresh.kind = base.kind == "uv" ? "uv" : "venv";
  fresh.interpreter = Fact<std::string>::known(fresh.prefix + "/bin/python");
  fresh.python = base.python;
  fresh.abi = base.abi;
  fresh.machine = base.machine;
  fresh.base = base.prefix;
  return fresh;
}

Action installation(const PythonEnvironment& environment, const WheelChoice& choice) {
  Parameters parameters = place(environment);
  parameters["framework"] = choice.framework;
  parameters["release"] = choice.release;
  parameters["cuda"] = choice.cuda ? choice.cuda->text() : "";
  // pip's copy beside conda's would leave two of them: there conda alone is the way.
  if (!managed_by_conda(environment, choice.framework) || choice.conda_spec.empty()) add_pip_parameters(parameters, choice);
  add_conda_parameters(parameters, environment, choice);
  return make_action("install-framework-build", std::move(parameters));
}

Action driver_update(const RuleContext& context, const WheelChoice& choice) {
  const auto driver = DriverVersion::parse(choice.needed_driver);
  const std::string branch = driver ? std::to_string(driver->branch) : choice.needed_driver;
  const std::string cuda = choice.cuda ? choice.cuda->text() : "";
  if (context.in(World::Wsl2)) return make_action("update-windows-driver", {{"driver", choice.needed_driver}, {"cuda", cuda}});
  if (context.in(World::Container)) return make_action("update-driver-on-host", {{"branch", branch}});
  return make_action("update-driver-to-version", {{"driver", choice.needed_driver}});
}

/// The distribution's Python stays as it is: the build goes into a virtual environment.
std::vector<Action> in_own_environment(const PythonEnvironment& environment, const WheelChoice& choice) {
  const PythonEnvironment fresh = virtual_environment_of(environment);
  return {make_action(
              "create-virtual-environment",
              {{"base_python", interpreter_of(environment)}, {"new_prefix", fresh.prefix}, {"installer", installer_of(fresh)}}),
          installation(fresh, choice), activate_environment(fresh)};
}

/// A new environment with the Python that has wheels, and the build in it.
std::vector<Action> with_other_python(const RuleContext& context, const PythonEnvironment& environment, const WheelChoice& none) {
  const PythonVersion python = *none.needed_python;
  PythonEnvironment fresh = environment;
  fresh.name = new_name(environment, "py" + std::to_string(python.major) + std::to_string(python.minor));
  const std::size_t slash = environment.prefix.rfind('/');
  const bool system = environment.kind == "system" || slash == std::string::npos || slash == 0;
  fresh.prefix = system ? context.machine.shells.home.value_or("~") + "/" + fresh.name
                        : environment.prefix.substr(0, slash + 1) + fresh.name;
  if (system) fresh.kind = "venv";
  fresh.interpreter = Fact<std::string>::known(fresh.prefix + "/bin/python");
  fresh.python = Fact<std::string>::known(python.text());
  fresh.externally_managed = false;
  fresh.abi.clear();
  fresh.packages.clear();
  fresh.frameworks.clear();
  Parameters parameters = {{"python_version", python.text()},
                           {"installer", is_conda(fresh) ? "conda" : installer_of(environment)}};
  parameters[is_conda(fresh) ? "conda_new_prefix" : "new_prefix"] = fresh.prefix;
  WheelNeeds needs = wheel_needs(context, environment, none.framework);
  needs.python = python;
  const WheelChoice choice = choose_wheel(context.knowledge, needs);
  if (!choice.found) return {};
  return {make_action("create-python-environment", std::move(parameters)), installation(fresh, choice)};
}

}  // namespace

std::string installer_of(const PythonEnvironment& environment) {
  if (environment.kind == "conda") {
    if (environment.prefix.find("micromamba") != std::string::npos) return "micromamba";
    return environment.prefix.find("mambaforge") != std::string::npos ? "mamba" : "conda";
  }
  for (const std::string_view kind : {"uv", "poetry", "pixi", "pipx"})
    if (environment.kind == kind) return std::string(kind);
  const auto by_uv = std::ranges::count_if(environment.packages, [](const PythonPackage& p) { return p.installer == "uv"; });
  return by_uv > 0 && static_cast<std::size_t>(by_uv) * 2 >= environment.packages.size() ? "uv" : "pip";
}

WheelNeeds wheel_needs(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework) {
  WheelNeeds needs;
  needs.framework = framework_family(framework);
  needs.release = installed_release(environment, needs.framework);
  needs.python = python_of(environment);
  const std::string machine = environment.machine.empty() ? context.machine.os.architecture.value_or("") : environment.machine;
  needs.platform = linux_platform(machine);
  needs.windows_driver = context.in(World::Wsl2);
  if (const auto driver = running_driver(context)) {
    if (!driver->from_windows) needs.driver = driver->version;
    needs.native_cuda = driver->native;
  }
  needs.jetson = context.in(World::Jetson);
  needs.driver_stays = context.in(World::Container);
  for (const MachineGpu* gpu : usable_gpus(context))
    if (gpu->identity.compute_capability) needs.gpus.push_back(*gpu->identity.compute_capability);
  for (const char* companion : {"torchvision", "torchaudio"})
    if (find_package(environment, companion) != nullptr) needs.companions.emplace_back(companion);
  return needs;
}

std::vector<Action> install_choice(const RuleContext& context, const PythonEnvironment& environment, const WheelChoice& choice) {
  if (choice.found && needs_own_environment(environment, choice.framework)) return in_own_environment(environment, choice);
  if (choice.found) {
    std::vector<Action> steps;
    const auto others = in_the_way(environment, choice);
    if (!others.empty()) steps.push_back(uninstall_packages(environment, others));
    steps.push_back(installation(environment, choice));
    return steps;
  }
  if (choice.obstacle == WheelObstacle::DriverTooOld && !choice.needed_driver.empty()) return {driver_update(context, choice)};
  if (choice.needed_python) return with_other_python(context, environment, choice);
  if (choice.obstacle == WheelObstacle::Jetson) return {make_action("use-jetpack-wheel", {{"framework", choice.framework}})};
  return {};
}

std::vector<Action> reinstall_framework(const RuleContext& context, const PythonEnvironment& environment,
                                        std::string_view framework) {
  return install_choice(context, environment, choose_wheel(context.knowledge, wheel_needs(context, environment, framework)));
}

Action install_packages(const PythonEnvironment& environment, const std::vector<std::string>& requirements,
                        std::string_view conda) {
  const bool own = needs_own_environment(environment, {});
  Parameters parameters = place(own ? virtual_environment_of(environment) : environment);
  if (own) {
    parameters["base_python"] = interpreter_of(environment);
    parameters["new_prefix"] = parameters["environment"];
  }
  parameters["names"] = joined(requirements, ", ");
  parameters["packages"] = joined(requirements);
  if (parameters["installer"] == "poetry") parameters["poetry_packages"] = parameters["packages"];
  if (!conda.empty() && is_conda(environment)) parameters["conda_packages"] = std::string(conda);
  return make_action("install-python-packages", std::move(parameters));
}

Action reinstall_package(const PythonEnvironment& environment, const PythonPackage& package) {
  Parameters parameters = place(environment);
  const std::string requirement = package.name + (package.version.empty() ? "" : "==" + package.version);
  parameters["package"] = package.name + (package.version.empty() ? "" : " " + package.version);
  parameters["package_name"] = package.name;
  if (package.manager == "conda") {
    parameters["conda_packages"] = requirement;
    return make_action("reinstall-python-package", std::move(parameters));
  }
  // Releases with a local part ("+cu124") are on torch's own index alone.
  const auto plus = package.version.find('+');
  if (plus == std::string::npos) {
    parameters["requirement"] = requirement;
  } else if (framework_family(package.name) == "torch" || package.name.starts_with("torch")) {
    parameters["index"] = "https://download.pytorch.org/whl/" + package.version.substr(plus + 1);
    parameters["indexed_requirement"] = requirement;
  }
  return make_action("reinstall-python-package", std::move(parameters));
}

Action uninstall_packages(const PythonEnvironment& environment, const std::vector<std::string>& names) {
  Parameters parameters = place(environment);
  parameters["names"] = joined(names, ", ");
  std::vector<std::string> by_pip, by_conda;
  for (const std::string& name : names) {
    const PythonPackage* package = find_package(environment, name);
    (package != nullptr && package->manager == "conda" ? by_conda : by_pip).push_back(name);
  }
  if (!by_pip.empty()) parameters["packages"] = joined(by_pip);
  if (!by_pip.empty() && parameters["installer"] == "poetry") parameters["poetry_packages"] = joined(by_pip);
  if (!by_conda.empty() && is_conda(environment)) parameters["conda_packages"] = joined(by_conda);
  return make_action("uninstall-python-packages", std::move(parameters));
}

Action activate_environment(const PythonEnvironment& environment) {
  Parameters parameters = {{"environment", environment.prefix}};
  if (is_conda(environment)) {
    parameters["conda_prefix"] = environment.prefix;
  } else {
    parameters["activate"] = environment.prefix + "/bin/activate";
  }
  return make_action("activate-environment", std::move(parameters));
}

}  // namespace gpuvet
