#include "knowledge/table.h"

#include <algorithm>
#include <charconv>

#include "knowledge/embedded.h"
#include "knowledge/impl.h"

namespace gpuvet {
namespace {

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void add_cells(std::string_view line, char separator, std::vector<std::string_view>& cells) {
  for (;;) {
    const std::size_t end = line.find(separator);
    cells.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

}  // namespace

int Knowledge::Table::column(std::string_view name) const {
  const auto it = std::find(header.begin(), header.end(), name);
  return it == header.end() ? -1 : static_cast<int>(it - header.begin());
}

std::string_view Knowledge::Table::cell(const std::vector<std::string_view>& row, std::string_view column_name) const {
  const int at = column(column_name);
  return at < 0 || static_cast<std::size_t>(at) >= row.size() ? std::string_view() : row[static_cast<std::size_t>(at)];
}

const std::vector<std::string_view>* Knowledge::Table::find(std::string_view column_name, std::string_view value) const {
  const int at = column(column_name);
  if (at < 0) return nullptr;
  for (const auto& row : rows) {
    if (row[static_cast<std::size_t>(at)] == value) return &row;
  }
  return nullptr;
}

std::vector<std::string_view> split_cells(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  add_cells(line, separator, cells);
  return cells;
}

bool has_word(std::string_view words, std::string_view word) {
  for (;;) {
    const std::size_t end = words.find(' ');
    if (words.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 1);
  }
}

std::string_view without_marker(std::string_view cell) {
  const std::size_t open = cell.find(" (");
  return open != std::string_view::npos && cell.ends_with(')') ? cell.substr(0, open) : cell;
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

tl::expected<Knowledge::Table, std::string> parse_table(std::string_view name, std::string_view text) {
  Knowledge::Table table;
  std::string_view rest = text;
  table.header = split_cells(next_line(rest));
  if (table.header.front().empty()) return tl::unexpected(std::string(name) + ":1: no header line");
  for (std::size_t line = 2; !rest.empty(); ++line) {
    const std::string_view row = next_line(rest);
    if (row.empty()) continue;
    std::vector<std::string_view> cells;
    cells.reserve(table.header.size());
    add_cells(row, '\t', cells);
    if (cells.size() != table.header.size()) {
      return tl::unexpected(std::string(name) + ":" + std::to_string(line) + ": " + std::to_string(cells.size()) +
                            " columns where the header has " + std::to_string(table.header.size()));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Knowledge::Knowledge() : impl_(std::make_unique<Impl>()) {
  for (const EmbeddedTable& table : embedded_tables()) impl_->entries[std::string(table.name)].text = table.text;
}
Knowledge::~Knowledge() = default;
Knowledge::Knowledge(Knowledge&&) noexcept = default;
Knowledge& Knowledge::operator=(Knowledge&&) noexcept = default;

std::string_view Knowledge::Impl::text(std::string_view name) const {
  const auto it = entries.find(name);
  return it == entries.end() ? std::string_view() : it->second.text;
}

const Knowledge::Table& Knowledge::table(std::string_view name) const {
  static const Table none;
  const auto it = impl_->entries.find(name);
  if (it == impl_->entries.end()) return none;
  const std::lock_guard lock(impl_->parsing);
  Impl::Entry& entry = it->second;
  // What is compiled in was checked by compile_data, an overlay when it was added.
  if (!entry.parsed) entry.parsed = parse_table(name, entry.text).value_or(Table());
  return *entry.parsed;
}

}  // namespace gpuvet
