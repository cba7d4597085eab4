#include <cstdint>
#include <string_view>

#include "collect/packages_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)gpuvet::parse_dpkg_status({reinterpret_cast<const char*>(data), size}, "status");
  return 0;
}
