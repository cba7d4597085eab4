#include <gtest/gtest.h>

#include "knowledge/knowledge.h"
#include "knowledge/table.h"

namespace gpuvet {
namespace {

std::string header(const Knowledge& knowledge, std::string_view table) {
  std::string line;
  for (const auto cell : knowledge.table(table).header) line += (line.empty() ? "" : "\t") + std::string(cell);
  return line + "\n";
}

TEST(ParseTable, ReadsCellsAndRefusesRaggedRows) {
  const auto table = parse_table("t.tsv", "a\tb\n1\t2\n\n3\t\r\n");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->cell(table->rows[1], "a"), "3");
  EXPECT_EQ(table->cell(table->rows[1], "b"), "");
  EXPECT_EQ(table->cell(table->rows[1], "c"), "");
  EXPECT_EQ(table->find("b", "2"), &table->rows[0]);
  EXPECT_EQ(table->find("b", "9"), nullptr);
  EXPECT_EQ(parse_table("t.tsv", "a\tb\n1\n").error(), "t.tsv:2: 1 columns where the header has 2");
  EXPECT_EQ(parse_table("t.tsv", "").error(), "t.tsv:1: no header line");
}

TEST(ParseTable, Marker) {
  EXPECT_EQ(without_marker("7.0 (inferred)"), "7.0");
  EXPECT_EQ(without_marker("7.0"), "7.0");
  EXPECT_EQ(without_marker("a (b) c"), "a (b) c");
}

TEST(Overlay, ReplacesATable) {
  Knowledge knowledge;
  ASSERT_TRUE(knowledge.xid(79));
  const std::string text = header(knowledge, "xid") + "7777\tMINE\tmeaning\tcause\taction\tour runbook\n";
  ASSERT_TRUE(knowledge.add_overlay_table("kb/xid.tsv", text));
  EXPECT_FALSE(knowledge.xid(79));
  EXPECT_EQ(knowledge.xid(7777)->source, "our runbook");
}

TEST(Overlay, AddsRowsInFront) {
  Knowledge knowledge;
  const std::string text = header(knowledge, "xid") + "79\tMINE\tmeaning\tcause\taction\tour runbook";
  ASSERT_TRUE(knowledge.add_overlay_table("xid.add.tsv", text));
  EXPECT_EQ(knowledge.xid(79)->mnemonic, "MINE");
  EXPECT_TRUE(knowledge.xid(48));
}

TEST(Overlay, AddsAGpu) {
  Knowledge knowledge;
  const std::string text =
      header(knowledge, "pci_devices") + "FFF0\tNVIDIA GeForce RTX 4099\tAD102\tAda Lovelace\t8.9\t\tsupported\t\t\t\ttest\n";
  ASSERT_TRUE(knowledge.add_overlay_table("pci_devices.add.tsv", text));
  EXPECT_EQ(knowledge.gpu(0xFFF0).label(), "RTX 4099 (AD102)");
  EXPECT_EQ(knowledge.gpu(0xFFF0).first_driver->branch, 520u);
  EXPECT_EQ(knowledge.gpu(0x2684).label(), "RTX 4090 (AD102)");
}

TEST(Overlay, ErrorsNameFileAndLine) {
  Knowledge knowledge;
  const auto error = [&](std::string_view name, const std::string& text) {
    const auto result = knowledge.add_overlay_table(name, text);
    return result ? "accepted" : result.error();
  };
  EXPECT_EQ(error("d/nix.tsv", "a\n"), "d/nix.tsv:1: there is no table 'nix'");
  EXPECT_EQ(error("xid.txt", "a\n"), "xid.txt:1: is no .tsv file");
  EXPECT_EQ(error("d/xid.tsv", "code\tsource\n1\tx\n"), "d/xid.tsv:1: column 'mnemonic' is missing");
  EXPECT_EQ(error("d/xid.add.tsv", "code\tsource\n1\tx\n"),
            "d/xid.add.tsv:1: the columns differ from those of the table that it adds to");
  EXPECT_EQ(error("d/xid.tsv", header(knowledge, "xid") + "\n79\tA\tb\tc\td\n"), "d/xid.tsv:3: 5 columns where the header has 6");
  EXPECT_EQ(error("d/xid.tsv", header(knowledge, "xid") + "\nno\tA\tb\tc\td\te\n"), "d/xid.tsv:3: code 'no' is not a number");
  EXPECT_EQ(error("d/xid.tsv", header(knowledge, "xid") + "79\tA\tb\tc\td\t\n"), "d/xid.tsv:2: the source is empty");
  EXPECT_TRUE(knowledge.xid(79)) << "a refused overlay changes nothing";
}

}  // namespace
}  // namespace gpuvet
