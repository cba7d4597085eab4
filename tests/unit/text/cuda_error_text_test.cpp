// CUDA errors in lines: by name, by message, by number, and prose that speaks of none.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "knowledge/table.h"
#include "text/signature_match.h"

namespace gpuvet {
namespace {

class CudaErrorText : public testing::Test {
 protected:
  static const Knowledge& knowledge() {
    static const Knowledge made;
    return made;
  }
  static const SignatureMatcher& matcher() {
    static const SignatureMatcher made(knowledge());
    return made;
  }
  /// Numbers of all errors that the line tells, "804" or "2 700"; empty: none.
  static std::string errors_in(std::string_view line) {
    std::set<std::string> codes;
    for (const Observation& o : matcher().match(line))
      if (o.meaning == "cuda-error" && o.parameters.contains("code")) codes.insert(o.parameters.at("code"));
    std::string all;
    for (const std::string& code : codes) all += (all.empty() ? "" : " ") + code;
    return all;
  }
};

TEST_F(CudaErrorText, ByName) {
  EXPECT_EQ(errors_in("DriverError(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, \"x\")"), "804");
  EXPECT_EQ(errors_in("CUDA Runtime error: cudaErrorNoKernelImageForDevice"), "209");
  EXPECT_EQ(errors_in("failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"), "100");
  EXPECT_EQ(errors_in("[cudaErrorMemoryAllocation]"), "2");
  EXPECT_EQ(errors_in("cudaErrorInvalidDevice"), "101");  // not cudaErrorInvalidDeviceFunction
  EXPECT_EQ(errors_in("cudaErrorInvalidDeviceFunction"), "98");
}

TEST_F(CudaErrorText, NamesThatOnlyLookAlike) {
  EXPECT_EQ(errors_in("my_cudaErrorNoDevice_count = 3"), "");
  EXPECT_EQ(errors_in("cudaErrorNoDevices"), "");
  EXPECT_EQ(errors_in("CUDA_ERROR_OF_MY_OWN"), "");
  EXPECT_EQ(errors_in("#include \"cudaError.h\""), "");
}

TEST_F(CudaErrorText, SuccessIsNoError) {
  EXPECT_EQ(errors_in("cudaGetLastError() = cudaSuccess"), "");
  EXPECT_EQ(errors_in("CUDA_SUCCESS"), "");
  EXPECT_EQ(errors_in("CUDA error: 0"), "");
  EXPECT_EQ(errors_in("cuInit(0) returned 0"), "");
}

TEST_F(CudaErrorText, ByMessage) {
  EXPECT_EQ(errors_in("RuntimeError: CUDA error: an illegal memory access was encountered"), "700");
  EXPECT_EQ(errors_in("node: Test CUDA failure common.cu:941 'system not yet initialized'"), "802");
  EXPECT_EQ(errors_in("what():  CUDA error (3): initialization error"), "3");
  // The longer message, not the shorter one at its beginning.
  EXPECT_EQ(errors_in("CUDA error: unspecified launch failure in prior launch"), "53");
  EXPECT_EQ(errors_in("CUDA error: operation not permitted when stream is capturing"), "900");
}

TEST_F(CudaErrorText, EveryMessageBehindCuda) {
  const Knowledge::Table& messages = knowledge().table("cuda_error_messages");
  ASSERT_GT(messages.rows.size(), 100u);
  // What two errors have in common is told as either.
  std::map<std::string, std::set<std::string>> codes;
  for (const auto& row : messages.rows) codes[std::string(messages.cell(row, "text"))].emplace(messages.cell(row, "code"));
  for (const auto& [text, wanted] : codes)
    EXPECT_TRUE(wanted.contains(errors_in("CUDA error: " + text))) << text << ": " << errors_in("CUDA error: " + text);
}

TEST_F(CudaErrorText, EveryNameAlone) {
  const Knowledge::Table& messages = knowledge().table("cuda_error_messages");
  for (const auto& row : messages.rows) {
    const std::string name(messages.cell(row, "name"));
    if (name == "cudaErrorApiFailureBase") continue;  // a mark between ranges, no error
    EXPECT_EQ(errors_in("x.cu:12 " + name), messages.cell(row, "code")) << name;
  }
}

TEST_F(CudaErrorText, ByNumber) {
  EXPECT_EQ(errors_in("CUDA error: 719"), "719");
  EXPECT_EQ(errors_in("cuInit(0) returned 999"), "999");
  EXPECT_EQ(errors_in("cudaGetDeviceCount failed with 802"), "802");
  EXPECT_EQ(errors_in("CUDA error code=46"), "46");
  EXPECT_EQ(errors_in("CUDA error: 12345"), "");
}

TEST_F(CudaErrorText, NumbersBeforeCuda10) {
  EXPECT_EQ(errors_in("THCudaCheck FAIL file=x.cpp line=1 error=38 : no CUDA-capable device is detected"), "100");
  EXPECT_EQ(errors_in("cudaGetDeviceCount returned 30"), "999");
  EXPECT_EQ(errors_in("cudaGetDeviceCount returned 38"), "100");
  EXPECT_EQ(errors_in("CUDA error 77"), "700");
  // The same then and now.
  EXPECT_EQ(errors_in("cudaGetDeviceCount returned 35"), "35");
}

TEST_F(CudaErrorText, TheMessageIsSurerThanItsNumber) {
  // 8 was cudaErrorInvalidDeviceFunction, 77 cudaErrorIllegalAddress.
  EXPECT_EQ(errors_in("CUDA error (77): an illegal memory access was encountered"), "700");
  EXPECT_EQ(errors_in("error == cudaSuccess (8 vs. 0)  invalid device function, from cudaLaunch"), "98");
}

TEST_F(CudaErrorText, WordsOfOtherProgramsNeedCudaBesideThem) {
  for (const std::string_view line : {
           "java.lang.OutOfMemoryError: out of memory",
           "open: invalid argument",
           "mount: /mnt: operation not permitted",
           "the system is not yet initialized properly",
           "setsockopt: operation not supported",
           "curl: (23) unknown error",
           "nginx: file not found",
           "Process exited with error code 35",
           "make: *** [all] Error 2",
           "GET /index.html returned 200",
           "driver shutting down the bus line at 17:04",
           "She read of no devices, nor of errors; 700 pages later the war was over.",
       })
    EXPECT_EQ(errors_in(line), "") << line;
}

TEST_F(CudaErrorText, ProseAndProgressThatNameCuda) {
  for (const std::string_view line : {
           "CUDA out-of-memory errors are described in chapter 2",
           "Installing CUDA 11.8, 700 MB",
           "-- Found CUDA: /usr/local/cuda (found version \"12.4\")",
           "nvcc --generate-code=arch=compute_80 kernel_700.cu",
           "CUDA_VISIBLE_DEVICES=2",
           "checking whether cudaGetErrorString works... yes",
           "Loaded cuda kernels in 35 ms",
       })
    EXPECT_EQ(errors_in(line), "") << line;
}

TEST_F(CudaErrorText, SeveralInOneLine) {
  EXPECT_EQ(errors_in("first cudaErrorLaunchFailure, then cudaErrorMemoryAllocation"), "2 719");
  EXPECT_EQ(errors_in("cudaErrorLaunchFailure cudaErrorLaunchFailure"), "719");
}

TEST_F(CudaErrorText, TheNameIsGivenBeside) {
  const auto found = matcher().match("CUDA error: 719");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].parameters.at("name"), "cudaErrorLaunchFailure");
  EXPECT_EQ(canonical_cuda_error_name(knowledge(), 4711), "");
}

}  // namespace
}  // namespace gpuvet
