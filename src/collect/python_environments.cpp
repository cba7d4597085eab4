#include "collect/collect.h"

namespace gpuvet {

void collect_python(System&, const CollectOptions&, Machine&) {}

}  // namespace gpuvet
