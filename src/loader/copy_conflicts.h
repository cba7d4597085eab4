#pragma once
// Copies of one library that meet in a process: of different releases, twice, or in two major versions.

#include <vector>

#include "loader/symbol_conflicts.h"

namespace gpuvet {

void find_copy_conflicts(const Forecast& forecast, std::vector<SymbolConflict>& conflicts);

}  // namespace gpuvet
