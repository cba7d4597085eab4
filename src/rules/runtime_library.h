#pragma once
// Rules of the link "runtime libraries": does a framework find the CUDA libraries that it loads, and in its own release?

#include <optional>

#include "rules/rule.h"

namespace gpuvet::runtime_library {

// runtime_library_damage.cpp
std::optional<Finding> damaged_binary(const RuleContext& context);

// runtime_library_paths.cpp
std::optional<Finding> not_on_path(const RuleContext& context);
std::optional<Finding> other_release(const RuleContext& context);
std::optional<Finding> nowhere(const RuleContext& context);

// runtime_library_wheels.cpp
std::optional<Finding> duplicate_wheels(const RuleContext& context);
std::optional<Finding> glibc_too_old(const RuleContext& context);

// runtime_library_pairs.cpp: libraries in one process that do not work together
std::optional<Finding> nvjitlink_mismatch(const RuleContext& context);
std::optional<Finding> cublaslt_mismatch(const RuleContext& context);
std::optional<Finding> nccl_mismatch(const RuleContext& context);
std::optional<Finding> mixed_cudnn(const RuleContext& context);
std::optional<Finding> wrong_cudnn(const RuleContext& context);
std::optional<Finding> nvrtc_builtins(const RuleContext& context);

// runtime_library_copies.cpp
std::optional<Finding> shadowed_by_library_path(const RuleContext& context);
std::optional<Finding> preload_breaks(const RuleContext& context);
std::optional<Finding> multiple_cudart(const RuleContext& context);
std::optional<Finding> system_library_too_old(const RuleContext& context);

}  // namespace gpuvet::runtime_library
