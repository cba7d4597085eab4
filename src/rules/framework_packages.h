#pragma once
// Rules of the link "framework" about packages: the wrong one, two of one kind, one without its other half, none for this system.

#include <optional>

#include "rules/rule.h"

namespace gpuvet::framework {

// framework_packages.cpp
std::optional<Finding> placeholder_package(const RuleContext& context);
std::optional<Finding> opencv_without_cuda(const RuleContext& context);

// framework_duplicates.cpp
std::optional<Finding> several_builds(const RuleContext& context);
std::optional<Finding> conda_pip_mixed(const RuleContext& context);

// framework_jax.cpp
std::optional<Finding> jax_plugin_missing(const RuleContext& context);

// framework_tensorflow.cpp
std::optional<Finding> tensorflow_libraries_missing(const RuleContext& context);

// framework_platform.cpp
std::optional<Finding> no_gpu_build_for_os(const RuleContext& context);
std::optional<Finding> no_windows_build(const RuleContext& context);

}  // namespace gpuvet::framework

namespace gpuvet {

/// Somebody means to use a GPU here: it was asked for, or there is one that a program may get.
bool gpu_is_meant(const RuleContext& context);
/// Installed by pip, uv or the like: conda writes dist-info folders for its own packages too, and names itself in them.
bool is_from_wheel(const PythonPackage& package);
bool is_from_conda(const PythonPackage& package);
/// A name that NVIDIA keeps on PyPI without a library in it: version 0.0.0a0, 0.0.1, 0.0.1.dev5.
bool is_placeholder(const PythonPackage& package);
/// Some other framework of this environment has a CUDA build: nobody asked for `framework`, it may be a mere dependency.
bool another_framework_has_cuda(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework);
/// "onnxruntime 1.20.1, onnxruntime-gpu 1.20.1".
std::string list_packages(const std::vector<const PythonPackage*>& packages);

}  // namespace gpuvet
