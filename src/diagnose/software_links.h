#pragma once
// Links 5 to 7 of the chain: what speaks for the toolkit, the runtime libraries and the framework.

#include <string>
#include <vector>

#include "diagnose/link_view.h"
#include "rules/rule.h"

namespace gpuvet {

LinkView view_toolkit(const RuleContext& context);
LinkView view_runtime_libraries(const RuleContext& context);
LinkView view_framework(const RuleContext& context);

/// Builds that fit as far as files tell, but whose code for the GPU here no table lists: "torch 2.6.0a0+nv25.01".
std::vector<std::string> builds_with_unseen_code(const RuleContext& context);

/// Why a software link stays unknown: CUDA folders on LD_LIBRARY_PATH, an environment without its interpreter, a distribution
/// that the tables do not know.
std::vector<NotSeen> unseen_of_software(const RuleContext& context);

/// Does the purpose, or without one what is installed, need this link?
bool purpose_needs(const RuleContext& context, Layer layer);

}  // namespace gpuvet
