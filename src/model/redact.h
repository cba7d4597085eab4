#pragma once
// Redaction: the same machine without what identifies a person or a device. Equal stays equal; the diagnosis does not change.

#include "model/machine.h"

namespace gpuvet {

/// User names, home folders, host names, serials, UUIDs and MAC addresses become consistent pseudonyms; tokens and values of
/// unrelated variables go. Idempotent. O(size of the machine).
Machine redact(const Machine& machine);

}  // namespace gpuvet
