#pragma once
// The loader's rules from a Machine alone, for forecasts on a snapshot: what collect/loader_rules.cpp reads from the loader's own
// bytes, as far as the machine's view keeps it.

#include "loader/forecast.h"
#include "model/machine.h"

namespace gpuvet {

/// The program's file; of a library that file, which stands in the place of the program.
std::string main_path_of(const ProcessPlan& plan);

/// `program`: its interpreter or its C library decides glibc or musl; null: the machine's own.
LoaderRules machine_loader_rules(const Machine& machine, const LibraryFile* program);

}  // namespace gpuvet
