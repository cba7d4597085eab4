#pragma once
// A text's observations and facts → Diagnosis: hypotheses in the order of their likelihood, and the root cause where one is
// likely enough.

#include "knowledge/knowledge.h"
#include "model/finding.h"
#include "model/machine.h"
#include "model/purpose.h"

namespace gpuvet {

/// The likelihood from which on a hypothesis is called the cause.
inline constexpr double sure_enough = 0.5;

/// Runs every rule on what the text tells. Findings are in the order of likelihood; the verdict is "unknown" where no
/// cause is likely enough: a text never shows a whole machine, so it never proves that all is well. Pure.
Diagnosis explain(const Machine& machine, const Knowledge& knowledge);

/// This machine beside a text.
struct HostFacts {
  const Machine& machine;
  const Diagnosis& diagnosis;  ///< of diagnose(machine, …, purpose)
  const Purpose& purpose;
  bool same_machine = false;  ///< the text came from a command that ran here just now; else it may be of anywhere
};

/// The text together with this machine's facts: what both say is surer, what the machine's facts rule out less likely, and what
/// only the machine says counts where it explains what the text shows. Where the text contradicts the machine it decides alone
/// (unless it is the same machine for sure). Pure.
Diagnosis explain_on_host(const Machine& text, const HostFacts& host, const Knowledge& knowledge);

}  // namespace gpuvet
