#pragma once
// Links 5 to 7 of the chain: what speaks for the toolkit, the runtime libraries and the framework.

#include "diagnose/link_view.h"
#include "rules/rule.h"

namespace gpuvet {

LinkView view_toolkit(const RuleContext& context);
LinkView view_runtime_libraries(const RuleContext& context);
LinkView view_framework(const RuleContext& context);

/// Does the purpose, or without one what is installed, need this link?
bool purpose_needs(const RuleContext& context, Layer layer);

}  // namespace gpuvet
