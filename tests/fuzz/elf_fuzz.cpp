#include <cstddef>
#include <cstdint>

#include "elf/bytes.h"
#include "elf/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuvet::MemoryReader file({reinterpret_cast<const char*>(data), size});
  (void)gpuvet::read_library_file(file);
  return 0;
}
