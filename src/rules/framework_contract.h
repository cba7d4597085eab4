#pragma once
// The contracts between a framework's build and the rest of the chain: which CUDA it was built with, which GPUs its code serves,
// which libraries it needs beside itself. From the package's own files and the release tables; unknown stays unknown.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/frameworks.h"
#include "rules/rule.h"

namespace gpuvet {

/// A framework in an environment, with what the tables say of its release.
struct FrameworkInstall {
  std::string framework;  ///< "torch", "tensorflow", "jax"
  const PythonEnvironment* environment = nullptr;
  const FrameworkBuild* build = nullptr;   ///< its own files; null: not read
  const PythonPackage* package = nullptr;  ///< its distribution; null: only files are there
  std::optional<ReleaseVersion> version;
  /// "cuda", "cpu", "rocm", "xpu"; empty: not told. By its own files, else local version, conda build string, release tables.
  std::string flavour;
  std::optional<CudaVersion> cuda;        ///< CUDA release that it was built with
  GpuTargets targets;                     ///< GPU code of this build; unknown when the release is not in the tables
  bool targets_are_of_neighbour = false;  ///< another patch release's targets stand in
  Origin targets_origin;                  ///< the file whose code was read; empty: the tables
  Origin origin;                          ///< what decided the flavour
};

/// torch, tensorflow or jax in an environment; nothing when it is not there. For jax the plug-in's CUDA major counts.
std::optional<FrameworkInstall> framework_install(const RuleContext& context, const PythonEnvironment& environment,
                                                  std::string_view framework);
/// All of the three that are there and wanted in this environment.
std::vector<FrameworkInstall> wanted_installs(const RuleContext& context, const PythonEnvironment& environment);

/// Distributions that a framework's metadata pins and that are not installed in this environment ("nvidia-cublas-cu12").
std::vector<std::string> missing_cuda_requirements(const PythonEnvironment& environment, const PythonPackage& package);

}  // namespace gpuvet
