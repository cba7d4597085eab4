#include "elf/static_cuda_runtime.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

using namespace std::string_literals;

std::string function(std::uint32_t number) {
  std::string code = "\x48\x85\xff\x74\x0b\xc7\x07"s;
  for (int shift = 0; shift < 32; shift += 8) code += static_cast<char>(number >> shift & 0xff);
  return code + "\x31\xc0\xc3"s;
}

TEST(StaticCudaRuntime, NumberThatAFunctionHandsOut) {
  EXPECT_EQ(releases_handed_out("\x90\x90"s + function(13000) + "\x66\x90"s), "13.0");
  EXPECT_EQ(releases_handed_out(function(12040) + function(12040)), "12.4");
  EXPECT_EQ(releases_handed_out(function(12040) + function(11080)), "11.8 12.4");
}

TEST(StaticCudaRuntime, OtherNumbersAreNoRelease) {
  EXPECT_EQ(releases_handed_out(function(10900)), "") << "libcufft 10.9";
  EXPECT_EQ(releases_handed_out(function(22105)), "") << "NCCL 2.21.5";
  EXPECT_EQ(releases_handed_out(function(12004)), "");
  EXPECT_EQ(releases_handed_out(function(2)), "");
  EXPECT_EQ(releases_handed_out(function(0xffffffff)), "");
}

TEST(StaticCudaRuntime, CutOffCode) {
  const std::string code = function(13000);
  for (std::size_t size = 0; size < code.size(); ++size) EXPECT_EQ(releases_handed_out(code.substr(0, size)), "") << size;
  for (std::size_t from = 1; from < code.size(); ++from) EXPECT_EQ(releases_handed_out(code.substr(from)), "") << from;
}

}  // namespace
}  // namespace gpuvet
