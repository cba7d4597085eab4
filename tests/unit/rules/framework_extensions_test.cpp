#include "rules/framework_extensions.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

PythonPackage package(std::string name, std::string version, std::string url = {}) {
  PythonPackage one;
  one.name = std::move(name);
  one.version = std::move(version);
  one.url = std::move(url);
  return one;
}

TEST(ExtensionTag, ReleaseWheelNamesTorchCudaAndAbi) {
  const auto tag = extension_tag(package("flash-attn", "2.7.4.post1",
                                         "https://example.org/v2.7.4.post1/"
                                         "flash_attn-2.7.4.post1%2Bcu12torch2.5cxx11abiFALSE-cp312-cp312-linux_x86_64.whl"));
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(tag->torch, "2.5");
  EXPECT_EQ(tag->cuda_major, 12U);
  EXPECT_EQ(tag->cxx11_abi, false);
}

TEST(ExtensionTag, LocalVersionCountsToo) {
  const auto tag = extension_tag(package("causal-conv1d", "1.5.0.post8+cu124torch2.10cxx11abiTRUE"));
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(tag->torch, "2.10");
  EXPECT_EQ(tag->cuda_major, 12U);
  EXPECT_EQ(tag->cxx11_abi, true);
}

TEST(ExtensionTag, PygWheel) {
  const auto tag = extension_tag(package("torch-scatter", "2.1.2+pt25cu124"));
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(tag->torch, "2.5");
  EXPECT_EQ(tag->cuda_major, 12U);
  const auto cpu = extension_tag(package("torch-scatter", "2.1.2+pt113cpu"));
  ASSERT_TRUE(cpu.has_value());
  EXPECT_EQ(cpu->torch, "1.13");
  EXPECT_FALSE(cpu->cuda_major.has_value());
}

TEST(ExtensionTag, OrdinaryVersionsTellNothing) {
  for (const char* version : {"2.7.4.post1", "0.20.1+cu124", "2.1.2+pt", "1.0+ptx5", "", "torch2.", "2.0+torch2.x"})
    EXPECT_FALSE(extension_tag(package("x", version)).has_value()) << version;
}

TEST(TorchPin, OnlyAnExactRequirementOnTorchItself) {
  PythonPackage one = package("xformers", "0.0.28.post3");
  one.requirements = {"torchvision==0.20.1", "numpy", "torch==2.5.1"};
  EXPECT_EQ(torch_pinned_by(one), "2.5.1");
  one.requirements = {"torch (==2.6.0) ; platform_system == \"Linux\""};
  EXPECT_EQ(torch_pinned_by(one), "2.6.0");
  for (const char* other : {"torch>=2.4", "torch", "torch==2.5.*", "torchaudio==2.5.1", "torch==2.5.1; extra == \"test\""}) {
    one.requirements = {other};
    EXPECT_EQ(torch_pinned_by(one), "") << other;
  }
}

}  // namespace
}  // namespace gpuvet
