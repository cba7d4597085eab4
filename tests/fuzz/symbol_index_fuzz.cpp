#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "elf/bytes.h"
#include "elf/symbol_hash.h"
#include "elf/symbol_index.h"
#include "unmapped_reader.h"

/// Every name that a file wants is looked for in the same file; a hash that was worked out before, and whether the file is mapped,
/// change no answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpuvet::MemoryReader file(bytes);
  gpuvet::UnmappedReader unmapped(bytes);
  const auto index = gpuvet::SymbolIndex::read(file);
  const auto read = gpuvet::SymbolIndex::read(unmapped);
  if (index.has_value() != read.has_value()) std::abort();
  if (!index) return 0;
  std::size_t asked = 0;
  for (const auto& symbol : index->undefined()) {
    if (symbol.defined || ++asked > 256) break;
    const bool found = index->defines(symbol.name, symbol.version);
    if (found != index->defines(symbol.name, symbol.version, gpuvet::gnu_symbol_hash(symbol.name))) std::abort();
    if (found != read->defines(symbol.name, symbol.version)) std::abort();
    if (found && !index->defines(symbol.name, "")) std::abort();
  }
  (void)index->defines("cudaMalloc", "libcudart.so.12");
  (void)index->defines("", "");
  return 0;
}
