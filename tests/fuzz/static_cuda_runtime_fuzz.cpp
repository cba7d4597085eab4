#include <cstddef>
#include <cstdint>

#include "elf/bytes.h"
#include "elf/static_cuda_runtime.h"

/// The same bytes as a file and as a piece of machine code.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuvet::MemoryReader file(bytes);
  (void)gpuvet::read_static_cuda_runtime(file);
  (void)gpuvet::releases_handed_out(bytes);
  return 0;
}
