#include "collect/collect.h"

namespace gpuvet {

void collect_toolkits(System&, const CollectOptions&, Machine&) {}

}  // namespace gpuvet
