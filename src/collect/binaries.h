#pragma once
// What a check reads from the binaries of those processes that have to work: their plans, every file that their loaders open, and
// the GPU code in the files that are the program's own. CUDA's libraries are asked for theirs where their release may leave a GPU
// here out.

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "collect/collect.h"
#include "collect/process_plan.h"
#include "model/machine.h"
#include "model/purpose.h"
#include "system/system.h"

namespace gpuvet {

/// After collect(), once it is known what has to work. Reads nothing where no framework is and none was asked for. The error says
/// why a program that was asked for by its path cannot be judged.
tl::expected<void, PlanError> collect_binaries(System& system, Machine& machine, const Purpose& purpose,
                                               std::vector<CollectorTime>* times = nullptr);

/// machine.gpu_code of the processes in machine.loader.plans: the headers of fat binaries, by positioned reads; the whole of a
/// program's file where these have no machine code for a GPU here. The same of the CUDA libraries that it loads, where the
/// release tables do not tell that they serve every GPU here.
void collect_gpu_code(System& system, Machine& machine);

}  // namespace gpuvet
