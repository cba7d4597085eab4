#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "collect/process_record.h"

/// Any text is taken; every entry is a file by its path.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& file : gpuvet::parse_maps({reinterpret_cast<const char*>(data), size}))
    if (!file.path.starts_with('/') || file.inode == 0) std::abort();
  return 0;
}
