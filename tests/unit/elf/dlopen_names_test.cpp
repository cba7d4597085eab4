#include <gtest/gtest.h>

#include "elf/bytes.h"
#include "elf/dlopen_names.h"
#include "small_elf.h"

namespace gpuvet {
namespace {

using test::SmallElf;
using Strings = std::vector<std::string>;

Strings names_in(const std::string& data, std::size_t before = 0) {
  SmallElf elf;
  elf.soname = "libself.so.1";
  elf.needed = {"libc.so.6"};
  elf.code = std::string(before, '\x90');
  elf.data = data;
  const auto bytes = elf.build();
  MemoryReader reader(bytes);
  return read_dlopen_names(reader);
}

std::string strings(std::initializer_list<const char*> texts) {
  std::string data(1, '\0');
  for (const auto* text : texts) data += std::string(text) + '\0';
  return data;
}

TEST(DlopenNames, WholeStringsThatAreSonames) {
  EXPECT_EQ(names_in(strings({"libcuda.so.1", "libnvrtc-builtins.so.12.4", "libcudnn_ops.so.9", "libstdc++.so.6", "libcuda.so"})),
            (Strings{"libcuda.so", "libcuda.so.1", "libcudnn_ops.so.9", "libnvrtc-builtins.so.12.4", "libstdc++.so.6"}));
}

TEST(DlopenNames, OthersAreNone) {
  EXPECT_EQ(names_in(strings({"cannot open libcuda.so.1", "libcuda.so.1 is missing", "/usr/lib/libcuda.so.1", "libx.so.%d", "lib.so",
                              "libx.sock", "libx.so.1a", "libx.so.", "libx.so..1", "xlibcuda.so.1", "libself.so.1", "libc.so.6"})),
            Strings{});
}

TEST(DlopenNames, AreFoundAcrossPieces) {
  for (std::size_t shift = 0; shift < 16; ++shift)
    EXPECT_EQ(names_in(strings({"libcuda.so.1"}), (1u << 20) - 300 - shift), Strings{"libcuda.so.1"}) << shift;
}

TEST(DlopenNames, DamageGivesNothing) {
  MemoryReader reader("no ELF file");
  EXPECT_EQ(read_dlopen_names(reader), Strings{});
}

}  // namespace
}  // namespace gpuvet
