#pragma once
// What rules of links 5 to 7 ask of a Machine: which Python environment is meant, what is installed in it, which toolkit a build
// would take. Nothing here judges.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "model/purpose.h"
#include "model/release_version.h"
#include "rules/rule.h"

namespace gpuvet {

// ---- Python environments ------------------------------------------------------------------------------------------------

/// The environments whose frameworks are judged for a purpose, best first; none when nothing of that kind is there or asked.
std::vector<JudgedEnvironment> judged_environments(const Machine& machine, const Purpose& purpose);

/// The environment that NAME@ENV names: by prefix, by name, or by a prefix's last folder; null: none, or several.
const PythonEnvironment* find_environment(const Machine& machine, std::string_view name);
/// What a plain `python` uses; null: none, or not seen.
const PythonEnvironment* active_environment(const Machine& machine);

/// Distributions that have a GPU build of some kind and decide a purpose when installed: "torch", "tensorflow", "jax", "cupy", …
bool is_gpu_framework(std::string_view package);
/// The framework's name for purposes of a distribution: "onnxruntime-gpu" → "onnxruntime", "cupy-cuda12x" → "cupy".
std::string framework_of_package(std::string_view package);

/// Is this a purpose that the tables and collectors know: a framework's own name ("torch", "cupy") or a distribution of one?
bool is_known_framework(std::string_view name);

/// An installed package by normalised name; half-written ones (state "no-metadata", "files-missing") are returned too.
const PythonPackage* find_package(const PythonEnvironment& environment, std::string_view name);
/// Packages whose framework_of_package() is `framework`.
std::vector<const PythonPackage*> packages_of_framework(const PythonEnvironment& environment, std::string_view framework);
std::vector<const PythonPackage*> packages_with_prefix(const PythonEnvironment& environment, std::string_view prefix);
const FrameworkBuild* find_build(const PythonEnvironment& environment, std::string_view name);
bool has_framework(const PythonEnvironment& environment, std::string_view framework);
/// Its own version file's, else its package's; nothing when neither tells.
std::optional<ReleaseVersion> framework_version(const PythonEnvironment& environment, std::string_view name);

/// "3.12" as a version; nothing when not told.
std::optional<ReleaseVersion> python_version(const PythonEnvironment& environment);
/// "linux_x86_64", "linux_aarch64", …: of the interpreter, else of the machine; empty: not seen.
std::string platform_of(const RuleContext& context, const PythonEnvironment& environment);

/// The framework that has to be there for a purpose: its own name, "torch" for build:flash-attn and other extensions of torch;
/// empty for an extension that may need none.
std::string framework_of_purpose(const Purpose& purpose);

/// Is this framework what has to work: asked for by name (or by what is built on it), or installed where nothing is asked?
bool wants_framework(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework);

// ---- toolkits -----------------------------------------------------------------------------------------------------------

/// A compiler was asked for (nvcc, build:…).
bool wants_compiler(const RuleContext& context);
/// No purpose was asked, and this machine's user clearly means to compile: PATH, CUDA_HOME or a start-up file names a toolkit.
bool means_to_compile(const Machine& machine);

/// Which toolkit something would take.
struct ToolkitChoice {
  const Toolkit* toolkit = nullptr;  ///< null: none, or what was named is no toolkit (see `named`)
  std::string named;                 ///< the folder or file that was named or found first
  Origin origin;                     ///< the variable or link that decided
};
/// nvcc by PATH of the judged process.
ToolkitChoice nvcc_on_path(const Machine& machine);
/// torch's extension builder: CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda (torch/utils/cpp_extension.py).
ToolkitChoice toolkit_of_extension_builder(const Machine& machine);
/// CMake: CUDACXX, nvcc on PATH, CUDAToolkit_ROOT, CUDA_PATH, /usr/local/cuda (FindCUDAToolkit).
ToolkitChoice toolkit_of_cmake(const Machine& machine);
/// `-lcudart` without -L: LIBRARY_PATH, else a distribution's toolkit in the system's own library folders.
ToolkitChoice toolkit_of_linker(const Machine& machine);

/// Toolkits with an nvcc in them; `complete`: and nothing that a compilation needs is missing.
std::vector<const Toolkit*> toolkits_with_nvcc(const Machine& machine, bool complete = false);
const Toolkit* toolkit_at(const Machine& machine, std::string_view path);
/// "12.6" as far as told.
std::optional<CudaVersion> cuda_version_of(const Toolkit& toolkit);

// ---- libraries ----------------------------------------------------------------------------------------------------------

/// Does a new process' loader find this CUDA soname (cache, LD_LIBRARY_PATH, default folders)? By names: contents are not read.
bool loader_finds(const Machine& machine, std::string_view soname);
/// LD_LIBRARY_PATH's folders that hold CUDA libraries.
std::vector<const SearchFolder*> cuda_folders_on_library_path(const Machine& machine);

/// Elements of a PATH-like list, trailing slashes off; empty ones (the current folder) are left out.
std::vector<std::string> path_elements(std::string_view list);
/// Value of a variable of the judged process; empty: not set, or the environment was not seen.
std::string_view variable(const Machine& machine, std::string_view name);
Origin quote_variable(const Machine& machine, std::string_view name);
Origin quote(const PythonPackage& package);
Origin quote(const FrameworkBuild& build);
Origin quote(const Toolkit& toolkit);

}  // namespace gpuvet
