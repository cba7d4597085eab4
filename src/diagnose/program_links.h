#pragma once
// Links 6 to 8 of the chain for a program that was asked for by its path: its libraries, its GPU code, the program itself.

#include <vector>

#include "diagnose/link_view.h"
#include "rules/rule.h"

namespace gpuvet {

/// Everything that its files need is found, and fits.
LinkView view_program_libraries(const RuleContext& context);
/// Its own GPU code runs on a GPU here. Detail: the files and their targets.
LinkView view_program_code(const RuleContext& context);
/// It uses CUDA, and nothing of it was left unread.
LinkView view_program(const RuleContext& context);

/// Some program that was asked for has GPU code of its own.
bool program_has_code(const RuleContext& context);

/// Why one of these links stays unknown.
std::vector<NotSeen> unseen_of_program(const RuleContext& context);

}  // namespace gpuvet
