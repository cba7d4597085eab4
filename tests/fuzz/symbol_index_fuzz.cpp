#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "elf/bytes.h"
#include "elf/symbol_hash.h"
#include "elf/symbol_index.h"

/// Every name that a file wants is looked for in the same file; a hash that was worked out before changes no answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuvet::MemoryReader file({reinterpret_cast<const char*>(data), size});
  const auto index = gpuvet::SymbolIndex::read(file);
  if (!index) return 0;
  std::size_t asked = 0;
  for (const auto& symbol : index->undefined()) {
    if (symbol.defined || ++asked > 256) break;
    const bool found = index->defines(symbol.name, symbol.version);
    if (found != index->defines(symbol.name, symbol.version, gpuvet::gnu_symbol_hash(symbol.name))) std::abort();
    if (found && !index->defines(symbol.name, "")) std::abort();
  }
  (void)index->defines("cudaMalloc", "libcudart.so.12");
  (void)index->defines("", "");
  return 0;
}
