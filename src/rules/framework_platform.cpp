// Systems that a framework publishes no GPU build for. An environment of Windows or macOS is told by the tags of its wheels: it
// may lie on a mounted disk, or be looked at from WSL.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_packages.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

enum class System : std::uint8_t { Other, Windows, MacOs, Musl, OldArchitecture };

struct Told {
  System system = System::Other;
  Origin origin;
};

/// Processors that no framework builds CUDA wheels for; 64-bit POWER had some once and is left out.
constexpr std::array<std::string_view, 8> old_architectures{"i386",    "i686",  "arm",         "armv7l",
                                                            "riscv64", "s390x", "loongarch64", "mips64"};

Told system_of(const RuleContext& context, const PythonEnvironment& environment) {
  const std::string id = context.machine.os.id.value_or("");
  if (id == "windows") return {System::Windows, quote(context.machine.os.id, "os", id)};
  if (id == "macos" || id == "darwin") return {System::MacOs, quote(context.machine.os.id, "os", id)};
  for (const PythonPackage& package : environment.packages) {
    for (const std::string& tag : package.tags) {
      const Origin origin = {package.folder + "/WHEEL", 0, "Tag: " + tag};
      if (tag.find("-win_") != std::string::npos || tag.ends_with("-win32")) return {System::Windows, origin};
      if (tag.find("-macosx_") != std::string::npos) return {System::MacOs, origin};
    }
  }
  const std::string interpreter = environment.interpreter.value_or(environment.prefix);
  if (environment.libc == "musl") return {System::Musl, {interpreter, 0, "loader ld-musl"}};
  if (std::ranges::find(old_architectures, environment.machine) != old_architectures.end())
    return {System::OldArchitecture, {interpreter, 0, environment.machine}};
  return {};
}

/// The framework that is meant here, of those with CUDA wheels for some other system: asked for, else installed.
std::string framework_meant(const RuleContext& context, const PythonEnvironment& environment) {
  for (const char* name : {"torch", "tensorflow", "jax", "cupy", "onnxruntime", "paddle", "vllm"})
    if (wants_framework(context, environment, name)) return name;
  return {};
}

bool is_tensorflow_without_windows_gpu(const PythonEnvironment& environment) {
  const auto packages = packages_of_framework(environment, "tensorflow");
  return std::ranges::any_of(packages, [](const PythonPackage* package) {
    const auto version = ReleaseVersion::parse(package->version);
    return version && *version >= *ReleaseVersion::parse("2.11");
  });
}

std::string_view variant_of(System system) {
  switch (system) {
    case System::MacOs:
      return "macos";
    case System::Musl:
      return "musl";
    case System::OldArchitecture:
      return "architecture";
    default:
      return "";
  }
}

}  // namespace

namespace framework {

std::optional<Finding> no_gpu_build_for_os(const RuleContext& context) {
  if (!gpu_is_meant(context)) return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    const Told told = system_of(context, environment);
    const std::string framework = framework_meant(context, environment);
    if (told.system == System::Other || framework.empty()) continue;
    const bool windows = told.system == System::Windows;
    if (windows && (framework != "tensorflow" || !is_tensorflow_without_windows_gpu(environment))) continue;
    // musl: a build of the distribution's own may have anything in it.
    const auto packages = packages_of_framework(environment, framework);
    const bool own_build = std::ranges::any_of(packages, [](const PythonPackage* p) { return p->manager == "distribution"; });
    if (own_build) continue;
    Finding finding;
    finding.parameters = {{"framework", packages.empty() ? framework : list_packages({packages.front()})},
                          {"environment", label_of(environment)}};
    if (told.system == System::OldArchitecture) finding.parameters["machine"] = environment.machine;
    finding.variant = variant_of(told.system);
    finding.evidence.push_back(told.origin);
    if (!packages.empty()) finding.evidence.push_back(quote(*packages.front()));
    if (told.system != System::MacOs) finding.repair.push_back(make_action(windows ? "use-wsl2-for-gpu" : "use-glibc-system"));
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> no_windows_build(const RuleContext& context) {
  static constexpr std::array<std::string_view, 6> linux_only{"vllm", "sglang", "jax", "rapids", "nccl", "flashinfer-python"};
  const std::string& name = context.purpose.name;
  if (std::ranges::find(linux_only, name) == linux_only.end()) return std::nullopt;
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    const Told told = system_of(context, environment);
    if (told.system != System::Windows) continue;
    // A build of somebody's own for Windows: its files decide, not this table.
    if (name != "jax" && has_framework(environment, name)) continue;
    if (name == "jax" && !packages_with_prefix(environment, "jax-cuda").empty()) continue;
    Finding finding;
    finding.parameters = {{"package", name}, {"environment", label_of(environment)}};
    finding.evidence.push_back(told.origin);
    finding.repair.push_back(make_action("use-wsl2-for-gpu"));
    return finding;
  }
  return std::nullopt;
}

}  // namespace framework
}  // namespace gpuvet
