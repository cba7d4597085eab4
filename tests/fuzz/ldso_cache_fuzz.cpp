#include <cstddef>
#include <cstdint>

#include "elf/ldso_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)gpuvet::read_loader_cache({reinterpret_cast<const char*>(data), size});
  return 0;
}
