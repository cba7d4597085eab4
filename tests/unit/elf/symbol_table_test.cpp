#include <gtest/gtest.h>

#include "elf/bytes.h"
#include "elf/symbol_table.h"
#include "small_elf.h"

namespace gpuvet {
namespace {

using test::SmallElf;

tl::expected<SymbolTable, std::string> read(const std::string& bytes, std::size_t limit = 1000) {
  MemoryReader reader(bytes);
  return read_symbol_table(reader, limit);
}

/// "name@version from file" of all, "+" before the defined ones.
std::string listed(const SymbolTable& table) {
  std::string all;
  for (const auto& s : table.symbols) {
    if (!all.empty()) all += " ";
    if (s.defined) all += "+";
    all += s.name;
    if (!s.version.empty()) all += (s.defined && !s.hidden_version ? "@@" : "@") + std::string(s.version);
    if (!s.file.empty()) all += "<" + std::string(s.file);
  }
  return all;
}

SmallElf library() {
  SmallElf elf;
  elf.soname = "libx.so.1";
  elf.undefined = {"malloc", "free"};
  elf.symbols = {"x_new", "x_old", "x_plain"};
  elf.defines = {"X_1", "X_2"};
  elf.versions = {{"libc.so.6", "GLIBC_2.2.5"}};
  elf.version_indices = {4, 1, 3, 0x8002, 1};
  elf.code = std::string(16, '\x90');
  return elf;
}

struct Shape {
  bool wide, big, gnu_hash;
};
class EveryTable : public testing::TestWithParam<Shape> {};

TEST_P(EveryTable, HasAllSymbolsWithVersions) {
  auto elf = library();
  elf.wide = GetParam().wide;
  elf.big = GetParam().big;
  elf.gnu_hash = GetParam().gnu_hash;
  const auto table = read(elf.build());
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ(listed(*table), "malloc@GLIBC_2.2.5<libc.so.6 free +x_new@@X_2 +x_old@X_1 +x_plain");
  EXPECT_EQ(table->symbols[0].type, 2);
  EXPECT_FALSE(table->symbols[0].weak);
}

TEST_P(EveryTable, WithoutDefinedSymbols) {
  auto elf = library();
  elf.wide = GetParam().wide;
  elf.big = GetParam().big;
  elf.gnu_hash = GetParam().gnu_hash;
  elf.symbols.clear();
  elf.version_indices.clear();
  const auto table = read(elf.build());
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ(listed(*table).substr(0, 11), "malloc free");
}

INSTANTIATE_TEST_SUITE_P(Elf, EveryTable,
                         testing::Values(Shape{true, false, false}, Shape{true, false, true}, Shape{true, true, false},
                                         Shape{true, true, true}, Shape{false, false, false}, Shape{false, false, true},
                                         Shape{false, true, false}, Shape{false, true, true}));

TEST(SymbolTable, ViewsOutliveAMove) {
  SmallElf elf;
  elf.symbols = {"a"};
  auto table = read(elf.build());
  ASSERT_TRUE(table);
  const SymbolTable moved = std::move(*table);
  EXPECT_EQ(listed(moved), "+a");
}

TEST(SymbolTable, LimitAndErrors) {
  const auto whole = library().build();
  const auto cut = read(whole, 2);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->symbols.size(), 2u);
  EXPECT_FALSE(read("not an ELF file"));
  for (std::size_t size = 0; size < whole.size(); ++size) (void)read(whole.substr(0, size));
}

TEST(SymbolTable, HostileNamesThatOverlapEndEarly) {
  SmallElf elf;
  // Ten thousand symbols that all have the same long name.
  elf.undefined.assign(1, std::string(60000, 'a'));
  elf.undefined.resize(10000);
  auto bytes = elf.build();
  // Every empty name becomes the long one: the first name stands at offset 1 of the string table.
  const auto symbols = bytes.find(std::string("\1\0\0\0\x12", 5));
  ASSERT_NE(symbols, std::string::npos);
  for (std::size_t i = 1; i < 10000; ++i) bytes.replace(symbols + 24 * i, 4, std::string("\1\0\0\0", 4));
  const auto table = read(bytes, 20000);
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().find("overlap"), std::string::npos);
}

}  // namespace
}  // namespace gpuvet
