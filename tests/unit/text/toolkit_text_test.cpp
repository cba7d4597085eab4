// Compilers in a text.

#include <gtest/gtest.h>

#include "text_reader.h"

namespace gpuvet {
namespace {

Machine toolkits(std::string_view text) { return read_with(read_toolkits, text); }

constexpr const char* banner =
    "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2024 NVIDIA Corporation\n"
    "Cuda compilation tools, release 12.4, V12.4.131\nBuild cuda_12.4.r12.4/compiler.34097967_0\n";

TEST(ToolkitText, ReleaseOfNvcc) {
  const Machine machine = toolkits("$ nvcc --version\n" + std::string(banner));
  EXPECT_EQ(value(seen(machine, "nvcc-version"), "release"), "12.4");
  EXPECT_EQ(value(seen(machine, "nvcc-version"), "version"), "12.4.131");
  EXPECT_TRUE(machine.toolkits.found.is_not_seen()) << "which one it is was not told";
}

TEST(ToolkitText, APathTellsWhichToolkit) {
  const Machine machine = toolkits("$ /usr/local/cuda-12.4/bin/nvcc -V\n" + std::string(banner));
  ASSERT_NE(machine.toolkits.found.get(), nullptr);
  const Toolkit& toolkit = machine.toolkits.found.get()->front();
  EXPECT_EQ(toolkit.path, "/usr/local/cuda-12.4");
  EXPECT_TRUE(toolkit.version.is("12.4"));
  EXPECT_TRUE(toolkit.nvcc_version.is("12.4.131"));
}

TEST(ToolkitText, NvccOfAContainerOrOfWindowsIsNotTheHosts) {
  for (const char* prompt : {"$ docker exec c /usr/local/cuda/bin/nvcc -V\n", "PS C:\\> /usr/bin/nvcc -V\n"})
    EXPECT_TRUE(toolkits(prompt + std::string(banner)).toolkits.found.is_not_seen()) << prompt;
}

TEST(ToolkitText, Paths) {
  EXPECT_EQ(value(seen(toolkits("$ which nvcc\n/usr/bin/nvcc\n"), "nvcc-path"), "path"), "/usr/bin/nvcc");
  EXPECT_EQ(value(seen(toolkits("$ which -a nvcc\n/usr/local/cuda/bin/nvcc\n/usr/bin/nvcc\n"), "nvcc-path"), "all"), "yes");
  EXPECT_EQ(count_seen(toolkits("nvcc not found in /usr/local/cuda/bin/nvcc, giving up\n"), "nvcc-path"), 0);
}

TEST(ToolkitText, HostCompilers) {
  EXPECT_EQ(value(seen(toolkits("gcc (Ubuntu 13.2.0-4ubuntu3) 13.2.0\n"), "gcc-version"), "version"), "13.2.0");
  EXPECT_EQ(value(seen(toolkits("GCC version: (GCC) 8.5.0 20210514 (Red Hat 8.5.0-10)\n"), "gcc-version"), "version"), "8.5.0");
  EXPECT_EQ(count_seen(toolkits("we moved from gcc 9.1.0 to clang\n"), "gcc-version"), 0);
}

}  // namespace
}  // namespace gpuvet
