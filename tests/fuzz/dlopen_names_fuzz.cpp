#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "elf/bytes.h"
#include "elf/cuda_library_version.h"
#include "elf/dlopen_names.h"
#include "elf/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuvet::MemoryReader file({reinterpret_cast<const char*>(data), size});
  for (const auto& name : gpuvet::read_dlopen_names(file))
    if (!name.starts_with("lib") || name.find(".so") == std::string::npos) std::abort();
  const auto library = gpuvet::read_library_file(file);
  (void)gpuvet::read_cuda_library_version(file, library);
  for (const char* machine : {"x86_64", "aarch64"})
    (void)gpuvet::constants_in_code({reinterpret_cast<const char*>(data), size}, machine);
  (void)gpuvet::newest_version_needed(library.version_needs, "GLIBC_");
  return 0;
}
