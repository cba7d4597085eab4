#include "model/purpose.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

TEST(Purpose, IsNameVersionAndEnvironment) {
  const auto p = parse_purpose("torch>=2.7@ml").value();
  EXPECT_EQ(p.name, "torch");
  EXPECT_EQ(p.specifier, ">=2.7");
  EXPECT_EQ(p.environment, "ml");
  EXPECT_TRUE(p.needs_framework());
  EXPECT_FALSE(p.needs_toolkit());
  EXPECT_EQ(parse_purpose("torch@/opt/conda/envs/x").value().environment, "/opt/conda/envs/x");
}

TEST(Purpose, KnowsOtherNames) {
  EXPECT_EQ(parse_purpose("PyTorch").value().name, "torch");
  EXPECT_EQ(parse_purpose("tf").value().name, "tensorflow");
  EXPECT_EQ(parse_purpose("build-extension").value().name, "build");
  EXPECT_EQ(parse_purpose("cuda-toolkit").value().name, "nvcc");
  EXPECT_TRUE(parse_purpose("nvidia-smi").value().is_driver());
}

TEST(Purpose, BuildHasATarget) {
  const auto p = parse_purpose("build:flash_attn").value();
  EXPECT_EQ(p.name, "build");
  EXPECT_EQ(p.target, "flash-attn");
  EXPECT_TRUE(p.needs_toolkit());
}

TEST(Purpose, PathsAreProgramsAndNothingIsNothing) {
  EXPECT_EQ(parse_purpose("./llama-server").value().name, "path");
  EXPECT_EQ(parse_purpose("/usr/bin/x@y").value().target, "/usr/bin/x@y");
  EXPECT_EQ(parse_purpose("build/app").value().name, "path");
  EXPECT_EQ(parse_purpose(".").value().name, "path");
  EXPECT_EQ(parse_purpose("torch@/opt/env").value().name, "torch");
  EXPECT_FALSE(parse_purpose("").value().asked());
}

TEST(Purpose, RefusesWhatIsNone) {
  for (const char* text : {"torch@", "torch=>2", ">=2.7", "torch>=x", "a b", "torch:x", "@ml", "\x1b[31m", "driver>=570"}) EXPECT_FALSE(parse_purpose(text)) << text;
}

}  // namespace
}  // namespace gpuvet
