// The rules of layer toolkit on machines made by hand.

#include "rules/toolkit.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

const Knowledge& tables() {
  static const Knowledge knowledge;
  return knowledge;
}

using Judge = std::optional<Finding> (*)(const RuleContext&);
std::optional<Finding> run(Judge rule, const Machine& machine, const char* purpose = "") {
  const auto parsed = *purpose != 0 ? parse_purpose(purpose) : tl::expected<Purpose, std::string>(Purpose{});
  return rule(make_rule_context(machine, tables(), *parsed));
}

template <class T>
Fact<T> known(T value) {
  return Fact<T>::known(std::move(value));
}

Toolkit toolkit(const std::string& path, const std::string& version) {
  Toolkit one;
  one.path = one.real_path = path;
  one.origin = "deb";
  one.version = known(version);
  one.nvcc = known(path + "/bin/nvcc");
  one.has_runtime_library = true;
  one.gcc_max = known<std::int64_t>(13);
  one.gcc_min = Fact<std::int64_t>::absent();
  return one;
}

HostCompiler compiler(const std::string& name, const std::string& version, const std::string& found_by = "PATH") {
  return {name, "/usr/bin/" + name, "/usr/bin/" + name, known(version), found_by};
}

constexpr const char* plain_path = "/usr/local/bin:/usr/bin:/bin";

/// CUDA 12.6 in the usual place with its link, a fitting gcc, PATH as given.
Machine machine_with(std::vector<Toolkit> toolkits, const std::string& path = "/usr/local/cuda/bin:/usr/bin:/bin") {
  Machine machine;
  machine.environment["PATH"] = path;
  machine.environment_seen = known(true);
  machine.os.architecture = known(std::string("x86_64"));
  machine.toolkits.found = known(std::move(toolkits));
  machine.toolkits.compilers =
      known(std::vector<HostCompiler>{compiler("gcc", "12.3.0"), compiler("g++-11", "11.4.0", "usual folder")});
  machine.toolkits.libc_headers = known(std::string("2.39"));
  return machine;
}

Machine whole_machine() {
  Toolkit one = toolkit("/usr/local/cuda-12.6", "12.6.3");
  one.names = {"/usr/local/cuda"};
  Machine machine = machine_with({one});
  machine.toolkits.links = {{"/usr/local/cuda", "/usr/local/cuda-12.6", "/usr/local/cuda-12.6", "toolkit"}};
  return machine;
}

Toolkit& first(Machine& machine) { return machine.toolkits.found.get()->front(); }

void add_gpu(Machine& machine, std::int64_t id) {
  PciDevice gpu;
  gpu.address = "0000:01:00.0";
  gpu.vendor = 0x10de;
  gpu.device = id;
  gpu.class_code = 0x030000;
  machine.pci = known(std::vector<PciDevice>{gpu});
}

ShellForecast forecast(const char* shell, const char* kind, const std::string& path, std::vector<Origin> set_by = {}) {
  ShellForecast one;
  one.shell = shell;
  one.kind = kind;
  one.variables = {{"PATH", known(path), std::move(set_by)}};
  return one;
}

TEST(AllToolkitRules, SilentOnNothingAndOnAWholeMachine) {
  for (const Rule& rule : toolkit_rules())
    for (const char* purpose : {"", "nvcc", "build", "torch"}) {
      EXPECT_FALSE(run(rule.judge, Machine{}, purpose)) << rule.slug << " " << purpose;
      EXPECT_FALSE(run(rule.judge, whole_machine(), purpose)) << rule.slug << " " << purpose;
    }
  for (const Rule& rule : toolkit_rules()) EXPECT_TRUE(find_rule_record(rule.slug)) << rule.slug;
}

TEST(NvccStories, OneForEachMachine) {
  const auto story = [](const Machine& machine, const char* purpose = "nvcc") {
    return nvcc_story(make_rule_context(machine, tables(), *parse_purpose(purpose)));
  };
  EXPECT_EQ(story(whole_machine()), NvccStory::Found);
  EXPECT_EQ(story(Machine{}), NvccStory::Unknown);
  EXPECT_EQ(story(machine_with({})), NvccStory::NotInstalled);
  Toolkit runtime = toolkit("/usr/local/cuda-12.6", "12.6");
  runtime.nvcc = Fact<std::string>::absent();
  EXPECT_EQ(story(machine_with({runtime})), NvccStory::RuntimeOnly);
  EXPECT_EQ(story(machine_with({toolkit("/usr/local/cuda-12.6", "12.6")}, plain_path)), NvccStory::NotOnPath);
  Machine by_home = machine_with({toolkit("/usr/local/cuda-12.6", "12.6")}, plain_path);
  by_home.environment["CUDA_HOME"] = "/usr/local/cuda-12.6";
  EXPECT_EQ(story(by_home), NvccStory::NotOnPath);
  EXPECT_EQ(story(by_home, "build"), NvccStory::Found);
  by_home.environment["CUDA_HOME"] = "/usr/local/cuda-11.8";
  EXPECT_EQ(story(by_home, "build"), NvccStory::HomeWrong);
  Machine unseen = machine_with({toolkit("/usr/local/cuda-12.6", "12.6")}, plain_path);
  unseen.environment.clear();
  EXPECT_EQ(story(unseen), NvccStory::Unknown);
}

