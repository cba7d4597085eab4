// The loader cache as we read it against what ldconfig prints of it: the machine's own, and one with glibc-hwcaps folders.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "elf/ldso_cache.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(("LC_ALL=C PATH=$PATH:/sbin:/usr/sbin " + command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer;
  while (const auto got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
  pclose(pipe);
  return out;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// "libz.so.1 x86-64-v3 => /lib/…/libz.so.1"
Lines printed_by_ldconfig(const fs::path& cache) {
  Lines lines;
  std::istringstream in(output_of("ldconfig -p -C '" + cache.string() + "'"));
  for (std::string line; std::getline(in, line);) {
    const auto open = line.find(" ("), arrow = line.find(" => ");
    if (line[0] != '\t' || open == std::string::npos || arrow == std::string::npos) continue;
    const auto mark = line.find("hwcap: \"");
    const auto level = mark < arrow ? line.substr(mark + 8, line.find('"', mark + 8) - mark - 8) + " " : "";
    lines.push_back(line.substr(1, open - 1) + " " + level + line.substr(arrow + 1));
  }
  return lines;
}

std::string line_of(const LoaderCacheEntry& entry) {
  return entry.soname + " " + (entry.hwcaps.empty() ? "" : entry.hwcaps + " ") + "=> " + entry.path;
}

void expect_same(const fs::path& path) {
  const auto printed = printed_by_ldconfig(path);
  if (printed.empty()) GTEST_SKIP() << "ldconfig prints nothing of " << path;
  const auto cache = LoaderCache::parse(bytes_of(path));
  ASSERT_TRUE(cache) << cache.error();
  Lines ours;
  for (const auto& entry : cache->all()) ours.push_back(line_of(entry));
  EXPECT_EQ(ours, printed);
  // Every entry is found by its soname, in the same order.
  for (const auto& entry : cache->all()) {
    Lines found, expected;
    for (const auto& hit : cache->find(entry.soname)) found.push_back(line_of(hit));
    for (const auto& line : printed)
      if (line.starts_with(entry.soname + " ")) expected.push_back(line);
    EXPECT_EQ(found, expected) << entry.soname;
  }
  std::printf("loader cache: %zu entries of %s as ldconfig prints them\n", printed.size(), path.c_str());
}

TEST(LoaderCacheFidelity, OfThisMachine) {
  if (!fs::exists("/etc/ld.so.cache")) GTEST_SKIP() << "no loader cache";
  expect_same("/etc/ld.so.cache");
}

TEST(LoaderCacheFidelity, WithHwcaps) {
  const fs::path library = "/lib/x86_64-linux-gnu/libdl.so.2";
  if (!fs::exists(library)) GTEST_SKIP() << "no " << library << " to copy";
  std::string pattern = (fs::temp_directory_path() / "gpuvet-cache-XXXXXX").string();
  const fs::path root = mkdtemp(pattern.data());
  fs::create_directories(root / "etc");
  std::ofstream(root / "etc/ld.so.conf") << "/opt/lib\n";
  for (const char* folder : {"opt/lib", "opt/lib/glibc-hwcaps/x86-64-v2", "opt/lib/glibc-hwcaps/x86-64-v3", "usr/lib"}) {
    fs::create_directories(root / folder);
    fs::copy_file(library, root / folder / "libdl.so.2");
  }
  if (output_of("ldconfig -r '" + root.string() + "' && echo done").find("done") != std::string::npos) expect_same(root / "etc/ld.so.cache");
  std::error_code ignored;
  fs::remove_all(root, ignored);
}

}  // namespace
}  // namespace gpuvet
