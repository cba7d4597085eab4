#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "knowledge/knowledge.h"
#include "knowledge/table.h"

namespace gpuvet {
namespace {

/// As docs/myths.md writes a text: what Markdown would read as markup is escaped.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("*_<>`|[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// The page is written once from the table; whoever changes a row changes the page.
TEST(Myths, PageAndTableSayTheSame) {
  std::ifstream in(GPUVET_SOURCE_DIR "/docs/myths.md", std::ios::binary);
  const std::string page(std::istreambuf_iterator<char>(in), {});
  const Knowledge knowledge;
  const Knowledge::Table& myths = knowledge.table("myths");
  ASSERT_GT(myths.rows.size(), 100u);
  for (const auto& row : myths.rows) {
    const std::string entry = (myths.cell(row, "verdict") == "false" ? "**Wrong:** " : "**Half right:** ") +
                              escaped(myths.cell(row, "claim")) + "\\\n**Right:** " + escaped(myths.cell(row, "right_value")) +
                              "\\\nSource: " + escaped(myths.cell(row, "source")) + "\n";
    EXPECT_NE(page.find(entry), std::string::npos) << myths.cell(row, "claim");
  }
  std::size_t entries = 0;
  for (std::size_t at = page.find("**Right:** "); at != std::string::npos; at = page.find("**Right:** ", at + 1)) ++entries;
  EXPECT_EQ(entries, myths.rows.size()) << "an entry of the page is not in the table";
}

}  // namespace
}  // namespace gpuvet