TEST(CudaLink, DanglingWinsOverAllOthers) {
  Machine machine = machine_with({toolkit("/usr/local/cuda-12.6", "12.6.3")});
  machine.toolkits.links = {{"/etc/alternatives/cuda", "/usr/local/cuda-12.2", "", "dangling"},
                            {"/usr/local/cuda", "/etc/alternatives/cuda", "", "dangling"}};
  const auto finding = run(judge_cuda_link_broken, machine, "nvcc");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
  EXPECT_EQ(finding->parameters.at("link"), "/usr/local/cuda");
  EXPECT_EQ(finding->parameters.at("target"), "/usr/local/cuda-12.2");
  EXPECT_EQ(finding->repair.front().type, "choose-cuda-alternative");
  for (const Judge other :
       {judge_nvcc_not_on_path, judge_toolkit_not_installed, judge_runtime_only, judge_cuda_home_wrong, judge_toolkit_incomplete})
    EXPECT_FALSE(run(other, machine, "nvcc"));
}

TEST(CudaHome, EveryWrongShapeHasItsText) {
  const std::pair<const char*, const char*> cases[] = {{"/usr/local/cuda-11.8", ""},
                                                       {"/usr/local/cuda:/x", "list"},
                                                       {"cuda", "not-absolute"},
                                                       {"/usr/local/cuda/bin/nvcc", "part"},
                                                       {"/usr/local/cuda-12.6/bin/", "part"}};
  for (const auto& [value, variant] : cases) {
    Machine machine = whole_machine();
    machine.environment["CUDA_HOME"] = value;
    const auto finding = run(judge_cuda_home_wrong, machine, "build");
    ASSERT_TRUE(finding) << value;
    EXPECT_EQ(finding->variant, variant) << value;
    EXPECT_EQ(run(judge_cuda_home_wrong, machine, "nvcc")->severity, Severity::Warning) << value;
  }
  for (const char* right : {"/usr/local/cuda", "/usr/local/cuda/", "/usr/local/cuda-12.6", ""}) {
    Machine machine = whole_machine();
    machine.environment["CUDA_HOME"] = right;
    EXPECT_FALSE(run(judge_cuda_home_wrong, machine, "build")) << right;
  }
}

TEST(Shells, NamesKindsAndTheLineThatDrops) {
  const std::string with = "/usr/local/cuda/bin:/usr/bin:/bin";
  const Origin sets{"/home/a/.profile", 3, "export PATH=/usr/local/cuda/bin:$PATH"},
      drops{"/home/a/.bashrc", 9, "PATH=/usr/bin:/bin"};
  Machine machine = whole_machine();
  machine.environment["PATH"] = plain_path;
  machine.shells.login_shell = known(std::string("/bin/bash"));
  machine.shells.forecasts = known(std::vector<ShellForecast>{
      forecast("bash", "login", with, {sets}), forecast("bash", "interactive", plain_path), forecast("", "cron", plain_path)});
  auto finding = run(judge_shell_startup, machine, "nvcc");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->variant, "login-only");
  EXPECT_EQ(finding->parameters.at("seeing"), "bash (login)");
  EXPECT_EQ(finding->parameters.at("blind"), "bash (interactive), cron");
  EXPECT_EQ(finding->evidence.front(), sets);
  EXPECT_FALSE(run(judge_nvcc_not_on_path, machine, "nvcc"));
  machine.shells.forecasts.get()->at(1) = forecast("bash", "interactive", plain_path, {sets, drops});
  finding = run(judge_shell_startup, machine, "nvcc");
  EXPECT_EQ(finding->variant, "overwritten");
  EXPECT_EQ(finding->parameters.at("where"), "/home/a/.bashrc:9");
  machine.environment["PATH"] = with;
  EXPECT_EQ(run(judge_shell_startup, machine, "nvcc")->severity, Severity::Note);
}

TEST(HostCompiler, DefaultTooNewOlderOneBesideIt) {
  Machine machine = whole_machine();
  machine.toolkits.compilers.get()->front() = compiler("gcc", "14.2.0");
  auto finding = run(judge_host_compiler, machine, "nvcc");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::Error);
  EXPECT_EQ(finding->parameters.at("limit"), "13");
  EXPECT_EQ(finding->repair.front().parameters.at("compiler"), "/usr/bin/g++-11");
  machine.environment["NVCC_PREPEND_FLAGS"] = "-allow-unsupported-compiler";
  EXPECT_FALSE(run(judge_host_compiler, machine, "nvcc"));
  machine.environment["NVCC_PREPEND_FLAGS"] = "-ccbin /opt/x/g++";  // its version was not seen
  EXPECT_FALSE(run(judge_host_compiler, machine, "nvcc"));
  machine.environment.erase("NVCC_PREPEND_FLAGS");
  machine.toolkits.compilers.get()->push_back(compiler("g++-12", "12.3.0", "NVCC_CCBIN"));
  machine.environment["NVCC_CCBIN"] = "/usr/bin/g++-12";
  EXPECT_FALSE(run(judge_host_compiler, machine, "nvcc"));
}

