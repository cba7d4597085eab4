#include "system/rooted.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "system/recorded.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

/// A folder that goes away again; `root` is the inspected tree, `outside` holds what no root may reach.
class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "gpuvet-root-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    base = name;
    root = base / "root";
    fs::create_directories(root);
    write_at(base / "outside", "outside");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(base, ignored);
  }
  void write(const std::string& path, const std::string& text) const { write_at(root / path, text); }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories((root / path).parent_path());
    fs::create_symlink(target, root / path);
  }
  static void write_at(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  fs::path base, root;
};

class Rooted : public testing::TestWithParam<Resolution> {
 protected:
  std::unique_ptr<System> system() { return make_rooted_system(folder.root.string(), GetParam()).value(); }
  Folder folder;
};

INSTANTIATE_TEST_SUITE_P(BothWays, Rooted, testing::Values(Resolution::Kernel, Resolution::Walk),
                         [](const auto& way) { return way.param == Resolution::Kernel ? "kernel" : "walk"; });

TEST_P(Rooted, LinksThatClimbOutStayInside) {
  folder.write("etc/file", "inside");
  folder.link("relative", "../../../../outside");
  folder.link("absolute", (folder.base / "outside").string());
  folder.link("passwd", "/etc/passwd");
  folder.link("back", "../../../etc/file");
  folder.link("here", "/etc/file");
  folder.link("dots", "../..");
  auto s = system();
  EXPECT_EQ(s->read_file("/relative").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->read_file("/absolute").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->read_file("/passwd").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->read_file("/../outside").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->read_file("../outside").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->read_file("/dots/outside").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->read_file("/back").value(), "inside");
  EXPECT_EQ(s->read_file("/here").value(), "inside");
  EXPECT_EQ(s->real_path("/back").value(), "/etc/file");
  EXPECT_EQ(s->real_path("/dots").value(), "/");
  EXPECT_EQ(s->read_link("/here").value(), "/etc/file");
}

TEST_P(Rooted, Loops) {
  folder.link("a", "b");
  folder.link("b", "/a");
  folder.link("self", "self/self");
  for (int i = 0; i < 60; ++i) folder.link("chain" + std::to_string(i), "chain" + std::to_string(i + 1));
  folder.write("chain60", "end");
  auto s = system();
  EXPECT_EQ(s->read_file("/a").error().code, ErrorCode::Loop);
  EXPECT_EQ(s->list("/self").error().code, ErrorCode::Loop);
  EXPECT_EQ(s->status("/a").error().code, ErrorCode::Loop);
  EXPECT_EQ(s->status("/a", false)->type, FileType::Link);
  EXPECT_EQ(s->read_file("/chain0").error().code, ErrorCode::Loop);
  EXPECT_EQ(s->read_file("/chain20").value(), "end");  // 40 links
  EXPECT_EQ(s->read_file("/chain19").error().code, ErrorCode::Loop);
}

TEST_P(Rooted, NeverOpensFifosOrDevices) {
  ASSERT_EQ(::mkfifo((folder.root / "fifo").c_str(), 0666), 0);
  auto s = system();
  EXPECT_EQ(s->read_file("/fifo").error().code, ErrorCode::NotRegular);
  EXPECT_EQ(s->read_tail("/fifo", 10).error().code, ErrorCode::NotRegular);
  EXPECT_EQ(s->open("/fifo").error().code, ErrorCode::NotRegular);
  EXPECT_EQ(s->list("/fifo").error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->status("/fifo")->type, FileType::Fifo);
  if (::mknod((folder.root / "zero").c_str(), S_IFCHR | 0666, makedev(1, 5)) == 0) {
    EXPECT_EQ(s->read_head("/zero", 10).error().code, ErrorCode::NotRegular);
    EXPECT_EQ(s->status("/zero")->device_major, 1u);
    EXPECT_EQ(s->status("/zero")->device_minor, 5u);
  }
  EXPECT_EQ(s->read_file("/").error().code, ErrorCode::NotRegular);
}

