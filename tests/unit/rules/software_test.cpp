#include "rules/software.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

PythonEnvironment environment(std::string prefix, std::vector<std::string> packages, bool active = false) {
  PythonEnvironment e;
  e.prefix = std::move(prefix);
  e.name = e.prefix.substr(e.prefix.rfind('/') + 1);
  e.active = active;
  for (auto& name : packages) {
    PythonPackage p;
    p.name = name;
    p.version = "2.6.0";
    e.packages.push_back(p);
  }
  return e;
}

Machine with(std::vector<PythonEnvironment> environments) {
  Machine machine;
  machine.python.environments = Fact<std::vector<PythonEnvironment>>::known(std::move(environments));
  return machine;
}

std::string judged(const Machine& machine, std::string_view purpose) {
  std::string out;
  for (const auto& one : judged_environments(machine, parse_purpose(purpose).value())) out += one.environment->prefix + " ";
  return out;
}

TEST(JudgedEnvironments, WithoutPurposeTheActiveOneOrTheOnlyOne) {
  EXPECT_EQ(judged(with({environment("/v", {"torch"}, true), environment("/w", {"torch"})}), ""), "/v ");
  EXPECT_EQ(judged(with({environment("/usr", {}, true), environment("/w", {"jax"})}), ""), "/w ");
  // Two that are not in use: nobody said which one is meant.
  EXPECT_EQ(judged(with({environment("/usr", {}, true), environment("/w", {"jax"}), environment("/x", {"torch"})}), ""), "");
  // OpenCV and numba live in environments that have nothing to do with GPUs.
  EXPECT_EQ(judged(with({environment("/usr", {}, true), environment("/w", {"opencv-python", "numba-cuda"})}), ""), "");
  EXPECT_EQ(judged(with({environment("/v", {"torch"}, true)}), "driver"), "");
}

TEST(JudgedEnvironments, WithPurposeTheOneThatHasIt) {
  const auto machine = with({environment("/usr", {}, true), environment("/home/a/ml", {"torch"}), environment("/w", {"jax"})});
  EXPECT_EQ(judged(machine, "torch"), "/home/a/ml ");
  EXPECT_EQ(judged(machine, "torch@ml"), "/home/a/ml ");
  EXPECT_EQ(judged(machine, "torch@/w"), "/w ");
  EXPECT_EQ(judged(machine, "torch@nowhere"), "");
  EXPECT_EQ(judged(machine, "tensorflow"), "/usr ");  // nobody has it: what is in use lacks it
}

TEST(Environments, AmbiguousNamesNameNothing) {
  const auto machine = with({environment("/a/ml", {}), environment("/b/ml", {})});
  EXPECT_EQ(find_environment(machine, "ml"), nullptr);
  ASSERT_NE(find_environment(machine, "/b/ml/"), nullptr);
  EXPECT_EQ(find_environment(machine, "/b/ml/")->prefix, "/b/ml");
}

Toolkit toolkit(std::string path, std::string version) {
  Toolkit t;
  t.path = t.real_path = std::move(path);
  t.version = Fact<std::string>::known(std::move(version));
  t.nvcc = Fact<std::string>::known(t.path + "/bin/nvcc");
  return t;
}

Machine with_toolkits() {
  Machine machine;
  auto first = toolkit("/usr/local/cuda-12.6", "12.6.3");
  first.names = {"/usr/local/cuda"};
  machine.toolkits.found = Fact<std::vector<Toolkit>>::known({first, toolkit("/usr/local/cuda-11.8", "11.8")});
  machine.toolkits.links = {{"/usr/local/cuda", "cuda-12.6", "/usr/local/cuda-12.6", "toolkit"}};
  return machine;
}

TEST(ToolkitChoice, FollowsEachOnesOwnOrder) {
  auto machine = with_toolkits();
  EXPECT_EQ(nvcc_on_path(machine).toolkit, nullptr);
  EXPECT_EQ(toolkit_of_extension_builder(machine).toolkit->path, "/usr/local/cuda-12.6");
  machine.environment["PATH"] = "/usr/bin:/usr/local/cuda-11.8/bin/:/usr/local/cuda/bin";
  EXPECT_EQ(nvcc_on_path(machine).toolkit->path, "/usr/local/cuda-11.8");
  EXPECT_EQ(toolkit_of_cmake(machine).toolkit->path, "/usr/local/cuda-11.8");
  machine.environment["CUDA_HOME"] = "/usr/local/cuda";
  EXPECT_EQ(toolkit_of_extension_builder(machine).toolkit->path, "/usr/local/cuda-12.6");
  EXPECT_EQ(toolkit_of_cmake(machine).toolkit->path, "/usr/local/cuda-11.8");
  machine.environment["CUDACXX"] = "/usr/local/cuda/bin/nvcc";
  EXPECT_EQ(toolkit_of_cmake(machine).toolkit->path, "/usr/local/cuda-12.6");
  machine.environment["LIBRARY_PATH"] = "/usr/local/cuda-11.8/lib64";
  EXPECT_EQ(toolkit_of_linker(machine).toolkit->path, "/usr/local/cuda-11.8");
  machine.environment["CUDA_HOME"] = "/opt/gone";
  EXPECT_EQ(toolkit_of_extension_builder(machine).toolkit, nullptr);
  EXPECT_EQ(toolkit_of_extension_builder(machine).named, "/opt/gone");
}

TEST(LoaderFinds, WhatLdconfigDidNotTakeIsNotFound) {
  Machine machine;
  machine.loader.folders.push_back({"/usr/local/cuda/lib64", "ld.so.conf", {}, true, {"libcudart.so.12"}});
  EXPECT_TRUE(loader_finds(machine, "libcudart.so.12"));  // no cache seen: the folder counts
  machine.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
  EXPECT_FALSE(loader_finds(machine, "libcudart.so.12"));
  machine.loader.folders.push_back({"/x", "LD_LIBRARY_PATH", {}, true, {"libcudart.so.12"}});
  EXPECT_TRUE(loader_finds(machine, "libcudart.so.12"));
  EXPECT_FALSE(loader_finds(machine, "libcudart.so.11.0"));
}

}  // namespace
}  // namespace gpuvet
