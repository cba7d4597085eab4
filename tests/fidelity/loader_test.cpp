// Which file the loader takes: our view and search against glibc's own ld.so, both on the same temporary root. The loader runs
// in a chroot (or a user namespace) of that root; where neither is allowed the test is skipped.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../scenarios/elf_builder.h"
#include "collect/collect.h"
#include "elf/ldso_cache.h"
#include "loader/find_library.h"
#include "system/system.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer;
  while (const auto got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
  pclose(pipe);
  return out;
}

constexpr const char* loader = "/lib64/ld-linux-x86-64.so.2";

/// A root that has the machine's own loader, C library and one program.
class LoaderRoot {
 public:
  LoaderRoot() {
    std::string pattern = (fs::temp_directory_path() / "gpuvet-loader-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    copy(fs::canonical(loader), loader);
    copy("/usr/bin/true", "/usr/bin/true");
    for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6"})
      if (fs::exists(path)) copy(fs::canonical(path), path);
    copy("/etc/os-release", "/etc/os-release");
    copy("/proc/cpuinfo", "/proc/cpuinfo");
    write("/proc/sys/kernel/osrelease", "6.1.0\n");
    fs::create_directories(folder / "etc/ld.so.conf.d");
    write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  }
  ~LoaderRoot() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  LoaderRoot(const LoaderRoot&) = delete;
  LoaderRoot& operator=(const LoaderRoot&) = delete;

  fs::path at(const std::string& path) const { return folder / path.substr(1); }
  void copy(const fs::path& from, const std::string& to) {
    fs::create_directories(at(to).parent_path());
    std::ifstream in(from, std::ios::binary);
    std::ofstream(at(to), std::ios::binary) << in.rdbuf();
    fs::permissions(at(to), fs::perms(0755));
  }
  void write(const std::string& path, const std::string& bytes) {
    fs::create_directories(at(path).parent_path());
    std::ofstream(at(path), std::ios::binary) << bytes;
  }
  void library(const std::string& path, int elf_class = 64, const std::string& machine = "x86_64") {
    test::SharedLibrarySpec spec;
    spec.soname = "libcuda.so.1";
    spec.elf_class = elf_class;
    spec.machine = machine;
    write(path, test::build_shared_library(spec));
  }
  void genuine(const std::string& path) {  // one that loads: a small library of glibc under the driver's name
    for (const char* from : {"/lib/x86_64-linux-gnu/libdl.so.2", "/usr/lib64/libdl.so.2"})
      if (fs::exists(from)) copy(fs::canonical(from), path);
  }
  bool ldconfig() const {
    return std::system(("PATH=$PATH:/sbin:/usr/sbin ldconfig -r '" + folder.string() + "' 2>/dev/null").c_str()) == 0;
  }

  std::string enter() const {
    const std::string plain = "chroot '" + folder.string() + "' ";
    for (const std::string& way : {plain, "unshare -r " + plain})
      if (output_of("PATH=$PATH:/usr/sbin " + way + loader + " --list /usr/bin/true 2>/dev/null").find("libc.so.6") != std::string::npos) return way;
    return "";
  }

  /// What glibc takes for the name; empty: nothing. A preloaded name is searched for like any other.
  std::string taken_by_glibc(const std::string& library_path) const {
    const auto out = output_of("PATH=$PATH:/usr/sbin " + enter() + "/" + loader + " --library-path '" + library_path +
                               "' --preload libcuda.so.1 --list /usr/bin/true 2>/dev/null");
    const std::string mark = "libcuda.so.1 => ";
    const auto found = out.find(mark);
    if (found == std::string::npos) return "";
    const auto start = found + mark.size();
    return out.substr(start, out.find(' ', start) - start);
  }

  std::string taken_by_us(const std::string& library_path) const {
    const auto system = make_rooted_system(folder.string());
    if (!system) return "(no root)";
    CollectOptions options;
    options.has_environment = true;
    if (!library_path.empty()) options.environment["LD_LIBRARY_PATH"] = library_path;
    const auto machine = collect(**system, options);
    const auto result = find_library(machine, machine.environment, "libcuda.so.1", "64", "x86_64");
    return result.file ? result.file->path : "";
  }

  fs::path folder;
};

bool usable(const LoaderRoot& root) { return fs::exists(loader) && !root.enter().empty(); }

constexpr std::array library_paths{"",
                                   "/missing:/a",
                                   "/a:/b",
                                   ":/b",
                                   "relative:/b/",
                                   "/b;/a",
                                   "/wrong-class:/wrong-machine:/b",
                                   "/empty:/b",
                                   "/text:/b",
                                   "/dangling:/a",
                                   "/folder:/a",
                                   "/wrong-class",
                                   "$ORIGIN/nowhere:/a",
                                   "/levels:/a",
                                   "//b//:/a",
                                   "/../b:/a"};

void fill(LoaderRoot& root) {
  for (const char* folder : {"/a", "/b", "/usr/local/cuda-conf", "/levels", "/levels/glibc-hwcaps/x86-64-v2", "/levels/glibc-hwcaps/x86-64-v4"})
    root.genuine(std::string(folder) + "/libcuda.so.1");
  root.library("/wrong-class/libcuda.so.1", 32, "i386");
  root.library("/wrong-machine/libcuda.so.1", 64, "aarch64");
  root.write("/empty/libcuda.so.1", "");
  root.write("/text/libcuda.so.1", std::string(2000, 'x'));
  fs::create_directories(root.at("/dangling"));
  fs::create_symlink("nowhere", root.at("/dangling/libcuda.so.1"));
  fs::create_directories(root.at("/folder/libcuda.so.1"));
}

void compare(const LoaderRoot& root, const char* situation) {
  for (const std::string path : library_paths)
    EXPECT_EQ(root.taken_by_us(path), root.taken_by_glibc(path)) << situation << ", LD_LIBRARY_PATH=" << path;
}

TEST(RealLoader, SameFileForEveryLibraryPath) {
  LoaderRoot root;
  if (!usable(root)) GTEST_SKIP() << "no chroot or no x86-64 glibc here";
  fill(root);
  root.write("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda-conf\n");
  ASSERT_TRUE(root.ldconfig());
  ASSERT_EQ(root.taken_by_glibc("/b:/a"), "/b/libcuda.so.1");  // else the comparison below would compare nothing with nothing
  compare(root, "cache with one copy");
  root.write("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda-conf\n/levels\n/a\n");
  ASSERT_TRUE(root.ldconfig());
  compare(root, "cache with duplicates and levels of the CPU");
  fs::remove(root.at("/usr/local/cuda-conf/libcuda.so.1"));
  fs::remove(root.at("/levels/glibc-hwcaps/x86-64-v4/libcuda.so.1"));
  compare(root, "cache older than the files");
}

TEST(RealLoader, CacheReadAsLdconfigPrintsIt) {
  LoaderRoot root;
  fill(root);
  root.write("/etc/ld.so.conf.d/cuda.conf", "/levels\n/a\n/b\n");
  if (!root.ldconfig()) GTEST_SKIP() << "no ldconfig here";
  std::ifstream in(root.at("/etc/ld.so.cache"), std::ios::binary);
  const auto entries = read_loader_cache(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_TRUE(entries);
  const auto printed = output_of("PATH=$PATH:/sbin:/usr/sbin ldconfig -r '" + root.folder.string() + "' -p");
  std::size_t at = 0;
  for (const auto& entry : *entries) {
    const auto found = printed.find("\t" + entry.soname + " (", at);
    ASSERT_NE(found, std::string::npos) << entry.soname << " is missing or in another place";
    at = printed.find('\n', found);
    const auto line = printed.substr(found, at - found);
    EXPECT_TRUE(line.ends_with("=> " + entry.path)) << line << " is not " << entry.path;
  }
  EXPECT_EQ(printed.find(" => ", at), std::string::npos);
}

}  // namespace
}  // namespace gpuvet