TEST_P(Rooted, DeepAndLongPaths) {
  std::string deep, climbing;
  for (int i = 0; i < 5000; ++i) deep += "/a";
  for (int i = 0; i < 1000; ++i) climbing += "/..";
  folder.write("etc/x", "x");
  auto s = system();
  EXPECT_EQ(s->read_file(deep).error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->read_file(climbing + "/etc/x").value(), "x");
  EXPECT_EQ(s->status("/" + std::string(300, 'n')).error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->status(std::string_view("/etc\0/x", 7)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(s->status("").error().code, ErrorCode::NotFound);
}

TEST_P(Rooted, DeepFoldersOnDisk) {
  // A few hundred only: making and removing them costs a millisecond each on a slow disk.
  int at = ::open(folder.root.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 520 && at >= 0; ++i) {
    ::mkdirat(at, "d", 0755);
    const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY);
    ::close(at);
    at = next;
  }
  ::close(at);
  std::string path;
  for (int i = 0; i < 250; ++i) path += "/d";
  folder.link("down", path.substr(1));
  auto s = system();
  EXPECT_EQ(s->list(path)->size(), 1u);
  EXPECT_EQ(s->list("/down" + path)->size(), 1u);
  EXPECT_EQ(s->list(path + path)->size(), 1u);
  EXPECT_EQ(s->list(path + path + path).error().code, ErrorCode::NotFound);
}

TEST_P(Rooted, BoundedReads) {
  { std::ofstream(folder.root / "sparse").put('x'); }
  fs::resize_file(folder.root / "sparse", std::uintmax_t{2} << 30);
  folder.write("lines", "one\ntwo\nthree\n");
  folder.write("empty", "");
  auto s = system();
  EXPECT_EQ(s->read_file("/sparse").error().code, ErrorCode::TooBig);
  EXPECT_EQ(s->read_head("/sparse", 5)->size(), 5u);
  EXPECT_EQ(s->read_tail("/sparse", 1000)->text.size(), 1000u);
  EXPECT_TRUE(s->read_tail("/sparse", 1000)->truncated);
  EXPECT_EQ(s->read_file("/lines", 14).value(), "one\ntwo\nthree\n");
  EXPECT_EQ(s->read_file("/lines", 13).error().code, ErrorCode::TooBig);
  EXPECT_EQ(s->read_tail("/lines", 6)->text, "three\n");
  EXPECT_EQ(s->read_tail("/empty", 6)->text, "");
  EXPECT_FALSE(s->read_tail("/empty", 6)->truncated);
  auto reader = s->open("/lines");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->size(), 14u);
  EXPECT_EQ((*reader)->read_at(4, 3).value(), "two");
  EXPECT_EQ((*reader)->read_at(9, 100).value(), "hree\n");
  EXPECT_EQ((*reader)->read_at(100, 1).value(), "");
}

TEST_P(Rooted, FilesThatGrowEnd) {
  folder.write("log", "start\n");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    std::ofstream out(folder.root / "log", std::ios::app);
    const std::string line(4096, 'x');
    for (int i = 0; i < 3000 && !stop; ++i) out << line << std::flush;
  });
  auto s = system();
  for (int i = 0; i < 50; ++i) {
    const auto all = s->read_file("/log", 65536);
    EXPECT_TRUE(all ? all->size() <= 65536 : all.error().code == ErrorCode::TooBig);
    EXPECT_LE(s->read_tail("/log", 1000)->text.size(), 1000u);
  }
  stop = true;
  writer.join();
}

