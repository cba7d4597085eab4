#pragma once
// What a program that was asked for by its path lacks: libraries, or GPU code for the GPUs here. Each is a part of the rule of
// that kind, whose record has a variant for programs.

#include <optional>

#include "rules/rule.h"

namespace gpuvet::program {

/// A library lies where the loader does not look: cuda-runtime-lib-not-on-path.
std::optional<Finding> library_not_on_path(const RuleContext& context);
/// Only another number of it is here: toolkit-version-not-what-framework-wants.
std::optional<Finding> library_of_other_release(const RuleContext& context);
/// It is nowhere on this machine, or what is there is damaged: cuda-runtime-lib-missing.
std::optional<Finding> library_missing(const RuleContext& context);

/// No code for any GPU here, which are newer than what it was built for (or were left out): no-kernel-image-arch-missing.
std::optional<Finding> arch_missing(const RuleContext& context);
/// The GPUs are older than all that it was built for: gpu-arch-dropped-by-framework.
std::optional<Finding> arch_dropped(const RuleContext& context);

/// A finding that comes before these on the chain has steps that help nobody where the program's own code runs on no GPU here:
/// another build is needed first, and where CUDA has dropped the GPU (`of_cuda`: the steps are about CUDA's release) instead.
void put_missing_code_first(const RuleContext& context, const ProcessView& view, bool of_cuda, Finding& finding);

}  // namespace gpuvet::program
