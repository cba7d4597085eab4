// Copies of the driver's libraries on small machines. The libraries are ELF files that only name themselves and a version.
#include <gtest/gtest.h>

#include <algorithm>

#include "../elf/small_elf.h"
#include "collect/collect.h"
#include "collect/ldconf.h"
#include "collect/loader_view.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

std::string library(const std::string& soname, const std::string& version, bool wide = true) {
  test::SmallElf elf;
  elf.wide = wide;
  elf.machine = wide ? 62 : 3;
  elf.soname = soname;
  elf.needed = {"libc.so.6"};
  elf.symbols = {"cuInit"};
  elf.code = "\x55\x48\x89\xe5\x41\x57";
  elf.data = std::string(1, '\0') + version + '\0';
  return elf.build();
}

std::string stub() {
  test::SmallElf elf;
  elf.soname = "libcuda.so.1";
  elf.symbols = {"cuInit"};
  elf.code = std::string("\xb8\x22\0\0\0\xc3", 6);
  return elf.build();
}

struct Fixture {
  RecordedTree tree;
  Machine machine;

  explicit Fixture(const std::string& os = "debian") {
    machine.os.id = Fact<std::string>::known(os);
    machine.os.architecture = Fact<std::string>::known("x86_64");
    tree.add_directory("/usr/lib");
    tree.add_link("/lib", "usr/lib");
  }
  void driver(const std::string& folder, const std::string& version) {
    tree.add_file(folder + "/libcuda.so." + version, library("libcuda.so.1", version));
    tree.add_link(folder + "/libcuda.so.1", "libcuda.so." + version);
    tree.add_link(folder + "/libcuda.so", "libcuda.so.1");
  }
  const std::vector<DriverLibrary>& collect() {
    const auto system = make_recorded_system(tree);
    collect_user_driver(*system, {}, machine);
    return *machine.user_driver.libraries.get();
  }
  const DriverLibrary* winner() const {
    const auto* all = machine.user_driver.libraries.get();
    const auto found = std::ranges::find_if(*all, [](const DriverLibrary& l) { return l.wins; });
    return found == all->end() ? nullptr : &*found;
  }
};

const std::string multiarch = "/usr/lib/x86_64-linux-gnu";

TEST(UserDriver, OneCopyUnderSeveralNamesIsOne) {
  Fixture f;
  f.driver(multiarch, "550.120");
  ASSERT_EQ(f.collect().size(), 1u);
  const auto* copy = f.winner();
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->name, "libcuda.so.1");
  EXPECT_EQ(copy->path, "/lib/x86_64-linux-gnu/libcuda.so.1");
  EXPECT_EQ(copy->real_path, multiarch + "/libcuda.so.550.120");
  EXPECT_EQ(copy->kind, "driver");
  EXPECT_TRUE(copy->version.is("550.120"));
  EXPECT_EQ(copy->version_in_name, "550.120");
  EXPECT_EQ(copy->found_by, "default");
  EXPECT_TRUE(f.machine.user_driver.libcuda_dev_link.is(true));
  EXPECT_TRUE(f.machine.user_driver.search_complete.is(true));
}

TEST(UserDriver, VersionComesFromTheBytesNotFromTheName) {
  Fixture f;
  f.tree.add_file(multiarch + "/libcuda.so.535.99.01", library("libcuda.so.1", "550.120"));
  f.tree.add_link(multiarch + "/libcuda.so.1", "libcuda.so.535.99.01");
  f.collect();
  EXPECT_TRUE(f.winner()->version.is("550.120"));
  EXPECT_EQ(f.winner()->version_in_name, "535.99.01");
}

TEST(UserDriver, StubOnTheLibraryPathWins) {
  Fixture f;
  f.driver(multiarch, "550.120");
  f.tree.add_file("/usr/local/cuda/lib64/stubs/libcuda.so", stub());
  f.tree.add_link("/usr/local/cuda/lib64/stubs/libcuda.so.1", "libcuda.so");
  f.machine.environment["LD_LIBRARY_PATH"] = "/usr/local/cuda/lib64/stubs";
  EXPECT_EQ(f.collect().size(), 2u);
  EXPECT_EQ(f.winner()->kind, "stub");
  EXPECT_EQ(f.winner()->found_by, "LD_LIBRARY_PATH");
  EXPECT_EQ(f.winner()->path, "/usr/local/cuda/lib64/stubs/libcuda.so.1");
}

TEST(UserDriver, KindsOfCopies) {
  Fixture f;
  f.tree.add_file("/usr/local/cuda-12.4/compat/libcuda.so.1", library("libcuda.so.1", "550.54.14"));
  f.tree.add_file("/usr/lib/wsl/lib/libcuda.so.1", library("libcuda.so.1", "560.94"));
  f.tree.add_file(multiarch + "/libcuda.so.535.1", "");
  f.tree.add_file(multiarch + "/libcuda.so.2.1", "text");
  f.tree.add_link(multiarch + "/libcuda.so", "libcuda.so.470.1");
  std::vector<std::string> kinds;
  for (const auto& copy : f.collect()) kinds.push_back(copy.kind);
  std::ranges::sort(kinds);
  EXPECT_EQ(kinds, (std::vector<std::string>{"compat", "dangling", "empty", "not-elf", "wsl"}));
  EXPECT_EQ(f.winner(), nullptr);
  EXPECT_TRUE(f.machine.user_driver.libcuda_dev_link.is(false));
}

