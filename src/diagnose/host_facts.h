#pragma once
// A text beside the machine that it is read on: where both disagree, and what both say together.

#include <vector>

#include "knowledge/knowledge.h"
#include "model/finding.h"
#include "model/machine.h"

namespace gpuvet {

/// Facts of the text that the host's own facts deny. Nothing where one of them was not seen. Pure.
std::vector<Contradiction> contradictions(const Machine& text, const Machine& host, const Knowledge& knowledge);

/// Is this line what a break of that link looks like: a program that sees no GPU, a library that does not load? Such lines speak
/// for no kind by themselves; with a machine whose link is broken they do.
bool shows_break_of(const Observation& observation, Layer layer);

/// The host with what only the text tells: its observations and variables, kernel messages, an environment that is not found
/// here, and facts that were not seen here. What was seen on the host stays.
Machine joined(const Machine& text, const Machine& host);

}  // namespace gpuvet
