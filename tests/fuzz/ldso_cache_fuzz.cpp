#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "elf/ldso_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto cache = gpuvet::LoaderCache::parse(bytes);
  if (!cache) return 0;
  const auto entries = cache->all();
  if (entries.size() > cache->size()) std::abort();
  std::size_t asked = 0;
  for (const auto& entry : entries) {
    for (const auto& found : cache->find(entry.soname))
      if (gpuvet::compare_cache_names(entry.soname, found.soname) != 0) std::abort();
    if (++asked == 64) break;
  }
  (void)cache->find("libcuda.so.1");
  return 0;
}