TEST(UserDriver, EmptyFileOfTheRightNameIsWhatTheLoaderTakes) {
  Fixture f;
  f.tree.add_file(multiarch + "/libcuda.so.1", "");
  f.collect();
  ASSERT_NE(f.winner(), nullptr);
  EXPECT_EQ(f.winner()->kind, "empty");
}

TEST(UserDriver, OtherClassNeverWins) {
  Fixture f;
  f.tree.add_file("/usr/lib/i386-linux-gnu/libcuda.so.1", library("libcuda.so.1", "550.120", false));
  ASSERT_EQ(f.collect().size(), 1u);
  EXPECT_EQ(f.winner(), nullptr);
  EXPECT_EQ(f.collect()[0].elf_class, "32");
}

TEST(UserDriver, ConfigurationCountsWithoutCache) {
  Fixture f;
  f.driver("/opt/driver", "550.120");
  f.tree.add_file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  f.tree.add_file("/etc/ld.so.conf.d/driver.conf", "# driver\n/opt/driver/\n");
  f.collect();
  EXPECT_EQ(f.winner()->found_by, "ld.so.conf");
}

TEST(UserDriver, MountsOfSingleFiles) {
  Fixture f;
  f.driver(multiarch, "550.120");
  f.tree.add_file("/proc/1/mountinfo", "9 1 0:1 / " + multiarch + "/libcuda.so.550.120 ro - ext4 /dev/x rw\n");
  f.collect();
  EXPECT_TRUE(f.winner()->bind_mounted);
}

TEST(UserDriver, OwnerFromDpkgLists) {
  Fixture f;
  f.driver(multiarch, "550.120");
  f.machine.packages.manager = Fact<std::string>::known("dpkg");
  Package package;
  package.name = "libnvidia-compute-550";
  package.architecture = "amd64";
  f.machine.packages.installed = Fact<std::vector<Package>>::known({package});
  f.collect();
  EXPECT_TRUE(f.winner()->package.is_not_seen());  // its list is not there
  f.tree.add_file("/var/lib/dpkg/info/libnvidia-compute-550:amd64.list", "/.\n/lib/x86_64-linux-gnu/libcuda.so.550.120\n");
  f.machine.loader = {};
  f.collect();
  EXPECT_TRUE(f.winner()->package.is("libnvidia-compute-550"));
  f.machine.packages.installed = Fact<std::vector<Package>>::known({});
  f.machine.loader = {};
  f.collect();
  EXPECT_TRUE(f.winner()->package.is_absent());
}

TEST(UserDriver, RootWithoutLibraryFoldersSaysNothing) {
  Machine machine;
  RecordedTree tree;
  tree.add_file("/var/log/kern.log", "");
  const auto system = make_recorded_system(tree);
  collect_user_driver(*system, {}, machine);
  EXPECT_TRUE(machine.user_driver.libraries.is_not_seen());
  EXPECT_TRUE(machine.user_driver.libcuda_dev_link.is_not_seen());
}

TEST(DefaultFolders, PerDistribution) {
  const auto folders = [](Fixture& f) {
    const auto system = make_recorded_system(f.tree);
    return default_folders(*system, f.machine);
  };
  Fixture debian;
  EXPECT_EQ(folders(debian).front(), "/lib/x86_64-linux-gnu");
  Fixture rocky("rocky");
  rocky.tree.add_directory("/usr/lib64");
  EXPECT_EQ(folders(rocky), (std::vector<std::string>{"/lib64", "/usr/lib64"}));
  Fixture arch("arch");
  EXPECT_EQ(folders(arch), (std::vector<std::string>{"/lib", "/usr/lib"}));
}

TEST(LdConf, LinesAndLoops) {
  EXPECT_EQ(parse_ldconf_line("  /a/b/ # c", "/etc/ld.so.conf").folder, "/a/b");
  EXPECT_EQ(parse_ldconf_line("relative", "/etc/ld.so.conf").folder, "");
  EXPECT_EQ(parse_ldconf_line("include a.conf /b/*", "/etc/ld.so.conf").includes, (std::vector<std::string>{"/etc/a.conf", "/b/*"}));
  EXPECT_EQ(parse_ldconf_line("hwcap 1 x", "/etc/ld.so.conf").folder, "");
  RecordedTree tree;
  tree.add_file("/etc/ld.so.conf", "include ld.so.conf\n/a\n/a\n");
  const auto system = make_recorded_system(tree);
  std::vector<std::string> problems;
  EXPECT_EQ(read_ldconf(*system, problems).size(), 1u);
}

TEST(Glob, Patterns) {
  EXPECT_TRUE(glob_match("*.conf", "x.conf"));
  EXPECT_FALSE(glob_match("*.conf", ".x.conf"));
  EXPECT_FALSE(glob_match("*.conf", "x.conf~"));
  EXPECT_TRUE(glob_match("cuda*", "cuda"));
  EXPECT_TRUE(glob_match("a?[b-d][!x]*z", "axcyzz"));
  EXPECT_FALSE(glob_match("a[b", "ab"));
  EXPECT_TRUE(glob_match("a[b", "a[b"));
}

}  // namespace
}  // namespace gpuvet
