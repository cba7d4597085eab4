// data/facts/*.tsv and data/*.tsv → tables.cpp: the text of every checked table.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "compile_data/generate.h"

namespace compile_data {
namespace {

enum class Kind { Driver, Cuda, Number, DeviceId, Capability };

struct ColumnRule {
  std::string_view table, column;
  Kind kind;
};

constexpr ColumnRule column_rules[] = {
    {"cuda_releases", "toolkit_version", Kind::Cuda},
    {"cuda_releases", "driver_linux", Kind::Driver},
    {"cuda_releases", "runfile_driver_linux", Kind::Driver},
    {"cuda_releases", "min_driver_linux_minor_compat", Kind::Driver},
    {"driver_branches", "branch", Kind::Number},
    {"driver_branches", "cuda_version", Kind::Cuda},
    {"driver_branches", "cu_driver_get_version", Kind::Number},
    {"driver_branches", "first_release", Kind::Driver},
    {"driver_branches", "last_known_release", Kind::Driver},
    {"first_driver_by_branch", "branch", Kind::Number},
    {"first_driver_by_branch", "first_driver", Kind::Driver},
    {"gpu_architectures", "first_driver_linux", Kind::Driver},
    {"gpu_architectures", "last_driver_branch", Kind::Number},
    {"gpu_architectures", "first_cuda", Kind::Cuda},
    {"gpu_architectures", "last_cuda", Kind::Cuda},
    {"pci_devices", "device_id", Kind::DeviceId},
    {"pci_devices", "compute_capability", Kind::Capability},
    {"pci_devices", "first_open_module_driver", Kind::Driver},
    {"driver_defects", "first", Kind::Driver},
    {"ptx_isa", "ptx_isa", Kind::Cuda},
    {"ptx_isa", "cuda_release", Kind::Cuda},
    {"ptx_isa", "driver_branch", Kind::Number},
    {"driver_defects", "last", Kind::Driver},
    {"xid", "code", Kind::Number},
    {"cuda_errors", "code", Kind::Number},
};

// Columns that together name a row. A table that is not here may only not repeat a whole row.
const std::map<std::string, std::vector<std::string>, std::less<>> keys = {
    {"catalogue", {"slug"}},
    {"cuda_errors", {"api", "code"}},
    {"cuda_releases", {"toolkit_version"}},
    {"cudnn", {"cudnn", "cuda"}},
    {"driver_branches", {"branch"}},
    {"first_driver_by_branch", {"kind", "id", "branch"}},
    {"gpu_architectures", {"architecture", "compute_capability"}},
    {"jax_releases", {"jax_version"}},
    {"loader_facts", {"area", "subject"}},
    {"myths", {"claim"}},
    {"pci_devices", {"device_id"}},
    {"ptx_isa", {"ptx_isa"}},
    {"tensorflow_releases", {"release"}},
    {"torch_releases", {"release", "variant"}},
    {"uv_torch_backend", {"tool", "topic", "key"}},
    {"wsl", {"topic", "item"}},
    {"xid", {"code"}},
};

struct Table {
  std::string path, name, text;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< rows[i] is line i + 2
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Table read_table(const std::string& path, Problems& problems) {
  Table table;
  table.path = path;
  table.name = std::filesystem::path(path).stem().string();
  std::ifstream in(path, std::ios::binary);
  if (!in) problems.add(path, 1, "cannot be read");
  table.text.assign(std::istreambuf_iterator<char>(in), {});
  if (table.text.empty() || table.text.back() != '\n') {
    problems.add(path, 1, "is empty or does not end with a line end");
    return table;
  }
  std::vector<std::string> lines = split(std::string_view(table.text).substr(0, table.text.size() - 1), '\n');
  table.header = split(lines.front(), '\t');
  for (std::size_t i = 1; i < lines.size(); ++i) table.rows.push_back(split(lines[i], '\t'));
  return table;
}

int column_of(const Table& table, std::string_view name) {
  const auto it = std::find(table.header.begin(), table.header.end(), name);
  return it == table.header.end() ? -1 : static_cast<int>(it - table.header.begin());
}

// "7.0 (inferred)" counts as "7.0": the marker says where a value comes from.
std::string without_marker(std::string value) {
  const std::size_t open = value.find(" (");
  if (open != std::string::npos && value.back() == ')') value.erase(open);
  return value;
}

/// Dotted numbers, between `least` and `most` of them, nothing else.
bool dotted_numbers(std::string_view text, std::size_t least, std::size_t most) {
  const auto parts = split(text, '.');
  const bool digits = std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part.size() < 6 && part.find_first_not_of("0123456789") == std::string::npos;
  });
  return digits && parts.size() >= least && parts.size() <= most;
}

bool device_id(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 4 && std::all_of(text.begin(), text.end(), digit);
}

bool fits(Kind kind, const std::string& value) {
  switch (kind) {
    case Kind::Driver:
      return dotted_numbers(value, 2, 3);
    case Kind::Cuda:
      return dotted_numbers(value, 2, 3);
    case Kind::Number:
      return dotted_numbers(value, 1, 1);
    case Kind::Capability:
      return dotted_numbers(value, 2, 2);
    case Kind::DeviceId:
      return device_id(value);
  }
  return false;
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::Driver:
      return "driver version";
    case Kind::Cuda:
      return "CUDA version";
    case Kind::Number:
      return "number";
    case Kind::Capability:
      return "compute capability";
    case Kind::DeviceId:
      return "device id (four upper-case hexadecimal digits)";
  }
  return "";
}

