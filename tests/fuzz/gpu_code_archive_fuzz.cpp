#include <cstddef>
#include <cstdint>

#include "elf/bytes.h"
#include "elf/gpu_code_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuvet::MemoryReader file(bytes);
  (void)gpuvet::sort_of_file(bytes.substr(0, gpuvet::sniffed_bytes), "x.tar.gz");
  gpuvet::ArchiveLimits limits;
  limits.output = 8 << 20;
  limits.free_output = 1 << 20;
  limits.members = 1000;
  std::size_t found = 0;
  (void)gpuvet::read_gpu_code_archive(file, "x", limits, [&](gpuvet::GpuCodeFile part) { found += part.targets.size(); });
  return 0;
}
