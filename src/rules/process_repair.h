#pragma once
// How a process comes to the right copy of a library.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace gpuvet {

/// The forecasts that tell which copy of a library a process gets: none where LD_LIBRARY_PATH is not known, for it may name
/// another.
std::span<const ProcessView> sure_forecasts(const RuleContext& context);

/// The environment of a plan of kind "python", or null.
const PythonEnvironment* environment_of(const RuleContext& context, const ProcessView& view);

/// Release of a family ("cudnn", "nvjitlink", "nccl") that the plan's framework asks for in its metadata: "9.1.0.70" of
/// "nvidia-cudnn-cu12==9.1.0.70" (of ">=9.3" the least); empty: it does not.
std::string pinned_release(const RuleContext& context, const ProcessView& view, std::string_view family);

/// Away with the variable that leads to the wrong copy; else the release that the metadata asks for; else the folder's own way.
std::vector<Action> use_right_copy(const RuleContext& context, const ProcessView& view, const LoadedObject& wrong,
                                   std::string_view family);

/// "12.1", or "unknown release".
std::string words_of_release(const LoadedObject& object);

}  // namespace gpuvet
