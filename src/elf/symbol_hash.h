#pragma once
// The two hash functions of dynamic symbol tables. DT_HASH: System V ABI chapter 5; DT_GNU_HASH: glibc's dl-lookup.c.

#include <cstdint>
#include <string_view>

namespace gpuvet {

inline std::uint32_t gnu_symbol_hash(std::string_view name) {
  std::uint32_t h = 5381;
  for (const char c : name) h = h * 33 + static_cast<unsigned char>(c);
  return h;
}

inline std::uint32_t sysv_symbol_hash(std::string_view name) {
  std::uint32_t h = 0;
  for (const char c : name) {
    h = (h << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = h & 0xf0000000u;
    h ^= high >> 24;
    h &= ~high;
  }
  return h;
}

}  // namespace gpuvet
