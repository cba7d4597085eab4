#include "knowledge/framework_loading.h"

#include <algorithm>

#include "knowledge/impl.h"
#include "knowledge/table.h"

namespace gpuvet {
namespace {

constexpr std::string_view table_name = "framework_loading";
using Row = std::vector<std::string_view>;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view word : split_cells(text, ' '))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

/// Is the release at or behind this row's first one, and before the one that ended it?
bool covers(const Knowledge::Table& table, const Row& row, const ReleaseVersion& release) {
  const auto since = ReleaseVersion::parse(table.cell(row, "since"));
  const auto before = ReleaseVersion::parse(table.cell(row, "before"));
  return (!since || !(release < *since)) && (!before || release < *before);
}

LoadingRow to_row(const Knowledge::Table& table, const Row& row) {
  LoadingRow out;
  const std::string_view mode = table.cell(row, "mode");
  out.framework = table.cell(row, "framework");
  out.step = static_cast<int>(parse_number(table.cell(row, "step")).value_or(0));
  out.names = words(table.cell(row, "names"));
  out.caller = table.cell(row, "caller");
  out.each = has_word(mode, "each");
  out.optional = has_word(mode, "optional");
  out.global = has_word(mode, "global");
  out.on_failure = has_word(mode, "on-failure");
  out.in_order = has_word(mode, "in-order");
  out.import = has_word(mode, "import");
  out.condition = table.cell(row, "condition");
  out.why = table.cell(row, "why");
  out.source = table.cell(row, "source");
  return out;
}

}  // namespace

FrameworkLoading framework_loading(const Knowledge& knowledge, std::string_view framework,
                                   const std::optional<ReleaseVersion>& release) {
  FrameworkLoading out;
  const Knowledge::Table& table = knowledge.table(table_name);
  std::optional<ReleaseVersion> newest;
  for (const Row& row : table.rows) {
    if (table.cell(row, "framework") != framework || !has_word(table.cell(row, "mode"), "checked")) continue;
    out.checked_up_to = table.cell(row, "since");
    newest = ReleaseVersion::parse(out.checked_up_to);
  }
  // Patch releases of the newest minor release count as read: the code in question has not changed inside one.
  out.release_known = release.has_value() && (!newest || !(*newest < *release) || newest->minor_text() == release->minor_text());
  const std::optional<ReleaseVersion> asked = out.release_known ? release : newest;
  for (const Row& row : table.rows) {
    if (table.cell(row, "framework") != framework || has_word(table.cell(row, "mode"), "checked")) continue;
    if (!asked || covers(table, row, *asked)) out.rows.push_back(to_row(table, row));
  }
  std::ranges::stable_sort(out.rows, {}, &LoadingRow::step);
  return out;
}

std::vector<std::string> frameworks_with_loading(const Knowledge& knowledge) {
  std::vector<std::string> out;
  const Knowledge::Table& table = knowledge.table(table_name);
  for (const Row& row : table.rows) {
    const std::string_view name = table.cell(row, "framework");
    if (std::ranges::find(out, name) == out.end()) out.emplace_back(name);
  }
  return out;
}

}  // namespace gpuvet
