#include "collect/host_compilers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "system/recorded.h"

namespace gpuvet {
namespace {

struct Fixture {
  RecordedTree tree;
  Machine machine;

  Fixture() { machine.environment["PATH"] = "/usr/local/bin:/usr/bin"; }
  void collect() {
    const auto system = make_recorded_system(tree);
    collect_host_compilers(*system, machine);
  }
  const HostCompiler* named(const std::string& name) const {
    const auto& all = *machine.toolkits.compilers.get();
    const auto found = std::ranges::find(all, name, &HostCompiler::name);
    return found == all.end() ? nullptr : &*found;
  }
};

const std::string program =
    "\x7f"
    "ELF";

TEST(HostCompilers, Names) {
  for (const auto* name :
       {"gcc", "g++", "cc", "c++", "clang", "clang++", "gcc-12", "clang++-14", "x86_64-conda-linux-gnu-g++", "gcc-4.8"})
    EXPECT_TRUE(is_compiler_name(name)) << name;
  for (const auto* name : {"gcc-ar", "gcc-ar-12", "clang-format-14", "clang-tidy", "c89-gcc", "nvcc", "ccache", "distcc",
                           "clang-cpp", "x86_64-linux-gnu-gcc-12", "g++-x"})
    EXPECT_FALSE(is_compiler_name(name)) << name;
}

TEST(HostCompilers, DebianNames) {
  Fixture f;
  f.tree.add_link("/usr/bin/gcc", "gcc-13");
  f.tree.add_link("/usr/bin/gcc-13", "x86_64-linux-gnu-gcc-13");
  f.tree.add_link("/usr/bin/cc", "/etc/alternatives/cc");
  f.tree.add_link("/etc/alternatives/cc", "/usr/bin/gcc");
  f.tree.add_file("/usr/bin/x86_64-linux-gnu-gcc-13", program, 0755);
  f.tree.add_link("/usr/bin/g++", "missing");
  f.collect();
  ASSERT_NE(f.named("gcc"), nullptr);
  EXPECT_EQ(f.named("gcc")->real_path, "/usr/bin/x86_64-linux-gnu-gcc-13");
  EXPECT_TRUE(f.named("gcc")->version.is("13"));
  EXPECT_TRUE(f.named("cc")->version.is("13"));
  EXPECT_EQ(f.named("gcc-13")->found_by, "PATH");
  EXPECT_EQ(f.named("g++"), nullptr);
}

TEST(HostCompilers, VersionFromFolders) {
  Fixture f;
  f.tree.add_file("/usr/bin/gcc", program, 0755);
  f.tree.add_file("/usr/lib/gcc/x86_64-redhat-linux/11/include/stddef.h", "");
  f.collect();
  EXPECT_TRUE(f.named("gcc")->version.is("11")) << f.named("gcc")->version.why();
}

TEST(HostCompilers, OtherReleasesHaveTheirOwnName) {
  Fixture f;
  f.tree.add_file("/usr/bin/gcc", program, 0755);
  f.tree.add_file("/usr/bin/gcc-13", program, 0755);
  f.tree.add_file("/usr/lib/gcc/x86_64-pc-linux-gnu/14.2.1/include/stddef.h", "");
  f.tree.add_file("/usr/lib/gcc/x86_64-pc-linux-gnu/13.3.1/include/stddef.h", "");
  f.collect();
  EXPECT_TRUE(f.named("gcc")->version.is("14.2.1"));
  EXPECT_TRUE(f.named("gcc-13")->version.is("13"));
}

TEST(HostCompilers, UnknownStaysUnknown) {
  Fixture f;
  f.tree.add_file("/usr/bin/gcc", program, 0755);
  f.tree.add_file("/usr/bin/g++", "#!/bin/sh\n", 0755);
  f.collect();
  EXPECT_TRUE(f.named("gcc")->version.is_not_seen());
  EXPECT_TRUE(f.named("g++")->version.is_not_seen());
}

TEST(HostCompilers, Clang) {
  Fixture f;
  f.tree.add_link("/usr/bin/clang", "../lib/llvm-14/bin/clang");
  f.tree.add_file("/usr/lib/llvm-14/bin/clang", program, 0755);
  f.tree.add_file("/usr/local/bin/clang++", program, 0755);
  f.tree.add_file("/usr/local/lib/clang/18/include/stddef.h", "");
  f.collect();
  EXPECT_TRUE(f.named("clang")->version.is("14"));
  EXPECT_TRUE(f.named("clang++")->version.is("18"));
}

TEST(HostCompilers, Variables) {
  Fixture f;
  f.tree.add_file("/usr/bin/gcc-12", program, 0755);
  f.tree.add_file("/opt/gcc/bin/g++", program, 0755);
  f.machine.environment["CC"] = "ccache gcc-12 -m64";
  f.machine.environment["NVCC_CCBIN"] = "/opt/gcc/bin";
  f.machine.environment["NVCC_PREPEND_FLAGS"] = "-O2 -ccbin=/usr/bin/gcc-12";
  f.machine.environment["CUDAHOSTCXX"] = "/missing";
  f.collect();
  const auto& all = *f.machine.toolkits.compilers.get();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].found_by, "CC");
  EXPECT_EQ(all[0].path, "/usr/bin/gcc-12");
  EXPECT_EQ(all[1].found_by, "NVCC_CCBIN");
  EXPECT_EQ(all[1].path, "/opt/gcc/bin/g++");
  EXPECT_EQ(all[2].found_by, "NVCC_PREPEND_FLAGS");
  EXPECT_EQ(all[3].found_by, "PATH");
}

TEST(HostCompilers, FirstOnPathWins) {
  Fixture f;
  f.machine.environment["PATH"] = "/opt/conda/bin:/usr/bin";
  f.tree.add_file("/opt/conda/bin/x86_64-conda-linux-gnu-g++", program, 0755);
  f.tree.add_file("/opt/conda/bin/gcc-11", program, 0755);
  f.tree.add_file("/usr/bin/gcc-11", program, 0755);
  f.collect();
  EXPECT_EQ(f.named("gcc-11")->path, "/opt/conda/bin/gcc-11");
  EXPECT_NE(f.named("x86_64-conda-linux-gnu-g++"), nullptr);
}

TEST(HostCompilers, LibcHeaders) {
  Fixture f;
  f.collect();
  EXPECT_TRUE(f.machine.toolkits.libc_headers.is_absent());
  f.tree.add_file("/usr/include/features.h", "/* x */\n#define\t__GLIBC__\t2\n# define __GLIBC_MINOR__ 41\n");
  f.collect();
  EXPECT_TRUE(f.machine.toolkits.libc_headers.is("2.41"));
  f.tree.add_file("/usr/include/features.h", "#define __GLIBC__ 2\n");
  f.collect();
  EXPECT_TRUE(f.machine.toolkits.libc_headers.is_not_seen());
}

}  // namespace
}  // namespace gpuvet
