// GPUs as people name them.

#include "commands/gpu_query.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

std::string asked(const char* text) {
  static const Knowledge knowledge;
  const auto gpu = find_gpu(knowledge, text);
  if (gpu) return gpu->label;
  return gpu.error().ambiguous ? "ambiguous" : "unknown";
}

TEST(GpuQuery, CapabilitiesInEverySpelling) {
  EXPECT_EQ(asked("sm_120"), "sm_120 (12.0)");
  EXPECT_EQ(asked("sm_90a"), "sm_90 (9.0)");
  EXPECT_EQ(asked("compute_86"), "sm_86 (8.6)");
  EXPECT_EQ(asked("12.0"), "sm_120 (12.0)");
  EXPECT_EQ(asked("89"), "sm_89 (8.9)");
}

TEST(GpuQuery, NamesAndIds) {
  EXPECT_EQ(asked("RTX 4090"), "RTX 4090 (8.9)");
  EXPECT_EQ(asked("NVIDIA GeForce RTX 4090"), "RTX 4090 (8.9)");
  EXPECT_EQ(asked("rtx4090"), "RTX 4090 (8.9)");
  EXPECT_EQ(asked("10de:2684"), "RTX 4090 (8.9)");
  EXPECT_EQ(asked("0x2684"), "RTX 4090 (8.9)");
  // A model number is no id.
  EXPECT_EQ(asked("1080"), "1080 (6.1)");
  EXPECT_EQ(asked("5090"), "5090 (12.0)");
}

TEST(GpuQuery, WhatMayBeSeveralIsNotGuessed) {
  EXPECT_EQ(asked("GTX"), "ambiguous");
  EXPECT_EQ(asked("RTX 409000"), "unknown");
  EXPECT_EQ(asked("10de:zzzz"), "unknown");
  EXPECT_EQ(asked(""), "unknown");
  EXPECT_EQ(asked("\x1b[31m"), "unknown");
}

TEST(GpuQuery, NearNamesAreOffered) {
  const Knowledge knowledge;
  const auto gpu = find_gpu(knowledge, "RTX 40900");
  ASSERT_FALSE(gpu);
  EXPECT_FALSE(gpu.error().names.empty());
}

}  // namespace
}  // namespace gpuvet