TEST(GlibcHeaders, NeedNewHeadersAndAnOldDeclaration) {
  Machine machine = whole_machine();
  first(machine).headers_fit_glibc_2_41 = known(false);
  EXPECT_FALSE(run(judge_glibc_headers, machine, "nvcc"));
  machine.toolkits.libc_headers = known(std::string("2.41"));
  EXPECT_TRUE(run(judge_glibc_headers, machine, "nvcc"));
  EXPECT_EQ(run(judge_glibc_headers, machine)->severity, Severity::Warning);
  first(machine).headers_fit_glibc_2_41 = known(true);
  EXPECT_FALSE(run(judge_glibc_headers, machine, "nvcc"));
}

TEST(Architectures, DroppedTooNewAndSameGeneration) {
  Machine machine = whole_machine();
  first(machine).architectures = {"7.5", "8.0", "8.6", "9.0"};
  add_gpu(machine, 0x1b06);  // GTX 1080 Ti, 6.1
  EXPECT_EQ(run(judge_nvcc_dropped_arch, machine, "nvcc")->severity, Severity::Error);
  EXPECT_FALSE(run(judge_nvcc_too_old, machine, "nvcc"));
  add_gpu(machine, 0x2b85);  // RTX 5090, 12.0
  EXPECT_EQ(run(judge_nvcc_too_old, machine, "build")->severity, Severity::Error);
  EXPECT_EQ(run(judge_nvcc_too_old, machine, "nvcc")->severity, Severity::Warning);
  EXPECT_EQ(run(judge_nvcc_too_old, machine)->severity, Severity::Note);
  machine.environment["TORCH_CUDA_ARCH_LIST"] = "8.6";
  EXPECT_EQ(run(judge_nvcc_too_old, machine, "build")->severity, Severity::Note);
  first(machine).architectures = {"7.5", "8.0", "8.6"};
  add_gpu(machine, 0x2684);  // RTX 4090, 8.9
  EXPECT_EQ(run(judge_nvcc_too_old, machine, "build")->variant, "same-generation");
}

TEST(NewerThanDriver, MajorWarnsMinorNotes) {
  Machine machine = whole_machine();
  EXPECT_FALSE(run(judge_toolkit_newer_than_driver, machine, "nvcc"));
  machine.kernel_driver.version = known(std::string("550.120"));  // CUDA 12.4
  EXPECT_EQ(run(judge_toolkit_newer_than_driver, machine, "nvcc")->severity, Severity::Note);
  machine.kernel_driver.version = known(std::string("470.256.02"));  // CUDA 11.4
  EXPECT_EQ(run(judge_toolkit_newer_than_driver, machine, "nvcc")->severity, Severity::Warning);
  machine.kernel_driver.version = known(std::string("570.124.06"));
  EXPECT_FALSE(run(judge_toolkit_newer_than_driver, machine, "nvcc"));
}

TEST(ToolkitFiles, MissingFilesAndLibraries) {
  Machine machine = whole_machine();
  first(machine).missing = {"bin/ptxas"};
  EXPECT_EQ(run(judge_toolkit_incomplete, machine, "nvcc")->severity, Severity::Error);
  first(machine).missing.clear();
  first(machine).components =
      known(std::vector<ToolkitComponent>{{"libcublas", "12.6", {"lib64/libcublas.so", "lib64/libcublasLt.so"}, 2}});
  EXPECT_FALSE(run(judge_toolkit_incomplete, machine, "nvcc"));  // left out on purpose
  first(machine).components = known(std::vector<ToolkitComponent>{{"libcublas", "12.6", {"lib64/libcublas.so"}, 2}});
  EXPECT_EQ(run(judge_toolkit_incomplete, machine, "nvcc")->variant, "parts");
  first(machine).tools = {{"cuda-gdb", "/usr/local/cuda-12.6/bin/cuda-gdb", "elf", {"libtinfo.so.5"}}};
  machine.environment["PATH"] = plain_path;
  EXPECT_EQ(run(judge_tool_library_missing, machine)->severity, Severity::Note);
  EXPECT_EQ(run(judge_tool_library_missing, machine, "nvcc")->severity, Severity::Warning);
  first(machine).tools.front().name = "ptxas";
  EXPECT_EQ(run(judge_tool_library_missing, machine, "nvcc")->severity, Severity::Error);
}

TEST(AdvisedRelease, FitsDriverAndGpu) {
  Machine machine = whole_machine();
  machine.kernel_driver.version = known(std::string("550.120"));
  add_gpu(machine, 0x2684);
  EXPECT_EQ(advised_release(make_rule_context(machine, tables())), "12.4");
  machine.kernel_driver.version = known(std::string("580.95.05"));
  add_gpu(machine, 0x1b06);  // Pascal: 13.0 does not target it
  EXPECT_EQ(advised_release(make_rule_context(machine, tables())), "12.9");
}

}  // namespace
}  // namespace gpuvet
