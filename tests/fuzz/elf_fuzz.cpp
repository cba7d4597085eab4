#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "elf/bytes.h"
#include "elf/elf.h"
#include "unmapped_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuvet::MemoryReader mapped(bytes);
  gpuvet::UnmappedReader read(bytes);
  // Whether a file is mapped changes nothing of what is read.
  if (gpuvet::read_library_file(mapped) != gpuvet::read_library_file(read)) std::abort();
  return 0;
}
