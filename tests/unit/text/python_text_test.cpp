// Python in a text: lists of packages, reports of frameworks, answers at a prompt.

#include <gtest/gtest.h>

#include "text_reader.h"

namespace gpuvet {
namespace {

Machine python(std::string_view text) { return read_with(read_python, text); }

const PythonEnvironment* environment(const Machine& machine) {
  const auto* all = machine.python.environments.get();
  return all == nullptr || all->empty() ? nullptr : &all->front();
}

/// "pip 2.9.1" of a package that the text names; "(none)".
std::string package(const Machine& machine, std::string_view name) {
  if (const auto* found = environment(machine))
    for (const PythonPackage& package : found->packages)
      if (package.name == name) return package.manager + " " + package.version;
  return "(none)";
}

const FrameworkBuild* torch(const Machine& machine) {
  if (const auto* found = environment(machine))
    for (const FrameworkBuild& build : found->frameworks)
      if (build.name == "torch") return &build;
  return nullptr;
}

TEST(PythonText, ListsOfPackages) {
  EXPECT_EQ(package(python("$ pip list\nPackage    Version\n---------- -------\ntorch      2.9.1+cu128\n"), "torch"), "pip 2.9.1+cu128");
  EXPECT_EQ(package(python("$ pip freeze\nnvidia_cudnn_cu12==9.10.2.21\n"), "nvidia-cudnn-cu12"), "pip 9.10.2.21");
  const Machine conda = python("$ conda list\npytorch  2.5.1  py3.12_cuda12.4_cudnn9.1.0_0  pytorch\n");
  EXPECT_EQ(package(conda, "pytorch"), "conda 2.5.1");
  EXPECT_EQ(environment(conda)->packages[0].build, "py3.12_cuda12.4_cudnn9.1.0_0");
  EXPECT_EQ(environment(conda)->packages[0].channel, "pytorch");
  EXPECT_EQ(package(python("Successfully installed filelock-3.20.0 torch-2.9.1 nvidia-nccl-cu12-2.27.5\n"), "nvidia-nccl-cu12"),
            "pip 2.27.5");
  EXPECT_EQ(package(python("$ pip list\nrequests   2.32.0\n"), "requests"), "(none)");
}

TEST(PythonText, PipShowNamesThePackageAboveItsVersion) {
  const Machine machine = python("$ pip show torch\nName: torch\nVersion: 2.9.1+cpu\nSummary: Tensors\n");
  EXPECT_EQ(package(machine, "torch"), "pip 2.9.1+cpu");
  ASSERT_NE(torch(machine), nullptr);
  EXPECT_EQ(torch(machine)->flavour, "cpu");
  EXPECT_EQ(package(python("Name: tensorflow\r\nVersion: 2.13.0\r\n"), "tensorflow"), "pip 2.13.0");
}

TEST(PythonText, PipShowWithoutTheName) {
  EXPECT_EQ(package(python("PS C:\\> pip show tensorflow | Select-String Version\nVersion: 2.13.0\n"), "tensorflow"), "pip 2.13.0");
  EXPECT_EQ(package(python("$ python3 -m pip show torch 2>/dev/null | grep Version\nVersion: 2.4.0\n"), "torch"), "pip 2.4.0");
  EXPECT_EQ(package(python("$ pip show -q torch | grep ^Version\nVersion: 2.4.0\n"), "torch"), "pip 2.4.0");
}

TEST(PythonText, AVersionWithoutAPackageIsOfNone) {
  for (const char* text : {"Version: 2.4.0\n", "$ pip show torch torchvision | grep Version\nVersion: 2.4.0\n",
                           "$ dpkg -s nvidia-driver | grep Version\nVersion: 535.1\n", "Name: torch\nSummary: x\nVersion: 2.4.0\n",
                           "$ pip show torch\nWARNING: Package(s) not found: torch\n", "$ pip show torch\nVersion: unknown\n"})
    EXPECT_EQ(package(python(text), "torch"), "(none)") << text;
}

TEST(PythonText, EnvironmentReportOfTorch) {
  const Machine machine = python(
      "PyTorch version: 2.1.0+cu118\nCUDA used to build PyTorch: 11.8\nROCM used to build PyTorch: N/A\n"
      "Python version: 3.10.12 (main, Nov 20 2023) [GCC 11.4.0] (64-bit runtime)\nIs CUDA available: False\n"
      "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090\nNvidia driver version: 450.51.06\n");
  ASSERT_NE(torch(machine), nullptr);
  EXPECT_EQ(torch(machine)->flavour, "cuda");
  EXPECT_TRUE(torch(machine)->cuda.is("11.8"));
  EXPECT_EQ(environment(machine)->python.value_or(""), "3.10.12");
  EXPECT_EQ(machine.kernel_driver.version.value_or(""), "450.51.06");
  EXPECT_EQ(count_seen(machine, "gpu-not-available"), 1);
}

TEST(PythonText, AnswersAtAPrompt) {
  const Machine one = python("$ python -c \"import torch; print(torch.__version__, torch.version.cuda)\"\n2.5.1+cpu None\n");
  ASSERT_NE(torch(one), nullptr);
  EXPECT_EQ(torch(one)->flavour, "cpu");
  const Machine two = python(">>> torch.cuda.is_available()\nTrue\n>>> torch.version.cuda\n'12.4'\n");
  EXPECT_EQ(count_seen(two, "gpu-available"), 1);
  ASSERT_NE(torch(two), nullptr);
  EXPECT_TRUE(torch(two)->cuda.is("12.4"));
  const Machine tensorflow = python(">>> tf.config.list_physical_devices('GPU')\n[]\n");
  EXPECT_EQ(count_seen(tensorflow, "gpu-not-available"), 1);
}

TEST(PythonText, APathTellsTheEnvironment) {
  const Machine machine = python("  File \"/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py\", line 1\n");
  ASSERT_NE(environment(machine), nullptr);
  EXPECT_EQ(environment(machine)->prefix, "/opt/venv");
  EXPECT_EQ(environment(machine)->python.value_or(""), "3.11");
}

}  // namespace
}  // namespace gpuvet
