#pragma once
// Inside of Knowledge: the texts of the tables, parsed when first asked for.

#include <map>
#include <mutex>
#include <optional>

#include "knowledge/knowledge.h"
#include "knowledge/table.h"

namespace gpuvet {

struct Knowledge::Impl {
  struct Entry {
    std::string_view text;  ///< compiled in, or `owned`
    std::string owned;      ///< of an overlay
    std::optional<Table> parsed;
  };
  std::map<std::string, Entry, std::less<>> entries;
  std::mutex parsing;  ///< guards `parsed`: one Knowledge may serve several threads

  /// The text of a table; empty when there is none of that name.
  std::string_view text(std::string_view name) const;
};

/// A number of the tables: digits only, nothing else. O(length).
std::optional<std::uint32_t> parse_number(std::string_view text);

}  // namespace gpuvet
