#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "elf/ar_archive.h"
#include "elf/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuvet::MemoryReader file({reinterpret_cast<const char*>(data), size});
  (void)gpuvet::for_each_ar_member(file, [&](const gpuvet::ArMember& member) {
    if (member.offset > size || member.size > size - member.offset) std::abort();
    return true;
  });
  return 0;
}
