#include "collect/object_files.h"

#include <gtest/gtest.h>

#include "system/recorded.h"

namespace gpuvet {
namespace {

using namespace std::string_literals;

/// What of glibc's loader counts here: its built-in folders in a row, and its banner.
std::string loader_bytes(const std::string& folders, const std::string& banner) {
  return "\x7f"
         "ELF and so on\0/etc/ld.so.cache\0/dev/\0"s +
         folders + "\0system search path\0"s + banner + "\0"s;
}

LoaderRules rules_of(const RecordedTree& tree, const LibraryFile* program = nullptr) {
  const auto system = make_recorded_system(tree);
  Machine machine;
  machine.os.architecture = Fact<std::string>::known("x86_64");
  return loader_rules(*system, machine, program);
}

TEST(LoaderRules, StandInTheLoadersOwnFile) {
  RecordedTree tree;
  tree.add_file("/lib64/ld-linux-x86-64.so.2",
                loader_bytes("/lib64/\0/usr/lib64/\0"s, "ld.so (GNU libc) stable release version 2.39.\n"));
  const auto rules = rules_of(tree);
  EXPECT_EQ(rules.kind, LoaderRules::Kind::Glibc);
  EXPECT_EQ(rules.defaults, (std::vector<std::string>{"/lib64", "/usr/lib64"}));
  EXPECT_EQ(rules.lib, "lib64");
  EXPECT_EQ(rules.glibc_minor, 39);
  EXPECT_EQ(rules.platform, "x86_64");
  EXPECT_FALSE(rules.secure);
}

TEST(LoaderRules, OldLoadersTellTheirReleaseByName) {
  RecordedTree tree;
  tree.add_link("/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/ld-2.31.so");
  tree.add_file("/usr/lib/x86_64-linux-gnu/ld-2.31.so",
                loader_bytes("/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0"s, ""));
  const auto rules = rules_of(tree);
  EXPECT_EQ(rules.glibc_minor, 31);
  EXPECT_EQ(rules.lib, "lib/x86_64-linux-gnu");
  EXPECT_EQ(rules.defaults.size(), 4u);
}

TEST(LoaderRules, AnInterpreterOfItsOwn) {
  RecordedTree tree;
  tree.add_file("/nix/store/x-glibc-2.40/lib/ld-linux-x86-64.so.2",
                loader_bytes("/nix/store/x-glibc-2.40/lib/\0"s, "stable release version 2.40."));
  LibraryFile program;
  program.state = "elf";
  program.elf_class = "64";
  program.machine = "x86_64";
  program.interpreter = "/nix/store/x-glibc-2.40/lib/ld-linux-x86-64.so.2";
  const auto rules = rules_of(tree, &program);
  EXPECT_EQ(rules.defaults, (std::vector<std::string>{"/nix/store/x-glibc-2.40/lib"}));
  EXPECT_EQ(rules.lib, "lib");
  EXPECT_EQ(rules.glibc_minor, 40);
}

TEST(LoaderRules, Musl) {
  RecordedTree tree;
  tree.add_file("/lib/ld-musl-x86_64.so.1",
                "\x7f"
                "ELF");
  tree.add_file("/etc/ld-musl-x86_64.path", "/opt/lib:/lib\n/usr/lib\n");
  const auto rules = rules_of(tree);
  EXPECT_EQ(rules.kind, LoaderRules::Kind::Musl);
  EXPECT_EQ(rules.musl_path, (std::vector<std::string>{"/opt/lib", "/lib", "/usr/lib"}));
}

TEST(LoaderRules, PreloadFileAndCpu) {
  RecordedTree tree;
  tree.add_file("/etc/ld.so.preload", "/a/libp.so /b/libq.so:libr.so\n");
  tree.add_file(
      "/proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 "
      "f16c fma abm movbe xsave\n\n");
  const auto rules = rules_of(tree);
  EXPECT_EQ(rules.preload, (std::vector<std::string>{"/a/libp.so", "/b/libq.so", "libr.so"}));
  EXPECT_EQ(rules.hwcaps, (std::vector<std::string>{"x86-64-v3", "x86-64-v2"}));
  EXPECT_EQ(rules.isa_level, 3);
  EXPECT_EQ(rules.platform, "haswell");
}

TEST(LoaderRules, ASetUserIdProgramIsSecure) {
  RecordedTree tree;
  tree.add_file("/bin/app", "x", 04755);
  LibraryFile program;
  program.path = "/bin/app";
  program.state = "elf";
  program.interpreter = "/lib64/ld-linux-x86-64.so.2";
  EXPECT_TRUE(rules_of(tree, &program).secure);
}

TEST(SystemObjects, OneFileUnderManyNames) {
  RecordedTree tree;
  tree.add_file("/usr/lib64/libx.so.1.2", "a text and no library, but long enough for a header to stand in front of it, really");
  tree.add_link("/usr/lib64/libx.so.1", "libx.so.1.2");
  tree.add_link("/lib64", "usr/lib64");
  tree.add_link("/usr/lib64/libgone.so", "nothing");
  tree.add_link("/usr/lib64/libloop.so", "libloop.so");
  tree.add_directory("/usr/lib64/libfolder.so");
  const auto system = make_recorded_system(tree);
  SystemObjects objects(*system);
  const auto* one = objects.open("/lib64/libx.so.1");
  const auto* two = objects.open("/usr/lib64/libx.so.1.2");
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(one->path, "/lib64/libx.so.1");
  EXPECT_EQ(one->real_path, "/usr/lib64/libx.so.1.2");
  EXPECT_EQ(one->inode, two->inode);
  EXPECT_EQ(one->state, "not-elf");
  EXPECT_EQ(objects.open("/lib64/libx.so.1"), one);
  EXPECT_EQ(objects.open("/lib64/libgone.so"), nullptr);
  EXPECT_EQ(objects.open("/lib64/libloop.so")->state, "unreadable");
  EXPECT_EQ(objects.open("/lib64/libfolder.so")->loader_error, "cannot read file data");
  EXPECT_TRUE(objects.is_folder("/lib64"));
  EXPECT_FALSE(objects.is_folder("/lib64/libx.so.1"));
  EXPECT_EQ(objects.cache_entries("libx.so.1"), nullptr);
  LoaderView view;
  objects.store(view);
  ViewSource kept(view);
  EXPECT_EQ(kept.open("/lib64/libx.so.1")->real_path, "/usr/lib64/libx.so.1.2");
  EXPECT_EQ(kept.open("/lib64/libgone.so"), nullptr);
  EXPECT_TRUE(kept.is_folder("/lib64"));
}

}  // namespace
}  // namespace gpuvet
