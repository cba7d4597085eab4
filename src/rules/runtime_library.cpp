#include "rules/rule.h"

namespace gpuvet {

std::span<const Rule> runtime_library_rules() { return {}; }

}  // namespace gpuvet
