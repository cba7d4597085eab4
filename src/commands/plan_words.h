#pragma once
// Why a target that was named on the command line cannot be judged: the sentence, and the exit code that check, trace and
// snapshot share.

#include <string>

#include "collect/process_plan.h"
#include "render/render.h"

namespace gpuvet {

std::string plan_error_text(const PlanError& error, Language language);
/// 1: it cannot start; 3: it could not be looked into; else 2: the command line names nothing that a loader takes.
int plan_error_code(const PlanError& error);

}  // namespace gpuvet
