#pragma once
// Findings → Diagnosis: order along the chain, the one root cause, what it explains, the state of each link.

#include <string_view>

#include "knowledge/knowledge.h"
#include "model/finding.h"
#include "model/machine.h"
#include "model/purpose.h"

namespace gpuvet {

/// Runs every rule that applies in this machine's worlds and judges the chain for `purpose` (empty: the driver).
/// Pure; some hundred microseconds.
Diagnosis diagnose(const Machine& machine, const Knowledge& knowledge, const Purpose& purpose = {});

}  // namespace gpuvet
