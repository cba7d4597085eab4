#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "elf/bytes.h"
#include "elf/symbol_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuvet::MemoryReader file({reinterpret_cast<const char*>(data), size});
  auto table = gpuvet::read_symbol_table(file, 4096);
  if (!table) return 0;
  // Every view lies in the table's own strings, after a move too.
  const gpuvet::SymbolTable moved = std::move(*table);
  const auto inside = [&](std::string_view text) {
    return text.empty() || (text.data() >= moved.strings.data() && text.data() + text.size() <= moved.strings.data() + moved.strings.size());
  };
  if (moved.symbols.size() > 4096) std::abort();
  for (const auto& symbol : moved.symbols)
    if (!inside(symbol.name) || !inside(symbol.version) || !inside(symbol.file)) std::abort();
  return 0;
}
