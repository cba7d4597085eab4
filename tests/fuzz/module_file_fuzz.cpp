#include <cstddef>
#include <cstdint>

#include "elf/bytes.h"
#include "elf/module_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuvet::MemoryReader file(bytes);
  // Both ways through a compressed file: to its end, and only until .modinfo is complete.
  (void)gpuvet::read_module_file(file, {std::uint64_t{8} << 20, std::uint64_t{1} << 20});
  (void)gpuvet::read_module_file(file, {std::uint64_t{8} << 20, 0});
  (void)gpuvet::read_module_info(bytes);
  (void)gpuvet::read_module_signature(bytes);
  return 0;
}
