#pragma once
// Numbers in the kernel log that no rule speaks of: what NVIDIA's lists say of them.

#include <vector>

#include "knowledge/knowledge.h"
#include "model/finding.h"
#include "model/machine.h"

namespace gpuvet {

/// The Xids of this boot before the first one that a finding quotes (what comes behind it follows from it), each code once, in
/// the order of the log. `of_text`: also those that mostly come from a program's own fault; on a machine they are everyday.
std::vector<CodeMeaning> meanings_of_xids(const Machine& machine, const Knowledge& knowledge,
                                          const std::vector<Finding>& findings, bool of_text);

}  // namespace gpuvet
