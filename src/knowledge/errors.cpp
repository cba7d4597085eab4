// Error numbers, Xids and known defects of driver releases.

#include "knowledge/impl.h"

namespace gpuvet {
namespace {

using Row = std::vector<std::string_view>;

CudaError to_error(const Knowledge::Table& table, const Row& row) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  CudaError error;
  error.api = text("api");
  error.code = static_cast<int>(parse_number(table.cell(row, "code")).value_or(0));
  error.name = text("name");
  error.meaning = text("meaning");
  error.since_cuda = text("since_cuda");
  error.hint = text("hint");
  error.source = text("source");
  return error;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

template <class Matches>
std::vector<CudaError> errors_where(const Knowledge::Table& table, Matches matches) {
  std::vector<CudaError> errors;
  for (const Row& row : table.rows) {
    if (!matches(row)) continue;
    CudaError error = to_error(table, row);
    // An added row stands before the one that it corrects.
    bool corrected = false;
    for (const CudaError& other : errors) corrected |= other.api == error.api && other.code == error.code;
    if (!corrected) errors.push_back(std::move(error));
  }
  return errors;
}

}  // namespace

std::optional<XidMeaning> Knowledge::xid(int code) const {
  const Table& xids = table("xid");
  const Row* row = xids.find("code", std::to_string(code));
  if (!row) return std::nullopt;
  const auto text = [&](std::string_view column) { return std::string(xids.cell(*row, column)); };
  return XidMeaning{code, text("mnemonic"), text("meaning"), text("likely_causes"), text("recommended_action"), text("source")};
}

std::optional<XidMeaning> Knowledge::xid_in_chinese(int code) const {
  auto meaning = xid(code);
  if (!meaning) return std::nullopt;
  const Table& words = table("xid_words");
  const auto phrase = [&](std::string_view english) {
    const Row* row = words.find("en", english);
    return row == nullptr ? std::string(english) : std::string(words.cell(*row, "zh"));
  };
  const auto list = [&](std::string_view english, std::string_view separator, std::string_view joined) {
    std::string chinese;
    while (!english.empty()) {
      const std::size_t end = english.find(separator);
      std::string_view part = english.substr(0, end);
      english.remove_prefix(end == std::string_view::npos ? english.size() : end + separator.size());
      constexpr std::string_view then = "then: ";
      if (part.starts_with(then)) part.remove_prefix(then.size());
      if (!part.empty()) chinese.append(chinese.empty() ? "" : joined).append(phrase(part));
    }
    return chinese;
  };
  meaning->meaning = phrase(meaning->meaning);
  meaning->likely_causes = list(meaning->likely_causes, ", ", "、");
  meaning->recommended_action = list(meaning->recommended_action, " | ", "；然后：");
  return meaning;
}

std::vector<CudaError> Knowledge::cuda_error(int code) const {
  const Table& errors = table("cuda_errors");
  const std::string wanted = std::to_string(code);
  return errors_where(errors, [&](const Row& row) { return errors.cell(row, "code") == wanted; });
}

std::vector<CudaError> Knowledge::cuda_error_named(std::string_view name) const {
  const Table& errors = table("cuda_errors");
  const std::string wanted = lower(name);
  return errors_where(errors, [&](const Row& row) { return lower(errors.cell(row, "name")) == wanted; });
}

std::vector<DriverDefect> Knowledge::driver_defects() const {
  const Table& defects = table("driver_defects");
  std::vector<DriverDefect> all;
  for (const Row& row : defects.rows) {
    const auto text = [&](std::string_view column) { return std::string(defects.cell(row, column)); };
    const auto first = DriverVersion::parse(defects.cell(row, "first"));
    const auto last = DriverVersion::parse(defects.cell(row, "last"));
    if (!first || !last) continue;
    all.push_back({text("rule"), *first, *last, text("flavor"), text("condition"), text("defect_en"), text("defect_zh"),
                   text("fixed_in"), text("source")});
  }
  return all;
}

}  // namespace gpuvet
