#pragma once
// A text's observations and facts → Diagnosis: hypotheses in the order of their likelihood, and the root cause where one is
// likely enough.

#include "knowledge/knowledge.h"
#include "model/finding.h"
#include "model/machine.h"

namespace gpuvet {

/// The likelihood from which on a hypothesis is called the cause.
inline constexpr double sure_enough = 0.5;

/// Runs every rule on what the text tells. Findings are in the order of likelihood; the verdict is "unknown" where no
/// cause is likely enough: a text never shows a whole machine, so it never proves that all is well. Pure.
Diagnosis explain(const Machine& machine, const Knowledge& knowledge);

}  // namespace gpuvet
