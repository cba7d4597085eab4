// Which steps put a GPU build into an environment.

#include "rules/framework_repair.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

const Knowledge& knowledge() {
  static const Knowledge all;
  return all;
}

Machine machine_with(std::string_view driver, std::uint16_t device) {
  Machine machine;
  machine.os.architecture = Fact<std::string>::known("x86_64");
  machine.kernel_driver.version = Fact<std::string>::known(std::string(driver));
  PciDevice gpu;
  gpu.address = "0000:01:00.0";
  gpu.vendor = 0x10de;
  gpu.device = device;
  gpu.class_code = 0x030000;
  gpu.driver = Fact<std::string>::known("nvidia");
  machine.pci = Fact<std::vector<PciDevice>>::known({gpu});
  return machine;
}

PythonPackage package(std::string name, std::string version, std::string manager = "pip") {
  PythonPackage out;
  out.name = std::move(name);
  out.version = std::move(version);
  out.manager = std::move(manager);
  return out;
}

PythonEnvironment venv(std::vector<PythonPackage> packages, std::string python = "3.12.8") {
  PythonEnvironment environment;
  environment.prefix = "/home/alice/venv";
  environment.kind = "venv";
  environment.interpreter = Fact<std::string>::known("/home/alice/venv/bin/python");
  environment.python = Fact<std::string>::known(std::move(python));
  environment.machine = "x86_64";
  environment.packages = std::move(packages);
  return environment;
}

std::vector<Action> repair(const Machine& machine, const PythonEnvironment& environment, std::string_view framework = "torch") {
  const RuleContext context = make_rule_context(machine, knowledge());
  return reinstall_framework(context, environment, framework);
}

constexpr std::uint16_t rtx4090 = 0x2684, gtx1080ti = 0x1b06;

TEST(FrameworkRepair, KeepsTheReleaseAndTakesItsCompanionsAlong) {
  const auto steps =
      repair(machine_with("550.120", rtx4090), venv({package("torch", "2.5.1+cpu"), package("torchvision", "0.20.1+cpu")}));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].type, "install-framework-build");
  EXPECT_EQ(steps[0].parameters.at("packages"), "torch==2.5.1 torchvision==0.20.1");
  EXPECT_EQ(steps[0].parameters.at("index"), "https://download.pytorch.org/whl/cu124");
  EXPECT_EQ(steps[0].parameters.at("python"), "/home/alice/venv/bin/python");
  EXPECT_EQ(steps[0].parameters.at("installer"), "pip");
  EXPECT_EQ(steps[0].parameters.at("conda_packages"), "pytorch=2.5.*=cuda* cuda-version=12 torchvision");
  EXPECT_EQ(steps[0].parameters.at("new_environment"), "venv-cu124");
}

TEST(FrameworkRepair, CondasCopyIsReplacedByConda) {
  PythonEnvironment environment = venv({package("pytorch", "2.5.1", "conda")});
  environment.kind = "conda";
  environment.prefix = "/opt/conda/envs/ml";
  const auto steps = repair(machine_with("550.120", rtx4090), environment);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].parameters.at("installer"), "conda");
  EXPECT_EQ(steps[0].parameters.at("conda_prefix"), "/opt/conda/envs/ml");
  EXPECT_FALSE(steps[0].parameters.contains("packages"));
}

TEST(FrameworkRepair, ADriverThatIsTooOldIsUpdatedFirst) {
  const auto steps = repair(machine_with("470.256.02", gtx1080ti), venv({package("torch", "2.11.0")}));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].type, "update-driver-to-version");
  EXPECT_EQ(steps[0].parameters.at("driver"), "525.60.13");
}

TEST(FrameworkRepair, InAContainerTheDriverStays) {
  Machine machine = machine_with("470.256.02", gtx1080ti);
  machine.os.container = Fact<std::string>::known("docker");
  const auto steps = repair(machine, venv({package("torch", "2.11.0")}));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].parameters.at("packages"), "torch==2.7.1");
  EXPECT_EQ(steps[0].parameters.at("index"), "https://download.pytorch.org/whl/cu118");
}

