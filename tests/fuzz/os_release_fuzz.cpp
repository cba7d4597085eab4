// os-release files, and the release of a C library out of its bytes.
#include <cstdint>
#include <string_view>

#include "collect/os_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)gpuvet::parse_os_release(bytes);
  (void)gpuvet::unquote_os_release(bytes);
  (void)gpuvet::glibc_version_in(bytes);
  return 0;
}
