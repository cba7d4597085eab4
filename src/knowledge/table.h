#pragma once
// A table of data/ as rows of cells: views into its text, nothing copied.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "knowledge/knowledge.h"

namespace gpuvet {

/// The parsed form of one table. Rows all have as many cells as the header.
struct Knowledge::Table {
  std::vector<std::string_view> header;
  std::vector<std::vector<std::string_view>> rows;

  /// Position of a column; -1 when the table has none of that name.
  int column(std::string_view name) const;
  /// The cell of a row; empty when there is no such column.
  std::string_view cell(const std::vector<std::string_view>& row, std::string_view column_name) const;
  /// The first row whose `column_name` is `value`; null: none.
  const std::vector<std::string_view>* find(std::string_view column_name, std::string_view value) const;
};

/// Cells of one line. O(length).
std::vector<std::string_view> split_cells(std::string_view line, char separator = '\t');
/// Is `word` one of the blank-separated words of a cell?
bool has_word(std::string_view words, std::string_view word);
/// "7.0 (inferred)" → "7.0".
std::string_view without_marker(std::string_view cell);

/// Parses a whole table; `name` stands in the error "NAME:line: …". The views point into `text`. O(length).
tl::expected<Knowledge::Table, std::string> parse_table(std::string_view name, std::string_view text);

}  // namespace gpuvet
