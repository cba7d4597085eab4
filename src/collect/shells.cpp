#include "collect/collect.h"

namespace gpuvet {

void collect_shells(System&, const CollectOptions&, Machine&) {}

}  // namespace gpuvet
