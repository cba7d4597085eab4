#pragma once
// The tables of data/ as they were compiled in: text with a header line, cells divided by tabs.

#include <span>
#include <string_view>

namespace gpuvet {

struct EmbeddedTable {
  std::string_view name;  ///< without ".tsv"
  std::string_view text;
};

/// All of them, in the generated tables.cpp.
std::span<const EmbeddedTable> embedded_tables();

}  // namespace gpuvet