TEST_P(Rooted, ManyEntriesAreCut) {
  for (int i = 0; i < 300; ++i) folder.write("many/" + std::to_string(i), "");
  auto s = system();
  EXPECT_EQ(s->list("/many", 100)->size(), 100u);
  const auto all = s->list("/many");
  ASSERT_EQ(all->size(), 300u);
  EXPECT_TRUE(std::is_sorted(all->begin(), all->end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST_P(Rooted, UnreadableIsDenied) {
  folder.write("secret", "x");
  folder.write("closed/x", "x");
  fs::permissions(folder.root / "secret", fs::perms::none);
  fs::permissions(folder.root / "closed", fs::perms::none);
  auto s = system();
  const bool is_root = ::geteuid() == 0;  // root reads everything: be somebody else for a moment
  if (is_root) ASSERT_EQ(::seteuid(65534), 0);
  EXPECT_EQ(s->read_file("/secret").error().code, ErrorCode::Denied);
  EXPECT_EQ(s->list("/closed").error().code, ErrorCode::Denied);
  EXPECT_EQ(s->read_file("/closed/x").error().code, ErrorCode::Denied);
  EXPECT_TRUE(s->exists("/secret"));
  if (is_root) ASSERT_EQ(::seteuid(0), 0);
  fs::permissions(folder.root / "closed", fs::perms::owner_all);
}

TEST_P(Rooted, NothingLiveAnswers) {
  auto s = system();
  EXPECT_FALSE(s->is_live());
  EXPECT_EQ(s->identity().error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(s->may_open("/dev/nvidia0").error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(s->run({"journalctl"}, 100, 100).error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(s->kernel_ring_buffer(100).error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(s->environment().error().code, ErrorCode::NotAvailable);
}

TEST(RootedSystem, RootMustBeAFolder) {
  Folder folder;
  EXPECT_EQ(make_rooted_system((folder.base / "none").string()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(make_rooted_system((folder.base / "outside").string()).error().code, ErrorCode::NotFound);
}

TEST(RootedSystem, MagicLinksOfProcAreRefusedBothWays) {
  for (const Resolution way : {Resolution::Kernel, Resolution::Walk}) {
    auto s = make_rooted_system("/", way).value();
    EXPECT_EQ(s->read_head("/proc/self/exe", 4).error().code, ErrorCode::Loop);
    EXPECT_EQ(s->list("/proc/self/root/").error().code, ErrorCode::Loop);
    EXPECT_EQ(s->list("/proc/self/cwd").error().code, ErrorCode::Loop);
    EXPECT_TRUE(s->read_link("/proc/self/exe"));
    EXPECT_TRUE(s->read_file("/proc/self/status"));
    EXPECT_TRUE(s->read_file("/proc/mounts"));
    EXPECT_GT(s->read_tail("/proc/self/status", 20)->text.size(), 0u);
  }
}

// ---- the three implementations give the same answers for the same tree ----------------------------------------------

template <class T, class Show>
std::string show(const Result<T>& result, Show&& text) {
  return result ? text(*result) : "error " + std::to_string(static_cast<int>(result.error().code));
}

/// Everything that the files of a System say about one path, as text.
std::string answers(System& s, const std::string& path) {
  const auto plain = [](const std::string& text) { return text; };
  const auto status = [](const FileStatus& st) {
    return std::to_string(static_cast<int>(st.type)) + " " + std::to_string(st.mode) + " " + std::to_string(st.size) + " " +
           std::to_string(st.device_major) + ":" + std::to_string(st.device_minor);
  };
  std::string all = path + "\n stat " + show(s.status(path), status) + "\n lstat " + show(s.status(path, false), status);
  all += "\n file " + show(s.read_file(path, 8), plain) + "\n head " + show(s.read_head(path, 3), plain);
  all += "\n tail " + show(s.read_tail(path, 3), [](const System::Tail& tail) { return tail.text + (tail.truncated ? "+" : ""); });
  all += "\n link " + show(s.read_link(path), plain) + "\n real " + show(s.real_path(path), plain);
  all += "\n list " + show(s.list(path), [](const auto& entries) {
    std::string names;
    for (const auto& entry : entries) names += entry.name + ":" + std::to_string(static_cast<int>(entry.type)) + " ";
    return names;
  });
  return all;
}

TEST(SameAnswers, KernelWalkAndRecorded) {
  Folder folder;
  RecordedTree tree;
  const auto file = [&](const std::string& path, const std::string& text) {
    folder.write(path, text);
    fs::permissions(folder.root / path, static_cast<fs::perms>(0644));
    tree.add_file("/" + path, text);
  };
  const auto link = [&](const std::string& path, const std::string& target) {
    folder.link(path, target);
    tree.add_link("/" + path, target);
  };
  file("usr/lib/x/libcuda.so.1", "0123456789");
  file("etc/os-release", "ID=x");
  file("empty", "");
  link("lib", "usr/lib");
  link("usr/lib/abs", "/etc");
  link("usr/lib/climb", "../../../../../etc/os-release");
  link("usr/lib/x/libcuda.so", "libcuda.so.1");
  link("dangling", "nowhere/at/all");
  link("loop1", "loop2");
  link("loop2", "loop1");
  link("dotdot", "usr/lib/../../etc");
  link("through-file", "etc/os-release/x");
  link("slash", "etc/os-release/");
  link("slashdir", "etc/");
  link("root", "/");
  link("proc/self", "4242");
  file("proc/4242/status", "Uid: 1");
  link("proc/4242/root", "/");
  for (const fs::path dir : {"usr", "usr/lib", "usr/lib/x", "etc", "proc", "proc/4242"}) fs::permissions(folder.root / dir, static_cast<fs::perms>(0755));
  fs::permissions(folder.root, static_cast<fs::perms>(0755));
  ::mkfifo((folder.root / "fifo").c_str(), 0644);
  fs::permissions(folder.root / "fifo", static_cast<fs::perms>(0644));
  tree.add_device("/fifo", FileType::Fifo, 0, 0, 0644);

  auto kernel = make_rooted_system(folder.root.string(), Resolution::Kernel).value();
  auto walk = make_rooted_system(folder.root.string(), Resolution::Walk).value();
  auto recorded = make_recorded_system(tree);
  const char* paths[] = {"/", ".", "..", "/lib", "/lib/", "/lib/x/libcuda.so", "/lib/abs", "/lib/abs/os-release", "/lib/climb", "/dangling", "/loop1",
                         "/loop1/", "/dotdot", "/dotdot/os-release", "/through-file", "/slash", "/slashdir", "/slashdir/os-release", "/root", "/root/root/etc",
                         "/etc/os-release/", "/etc/os-release/..", "/etc/os-release/.", "/etc/../etc/./os-release", "/nowhere/../etc", "/fifo", "/fifo/x", "/empty",
                         "/lib/..", "/lib/../..", "/proc/self/status", "/proc/self/root/etc/os-release", "", "etc/os-release", "//etc///os-release"};
  for (const char* path : paths) {
    const std::string expected = answers(*kernel, path);
    EXPECT_EQ(expected, answers(*walk, path));
    EXPECT_EQ(expected, answers(*recorded, path));
  }
}

}  // namespace
}  // namespace gpuvet
