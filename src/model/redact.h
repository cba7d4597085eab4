#pragma once
// Redaction: the same machine without what identifies a person or a device. Equal stays equal; the diagnosis does not change.

#include <functional>
#include <string>

#include "model/machine.h"

namespace gpuvet {

/// User names, home folders, host names, serials, UUIDs and MAC addresses become consistent pseudonyms; tokens and values of
/// unrelated variables go. Idempotent. O(size of the machine).
Machine redact(const Machine& machine);

/// The same for texts that stand beside a machine, such as the paths of a trace: names are those of the machine; equal stays
/// equal as long as the function lives.
std::function<void(std::string&)> text_redaction(const Machine& machine);

}  // namespace gpuvet
