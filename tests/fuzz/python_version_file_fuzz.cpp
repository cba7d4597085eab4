// Generated version files of frameworks.
#include <cstddef>
#include <cstdint>

#include "collect/python_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuvet::read_python_values(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
