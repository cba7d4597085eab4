#include <gtest/gtest.h>

#include "loader/find_library.h"
#include "loader/search_path.h"

namespace gpuvet {
namespace {

LibraryFile file(std::string path, std::string state = "elf", std::string elf_class = "64", std::string machine = "x86_64") {
  LibraryFile f;
  f.path = f.real_path = std::move(path);
  f.state = std::move(state);
  if (f.state == "elf") f.elf_class = std::move(elf_class), f.machine = std::move(machine);
  return f;
}

SearchFolder folder(std::string path, std::string rule) { return {std::move(path), std::move(rule), {}, true}; }

struct Loader {
  Machine machine;
  LoaderView& view = machine.loader;
  std::map<std::string, std::string> environment;

  Loader() {
    view.folders = {folder("/conf", "ld.so.conf"), folder("/lib64", "default")};
    view.cache = Fact<std::vector<LoaderCacheEntry>>::absent();
  }
  void cache(std::vector<LoaderCacheEntry> entries) { view.cache = Fact<std::vector<LoaderCacheEntry>>::known(std::move(entries)); }
  FoundLibrary resolve(std::string_view soname = "libcuda.so.1") const { return find_library(machine, environment, soname, "64", "x86_64"); }
};

void expect(const FoundLibrary& r, std::string_view path, std::string_view rule) {
  ASSERT_NE(r.file, nullptr);
  EXPECT_EQ(r.file->path, path);
  EXPECT_EQ(r.rule, rule);
}

TEST(FindLibrary, NothingAnywhere) {
  const auto r = Loader{}.resolve();
  EXPECT_EQ(r.file, nullptr);
  EXPECT_EQ(r.rule, "");
}

TEST(FindLibrary, LibraryPathComesFirst) {
  Loader l;
  l.environment["LD_LIBRARY_PATH"] = "/none:/stubs/:/other";
  l.view.files = {file("/lib64/libcuda.so.1"), file("/stubs/libcuda.so.1")};
  l.cache({{"libcuda.so.1", "/lib64/libcuda.so.1", 0x0303, 0}});
  const auto r = l.resolve();
  expect(r, "/stubs/libcuda.so.1", "LD_LIBRARY_PATH");
  ASSERT_EQ(r.shadowed.size(), 1u);
  EXPECT_EQ(r.shadowed[0]->path, "/lib64/libcuda.so.1");
}

TEST(FindLibrary, CacheDecidesOverConfiguration) {
  Loader l;
  l.view.files = {file("/conf/libcuda.so.1"), file("/lib64/libcuda.so.1")};
  l.cache({{"libcuda.so.1", "/lib64/libcuda.so.1", 0x0303, 0}});
  expect(l.resolve(), "/lib64/libcuda.so.1", "ld.so.cache");
  // A cache that was not rebuilt since /conf was added: the default folders still count.
  l.cache({});
  expect(l.resolve(), "/lib64/libcuda.so.1", "default");
}

TEST(FindLibrary, WithoutCacheConfigurationDecides) {
  Loader l;
  l.view.files = {file("/conf/libcuda.so.1"), file("/lib64/libcuda.so.1")};
  expect(l.resolve(), "/conf/libcuda.so.1", "ld.so.conf");
}

TEST(FindLibrary, CacheEntryOfAnotherMachineIsNoAnswer) {
  Loader l;
  l.view.files = {file("/lib32/libcuda.so.1", "elf", "32", "i386"), file("/lib64/libcuda.so.1")};
  l.cache({{"libcuda.so.1", "/lib32/libcuda.so.1", 0x0003, 0}});
  expect(l.resolve(), "/lib64/libcuda.so.1", "default");
}

TEST(FindLibrary, StaleCacheEntryIsPassedOverForTheDefaultFoldersOnly) {
  Loader l;
  l.view.files = {file("/gone/libcuda.so.1", "dangling"), file("/conf/libcuda.so.1")};
  l.cache({{"libcuda.so.1", "/gone/libcuda.so.1", 0x0303, 0}, {"libcuda.so.1", "/conf/libcuda.so.1", 0x0303, 0}});
  EXPECT_EQ(l.resolve().file, nullptr);
  l.view.files.push_back(file("/lib64/libcuda.so.1"));
  expect(l.resolve(), "/lib64/libcuda.so.1", "default");
}

TEST(FindLibrary, WrongClassMachineAndDanglingArePassedOver) {
  Loader l;
  l.environment["LD_LIBRARY_PATH"] = "/a:/b:/c:/d";
  l.view.files = {file("/a/libcuda.so.1", "elf", "32", "i386"), file("/b/libcuda.so.1", "elf", "64", "aarch64"),
                  file("/c/libcuda.so.1", "dangling"), file("/d/libcuda.so.1", "unreadable"), file("/lib64/libcuda.so.1")};
  expect(l.resolve(), "/lib64/libcuda.so.1", "default");
}

TEST(FindLibrary, EmptyOrTextFileEndsTheSearch) {
  for (const auto* state : {"empty", "not-elf"}) {
    Loader l;
    l.environment["LD_LIBRARY_PATH"] = "/a";
    l.view.files = {file("/a/libcuda.so.1", state), file("/lib64/libcuda.so.1")};
    const auto r = l.resolve();
    EXPECT_EQ(r.file, nullptr);
    ASSERT_NE(r.blocked_by, nullptr);
    EXPECT_EQ(r.blocked_by->path, "/a/libcuda.so.1");
    EXPECT_EQ(r.rule, "LD_LIBRARY_PATH");
    EXPECT_EQ(r.shadowed.size(), 1u);
  }
}

TEST(FindLibrary, HwcapsFoldersOnlyForACpuThatServesThem) {
  Loader l;
  l.environment["LD_LIBRARY_PATH"] = "/a";
  l.view.files = {file("/a/libcuda.so.1"), file("/a/glibc-hwcaps/x86-64-v3/libcuda.so.1")};
  expect(l.resolve(), "/a/libcuda.so.1", "LD_LIBRARY_PATH");
  l.view.hwcaps = {"x86-64-v3", "x86-64-v2"};
  expect(l.resolve(), "/a/glibc-hwcaps/x86-64-v3/libcuda.so.1", "LD_LIBRARY_PATH");
  l.environment.clear();
  l.cache({{"libcuda.so.1", "/a/glibc-hwcaps/x86-64-v3/libcuda.so.1", 0x0303, 1, "x86-64-v3"}, {"libcuda.so.1", "/a/libcuda.so.1", 0x0303, 0}});
  expect(l.resolve(), "/a/glibc-hwcaps/x86-64-v3/libcuda.so.1", "ld.so.cache");
  l.view.hwcaps.clear();
  expect(l.resolve(), "/a/libcuda.so.1", "ld.so.cache");
}

TEST(FindLibrary, SameFileByAnotherPathShadowsNothing) {
  Loader l;
  l.view.folders.push_back(folder("/usr/lib64", "default"));
  auto merged = file("/usr/lib64/libcuda.so.1");
  l.view.files = {file("/lib64/libcuda.so.1"), merged};
  l.view.files[0].real_path = merged.real_path;
  EXPECT_TRUE(l.resolve().shadowed.empty());
}

TEST(LibraryPath, SplitsAsTheLoaderDoes) {
  EXPECT_TRUE(split_library_path("").empty());
  EXPECT_EQ(split_library_path("/a;/b/:"), (std::vector<std::string>{"/a", "/b", "."}));
  EXPECT_EQ(split_library_path(":/a"), (std::vector<std::string>{".", "/a"}));
  EXPECT_EQ(split_library_path("/"), (std::vector<std::string>{"/"}));
}

}  // namespace
}  // namespace gpuvet
