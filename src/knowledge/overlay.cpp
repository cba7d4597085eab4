// Tables that replace or extend what is compiled in.

#include <algorithm>

#include "knowledge/impl.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_overlay_size = 16u << 20;

struct CellRule {
  std::string_view table, column, what;
  bool (*fits)(std::string_view);
};

bool is_number(std::string_view cell) { return parse_number(cell).has_value(); }
bool is_driver(std::string_view cell) { return cell.empty() || DriverVersion::parse(without_marker(cell)).has_value(); }
bool is_device_id(std::string_view cell) {
  return cell.size() == 4 && cell.find_first_not_of("0123456789ABCDEF") == std::string_view::npos;
}

constexpr CellRule cell_rules[] = {
    {"pci_devices", "device_id", "four upper-case hexadecimal digits", is_device_id},
    {"driver_branches", "branch", "a number", is_number},
    {"xid", "code", "a number", is_number},
    {"cuda_errors", "code", "a number", is_number},
    {"cuda_releases", "min_driver_linux_minor_compat", "a driver version", is_driver},
    {"driver_defects", "first", "a driver version", is_driver},
    {"driver_defects", "last", "a driver version", is_driver},
};

using Result = tl::expected<void, std::string>;

tl::unexpected<std::string> error_at(std::string_view file, std::size_t line, std::string message) {
  return tl::unexpected(std::string(file) + ":" + std::to_string(line) + ": " + std::move(message));
}

Result check_columns(std::string_view file, const Knowledge::Table& wanted, const Knowledge::Table& given, bool same_order) {
  if (same_order && wanted.header != given.header)
    return error_at(file, 1, "the columns differ from those of the table that it adds to");
  for (const std::string_view column : wanted.header) {
    if (given.column(column) < 0) return error_at(file, 1, "column '" + std::string(column) + "' is missing");
  }
  return {};
}

// Blank lines are skipped by parse_table, so a row's line is found by counting the non-blank ones.
std::size_t line_of_row(std::string_view text, std::size_t row) {
  std::size_t line = 0, seen = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view current = text.substr(0, end);
    ++line;
    if (!current.empty() && current != "\r" && seen++ == row + 1) return line;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return line;
}

Result check_cells(std::string_view file, std::string_view name, const Knowledge::Table& table, std::string_view text) {
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (const int source = table.column("source"); source >= 0 && table.rows[i][static_cast<std::size_t>(source)].empty()) {
      return error_at(file, line_of_row(text, i), "the source is empty");
    }
    for (const CellRule& rule : cell_rules) {
      if (rule.table != name) continue;
      const std::string_view cell = table.cell(table.rows[i], rule.column);
      if (!rule.fits(cell)) {
        return error_at(file, line_of_row(text, i),
                        std::string(rule.column) + " '" + std::string(cell.substr(0, 60)) + "' is not " + std::string(rule.what));
      }
    }
  }
  return {};
}

// Rows in front: whoever searches from the top finds the added one first.
std::string with_rows_in_front(std::string_view base, std::string_view added) {
  const std::size_t base_header = base.find('\n');
  const std::size_t added_header = added.find('\n');
  std::string text(base.substr(0, base_header));
  text += '\n';
  if (added_header != std::string_view::npos) text += added.substr(added_header + 1);
  if (text.back() != '\n') text += '\n';
  if (base_header != std::string_view::npos) text += base.substr(base_header + 1);
  return text;
}

}  // namespace

tl::expected<void, std::string> Knowledge::add_overlay_table(std::string_view file_name, std::string_view text) {
  if (!file_name.ends_with(".tsv")) return error_at(file_name, 1, "is no .tsv file");
  if (text.size() > max_overlay_size) return error_at(file_name, 1, "is bigger than 16 MiB");
  std::string_view name = file_name.substr(0, file_name.size() - 4);
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  const bool adds = name.ends_with(".add");
  if (adds) name.remove_suffix(4);
  const auto it = impl_->entries.find(name);
  if (it == impl_->entries.end()) return error_at(file_name, 1, "there is no table '" + std::string(name) + "'");

  const auto given = parse_table(file_name, text);
  if (!given) return tl::unexpected(given.error());
  if (auto result = check_columns(file_name, table(name), *given, adds); !result) return result;
  if (auto result = check_cells(file_name, name, *given, text); !result) return result;

  std::string merged = adds ? with_rows_in_front(it->second.text, text) : std::string(text);
  it->second.parsed.reset();
  it->second.owned = std::move(merged);
  it->second.text = it->second.owned;
  return {};
}

}  // namespace gpuvet
