#pragma once
// Machine, Finding and Diagnosis as JSON text, losslessly. nlohmann-json stays inside json.cpp: its header is heavy.

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "model/finding.h"
#include "model/machine.h"

namespace gpuvet {

/// The machine as a JSON object (one document, two-space indent). Facts are {"known": v, "origin": …}, {"absent": true, …} or
/// {"not_seen": "why", …}; empty fields are left out. machine_from_json(machine_to_json(m)) == m.
std::string machine_to_json(const Machine& machine);

/// Reads what machine_to_json wrote. Errors name the place ("machine.pci.known[3].vendor: not a number"). Unknown fields are
/// ignored; a newer schema is refused. Depth and size are bounded. Linear in the text.
tl::expected<Machine, std::string> machine_from_json(std::string_view text);

}  // namespace gpuvet
