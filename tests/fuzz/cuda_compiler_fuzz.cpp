#include <cstddef>
#include <cstdint>
#include <string_view>

#include "elf/bytes.h"
#include "elf/cuda_compiler.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuvet::CompilerStrings found;
  gpuvet::collect_compiler_strings(bytes, found);
  gpuvet::MemoryReader file(bytes);
  (void)gpuvet::read_compiler_strings(file);
  return 0;
}
