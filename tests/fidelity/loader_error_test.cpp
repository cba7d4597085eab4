// Why the loader refuses a file: our words against dlerror() of this machine's glibc, for copies of a real library with one thing
// wrong each.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "elf/bytes.h"
#include "elf/elf.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

struct Damage {
  const char* what;
  std::size_t at;  ///< in the header; from 64 on: in the program headers
  int value;
};

constexpr Damage damages[] = {{"none", 0, 0x7f},          {"magic", 1, 'X'},          {"32-bit class", 4, 1},    {"no class", 4, 7},
                              {"byte order", 5, 2},       {"ident version", 6, 2},    {"System V ABI", 7, 0},    {"GNU ABI", 7, 3},
                              {"FreeBSD ABI", 7, 9},      {"ABI version 1", 8, 1},    {"ABI version 200", 8, 200}, {"padding", 12, 1},
                              {"object file", 16, 1},     {"program", 16, 2},         {"core", 16, 4},           {"machine", 18, 183},
                              {"version", 20, 2},         {"entry size", 54, 32},     {"no program headers", 56, 0},
                              {"too many program headers", 57, 127}};

class LoaderErrors : public testing::Test {
 protected:
  void SetUp() override {
    Dl_info info{};
    // A small library that is mapped already tells where real ones are.
    if (dladdr(reinterpret_cast<void*>(&dlerror), &info) == 0 || !info.dli_fname) GTEST_SKIP() << "no C library in sight";
    const auto source = fs::path(info.dli_fname).parent_path() / "libdl.so.2";
    if (!fs::exists(source)) GTEST_SKIP() << "no " << source << " to copy";
    std::ifstream in(source, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
    if (whole.size() < 4096 || whole[4] != 2 || whole[5] != 1) GTEST_SKIP() << "written for 64-bit little-endian machines";
    std::string pattern = (fs::temp_directory_path() / "gpuvet-loader-error-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }

  /// What glibc says of the bytes; "": it loads them.
  std::string answer_of_glibc(const std::string& bytes) {
    const auto path = folder / ("lib" + std::to_string(count++) + ".so");
    std::ofstream(path, std::ios::binary) << bytes;
    if (void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(library);
      return "";
    }
    const std::string text = dlerror();
    return text.substr(text.find(": ") + 2);
  }

  static std::string ours(const std::string& bytes) {
    MemoryReader reader(bytes);
    return read_library_file(reader).loader_error;
  }

  std::string whole;
  fs::path folder;
  int count = 0;
};

TEST_F(LoaderErrors, AreGlibcsOwnWords) {
  for (const auto& damage : damages) {
    auto bytes = whole;
    bytes[damage.at] = static_cast<char>(damage.value);
    const auto theirs = answer_of_glibc(bytes);
    // Ours is what a loader of the file's own class says. Files of another machine are passed over in a search, and refused in
    // these words when they are asked for by path.
    if (theirs.starts_with("wrong ELF class")) continue;
    EXPECT_EQ(ours(bytes), theirs.starts_with("cannot open shared object file") ? "" : theirs) << damage.what;
  }
}

TEST_F(LoaderErrors, OfCutFiles) {
  for (const std::size_t size : {0, 1, 30, 63, 64, 100}) {
    const auto bytes = whole.substr(0, size);
    const auto theirs = answer_of_glibc(bytes);
    EXPECT_TRUE(theirs == ours(bytes) || theirs.starts_with(ours(bytes) + ": ")) << size << ": " << theirs << " / " << ours(bytes);
  }
}

TEST_F(LoaderErrors, OfFilesWithoutDynamicSection) {
  auto bytes = whole;
  const ByteView v{whole};
  for (std::uint64_t i = 0, at = v.u64(32); i < v.u16(56); ++i, at += 56)
    if (v.u32(at) == 2) bytes[static_cast<std::size_t>(at)] = 0;  // PT_DYNAMIC → PT_NULL
  EXPECT_EQ(answer_of_glibc(bytes), ours(bytes));
  EXPECT_EQ(ours(bytes), "object file has no dynamic section");
}

TEST_F(LoaderErrors, OfPrograms) {
  for (const char* path : {"/usr/bin/true", "/usr/bin/python3"}) {
    if (!fs::exists(path)) continue;
    std::ifstream in(fs::canonical(path), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(answer_of_glibc(bytes), ours(bytes)) << path;
  }
}

}  // namespace
}  // namespace gpuvet