TEST(FrameworkRepair, PythonTooNewGetsAnEnvironmentOfItsOwn) {
  const auto steps = repair(machine_with("550.120", rtx4090), venv({}, "3.14.0"), "tensorflow");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].type, "create-python-environment");
  EXPECT_EQ(steps[0].parameters.at("new_prefix"), "/home/alice/venv-py313");
  EXPECT_EQ(steps[1].parameters.at("python"), "/home/alice/venv-py313/bin/python");
  EXPECT_EQ(steps[1].parameters.at("pypi_packages"), "tensorflow[and-cuda]==2.21.0");
}

PythonEnvironment managed_system(std::vector<PythonPackage> packages) {
  PythonEnvironment environment = venv(std::move(packages));
  environment.prefix = "/usr";
  environment.kind = "system";
  environment.interpreter = Fact<std::string>::known("/usr/bin/python3");
  environment.externally_managed = true;
  return environment;
}

TEST(FrameworkRepair, AManagedPythonIsLeftAlone) {
  const auto steps = repair(machine_with("550.120", rtx4090), managed_system({package("torch", "2.5.1+cpu")}));
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].type, "create-virtual-environment");
  EXPECT_EQ(steps[0].parameters.at("base_python"), "/usr/bin/python3");
  EXPECT_EQ(steps[0].parameters.at("new_prefix"), "~/gpu");
  EXPECT_EQ(steps[1].type, "install-framework-build");
  EXPECT_EQ(steps[1].parameters.at("python"), "~/gpu/bin/python");
  EXPECT_EQ(steps[1].parameters.at("packages"), "torch==2.5.1");
  EXPECT_EQ(steps[1].parameters.at("new_environment"), "gpu-cu124");
  EXPECT_EQ(steps[2].parameters.at("activate"), "~/gpu/bin/activate");
}

TEST(FrameworkRepair, PackagesForAManagedPythonGoIntoAnEnvironmentOfTheirOwn) {
  const Action action = install_packages(managed_system({}), {"vllm"});
  EXPECT_EQ(action.parameters.at("base_python"), "/usr/bin/python3");
  EXPECT_EQ(action.parameters.at("new_prefix"), "~/gpu");
  EXPECT_EQ(action.parameters.at("python"), "~/gpu/bin/python");
  EXPECT_FALSE(install_packages(venv({}), {"vllm"}).parameters.contains("base_python"));
}

TEST(FrameworkRepair, WhatHasTheSameFilesGoesFirst) {
  const auto steps = repair(machine_with("550.120", rtx4090),
                            venv({package("onnxruntime", "1.20.1"), package("onnxruntime-gpu", "1.20.1")}), "onnxruntime");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].type, "uninstall-python-packages");
  EXPECT_EQ(steps[0].parameters.at("packages"), "onnxruntime");
  EXPECT_EQ(steps[1].parameters.at("pypi_packages"), "onnxruntime-gpu==1.20.1");
}

TEST(FrameworkRepair, JetsonHasItsOwnWheels) {
  Machine machine;
  machine.os.architecture = Fact<std::string>::known("aarch64");
  machine.os.jetson = Fact<std::string>::known("R36 (release), REVISION: 4.0");
  const auto steps = repair(machine, venv({package("torch", "2.5.1")}));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].type, "use-jetpack-wheel");
}

TEST(FrameworkRepair, UnknownFrameworksAndReleasesGetNoAdvice) {
  EXPECT_TRUE(repair(machine_with("550.120", rtx4090), venv({package("torch", "3.9.0")})).empty());
  EXPECT_TRUE(repair(machine_with("550.120", rtx4090), venv({}), "mindspore").empty());
}

TEST(FrameworkRepair, TheInstallerOfAnEnvironment) {
  PythonEnvironment environment = venv({package("torch", "2.5.1")});
  EXPECT_EQ(installer_of(environment), "pip");
  environment.packages[0].installer = "uv";
  EXPECT_EQ(installer_of(environment), "uv");
  environment.kind = "poetry";
  EXPECT_EQ(installer_of(environment), "poetry");
  environment.kind = "conda";
  environment.prefix = "/home/alice/micromamba/envs/x";
  EXPECT_EQ(installer_of(environment), "micromamba");
}

}  // namespace
}  // namespace gpuvet
