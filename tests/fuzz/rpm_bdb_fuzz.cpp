#include <cstdint>
#include <string_view>

#include "collect/rpm_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuvet::MemoryReader file(std::string_view(reinterpret_cast<const char*>(data), size));
  (void)gpuvet::read_rpm_bdb(file, [](const gpuvet::RpmPackage&) {});
  return 0;
}
