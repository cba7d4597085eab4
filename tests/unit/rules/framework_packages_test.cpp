#include "rules/framework_packages.h"

#include <gtest/gtest.h>

#include "rules/cuda_needs.h"
#include "rules/runtime_library.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

PythonPackage package(std::string name, std::string version, std::string manager = "pip", std::string installer = "pip") {
  PythonPackage p;
  p.name = std::move(name);
  p.version = std::move(version);
  p.manager = std::move(manager);
  p.installer = std::move(installer);
  p.folder = "/v/" + p.name + ".dist-info";
  return p;
}

struct Judge {
  explicit Judge(std::vector<PythonPackage> packages, std::string_view purpose = "torch") : text(purpose) {
    PythonEnvironment environment;
    environment.prefix = "/v";
    environment.name = "v";
    environment.active = true;
    environment.machine = "x86_64";
    environment.libc = "glibc";
    environment.packages = std::move(packages);
    machine.python.environments = Fact<std::vector<PythonEnvironment>>::known({environment});
    machine.toolkits.found = Fact<std::vector<Toolkit>>::known({});
    machine.environment_seen = Fact<bool>::known(true);
    machine.loader.folders.push_back({"/usr/lib", "default", {}, true, {}});
  }
  PythonEnvironment& environment() { return machine.python.environments.get()->front(); }
  std::optional<Finding> by(RuleFunction rule) const { return rule(make_rule_context(machine, knowledge, *parse_purpose(text))); }
  Machine machine;
  Knowledge knowledge;
  std::string text;
};

TEST(Placeholders, AreToldByNameAndVersion) {
  EXPECT_TRUE(is_placeholder(package("nvidia-cublas-cu110", "0.0.1.dev5")));
  EXPECT_TRUE(is_placeholder(package("nvidia-cuda-runtime-cu13", "0.0.1")));
  EXPECT_TRUE(is_placeholder(package("nvidia-cublas", "0.0.0a0")));
  EXPECT_TRUE(is_placeholder(package("nvidia-cudnn", "0.0.1.dev5")));
  EXPECT_TRUE(is_placeholder(package("tensorflow-gpu", "2.12.0")));
  EXPECT_FALSE(is_placeholder(package("tensorflow-gpu", "2.10.1")));
  EXPECT_FALSE(is_placeholder(package("tensorflow-gpu", "2.12.0", "conda")));
  EXPECT_FALSE(is_placeholder(package("nvidia-cudnn-cu13", "9.13.0.50")));
  EXPECT_FALSE(is_placeholder(package("nvidia-nvcomp-cu12", "0.0.1")));  // no library that a framework loads
  EXPECT_FALSE(is_placeholder(package("some-nvidia-tool", "0.0.1")));
}

std::string installed_by_repair(const Finding& finding) {
  const auto& last = finding.repair.back().parameters;
  const auto names = last.find("packages");
  return names != last.end() ? names->second : "";
}

TEST(Placeholders, RepairNamesTheRealPackage) {
  const auto repair = [](std::string name, std::string version) {
    const auto finding =
        Judge({package("torch", "2.9.0"), package(std::move(name), std::move(version))}).by(framework::placeholder_package);
    return finding ? installed_by_repair(*finding) : "none";
  };
  EXPECT_EQ(repair("nvidia-cuda-runtime-cu13", "0.0.1"), "nvidia-cuda-runtime");
  EXPECT_EQ(repair("nvidia-cublas-cu116", "0.0.1.dev5"), "nvidia-cublas-cu11");
  EXPECT_EQ(repair("nvidia-cudnn", "0.0.1.dev5"), "nvidia-cudnn-cu12");
  EXPECT_EQ(repair("nvidia-tensorrt", "0.0.1.dev5"), "tensorrt");
}

TEST(JaxPlugin, VersionsAreComparedAsJaxlibDoes) {
  const auto variant = [](std::string jaxlib, std::string plugin) -> std::string {
    const auto finding = Judge({package("jax", jaxlib), package("jaxlib", jaxlib), package("jax-cuda12-plugin", plugin)}, "jax")
                             .by(framework::jax_plugin_missing);
    return finding ? finding->variant : "none";
  };
  EXPECT_EQ(variant("0.7.2", "0.7.2"), "none");
  EXPECT_EQ(variant("0.7.2", "0.7.1"), "other-version");
  EXPECT_EQ(variant("0.4.36.dev20241101", "0.4.36"), "none");  // only the leading numbers count
  EXPECT_EQ(variant("0.4.14+cuda12.cudnn89", "0.4.13"), "none");
}

