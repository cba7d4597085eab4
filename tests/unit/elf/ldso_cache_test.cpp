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

/// Appends the extension with these names of levels, and points the header at it.
std::string with_hwcaps(std::string cache, const std::vector<std::string>& names) {
  Cache c;
  std::vector<std::size_t> at;
  for (const auto& name : names) {
    at.push_back(cache.size());
    cache += name + '\0';
  }
  cache.resize((cache.size() + 3) / 4 * 4, '\0');
  const auto extension = cache.size();
  c.number(0xeaa42174, 4), c.number(2, 4);
  c.number(0, 4), c.number(0, 4), c.number(0, 4), c.number(0, 4);
  c.number(1, 4), c.number(0, 4), c.number(extension + 40, 4), c.number(4 * names.size(), 4);
  for (const auto offset : at) c.number(offset, 4);
  Cache header;
  header.number(extension, 4);
  return cache.replace(32, 4, header.bytes) + c.bytes;
}

TEST(LoaderCache, ExtensionNamesTheLevels) {
  const auto extension = std::uint64_t{1} << 62;
  const auto bytes = with_hwcaps(new_cache({{"liba.so", "/v3/liba.so", 0x303, extension | std::uint64_t{2} << 32 | 1},
                                            {"liba.so", "/v2/liba.so", 0x303, extension},
                                            {"liba.so", "/x/liba.so", 0x303, extension | 7},
                                            {"liba.so", "/liba.so", 0x303, 0}}),
                                 {"x86-64-v2", "x86-64-v3"});
  const auto entries = read_loader_cache(bytes);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 4u);
  EXPECT_EQ((*entries)[0].hwcaps, "x86-64-v3");
  EXPECT_EQ((*entries)[1].hwcaps, "x86-64-v2");
  EXPECT_EQ((*entries)[2].hwcaps, "");
  EXPECT_EQ((*entries)[3].hwcaps, "");
  for (std::size_t size = 0; size < bytes.size(); ++size) (void)read_loader_cache(bytes.substr(0, size));
}

TEST(LoaderCache, OrderIsByNumbers) {
  EXPECT_EQ(compare_cache_names("libx.so.1", "libx.so.1"), 0);
  EXPECT_EQ(compare_cache_names("libx.so.01", "libx.so.1"), 0);
  EXPECT_GT(compare_cache_names("libx.so.10", "libx.so.9"), 0);
  EXPECT_LT(compare_cache_names("libx.so.9", "libx.so.10"), 0);
  EXPECT_GT(compare_cache_names("libx.so.1", "libx.so."), 0);
  EXPECT_LT(compare_cache_names("libx.so", "libx.so.1"), 0);
  EXPECT_GT(compare_cache_names("lib1", "liba"), 0);
  EXPECT_EQ(compare_cache_names("a", std::string_view("a\0b", 3)), 0);
}

TEST(LoaderCache, IsSearchedAsGlibcDoes) {
  const std::vector<Row> sorted{{"libz.so.10", "/z10", 3}, {"libz.so.9", "/z9", 3},   {"libm.so.6", "/32/m", 3},
                                {"libm.so.6", "/m", 0x303}, {"libm.so.6", "/m2", 0x303}, {"liba.so.1", "/a", 3}};
  for (const auto& bytes : {new_cache(sorted), new_cache(sorted, true), old_cache(sorted), old_cache(sorted, true)}) {
    const auto cache = LoaderCache::parse(bytes);
    ASSERT_TRUE(cache);
    EXPECT_EQ(cache->size(), 6u);
    const auto paths = [&](const char* name) {
      std::string all;
      for (const auto& e : cache->find(name)) all += e.path + " ";
      return all;
    };
    EXPECT_EQ(paths("libm.so.6"), "/32/m /m /m2 ");
    EXPECT_EQ(paths("libz.so.10"), "/z10 ");
    EXPECT_EQ(paths("libz.so.9"), "/z9 ");
    EXPECT_EQ(paths("liba.so.1"), "/a ");
    EXPECT_EQ(paths("libb.so.1"), "");
    EXPECT_EQ(paths("libzz.so.1"), "");
    EXPECT_EQ(paths("aaa"), "");
    EXPECT_EQ(paths(""), "");
  }
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
