#pragma once
// Rules of the link "runtime libraries": does a framework find the CUDA libraries that it loads, and in its own release?

#include <optional>

#include "rules/rule.h"

namespace gpuvet::runtime_library {

// runtime_library_paths.cpp
std::optional<Finding> not_on_path(const RuleContext& context);
std::optional<Finding> other_release(const RuleContext& context);
std::optional<Finding> nowhere(const RuleContext& context);

// runtime_library_wheels.cpp
std::optional<Finding> duplicate_wheels(const RuleContext& context);
std::optional<Finding> glibc_too_old(const RuleContext& context);

}  // namespace gpuvet::runtime_library
