#include <gtest/gtest.h>

#include "elf/ldso_cache.h"

namespace gpuvet {
namespace {

struct Cache {
  bool big = false;
  std::string bytes;
  void number(std::uint64_t v, unsigned width) {
    for (unsigned i = 0; i < width; ++i) bytes.push_back(static_cast<char>(v >> 8 * (big ? width - 1 - i : i)));
  }
};

struct Row {
  std::string soname, path;
  std::uint32_t flags;
  std::uint64_t hwcap = 0;
};

std::string new_cache(const std::vector<Row>& rows, bool big = false) {
  Cache c{big, "glibc-ld.so.cache1.1"};
  std::string texts;
  const auto start = 48 + 24 * rows.size();
  c.number(rows.size(), 4), c.number(0, 4), c.number(big ? 3 : 2, 4), c.number(0, 4), c.number(0, 8), c.number(0, 4);
  for (const auto& row : rows) {
    c.number(row.flags, 4);
    c.number(start + texts.size(), 4);
    texts += row.soname + '\0';
    c.number(start + texts.size(), 4);
    texts += row.path + '\0';
    c.number(0, 4), c.number(row.hwcap, 8);
  }
  return c.bytes + texts;
}

std::string old_cache(const std::vector<Row>& rows, bool big = false) {
  Cache c{big, std::string("ld.so-1.7.0\0", 12)};
  std::string texts;
  c.number(rows.size(), 4);
  for (const auto& row : rows) {
    c.number(row.flags, 4), c.number(texts.size(), 4);
    texts += row.soname + '\0';
    c.number(texts.size(), 4);
    texts += row.path + '\0';
  }
  return c.bytes + texts;
}

const std::vector<Row> rows{{"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", 0x0303},
                            {"libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", 0x0003},
                            {"libz.so.1", "/lib/glibc-hwcaps/x86-64-v3/libz.so.1", 0x0303, std::uint64_t{1} << 62}};

void expect_rows(const tl::expected<std::vector<LoaderCacheEntry>, std::string>& entries, bool with_hwcap) {
  ASSERT_TRUE(entries) << entries.error();
  ASSERT_EQ(entries->size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ((*entries)[i].soname, rows[i].soname);
    EXPECT_EQ((*entries)[i].path, rows[i].path);
    EXPECT_EQ((*entries)[i].flags, rows[i].flags);
    EXPECT_EQ((*entries)[i].hwcap, with_hwcap ? rows[i].hwcap : 0);
  }
}

TEST(LoaderCache, NewFormatInBothOrders) {
  expect_rows(read_loader_cache(new_cache(rows)), true);
  expect_rows(read_loader_cache(new_cache(rows, true)), true);
}

TEST(LoaderCache, OldFormatInBothOrders) {
  expect_rows(read_loader_cache(old_cache(rows)), false);
  expect_rows(read_loader_cache(old_cache(rows, true)), false);
}

TEST(LoaderCache, NewBehindOldDecides) {
  // The old table alone, without texts, padded to the alignment of the new one.
  std::string both = old_cache({{"", "", 3}}).substr(0, 16 + 12);
  both.resize(32, '\0');
  expect_rows(read_loader_cache(both + new_cache(rows)), true);
}

TEST(LoaderCache, DamageIsAnErrorOrIsLeftOut) {
  EXPECT_FALSE(read_loader_cache(""));
  EXPECT_FALSE(read_loader_cache("something else"));
  auto many = new_cache(rows);
  many[20] = many[21] = '\x7f';
  EXPECT_FALSE(read_loader_cache(many));
  // A text offset out of the file drops that entry alone.
  auto stray = new_cache(rows);
  stray[48 + 4 + 3] = '\x7f';
  const auto entries = read_loader_cache(stray);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 2u);
  for (std::size_t size = 0; size < stray.size(); ++size) (void)read_loader_cache(new_cache(rows).substr(0, size));
}

}  // namespace
}  // namespace gpuvet
