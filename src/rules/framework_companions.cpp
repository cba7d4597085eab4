// torchvision and torchaudio are compiled against one torch release and one CUDA build of it.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/framework.h"
#include "rules/framework_extensions.h"
#include "rules/framework_facts.h"
#include "rules/software.h"

namespace gpuvet::framework {
namespace {

struct Companion {
  std::string name;
  std::optional<ReleaseVersion> version;
  std::string flavour;
  std::optional<CudaVersion> cuda;
  std::vector<Origin> evidence;
  const PythonPackage* package = nullptr;
};

std::optional<Companion> companion(const PythonEnvironment& environment, const std::string& name) {
  const PythonPackage* package = find_package(environment, name);
  const FrameworkBuild* build = find_build(environment, name);
  if ((package == nullptr && build == nullptr) || (package != nullptr && package->state == "files-missing")) return std::nullopt;
  Companion found;
  found.name = name;
  found.package = package;
  found.version = framework_version(environment, name);
  if (build != nullptr) {
    found.flavour = build->flavour;
    if (const auto* cuda = build->cuda.get()) found.cuda = CudaVersion::parse(*cuda);
    found.evidence.push_back(quote(*build));
  }
  if (package != nullptr) found.evidence.push_back(quote(*package));
  return found;
}

/// Builds of somebody's own, and conda's, whose solver keeps the packages of one build together.
bool is_own_build(const std::optional<ReleaseVersion>& version, const PythonPackage* package) {
  if (package != nullptr && (package->manager == "conda" || package->manager == "distribution")) return true;
  return !version || version->phase < 0 || version->local.find("nv") != std::string::npos || version->local.starts_with("git") ||
         version->local.starts_with("gcc");
}

bool builds_differ(const FrameworkInstall& torch, const Companion& other) {
  if (torch.flavour.empty() || other.flavour.empty()) return false;
  if (torch.flavour != other.flavour) return true;
  return torch.cuda && other.cuda && (torch.cuda->major != other.cuda->major || torch.cuda->minor != other.cuda->minor);
}

/// torchvision compares the CUDA majors alone at import since 0.16 (torchvision/extension.py); torchaudio both numbers.
bool loads_all_the_same(const FrameworkInstall& torch, const Companion& other) {
  return other.name == "torchvision" && *other.version >= *ReleaseVersion::parse("0.16") && torch.cuda && other.cuda &&
         torch.cuda->major == other.cuda->major;
}

/// The torch release that a companion's release belongs to, when it is another minor release than the installed one.
std::string other_torch_wanted(const RuleContext& context, const FrameworkInstall& torch, const Companion& other) {
  if (!torch.version || !other.version) return {};
  std::string wanted = torch_of_companion(context.knowledge, other.name, *other.version);
  // torchaudio 2.9 and later go with torch releases that came after them.
  if (other.name == "torchaudio" && *ReleaseVersion::parse("2.8.99") < *other.version) return {};
  if (wanted.empty() && other.package != nullptr) wanted = torch_pinned_by(*other.package);
  const auto release = ReleaseVersion::parse(wanted);
  return release && release->minor_text() != torch.version->minor_text() ? wanted : std::string();
}

std::string build_text(const std::string& flavour, const std::optional<CudaVersion>& cuda) {
  if (cuda) return "CUDA " + cuda->text();
  return flavour == "rocm" ? "ROCm" : flavour == "cpu" ? "CPU" : flavour;
}

}  // namespace

std::optional<Finding> torchvision_mismatch(const RuleContext& context) {
  for (const JudgedEnvironment& judged : context.environments) {
    const PythonEnvironment& environment = *judged.environment;
    if (!wants_framework(context, environment, "torch")) continue;
    const auto torch = framework_install(context, environment, "torch");
    if (!torch || is_own_build(torch->version, torch->package)) continue;
    for (const std::string name : {"torchvision", "torchaudio"}) {
      const auto other = companion(environment, name);
      if (!other || is_own_build(other->version, other->package)) continue;
      const std::string wanted = other_torch_wanted(context, *torch, *other);
      const bool differ = builds_differ(*torch, *other);
      if (wanted.empty() && !differ) continue;
      Finding finding;
      finding.variant = wanted.empty() ? "" : "release";
      if (wanted.empty() && loads_all_the_same(*torch, *other)) {
        finding.variant = "same-major";
        finding.severity = Severity::Warning;
      }
      finding.parameters = {{"torch", torch->version->text},
                            {"companion", name + " " + other->version->text},
                            {"name", name},
                            {"torch_build", build_text(torch->flavour, torch->cuda)},
                            {"companion_build", build_text(other->flavour, other->cuda)},
                            {"wanted", wanted.empty() ? "-" : wanted},
                            {"environment", label_of(environment)}};
      finding.evidence = {torch->origin};
      finding.evidence.insert(finding.evidence.end(), other->evidence.begin(), other->evidence.end());
      finding.repair = steps_to_gpu_build(context, environment, "torch");
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace gpuvet::framework
