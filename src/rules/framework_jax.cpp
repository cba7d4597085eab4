// JAX finds a GPU only through a plug-in package of exactly jaxlib's version (jaxlib/plugin_support.py compares the numbers).

#include <algorithm>

#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_packages.h"
#include "rules/framework_repair.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

/// "jax-cuda12-plugin", "jax-cuda13-plugin".
std::vector<const PythonPackage*> cuda_plugins(const PythonEnvironment& environment) {
  auto plugins = packages_with_prefix(environment, "jax-cuda");
  std::erase_if(plugins, [](const PythonPackage* p) { return !p->name.ends_with("-plugin") || p->state == "files-missing"; });
  return plugins;
}

/// AMD, Intel, Apple and TPU have plug-ins of their own: then CUDA is not what was meant.
bool has_other_plugin(const PythonEnvironment& environment) {
  return std::ranges::any_of(environment.packages, [](const PythonPackage& package) {
    return package.name.starts_with("jax-rocm") || package.name == "jax-metal" || package.name == "libtpu" ||
           package.name == "libtpu-nightly" || package.name == "intel-extension-for-openxla";
  });
}

/// "0.4.35" of "0.4.35.dev20241021": the leading numbers are what jaxlib compares.
std::string compared_part(std::string_view version) {
  std::size_t end = 0;
  while (end < version.size() && ((version[end] >= '0' && version[end] <= '9') || version[end] == '.')) ++end;
  while (end > 0 && version[end - 1] == '.') --end;
  // "0.4.35.dev1" ends in front of "dev", "0.8.1rc2" in front of "rc2".
  return std::string(version.substr(0, end));
}

const PythonPackage* companion_of(const PythonEnvironment& environment, const PythonPackage& plugin) {
  return find_package(environment, plugin.name.substr(0, plugin.name.size() - 6) + "pjrt");
}

/// The plug-in's own metadata asks for its other half. Old ones had everything in one package.
bool needs_companion(const PythonPackage& plugin) {
  return std::ranges::any_of(plugin.requirements, [](const std::string& r) { return r.find("pjrt") != std::string::npos; });
}

std::string extra_of(const PythonPackage& plugin) {  // "jax-cuda12-plugin" → "cuda12"
  return plugin.name.substr(4, plugin.name.size() - 4 - 7);
}

/// The release that the user has, with the plug-in of the same: "jax[cuda12]==0.4.35".
std::vector<Action> repair_of(const RuleContext& context, const PythonEnvironment& environment, const PythonPackage* plugin) {
  if (plugin == nullptr) return reinstall_framework(context, environment, "jax");
  const auto* jax = find_package(environment, "jax");
  const std::string pin = jax != nullptr && !jax->version.empty() ? "==" + compared_part(jax->version) : "";
  return {install_packages(environment, {"jax[" + extra_of(*plugin) + "]" + pin})};
}

Finding start(const PythonEnvironment& environment, const PythonPackage& jaxlib) {
  Finding finding;
  finding.parameters = {{"jaxlib", jaxlib.version}, {"environment", label_of(environment)}};
  finding.evidence.push_back(quote(jaxlib));
  return finding;
}

std::optional<Finding> judge_plugin(const RuleContext& context, const PythonEnvironment& environment, const PythonPackage& jaxlib,
                                    const PythonPackage& plugin) {
  Finding finding = start(environment, jaxlib);
  finding.parameters["plugin"] = plugin.name;
  finding.parameters["version"] = plugin.version;
  finding.evidence.push_back(quote(plugin));
  const PythonPackage* companion = companion_of(environment, plugin);
  const bool same = compared_part(plugin.version) == compared_part(jaxlib.version);
  if (!same) {
    finding.variant = "other-version";
  } else if (companion == nullptr && needs_companion(plugin)) {
    finding.variant = "half";
  } else if (companion != nullptr && companion->state == "files-missing") {
    finding.variant = "half";
    finding.evidence.push_back(quote(*companion));
  } else if (companion != nullptr && compared_part(companion->version) != compared_part(plugin.version)) {
    finding.variant = "other-version";
    finding.evidence.push_back(quote(*companion));
  } else {
    return std::nullopt;
  }
  finding.repair = repair_of(context, environment, &plugin);
  return finding;
}

std::optional<Finding> judge_environment(const RuleContext& context, const PythonEnvironment& environment) {
  const PythonPackage* jaxlib = find_package(environment, "jaxlib");
  if (jaxlib == nullptr || jaxlib->version.empty() || is_from_conda(*jaxlib) || !is_from_wheel(*jaxlib)) return std::nullopt;
  // Before there were plug-ins, a jaxlib for CUDA said so in its version: "0.4.14+cuda12.cudnn89".
  if (jaxlib->version.find("+cuda") != std::string::npos) return std::nullopt;
  const FrameworkBuild* build = find_build(environment, "jaxlib");
  if (build != nullptr && !build->flavour.empty() && build->flavour != "cpu") return std::nullopt;
  const auto plugins = cuda_plugins(environment);
  for (const PythonPackage* plugin : plugins)
    if (auto finding = judge_plugin(context, environment, *jaxlib, *plugin)) return finding;
  if (!plugins.empty() || has_other_plugin(environment)) return std::nullopt;
  // A build of one's own ("0.4.36.dev20250101+selfbuilt") may carry CUDA inside, and its files would say so.
  if (build == nullptr && jaxlib->version.find('+') != std::string::npos) return std::nullopt;
  Finding finding = start(environment, *jaxlib);
  finding.repair = repair_of(context, environment, nullptr);
  return finding;
}

}  // namespace

namespace framework {

std::optional<Finding> jax_plugin_missing(const RuleContext& context) {
  if (!gpu_is_meant(context)) return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    if (!wants_framework(context, environment, "jax")) continue;
    auto finding = judge_environment(context, environment);
    if (!finding) continue;
    finding->severity = another_framework_has_cuda(context, environment, "jax") ? Severity::Note : by_purpose(context);
    return finding;
  }
  return std::nullopt;
}

}  // namespace framework
}  // namespace gpuvet
