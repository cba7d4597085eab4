#pragma once
// The dynamic symbols of a library as a loader uses them: what it wants from others, and definitions found by name through
// DT_GNU_HASH or DT_HASH. A library may define a hundred thousand symbols of which a process asks for ten.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "elf/symbol_table.h"
#include "system/system.h"

namespace gpuvet {

class SymbolIndex {
 public:
  /// Reads the tables in a few pieces, without looking at their entries, or takes them where they lie in memory: at most 256 MiB.
  /// An error where the file has no dynamic section, or symbols without a hash table. The file has to live as long as the index.
  static tl::expected<SymbolIndex, std::string> read(FileReader& file);

  SymbolIndex(SymbolIndex&&) noexcept;
  SymbolIndex& operator=(SymbolIndex&&) noexcept;
  ~SymbolIndex();

  /// What the library wants from others, in the order of the table. The views belong to this index.
  std::vector<DynamicSymbol> undefined() const;
  /// Does it define this name, and as a reference of this version is bound? An empty version takes any, and so does a definition
  /// without one.
  bool defines(std::string_view name, std::string_view version) const;
  /// The same for who asks many libraries for one name: with its gnu_symbol_hash().
  bool defines(std::string_view name, std::string_view version, std::uint32_t hash) const;

 private:
  struct Tables;
  explicit SymbolIndex(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

}  // namespace gpuvet
