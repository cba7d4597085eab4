// CuPy, onnxruntime, xformers, vLLM …: every project counts in its own way, so the texts stay as the table has them.

#include <algorithm>
#include <set>

#include "knowledge/framework_cells.h"
#include "knowledge/frameworks.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : (c == '_' ? '-' : c);
  return out;
}

/// Is the name one of the words of "cupy-cuda11x;cupy-cuda12x", "tensorrt-cu11 / tensorrt-cu12", "vllm"?
bool names_package(std::string_view cell, std::string_view wanted) {
  std::string text = folded(cell);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ';' || c == ',' || c == '/' || c == '(' || c == ')'; }, ' ');
  return has_word(text, wanted);
}

bool is_named(const Knowledge::Table& table, const Row& row, std::string_view wanted) {
  const std::string name = folded(table.cell(row, "name"));
  if (name == wanted || name.substr(0, name.find(" (")) == wanted) return true;
  return names_package(table.cell(row, "pip_or_conda_package"), wanted);
}

FrameworkRow to_row(const Knowledge::Table& table, const Row& row) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  FrameworkRow out;
  out.name = text("name");
  out.version = text("version");
  out.package = text("pip_or_conda_package");
  out.cuda_needed = text("cuda_needed");
  out.cudnn_needed = text("cudnn_needed");
  out.torch_needed = text("torch_needed");
  out.python = text("python");
  out.driver_min_linux = text("driver_min_linux");
  out.notes = text("notes");
  out.source = text("source");
  out.min_capability_text = text("compute_capability_min");
  out.min_capability = capability_in_cell(out.min_capability_text);
  out.targets_text = text("cc_in_binary");
  out.newest_on_pypi = out.version.ends_with("(newest on PyPI)");
  return out;
}

/// "0.10.0" → {0, 10, 0}; a part "x" ends it. Empty: the text does not start with a number.
std::vector<std::uint32_t> numbers_in(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view part : split_cells(text, '.')) {
    std::uint32_t number = 0;
    std::size_t digits = 0;
    while (digits < part.size() && digits < 9 && part[digits] >= '0' && part[digits] <= '9')
      number = number * 10 + static_cast<std::uint32_t>(part[digits++] - '0');
    if (digits == 0) return numbers;
    numbers.push_back(number);
    if (digits < part.size()) return numbers;
  }
  return numbers;
}

/// Order of a version against the front of it: {1, 26, 5} and {1, 26} are equal.
int compare_front(const std::vector<std::uint32_t>& version, const std::vector<std::uint32_t>& front) {
  for (std::size_t i = 0; i < front.size(); ++i) {
    const std::uint32_t part = i < version.size() ? version[i] : 0;
    if (part != front[i]) return part < front[i] ? -1 : 1;
  }
  return 0;
}

/// Does "1.21-1.26 (PyPI)", "0.45", "2.7.4", "0.6.x before …" name this release?
bool covers(std::string_view cell, const std::vector<std::uint32_t>& version) {
  cell = trim_blanks(cell);
  if (cell.empty() || cell[0] < '0' || cell[0] > '9') return false;
  cell = cell.substr(0, cell.find_first_of(" ("));
  const std::size_t dash = cell.find('-');
  const auto low = numbers_in(cell.substr(0, dash));
  if (dash == std::string_view::npos) return !low.empty() && compare_front(version, low) == 0;
  const auto high = numbers_in(cell.substr(dash + 1));
  return !low.empty() && !high.empty() && compare_front(version, low) >= 0 && compare_front(version, high) <= 0;
}

}  // namespace

std::vector<FrameworkRow> framework_rows(const Knowledge& knowledge, std::string_view name_or_package) {
  std::vector<FrameworkRow> rows;
  const std::string wanted = folded(name_or_package);
  if (wanted.empty()) return rows;
  const Knowledge::Table& table = knowledge.table("other_frameworks");
  for (const Row& row : table.rows) {
    if (is_named(table, row, wanted)) rows.push_back(to_row(table, row));
  }
  return rows;
}

std::vector<FrameworkRow> framework_rows(const Knowledge& knowledge, std::string_view name_or_package,
                                         const ReleaseVersion& version) {
  std::vector<FrameworkRow> rows;
  for (FrameworkRow& row : framework_rows(knowledge, name_or_package)) {
    if (!row.newest_on_pypi && covers(row.version, version.release)) rows.push_back(std::move(row));
  }
  return rows;
}

std::string newest_on_pypi(const Knowledge& knowledge, std::string_view package) {
  for (const FrameworkRow& row : framework_rows(knowledge, package)) {
    if (row.newest_on_pypi && folded(row.package) == folded(package)) return row.version.substr(0, row.version.find(' '));
  }
  return {};
}

std::vector<std::uint32_t> cuda_majors_in(std::string_view cuda_needed) {
  std::set<std::uint32_t> majors;
  std::optional<std::uint32_t> range_from;
  cuda_needed = cuda_needed.substr(0, cuda_needed.find("(wheels"));
  std::size_t i = 0;
  while (i < cuda_needed.size()) {
    const auto numbers = numbers_in(cuda_needed.substr(i));
    if (numbers.empty()) {
      ++i;
      continue;
    }
    // A CUDA release is "12", "12.x" or "12.4"; 9 to 19 are the majors that can be meant.
    const std::uint32_t major = numbers[0];
    if (major >= 8 && major < 20) {
      if (range_from)
        for (std::uint32_t between = *range_from; between < major; ++between) majors.insert(between);
      majors.insert(major);
    }
    while (i < cuda_needed.size() &&
           ((cuda_needed[i] >= '0' && cuda_needed[i] <= '9') || cuda_needed[i] == '.' || cuda_needed[i] == 'x'))
      ++i;
    range_from.reset();
    if (i < cuda_needed.size() && cuda_needed[i] == '-' && major < 20) range_from = major;
  }
  return {majors.begin(), majors.end()};
}

}  // namespace gpuvet