TEST(SeveralBuilds, CondaAndHalfRemovedOnesDoNotCount) {
  auto gone = package("onnxruntime", "1.20.1");
  gone.state = "files-missing";
  EXPECT_FALSE(Judge({package("onnxruntime-gpu", "1.20.1"), gone}, "onnxruntime").by(framework::several_builds));
  EXPECT_FALSE(Judge({package("tensorflow", "2.18.0", "conda"), package("tensorflow-gpu", "2.18.0", "conda")}, "tensorflow")
                   .by(framework::several_builds));
  const auto finding =
      Judge({package("cupy-cuda11x", "13.3.0"), package("cupy-cuda12x", "13.3.0")}, "cupy").by(framework::several_builds);
  ASSERT_TRUE(finding);
  EXPECT_EQ(installed_by_repair(*finding), "cupy-cuda12x==13.3.0");
}

TEST(NoBuildForSystem, MuslHasNoGpuWheels) {
  Judge alpine({}, "torch");
  alpine.environment().libc = "musl";
  const auto finding = alpine.by(framework::no_gpu_build_for_os);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "musl");
  // Alpine's own package may be anything.
  Judge own({package("torch", "2.5.1", "distribution")}, "torch");
  own.environment().libc = "musl";
  EXPECT_FALSE(own.by(framework::no_gpu_build_for_os));
  EXPECT_FALSE(Judge({}, "torch").by(framework::no_gpu_build_for_os));
}

TEST(Glibc, TheOldestTagOfAWheelCounts) {
  const auto fires = [](std::string tag, std::string glibc) {
    auto torch = package("torch", "2.9.0");
    torch.tags = {std::move(tag)};
    Judge judge({torch});
    judge.machine.os.glibc = Fact<std::string>::known(std::move(glibc));
    return judge.by(runtime_library::glibc_too_old).has_value();
  };
  EXPECT_TRUE(fires("cp312-cp312-manylinux_2_28_x86_64", "2.17"));
  EXPECT_FALSE(fires("cp312-cp312-manylinux_2_28_x86_64", "2.28"));
  EXPECT_FALSE(fires("cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64", "2.17"));
  EXPECT_TRUE(fires("cp312-cp312-manylinux2014_x86_64", "2.12"));
  EXPECT_FALSE(fires("cp312-cp312-linux_x86_64", "2.12"));  // promises nothing
}

TEST(Glibc, GlibcWheelsUnderMusl) {
  auto torch = package("torch", "2.9.0");
  torch.tags = {"cp312-cp312-manylinux_2_28_x86_64"};
  Judge judge({torch});
  judge.environment().libc = "musl";
  judge.machine.os.glibc = Fact<std::string>::absent();
  const auto finding = judge.by(runtime_library::glibc_too_old);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "musl");
}

TEST(CudaNeeds, UnseenPlacesKeepRulesSilent) {
  Judge judge({package("cupy-cuda12x", "13.3.0")}, "cupy");
  EXPECT_TRUE(judge.by(runtime_library::nowhere));
  judge.machine.toolkits.found = Fact<std::vector<Toolkit>>::not_seen("permission denied");
  EXPECT_FALSE(judge.by(runtime_library::nowhere));
  judge.machine.toolkits.found = Fact<std::vector<Toolkit>>::known({});
  judge.machine.loader.folders.clear();
  EXPECT_FALSE(judge.by(runtime_library::nowhere));
}

TEST(CudaNeeds, ToolkitsOfEnvironmentsAreNoSystemLibraries) {
  Judge judge({package("cupy-cuda12x", "13.3.0")}, "cupy");
  Toolkit toolkit;
  toolkit.path = "/usr/local/cuda-12.4";
  toolkit.libraries = {"libcublas.so.12", "libnvrtc.so.12"};
  judge.machine.toolkits.found = Fact<std::vector<Toolkit>>::known({toolkit});
  EXPECT_TRUE(judge.by(runtime_library::not_on_path));
  toolkit.environment = "/opt/conda/envs/other";
  judge.machine.toolkits.found = Fact<std::vector<Toolkit>>::known({toolkit});
  EXPECT_FALSE(judge.by(runtime_library::not_on_path));
  EXPECT_TRUE(judge.by(runtime_library::nowhere));
}

}  // namespace
}  // namespace gpuvet
