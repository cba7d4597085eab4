#pragma once
// The dynamic symbols of a library, without its section headers: how many there are is told by DT_GNU_HASH or DT_HASH, their
// versions by DT_VERSYM with DT_VERDEF and DT_VERNEED.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "system/system.h"

namespace gpuvet {

struct DynamicSymbol {
  std::string_view name;     ///< into SymbolTable::strings
  std::string_view version;  ///< "GLIBC_2.34"; empty: none
  std::string_view file;     ///< undefined: soname that the version is wanted of; empty: none
  bool defined = false;
  bool weak = false;
  bool hidden_version = false;  ///< name@VERSION, not the default name@@VERSION
  std::uint8_t type = 0;        ///< STT_…; STT_TLS 6, STT_GNU_IFUNC 10
  std::uint8_t visibility = 0;
};

/// Can be moved, not copied: a copy's views would look into the original.
struct SymbolTable {
  std::string strings;  ///< owns the bytes of all views
  std::vector<DynamicSymbol> symbols;

  SymbolTable() = default;
  SymbolTable(SymbolTable&&) = default;
  SymbolTable& operator=(SymbolTable&&) = default;
};

/// All dynamic symbols that a loader looks at (no local ones), in the order of the table, at most `limit`. Reads the dynamic
/// string and symbol tables as a whole (at most 256 MiB together). An error says what is wrong with the file. O(symbols).
tl::expected<SymbolTable, std::string> read_symbol_table(FileReader& file, std::size_t limit = std::size_t{1} << 20);

}  // namespace gpuvet
