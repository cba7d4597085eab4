#include <cstdint>
#include <string_view>

#include "collect/rpm_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)gpuvet::parse_rpm_header({reinterpret_cast<const char*>(data), size});
  return 0;
}
