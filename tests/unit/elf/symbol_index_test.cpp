#include <gtest/gtest.h>

#include <algorithm>

#include "elf/bytes.h"
#include "elf/symbol_index.h"
#include "small_elf.h"

namespace gpuvet {
namespace {

using test::SmallElf;

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
class EveryIndex : public testing::TestWithParam<Shape> {
 protected:
  SmallElf shaped() const {
    auto elf = library();
    elf.wide = GetParam().wide;
    elf.big = GetParam().big;
    elf.gnu_hash = GetParam().gnu_hash;
    return elf;
  }
};

TEST_P(EveryIndex, FindsDefinitionsByNameAndVersion) {
  const auto bytes = shaped().build();
  MemoryReader reader(bytes);
  const auto index = SymbolIndex::read(reader);
  ASSERT_TRUE(index) << index.error();
  EXPECT_TRUE(index->defines("x_new", ""));
  EXPECT_TRUE(index->defines("x_new", "X_2"));
  EXPECT_FALSE(index->defines("x_new", "X_1"));
  EXPECT_TRUE(index->defines("x_old", "X_1"));
  EXPECT_TRUE(index->defines("x_plain", "X_2")) << "a definition without a version answers any";
  EXPECT_FALSE(index->defines("malloc", "")) << "undefined";
  EXPECT_FALSE(index->defines("x_ne", ""));
  EXPECT_FALSE(index->defines("x_newer", ""));
}

TEST_P(EveryIndex, TellsWhatIsWanted) {
  const auto bytes = shaped().build();
  MemoryReader reader(bytes);
  const auto index = SymbolIndex::read(reader);
  ASSERT_TRUE(index) << index.error();
  const auto wanted = index->undefined();
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].name, "malloc");
  EXPECT_EQ(wanted[0].version, "GLIBC_2.2.5");
  EXPECT_EQ(wanted[0].file, "libc.so.6");
  EXPECT_EQ(wanted[1].name, "free");
  EXPECT_EQ(wanted[1].version, "");
}

/// Cut anywhere, or with any byte changed, it ends and stays inside the file.
TEST_P(EveryIndex, HostileFilesEnd) {
  const auto whole = shaped().build();
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const auto part = whole.substr(0, size);
    MemoryReader reader(part);
    if (const auto index = SymbolIndex::read(reader)) (void)index->undefined(), (void)index->defines("x_new", "X_2");
  }
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    auto changed = whole;
    changed[at] = '\xff';
    MemoryReader reader(changed);
    if (const auto index = SymbolIndex::read(reader)) (void)index->undefined(), (void)index->defines("x_new", "X_2");
  }
}

INSTANTIATE_TEST_SUITE_P(Elf, EveryIndex,
                         testing::Values(Shape{true, false, false}, Shape{true, false, true}, Shape{true, true, false},
                                         Shape{true, true, true}, Shape{false, false, false}, Shape{false, false, true},
                                         Shape{false, true, false}, Shape{false, true, true}));

TEST(SymbolIndex, AFileWithoutSymbolsDefinesNone) {
  SmallElf elf;
  const auto bytes = elf.build();
  MemoryReader reader(bytes);
  if (const auto index = SymbolIndex::read(reader)) {
    EXPECT_TRUE(index->undefined().empty());
    EXPECT_FALSE(index->defines("x", ""));
  }
  MemoryReader none("not an ELF file");
  EXPECT_FALSE(SymbolIndex::read(none));
}

}  // namespace
}  // namespace gpuvet
