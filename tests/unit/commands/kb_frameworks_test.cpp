// kb torch, tensorflow, jax, cudnn and the other frameworks.

#include <gtest/gtest.h>

#include "commands/kb.h"

namespace gpuvet {
namespace {

const Knowledge& knowledge() {
  static const Knowledge shared;
  return shared;
}

/// The answer with its wrapped lines joined.
std::string ask(std::vector<std::string> args, Language language = Language::English) {
  std::string joined;
  for (char c : kb_answer(knowledge(), std::move(args), language, false).value_or("NOTHING")) {
    if (c == '\n') c = ' ';
    if (c != ' ' || joined.empty() || joined.back() != ' ') joined += c;
  }
  return joined;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(KbTorch, OneBuildOrAllOfARelease) {
  const std::string one = ask({"torch", "2.5.1+cu124"});
  EXPECT_TRUE(has(one, "torch 2.5.1+cu124"));
  EXPECT_TRUE(has(one, "CUDA toolkit that it was built with: 12.4.1 ["));
  EXPECT_TRUE(has(one, "least driver, Linux: 525.60.13 ["));
  EXPECT_TRUE(has(one, "5.0 6.0 7.0 7.5 8.0 8.6 9.0"));
  EXPECT_TRUE(has(one, "torchvision: 0.20.1"));
  EXPECT_FALSE(has(one, "cu118"));
  const std::string all = ask({"torch", "2.5.1"});
  EXPECT_TRUE(has(all, "torch 2.5.1+cu118"));
  EXPECT_TRUE(has(all, "torch 2.5.1+cu121"));
  EXPECT_TRUE(has(all, "Sources"));
  EXPECT_TRUE(has(ask({"torch", "2.5"}), "torch 2.5.1+cu124"));
  EXPECT_TRUE(has(ask({"torch", "2.5.1+cu124"}, Language::Chinese), "最低驱动版本（Linux）：525.60.13"));
}

TEST(KbTorch, UnknownReleasesAndTheListOfKnownOnes) {
  EXPECT_EQ(ask({"torch", "2.99.0"}), "NOTHING");
  EXPECT_EQ(ask({"torch", "nonsense"}), "NOTHING");
  EXPECT_TRUE(has(ask({"torch"}), "2.6.0, 2.7.0, 2.7.1"));
  EXPECT_TRUE(has(kb_unknown(knowledge(), {"torch", "2.99.0"}, Language::English), "2.9.0"));
}

TEST(KbTensorFlow, Release) {
  const std::string text = ask({"tensorflow", "2.15"});
  EXPECT_TRUE(has(text, "TensorFlow 2.15.0"));
  EXPECT_TRUE(has(text, "CUDA: 12.2 ["));
  EXPECT_TRUE(has(text, "pip install 'tensorflow[and-cuda]==2.15.0'"));
  EXPECT_TRUE(has(ask({"tensorflow", "2.10"}), "GPU build for native Windows: yes"));
  EXPECT_TRUE(has(ask({"tensorflow", "2.15.1"}), "stands in for 2.15.1"));
}

TEST(KbJax, Release) {
  const std::string text = ask({"jax", "0.4.35"});
  EXPECT_TRUE(has(text, "pip install 'jax[cuda12]==0.4.35'"));
  EXPECT_TRUE(has(text, "least driver, Linux: 525.60.13 ["));
  EXPECT_TRUE(has(ask({"jax", "0.8.1"}), "JAX 0.8.1, CUDA 13"));
}

TEST(KbCudnn, Release) {
  EXPECT_TRUE(has(ask({"cudnn", "9.3"}), "inferred: lies between"));
  EXPECT_TRUE(has(ask({"cudnn", "9.10.2"}), "least compute capability: 5.0"));
}

TEST(KbFramework, ByPackageName) {
  EXPECT_TRUE(has(ask({"cupy"}), "CuPy 13.6"));
  EXPECT_TRUE(has(ask({"onnxruntime-gpu", "1.20.1"}), "onnxruntime-gpu 1.19-1.20 (PyPI)"));
  EXPECT_TRUE(has(ask({"framework", "xformers", "0.0.34"}), "torch: 2.10.0"));
  EXPECT_EQ(ask({"mindspore"}), "NOTHING");
  EXPECT_EQ(ask({"onnxruntime-gpu", "7.0"}), "NOTHING");
}

}  // namespace
}  // namespace gpuvet
