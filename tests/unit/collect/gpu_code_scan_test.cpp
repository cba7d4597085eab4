// Which files of a tree are read, in which order they are told, and what is said of those that cannot be.

#include "collect/gpu_code_scan.h"

#include <gtest/gtest.h>

#include "../elf/small_fatbin.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

std::string library(unsigned arch) { return test::host_elf({{".nv_fatbin", test::container({{2, arch}})}}); }

RecordedTree tree() {
  RecordedTree tree;
  tree.add_file("/opt/b/libtwo.so", library(90));
  tree.add_file("/opt/a/libone.so", library(80));
  tree.add_file("/opt/a/readme.txt", "nothing to see");
  tree.add_file("/opt/a/plain.so", test::host_elf({{".text", "code"}}));
  tree.add_link("/opt/a/loop", "/opt");
  tree.add_link("/opt/a/out.so", "/elsewhere/other.so");
  tree.add_file("/elsewhere/other.so", library(75));
  tree.add_device("/opt/fifo", FileType::Fifo, 0, 0, 0644);
  return tree;
}

GpuCodeScan scan(RecordedTree tree, const std::vector<std::string>& paths, unsigned threads = 2) {
  const auto system = make_recorded_system(std::move(tree));
  GpuCodeScanOptions options;
  options.threads = threads;
  return scan_gpu_code(*system, paths, options);
}

std::string paths_of(const GpuCodeScan& scan) {
  std::string text;
  for (const GpuCodeFile& file : scan.files) {
    text += (text.empty() ? "" : " ") + file.path;
    if (!file.targets.empty()) text += "=" + file.targets[0].arch;
    if (!file.state.empty()) text += "(" + file.state + ")";
  }
  return text;
}

TEST(GpuCodeScan, TreesAreToldInTheOrderOfNamesWithoutFollowingLinks) {
  for (const unsigned threads : {1U, 2U, 8U}) {
    const GpuCodeScan found = scan(tree(), {"/opt"}, threads);
    EXPECT_EQ(paths_of(found), "/opt/a/libone.so=sm_80 /opt/b/libtwo.so=sm_90");
    EXPECT_EQ(found.files_seen, 4U);
    EXPECT_EQ(found.files_read, 3U);
    EXPECT_TRUE(found.problems.empty());
  }
}

TEST(GpuCodeScan, ALinkThatIsNamedIsFollowed) {
  EXPECT_EQ(paths_of(scan(tree(), {"/opt/a/out.so"})), "/opt/a/out.so=sm_75");
  EXPECT_EQ(paths_of(scan(tree(), {"/opt/a/loop"})), "/opt/a/loop/a/libone.so=sm_80 /opt/a/loop/b/libtwo.so=sm_90");
}

TEST(GpuCodeScan, NamedFilesAreAlwaysTold) {
  EXPECT_EQ(paths_of(scan(tree(), {"/opt/a/readme.txt"})), "/opt/a/readme.txt");
  EXPECT_EQ(paths_of(scan(tree(), {"/opt/a/plain.so"})), "/opt/a/plain.so");
  EXPECT_EQ(paths_of(scan(tree(), {"/nowhere"})), "/nowhere(unreadable)");
  EXPECT_EQ(paths_of(scan(tree(), {"/opt/fifo"})), "/opt/fifo(unreadable)");
}

TEST(GpuCodeScan, OneInodeOnce) {
  EXPECT_EQ(paths_of(scan(tree(), {"/opt/a", "/opt/a/libone.so", "/opt"})), "/opt/a/libone.so=sm_80 /opt/b/libtwo.so=sm_90");
}

TEST(GpuCodeScan, UnreadableFilesAreProblems) {
  RecordedTree some = tree();
  some.nodes["/opt/a/libone.so"].unreadable = true;
  some.nodes["/opt/b"].type = FileType::Directory;
  some.nodes["/opt/b"].unreadable = true;
  const GpuCodeScan found = scan(std::move(some), {"/opt"});
  EXPECT_EQ(paths_of(found), "");
  ASSERT_EQ(found.problems.size(), 2U);
}

TEST(GpuCodeScan, LimitsStopTheWalk) {
  RecordedTree many;
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "/d";
  many.add_file("/x" + deep + "/lib.so", library(80));
  for (int i = 0; i < 50; ++i) many.add_file("/y/f" + std::to_string(i), library(80));
  EXPECT_EQ(scan(many, {"/x"}).problems.size(), 1U);
  const auto system = make_recorded_system(many);
  GpuCodeScanOptions options;
  options.most_files = 10;
  const GpuCodeScan found = scan_gpu_code(*system, {"/y"}, options);
  EXPECT_TRUE(found.stopped);
  EXPECT_EQ(found.files.size(), 10U);
}

}  // namespace
}  // namespace gpuvet
