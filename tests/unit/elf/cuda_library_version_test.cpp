#include <gtest/gtest.h>

#include "elf/bytes.h"
#include "elf/cuda_library_version.h"
#include "elf/elf.h"
#include "small_elf.h"

namespace gpuvet {
namespace {

using namespace std::string_literals;
using test::SmallElf;

Fact<std::string> version_of(const std::string& soname, const std::vector<std::string>& symbols, const std::string& code,
                             std::uint16_t machine = 62) {
  SmallElf elf;
  elf.soname = soname;
  elf.symbols = symbols;
  elf.code = code;
  elf.machine = machine;
  const auto bytes = elf.build();
  MemoryReader reader(bytes);
  return read_cuda_library_version(reader, read_library_file(reader));
}

// SmallElf's symbols are 8 bytes long: what a test's function hands on must begin in them.
const auto returns_91900 = "\xb8\xfc\x66\x01\0\xc3\x90\x90"s;       // mov eax, 91900; ret
const auto stores_22105 = "\xc7\x07\x59\x56\0\0\x31\xc0\xc3"s;      // mov dword [rdi], 22105
const auto stores_12040_to_rsp = "\xc7\x44\x24\x08\x08\x2f\0\0"s;   // mov dword [rsp+8], 12040

TEST(CudaLibraryVersion, IsTheConstantOfItsFunction) {
  EXPECT_TRUE(version_of("libcudnn_graph.so.9", {"cudnnGetVersion"}, returns_91900).is("9.19.0"));
  EXPECT_TRUE(version_of("libnccl.so.2", {"ncclGetVersion"}, stores_22105).is("2.21.5"));
  EXPECT_TRUE(version_of("libcudart.so.12", {"cudaRuntimeGetVersion"}, stores_12040_to_rsp).is("12.4"));
}

TEST(CudaLibraryVersion, OfAnotherMajorIsNone) {
  EXPECT_TRUE(version_of("libcudnn_graph.so.8", {"cudnnGetVersion"}, returns_91900).is_not_seen());
  EXPECT_TRUE(version_of("libcudart.so.11.0", {"cudaRuntimeGetVersion"}, stores_12040_to_rsp).is_not_seen());
  EXPECT_TRUE(version_of("libcudart.so", {"cudaRuntimeGetVersion"}, stores_12040_to_rsp).is_not_seen());
}

TEST(CudaLibraryVersion, IsFollowedIntoACalledFunction) {
  // call +3; ret; two bytes of padding; test rdi, rdi; mov dword [rdi], 12040; ret
  const auto code = "\xe8\3\0\0\0\xc3\x90\x90\x48\x85\xff\xc7\x07\x08\x2f\0\0\x31\xc0\xc3"s;
  EXPECT_TRUE(version_of("libcudart.so.12", {"cudaRuntimeGetVersion"}, code).is("12.4"));
}

TEST(CudaLibraryVersion, SeveralAreNotGuessed) {
  // The called function holds 12040 and 12030.
  const auto code = "\xe8\3\0\0\0\xc3\x90\x90\xb8\x08\x2f\0\0\xb8\xfe\x2e\0\0\xc3"s;
  EXPECT_TRUE(version_of("libcudart.so.12", {"cudaRuntimeGetVersion"}, code).is_not_seen());
}

TEST(CudaLibraryVersion, OnAarch64) {
  const auto moves_91900 = "\x80\xdf\x8c\x52\x20\0\xa0\x72\xc0\x03\x5f\xd6"s;  // movz w0, 0x66fc; movk w0, 1, lsl 16; ret
  EXPECT_EQ(constants_in_code(moves_91900, "aarch64"), std::vector<std::uint32_t>{91900});
  EXPECT_TRUE(version_of("libcudnn_graph.so.9", {"cudnnGetVersion"}, moves_91900, 183).is("9.19.0"));
  // A hash that happens to begin like a version: movz x10, 12504; movk x10, 1, lsl 32.
  const auto hash = "\x0a\x1b\x86\xd2\x2a\0\xc0\xf2\xc0\x03\x5f\xd6"s;
  EXPECT_EQ(constants_in_code(hash, "aarch64"), std::vector<std::uint32_t>{0});
}

TEST(CudaLibraryVersion, ByExportedNames) {
  EXPECT_TRUE(version_of("libnvJitLink.so.12", {"nvJitLinkCreate", "__nvJitLinkComplete_12_0", "__nvJitLinkComplete_12_4"}, "").is("12.4"));
  EXPECT_TRUE(version_of("libnvrtc-builtins.so.13.0", {"__nvrtc_builtins__13_0_getArchBuiltins"}, "").is("13.0"));
  EXPECT_TRUE(version_of("libnvJitLink.so.12", {"nvJitLinkCreate"}, "").is_not_seen());
}

TEST(CudaLibraryVersion, OtherLibrariesAreNotSeen) {
  EXPECT_TRUE(version_of("libz.so.1", {"zlibVersion"}, returns_91900).is_not_seen());
  EXPECT_TRUE(version_of("libcudnn_graph.so.9", {"other"}, returns_91900).is_not_seen());
}

TEST(NewestVersionNeeded, ComparesNumbers) {
  const std::vector<std::string> needs{"libc.so.6:GLIBC_2.9",          "libc.so.6:GLIBC_2.34",        "libm.so.6:GLIBC_2.4",
                                       "libc.so.6:GLIBC_ABI_DT_RELR",  "libc.so.6:GLIBC_PRIVATE",     "libc.so.6:GLIBC_2.40 (weak)",
                                       "libstdc++.so.6:GLIBCXX_3.4.9", "libstdc++.so.6:GLIBCXX_3.4.30", "libstdc++.so.6:CXXABI_1.3"};
  EXPECT_EQ(newest_version_needed(needs, "GLIBC_"), "2.34");
  EXPECT_EQ(newest_version_needed(needs, "GLIBCXX_"), "3.4.30");
  EXPECT_EQ(newest_version_needed(needs, "CXXABI_"), "1.3");
  EXPECT_EQ(newest_version_needed(needs, "GCC_"), "");
}

}  // namespace
}  // namespace gpuvet
