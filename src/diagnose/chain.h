#pragma once
// The state of each link of the chain, what was found there, and what could not be seen.

#include <vector>

#include "model/finding.h"
#include "rules/rule.h"

namespace gpuvet {

/// One entry a link, Hardware … Application. A finding decides its link; a link without one is ok only when its facts were seen
/// and speak for it, else unknown. Links that the purpose does not need are not-needed.
std::vector<ChainLink> judge_chain(const RuleContext& context, const std::vector<Finding>& findings);

/// The parts of the machine that could not be looked at, with the reason of the collector.
std::vector<NotSeen> list_not_seen(const RuleContext& context);

}  // namespace gpuvet
