// Every signature against its own lines, and CUDA errors by name, message and number.

#include "text/signature_match.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <set>

namespace gpuvet {
namespace {

class Signatures : public testing::Test {
 protected:
  static const SignatureMatcher& matcher() {
    static const Knowledge knowledge;
    static const SignatureMatcher made(knowledge);
    return made;
  }
  static bool finds(const Signature& signature, std::string_view line) {
    for (const Observation& o : matcher().match(line))
      if (o.signature == signature.id) return true;
    return false;
  }
  static std::string error_in(std::string_view line) {
    for (const Observation& o : matcher().match(line))
      if (o.meaning == "cuda-error" && o.parameters.contains("code")) return o.parameters.at("code");
    return "";
  }
};

TEST_F(Signatures, AreManyAndCompile) {
  EXPECT_GE(all_signatures().size(), 300u);
  for (const Signature& s : all_signatures()) {
    const RE2 pattern(std::string(s.pattern), RE2::Quiet);
    EXPECT_TRUE(pattern.ok()) << s.id << ": " << pattern.error();
  }
}

TEST_F(Signatures, MatchTheirLines) {
  for (const Signature& s : all_signatures())
    for (const std::string_view line : s.match) EXPECT_TRUE(finds(s, line)) << s.id << ": " << line;
}

TEST_F(Signatures, DoNotMatchTheirNearMisses) {
  for (const Signature& s : all_signatures())
    for (const std::string_view line : s.near_miss) EXPECT_FALSE(finds(s, line)) << s.id << ": " << line;
}

TEST_F(Signatures, CudaErrorsByName) {
  EXPECT_EQ(error_in("DriverError(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, \"x\")"), "804");
  EXPECT_EQ(error_in("CUDA Runtime error: cudaErrorNoKernelImageForDevice"), "209");
  EXPECT_EQ(error_in("my_cudaErrorNoDevice_count = 3"), "");
  EXPECT_EQ(error_in("CUDA_ERROR_OF_MY_OWN"), "");
}

TEST_F(Signatures, CudaErrorsByMessage) {
  EXPECT_EQ(error_in("RuntimeError: CUDA error: an illegal memory access was encountered"), "700");
  EXPECT_EQ(error_in("node: Test CUDA failure common.cu:941 'system not yet initialized'"), "802");
  EXPECT_EQ(error_in("what():  CUDA error (3): initialization error"), "3");
  // Words that other programs print as well need CUDA beside them.
  EXPECT_EQ(error_in("java.lang.OutOfMemoryError: out of memory"), "");
  EXPECT_EQ(error_in("open: invalid argument"), "");
  EXPECT_EQ(error_in("the system is not yet initialized properly"), "");
}

TEST_F(Signatures, CudaErrorsByNumber) {
  EXPECT_EQ(error_in("CUDA error: 719"), "719");
  EXPECT_EQ(error_in("cuInit(0) returned 999"), "999");
  // Numbers of the runtime before CUDA 10.1.
  EXPECT_EQ(error_in("THCudaCheck FAIL file=x.cpp line=1 error=38 : no CUDA-capable device is detected"), "100");
  EXPECT_EQ(error_in("cudaGetDeviceCount returned 30"), "999");
  EXPECT_EQ(error_in("process exited with error code 35"), "");
}

TEST_F(Signatures, PhrasesBrokenByATerminal) {
  const Knowledge knowledge;
  const PastedText text = make_pasted_text(
      "text", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attem\npted on non supported HW\n");
  bool found = false;
  for (const Observation& o : observe(text, matcher())) found |= o.signature == "cuda-error-804";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace gpuvet
