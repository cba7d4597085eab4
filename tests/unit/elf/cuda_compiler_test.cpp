// nvcc's own texts, in bytes that look like the read-only data of real ones.
#include "elf/cuda_compiler.h"

#include <gtest/gtest.h>

#include "elf/bytes.h"

namespace gpuvet {
namespace {

std::string strings(std::initializer_list<const char*> texts) {
  std::string bytes(1, '\0');
  for (const auto* text : texts) bytes += std::string(text) + '\0';
  return bytes;
}

CompilerStrings read(const std::string& bytes) {
  CompilerStrings found;
  collect_compiler_strings(bytes, found);
  return found;
}

using Texts = std::vector<std::string>;

TEST(CudaCompiler, ReleaseAndVersion) {
  const auto found = read(strings({"nvcc: NVIDIA (R) Cuda compiler driver", "Cuda compilation tools, release 12.6, V12.6.85\n"}));
  EXPECT_EQ(found.release, "12.6");
  EXPECT_EQ(found.version, "12.6.85");
}

TEST(CudaCompiler, CutVersionIsNone) {
  const auto whole = strings({"Cuda compilation tools, release 12.6, V12.6.85"});
  EXPECT_EQ(read(whole.substr(0, whole.size() - 2)).version, "");
  EXPECT_EQ(read("Cuda compilation tools, release 12.6, V").version, "");
}

TEST(CudaCompiler, TargetsNeedBothNames) {
  // CUDA 13 has them in pairs, 11.8 in two lists; "sm_20" is there alone in both.
  EXPECT_EQ(read(strings({"sm_75", "compute_75", "sm_100", "compute_100", "sm_90a", "compute_90a", "sm_20"})).architectures,
            (Texts{"7.5", "10.0"}));
  EXPECT_EQ(read(strings({"sm_35", "sm_90", "sm_20", "x", "compute_90", "y", "compute_35"})).architectures,
            (Texts{"3.5", "9.0"}));
}

TEST(CudaCompiler, SentencesAreNoTargets) {
  EXPECT_TRUE(read(strings({"such as sm_100, compute_100", "sm_", "sm_%d", "compute_%d", "sm_1234", "compute_1234"}))
                  .architectures.empty());
}

TEST(CudaCompiler, FileThatIsNoProgram) {
  const std::string text = "#!/bin/sh\nexec nvcc\n";
  MemoryReader script(text);
  EXPECT_EQ(read_compiler_strings(script).version, "");
  const std::string large(300000, 'x');
  MemoryReader other(large);
  EXPECT_EQ(read_compiler_strings(other).version, "");
}

}  // namespace
}  // namespace gpuvet