void check_values(const Table& table, Problems& problems) {
  for (const ColumnRule& rule : column_rules) {
    if (rule.table != table.name) continue;
    const int column = column_of(table, rule.column);
    if (column < 0) {
      problems.add(table.path, 1, "column '" + std::string(rule.column) + "' is missing");
      continue;
    }
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (table.rows[i].size() != table.header.size()) continue;
      const std::string value = without_marker(table.rows[i][static_cast<std::size_t>(column)]);
      if (value.empty() || fits(rule.kind, value)) continue;
      problems.add(table.path, i + 2, std::string(rule.column) + " '" + value + "' is no " + std::string(kind_name(rule.kind)));
    }
  }
}

void check_shape(const Table& table, bool needs_source, Problems& problems) {
  const bool has_source = !table.header.empty() && table.header.back() == "source";
  if (needs_source && !has_source) problems.add(table.path, 1, "the last column must be 'source'");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = table.rows[i];
    if (row.size() != table.header.size()) {
      problems.add(table.path, i + 2,
                   std::to_string(row.size()) + " columns where the header has " + std::to_string(table.header.size()));
    } else if (has_source && row.back().find_first_not_of(' ') == std::string::npos) {
      problems.add(table.path, i + 2, "the source is empty");
    }
    for (const std::string& cell : row) {
      if (cell.find('\r') != std::string::npos) problems.add(table.path, i + 2, "has a carriage return");
    }
  }
}

std::string row_key(const Table& table, const std::vector<std::string>& row) {
  const auto it = keys.find(table.name);
  std::string key;
  if (it == keys.end()) {
    for (const std::string& cell : row) key += cell + "\t";
    return key;
  }
  for (const std::string& name : it->second) {
    const int column = column_of(table, name);
    if (column >= 0) key += row[static_cast<std::size_t>(column)] + "\t";
  }
  return key;
}

void check_keys(const Table& table, Problems& problems) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (table.rows[i].size() != table.header.size()) continue;
    std::string key = row_key(table, table.rows[i]);
    const auto [it, fresh] = seen.emplace(key, i + 2);
    std::replace(key.begin(), key.end(), '\t', ' ');
    if (!fresh) problems.add(table.path, i + 2, "repeats the key '" + key + "' of line " + std::to_string(it->second));
  }
}

// "12.4" and 12040 stand in two columns of one row; a slip in one of them would be believed.
void check_driver_api_numbers(const Table& table, Problems& problems) {
  const int cuda = column_of(table, "cuda_version"), number = column_of(table, "cu_driver_get_version");
  if (table.name != "driver_branches" || cuda < 0 || number < 0) return;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = table.rows[i];
    if (row.size() != table.header.size() || row[number].empty()) continue;
    const auto parts = split(row[cuda], '.');
    if (parts.size() == 2 && row[number] == std::to_string(std::atoi(parts[0].c_str()) * 1000 + std::atoi(parts[1].c_str()) * 10))
      continue;
    problems.add(table.path, i + 2, "cu_driver_get_version " + row[number] + " does not belong to CUDA " + row[cuda]);
  }
}

std::vector<CatalogueRow> catalogue_rows(const Table& table) {
  std::vector<CatalogueRow> rows;
  const int slug = column_of(table, "slug"), layer = column_of(table, "layer"), severity = column_of(table, "severity");
  if (slug < 0 || layer < 0 || severity < 0) return rows;
  for (const auto& row : table.rows) {
    if (row.size() == table.header.size()) rows.push_back({row[slug], row[layer], row[severity]});
  }
  return rows;
}

}  // namespace

std::string generate_tables(const std::string& data_dir, std::vector<CatalogueRow>& catalogue, Problems& problems) {
  std::string arrays, list;
  const auto add = [&](const std::string& path, bool needs_source) {
    const Table table = read_table(path, problems);
    check_shape(table, needs_source, problems);
    check_values(table, problems);
    check_keys(table, problems);
    check_driver_api_numbers(table, problems);
    if (table.name == "catalogue") catalogue = catalogue_rows(table);
    arrays += "constexpr char table_" + table.name + "[] =\n  " + literal(table.text) + ";\n";
    list += "    {\"" + table.name + "\", {table_" + table.name + ", sizeof table_" + table.name + " - 1}},\n";
  };
  for (const std::string& path : files_in(data_dir + "/facts", ".tsv")) add(path, true);
  for (const std::string& path : files_in(data_dir, ".tsv")) add(path, false);
  if (catalogue.empty()) problems.add(data_dir + "/catalogue.tsv", 1, "is missing, empty, or lacks slug, layer or severity");
  return "// Generated by compile_data from data/.\n#include \"knowledge/embedded.h\"\n\nnamespace gpuvet {\nnamespace {\n" +
         arrays + "constexpr EmbeddedTable tables[] = {\n" + list +
         "};\n}  // namespace\n\nstd::span<const EmbeddedTable> embedded_tables() { return tables; }\n\n}  // namespace gpuvet\n";
}

}  // namespace compile_data
