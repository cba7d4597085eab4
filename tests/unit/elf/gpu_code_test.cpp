// GPU code of hand-made files: what is found, where, and what damaged ones leave.
#include "elf/gpu_code.h"

#include <gtest/gtest.h>

#include <lz4.h>
#include <zstd.h>

#include "elf/bytes.h"
#include "small_fatbin.h"

namespace gpuvet {
namespace {

using test::container;
using test::cubin;
using test::Entry;
using test::host_elf;

std::string text_of(const GpuCodeFile& file) {
  std::string text;
  for (const auto& t : file.targets) {
    text += (text.empty() ? "" : " ") + t.arch + ":" + std::to_string(t.count);
    if (t.listed != t.count) text += "(" + std::to_string(t.listed) + ")";
    if (t.kind == "ptx") text += "@" + (t.ptx_isa_oldest == t.ptx_isa ? "" : t.ptx_isa_oldest + "-") + t.ptx_isa;
  }
  return text;
}

std::string counts(const std::vector<CodeCount>& list) {
  std::string text;
  for (const auto& c : list) text += (text.empty() ? "" : ", ") + c.name + ":" + std::to_string(c.count);
  return text;
}

GpuCodeFile stream(const std::string& bytes, std::size_t piece) {
  GpuCodeStream reader;
  for (std::size_t at = 0; at < bytes.size(); at += piece) reader.feed(std::string_view(bytes).substr(at, piece));
  return reader.finish();
}

/// Reads the file in all ways, which must agree.
GpuCodeFile read(const std::string& bytes) {
  MemoryReader file(bytes);
  const auto whole = read_gpu_code(file);
  for (const std::size_t piece : {1u, 7u, 64u, 1000u, 1u << 20}) {
    const auto streamed = stream(bytes, piece);
    EXPECT_EQ(text_of(streamed), text_of(whole)) << piece;
    EXPECT_EQ(counts(streamed.places), counts(whole.places)) << piece;
    EXPECT_EQ(streamed.state, whole.state) << piece;
    EXPECT_EQ(streamed.stub_containers, whole.stub_containers);
    EXPECT_EQ(streamed.size, whole.size);
  }
  return whole;
}

GpuCodeFile headers(const std::string& bytes) {
  MemoryReader file(bytes);
  GpuCodeOptions options;
  options.headers_only = true;
  return read_gpu_code(file, options);
}

Entry ptx(unsigned arch, unsigned major, unsigned minor, std::uint64_t flags = 0x11) {
  return {.kind = 1, .arch = arch, .flags = flags, .payload = ".version", .major = major, .minor = minor};
}

TEST(GpuCode, TargetsOfALibrary) {
  const auto one = container({{.arch = 80}, {.arch = 90, .flags = 0x100011}, {.arch = 120, .flags = 0x1200011}, ptx(120, 9, 0)});
  const auto two = container({{.arch = 80}, ptx(120, 8, 7, 0x200011)});
  const auto file = read(host_elf({{".text", std::string(100, 'c')}, {".nv_fatbin", one + two}}));
  EXPECT_EQ(text_of(file), "sm_80:2 sm_90a:1 sm_120f:1 compute_120:1@9.0 compute_120f:1@8.7");
  EXPECT_EQ(counts(file.container_sets), "sm_80 compute_120f:1, sm_80 sm_90a sm_120f compute_120:1");
  EXPECT_EQ(counts(file.places), ".nv_fatbin:2");
  EXPECT_EQ(file.containers, 2);
  EXPECT_EQ(file.state, "");
}

TEST(GpuCode, OldestAndNewestPtx) {
  const auto file = read(host_elf({{".nv_fatbin", container({ptx(75, 9, 0)}) + container({ptx(75, 7, 8), ptx(75, 10, 1)})}}));
  EXPECT_EQ(text_of(file), "compute_75:3@7.8-10.1");
  EXPECT_EQ(counts(file.container_sets), "compute_75:2");
}

TEST(GpuCode, CodeOutsideOfTheUsualSectionsIsNotListed) {
  const auto code = container({{.arch = 75}, {.kind = 8, .arch = 75}});
  const auto bytes = host_elf({{".nv_fatbin", container({{.arch = 90}})},
                               {".rodata", std::string(24, 'r') + code + std::string(4, 'r') + code},
                               {"__nv_relfatbin", code}});
  const auto file = read(bytes);
  EXPECT_EQ(text_of(file), "sm_75:3(1) sm_90:1 lto_75:3(1)");
  EXPECT_EQ(counts(file.places), ".nv_fatbin:1, .rodata:2, __nv_relfatbin:1");
  const auto quick = headers(bytes);
  EXPECT_EQ(text_of(quick), "sm_75:1 sm_90:1 lto_75:1");
  EXPECT_EQ(quick.state, "headers");
}

TEST(GpuCode, StubsAreToldApart) {
  const auto stub = cubin(75, {".note.nv.cuinfo", ".nv.callgraph"});
  const auto kernel = cubin(75, {".text.kernel"});
  std::string packed(4096, '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), stub.data(), stub.size(), 3));
  std::string block(4096, '\0');
  block.resize(static_cast<std::size_t>(LZ4_compress_default(stub.data(), block.data(), static_cast<int>(stub.size()), 4096)));
  const auto bytes = host_elf(
      {{".nv_fatbin",
        container({{.arch = 75, .payload = stub}}) +
            container(
                {{.arch = 52, .flags = 0x8011, .payload = packed, .plain_size = stub.size(), .compressed_size = packed.size()}}) +
            container(
                {{.arch = 52, .flags = 0x2011, .payload = block, .plain_size = stub.size(), .compressed_size = block.size()}}) +
            container({{.arch = 75, .payload = stub}, {.arch = 75, .payload = kernel}})}});
  for (const auto& file : {read(bytes), headers(bytes)}) {
    EXPECT_EQ(text_of(file), "sm_75:2");
    EXPECT_EQ(file.stub_containers, 3);
    EXPECT_EQ(counts(file.stub_targets), "sm_52:2, sm_75:1");
    EXPECT_EQ(counts(file.container_sets), "sm_75:1");
    EXPECT_EQ(file.containers, 4);
  }
}

TEST(GpuCode, VariablesAndTheEmptyKernelOfThrustAreNoCode) {
  const auto stubs = [](const std::string& section) {
    return read(host_elf({{".nv_fatbin", container({{.arch = 75, .payload = cubin(75, {".nv.constant3", ".nv.global", section})}})}}))
        .stub_containers;
  };
  EXPECT_EQ(stubs(".nv.info"), 1);
  EXPECT_EQ(stubs(".text._ZN3cub11EmptyKernelIvEEvv"), 1);
  EXPECT_EQ(stubs(".text._ZN6thrust8cuda_cub3cub11EmptyKernelIvEEvv"), 1);
  EXPECT_EQ(stubs(".text._ZN3cub17CUB_300001_SM_7506detail11EmptyKernelIvEEvv"), 1);
  EXPECT_EQ(stubs(".text._Z11EmptyKernelIvEvv"), 0);
  EXPECT_EQ(stubs(".text._ZN3cub11EmptyKernelIvEEvv_and_more"), 0);
  EXPECT_EQ(stubs(".text._ZN3app6kernelEv"), 0);
}

TEST(GpuCode, CodeInPtxIsNoStub) {
  // With PTX beside an empty cubin a container has something to run, unless nothing is in that either.
  const auto empty = cubin(75, {".nv.info"});
  EXPECT_EQ(read(container({{.arch = 75, .payload = empty}, ptx(75, 9, 0)})).stub_containers, 0);
}

TEST(GpuCode, SourcesWithoutKernelsLeaveNoCode) {
  const std::string head = "//\n// Based on NVVM 7.0.1\n//\n\n.version 9.0\n.target sm_90\n.address_size 64\n\n\n";
  const auto with = [&](const std::string& text) {
    auto entry = ptx(90, 9, 0);
    entry.payload = head + text;
    return read(host_elf({{".nv_fatbin", container({{.arch = 90, .payload = cubin(90, {".nv.info"})}, entry})}}));
  };
  for (const char* nothing : {"", ".global .align 4 .b8 v[4];\n",
                              ".global .align 1 .b8 v[1];\n.visible .entry _ZN3cub6detail11EmptyKernelIvEEvv()\n{\nret;\n}\n"}) {
    const auto none = with(nothing);
    EXPECT_EQ(text_of(none), "") << nothing;
    EXPECT_EQ(counts(none.stub_targets), "compute_90:1, sm_90:1");
    EXPECT_EQ(none.stub_containers, 1);
  }
  for (const char* some :
       {".visible .entry k()\n{\nret;\n}\n", ".visible .func f()\n{\nret;\n}\n", ".visible .func (.param .b32 r) f()\n{\nret;\n}\n",
        ".visible .entry _ZN3cub11EmptyKernelIvEEvv()\n{\nret;\n}\n.visible .entry k()\n{\nret;\n}\n"})
    EXPECT_EQ(text_of(with(some)), "sm_90:1 compute_90:1@9.0") << some;
  // LTO-IR is not looked into.
  EXPECT_EQ(read(container({{.arch = 75, .payload = cubin(75, {".nv.info"})}, {.kind = 8, .arch = 75}})).stub_containers, 0);
  // As files of their own.
  EXPECT_EQ(text_of(read(head)), "");
  EXPECT_EQ(counts(read(head).stub_targets), "compute_90:1");
  EXPECT_EQ(text_of(read(head + ".visible .entry k()")), "compute_90:1@9.0");
  EXPECT_EQ(counts(read(cubin(90, {".nv.info"})).stub_targets), "sm_90:1");
}

TEST(GpuCode, RawFiles) {
  EXPECT_EQ(text_of(read(container({{.arch = 80}, ptx(80, 8, 0)}))), "sm_80:1 compute_80:1@8.0");
  const auto file = read(cubin(100, {".text.k"}, " -arch sm_100f -m 64"));
  EXPECT_EQ(text_of(file), "sm_100f:1");
  EXPECT_EQ(file.containers, 0);
  EXPECT_EQ(counts(file.places), "file:1");
  EXPECT_EQ(text_of(read(cubin(90, {".text.k"}))), "sm_90:1");
  EXPECT_EQ(text_of(read(cubin(0x5a | 0x800, {".text.k"}, "", false))), "sm_90a:1");
  EXPECT_EQ(text_of(read("//\n// Generated\n\n.version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()")),
            "compute_90a:1@8.7");
  EXPECT_EQ(text_of(read("/* .version */ .version 9.0 .target sm_75, debug .entry k()")), "compute_75:1@9.0");
  EXPECT_EQ(text_of(read("A text about .version 8.7 of something")), "");
  EXPECT_EQ(text_of(read("")), "");
}

TEST(GpuCode, CubinInTheDataOfAProgram) {
  const auto file = read(host_elf({{".data", "abcd" + cubin(80, {".text.k"}, "", false) + "tail"}}));
  EXPECT_EQ(text_of(file), "sm_80:1(0)");
  EXPECT_EQ(counts(file.places), ".data:1");
  EXPECT_EQ(file.containers, 0);
}

TEST(GpuCode, Archives) {
  const auto object = host_elf({{".nv_fatbin", container({{.arch = 80}})}});
  const auto relocatable = host_elf({{"__nv_relfatbin", container({{.arch = 90}, ptx(90, 9, 0)})}});
  const auto archive = "!<arch>\n" + test::ar_member("/", "12345") + test::ar_member("//", "a_very_long_name_of_an_object.o/\n") +
                       test::ar_member("a.o/", object) + test::ar_member("odd/", "xyz") + test::ar_member("/0", relocatable);
  const auto file = read(archive);
  EXPECT_EQ(text_of(file), "sm_80:1 sm_90:1 compute_90:1@9.0");
  EXPECT_EQ(counts(file.places), ".nv_fatbin:1, __nv_relfatbin:1");
  EXPECT_EQ(read("!<thin>\n" + test::ar_member("a.o/", "")).state, "unreadable");
  EXPECT_EQ(read(archive.substr(0, archive.size() - 20)).state, "damaged");
}

TEST(GpuCode, DamagedContainersGiveWhatWasGood) {
  auto broken = container({{.arch = 80}, {.arch = 86}, {.arch = 90}});
  broken[16 + 80 + 4] = 3;  // header size of the second entry
  const auto file = read(host_elf({{".nv_fatbin", broken + container({{.arch = 120}})}}));
  EXPECT_EQ(text_of(file), "sm_80:1 sm_120:1");
  EXPECT_EQ(file.state, "damaged");
  EXPECT_NE(file.problem, "");
}

TEST(GpuCode, SizesNearTheEndOfNumbers) {
  for (const std::uint64_t size : {~std::uint64_t{0}, ~std::uint64_t{0} - 15, std::uint64_t{1} << 63, std::uint64_t{1} << 40}) {
    std::string number;
    test::put(number, size, 8);
    auto large = container({{.arch = 80}});
    large.replace(8, 8, number);
    EXPECT_EQ(text_of(read(large)), "sm_80:1") << size;
    auto entry = container({{.arch = 80}, {.arch = 90}});
    entry.replace(16 + 8, 8, number);
    EXPECT_EQ(text_of(read(entry)), "") << size;
    auto table = cubin(80, {".text.k"});
    table.replace(40, 8, number);
    EXPECT_LE(read(table).targets.size(), 1u) << size;
  }
}

TEST(GpuCode, MagicNumbersInOtherBytesAreNothing) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    test::put(bytes, 0xba55ed50, 4);
    if (i % 3 == 0) test::put(bytes, 0x100001, 4);
    if (i % 7 == 0)
      bytes +=
          "\x7f"
          "ELF";
  }
  const auto file = read(host_elf({{".text", bytes}}));
  EXPECT_EQ(file.containers, 0);
  EXPECT_EQ(file.state, "");
}

TEST(GpuCode, CutFile) {
  const auto whole = host_elf({{".nv_fatbin", container({{.arch = 80}, {.arch = 90}})}});
  for (std::size_t length = 0; length < whole.size(); ++length) (void)read(whole.substr(0, length));
}

TEST(GpuCode, ManyContainersAreFoldedAndBounded) {
  std::string all;
  for (unsigned i = 0; i < 2000; ++i) all += container({{.arch = i % 100 + 1}});
  const auto file = read(all);
  EXPECT_EQ(file.containers, 2000);
  EXPECT_EQ(file.container_sets.size(), 64u);
  EXPECT_EQ(file.container_sets.back().name, "other sets");
  std::int64_t sum = 0;
  for (const auto& set : file.container_sets) sum += set.count;
  EXPECT_EQ(sum, 2000);
}

TEST(GpuCode, EmptyContainer) {
  const auto file = read(host_elf({{".nv_fatbin", container({})}}));
  EXPECT_EQ(file.containers, 1);
  EXPECT_EQ(file.state, "");
  EXPECT_TRUE(file.targets.empty());
}

}  // namespace
}  // namespace gpuvet
