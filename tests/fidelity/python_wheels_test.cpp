// Genuine wheels, installed by genuine pip, against what their own Python says of them. fetch_python_wheels.sh brings the wheels.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cache.h"
#include "collect/collect.h"
#include "collect/python_files.h"
#include "model/release_version.h"

namespace gpuvet::test {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return text;
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, count);
  return ::pclose(pipe) == 0 ? text : std::string();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// As the script that fetches: the first Python that has wheels of these releases.
std::string python() {
  for (const char* name : {"python3.12", "python3.11", "python3.10", "python3"}) {
    if (!output_of(std::string(name) + " -m pip --version").empty()) return name;
  }
  return {};
}

/// A folder that goes away.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "gpuvet-wheels-XXXXXX").string();
    path = ::mkdtemp(name.data()) ? name : "";
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

PythonEnvironment collect_environment_at(const fs::path& prefix) {
  const auto system = make_live_system();
  CollectOptions options;
  options.has_environment = true;
  options.environment = {{"HOME", "/nonexistent"}, {"USER", "nobody"}};
  options.python_environments = {prefix.string()};
  Machine machine;
  collect_environment(*system, options, machine);
  collect_python(*system, options, machine);
  for (const PythonEnvironment& e : *machine.python.environments.get()) {
    if (e.prefix == prefix.string()) return e;
  }
  return {};
}

/// A venv with all wheels of a cache folder that its Python takes. False: there are none.
bool make_environment(const fs::path& prefix, const fs::path& wheels) {
  if (python().empty() || !fs::is_directory(wheels)) return false;
  if (std::system((python() + " -m venv " + prefix.string() + " >/dev/null 2>&1").c_str()) != 0) return false;
  const std::string pip = prefix.string() + "/bin/python -m pip -q install --no-deps --no-index --no-build-isolation ";
  std::string all;
  int installed = 0;
  for (const auto& entry : fs::directory_iterator(wheels)) {
    if (entry.path().extension() == ".whl") all += entry.path().string() + " ";
  }
  // One call for all is quick; one wheel that this Python does not take makes it fail, then each is tried alone.
  if (!all.empty() && std::system((pip + all + ">/dev/null 2>&1").c_str()) == 0) return true;
  for (const auto& entry : fs::directory_iterator(wheels)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".whl") && !name.ends_with(".tar.gz")) continue;
    installed += std::system((pip + entry.path().string() + " >/dev/null 2>&1").c_str()) == 0 ? 1 : 0;
  }
  return installed > 0;
}

using Versions = std::map<std::string, std::string>;

/// What importlib.metadata says in the environment's own Python.
Versions versions_by_python(const fs::path& prefix) {
  const std::string code = "import importlib.metadata as m\nfor d in m.distributions(): print(d.metadata['Name'], d.version)";
  Versions versions;
  for (const std::string& line : lines_of(output_of(prefix.string() + "/bin/python -I -c \"" + code + "\""))) {
    const std::size_t blank = line.find(' ');
    versions[normalised_distribution_name(line.substr(0, blank))] = line.substr(blank + 1);
  }
  return versions;
}

void compare(const fs::path& prefix) {
  const PythonEnvironment e = collect_environment_at(prefix);
  const Versions truth = versions_by_python(prefix);
  ASSERT_FALSE(truth.empty());
  EXPECT_EQ(static_cast<std::size_t>(e.package_count), truth.size());
  EXPECT_EQ(e.kind, "venv");
  EXPECT_TRUE(e.problems.empty());
  EXPECT_EQ(e.python.value_or("") + "\n", output_of(prefix.string() + "/bin/python -I -c 'import platform; print(platform.python_version())'"));
  EXPECT_EQ(e.machine + "\n", output_of("uname -m"));
  Versions found;
  for (const PythonPackage& package : e.packages) {
    found[package.name] = package.version;
    EXPECT_EQ(package.state, "") << package.name;
    EXPECT_FALSE(package.tags.empty()) << package.name;
  }
  Versions expected;
  for (const auto& [name, version] : truth) {
    if (package_matters(name)) expected[name] = version;
  }
  EXPECT_EQ(found, expected);
  std::printf("%zu packages agree with importlib.metadata\n", found.size());
}

TEST(PythonWheels, SmallOnes) {
  const Folder folder;
  const fs::path prefix = folder.path / "venv";
  if (!make_environment(prefix, cache_folder() / "wheels/small")) GTEST_SKIP() << "no wheels in the cache";
  compare(prefix);
  for (const FrameworkBuild& build : collect_environment_at(prefix).frameworks) {
    if (build.name != "torchvision") continue;
    // The file imports torchvision: its one literal is taken by Python's own parser.
    const std::string code = "import ast; print([n.value.value for n in ast.parse(open('" + build.folder +
                             "/version.py').read()).body if isinstance(n, ast.Assign) and n.targets[0].id == '__version__'][0])";
    EXPECT_EQ(build.version + "\n", output_of(python() + " -c \"" + code + "\""));
    EXPECT_EQ(build.flavour, build.version.ends_with("+cpu") ? "cpu" : "cuda");
  }
}

TEST(PythonWheels, SecondReleaseOfALibraryAndItsFilesDeleted) {
  const Folder folder;
  const fs::path prefix = folder.path / "venv";
  if (!make_environment(prefix, cache_folder() / "wheels/second")) GTEST_SKIP() << "no wheels in the cache";
  compare(prefix);
  const PythonEnvironment before = collect_environment_at(prefix);
  ASSERT_EQ(before.site_packages.size(), 1u);
  fs::remove_all(fs::path(before.site_packages[0]) / "nvidia/nvjitlink");
  for (const PythonPackage& package : collect_environment_at(prefix).packages) {
    if (package.name == "nvidia-nvjitlink-cu12") EXPECT_EQ(package.state, "files-missing");
  }
}

// ---- the slow suite -------------------------------------------------------------------------------------------------------

bool slow() { return std::getenv("GPUVET_SLOW") != nullptr; }

TEST(PythonWheels, LargeOnes) {
  const Folder folder;
  if (!slow()) GTEST_SKIP() << "only with GPUVET_SLOW";
  if (!make_environment(folder.path / "venv", cache_folder() / "wheels/large")) GTEST_SKIP() << "no wheels in the cache";
  compare(folder.path / "venv");
  std::map<std::string, FrameworkBuild> builds;
  for (const FrameworkBuild& build : collect_environment_at(folder.path / "venv").frameworks) builds[build.name] = build;
  if (builds.contains("cupy")) EXPECT_EQ(builds["cupy"].flavour, "cuda");
  if (builds.contains("onnxruntime")) EXPECT_EQ(builds["onnxruntime"].flavour, "cpu");
  if (builds.contains("bitsandbytes")) EXPECT_EQ(builds["bitsandbytes"].flavour, "cuda");
}

/// The listing and the small files of a large wheel, as an environment of its own.
FrameworkBuild partial_build(const Folder& folder, const std::string& wheel, const std::string& name) {
  const fs::path from = cache_folder() / "partial-wheels" / wheel;
  if (!fs::is_directory(from)) return {};
  const fs::path prefix = folder.path / wheel;
  fs::create_directories(prefix / "lib/python3.11");
  fs::create_directory_symlink(from, prefix / "lib/python3.11/site-packages");
  std::ofstream(prefix / "pyvenv.cfg") << "home = /usr/bin\nversion = 3.11.9\n";
  for (const FrameworkBuild& build : collect_environment_at(prefix).frameworks) {
    if (build.name == name) return build;
  }
  return {};
}

/// A variable of a Python file of the wheel, as Python itself has it after running that file; "None" included.
std::string value_by_python(const std::string& wheel, const std::string& file, const std::string& expression) {
  const fs::path path = cache_folder() / "partial-wheels" / wheel / file;
  std::string text = output_of(python() + " -I -c \"import runpy; v = runpy.run_path('" + path.string() + "'); print(" + expression + ")\"");
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class PartialWheels : public testing::Test {
 protected:
  void SetUp() override {
    if (!slow()) GTEST_SKIP() << "only with GPUVET_SLOW";
    if (python().empty() || !fs::is_directory(cache_folder() / "partial-wheels")) GTEST_SKIP() << "no wheels in the cache";
  }
  Folder folder;
};

TEST_F(PartialWheels, Torch) {
  for (const auto& [wheel, new_abi] : {std::pair{"torch-2.5.1", false}, std::pair{"torch-2.8.0", true}}) {
    const FrameworkBuild build = partial_build(folder, wheel, "torch");
    if (build.name.empty()) continue;
    EXPECT_EQ(build.version, value_by_python(wheel, "torch/version.py", "v['__version__']"));
    EXPECT_EQ(build.cuda.value_or("None"), value_by_python(wheel, "torch/version.py", "v['cuda']"));
    EXPECT_EQ(build.hip.value_or("None"), value_by_python(wheel, "torch/version.py", "v['hip']"));
    EXPECT_EQ(build.flavour, "cuda");
    // PyTorch's wheels have the new C++ ABI since 2.7 (release notes of 2.7).
    EXPECT_TRUE(build.cxx11_abi.is(new_abi)) << build.cxx11_abi.why();
  }
}

TEST_F(PartialWheels, TensorFlow) {
  const std::string wheel = "tensorflow-2.18.0", file = "tensorflow/python/platform/build_info.py";
  const FrameworkBuild build = partial_build(folder, wheel, "tensorflow");
  if (build.name.empty()) GTEST_SKIP();
  EXPECT_EQ(build.flavour == "cuda" ? "True" : "False", value_by_python(wheel, file, "v['build_info']['is_cuda_build']"));
  EXPECT_EQ(build.cuda.value_or(""), value_by_python(wheel, file, "v['build_info']['cuda_version']"));
  EXPECT_EQ(build.cudnn.value_or(""), value_by_python(wheel, file, "v['build_info']['cudnn_version']"));
  std::string list;
  for (const std::string& one : build.compute_capabilities) list += (list.empty() ? "" : " ") + one;
  EXPECT_EQ(list, value_by_python(wheel, file, "' '.join(v['build_info']['cuda_compute_capabilities'])"));
}

TEST_F(PartialWheels, OthersTellTheirBuild) {
  const struct {
    const char *wheel, *name, *version, *flavour, *cuda;
  } expected[] = {{"onnxruntime-gpu-1.22.0", "onnxruntime", "1.22.0", "cuda", nullptr},
                  {"jaxlib-0.4.35", "jaxlib", "0.4.35", "cpu", nullptr},
                  {"jax-cuda12-plugin-0.4.35", "jax-cuda12-plugin", "0.4.35", "cuda", "12"},
                  {"xformers-0.0.28.post3", "xformers", "0.0.28.post3", "cuda", nullptr},
                  {"vllm-0.6.6", "vllm", "0.6.6", "cuda", nullptr}};
  for (const auto& one : expected) {
    const FrameworkBuild build = partial_build(folder, one.wheel, one.name);
    if (build.name.empty()) continue;
    EXPECT_EQ(build.version.substr(0, build.version.find('+')), one.version);
    EXPECT_EQ(build.flavour, one.flavour) << one.wheel;
    if (one.cuda) EXPECT_EQ(build.cuda.value_or(""), one.cuda) << one.wheel;
  }
}

}  // namespace
}  // namespace gpuvet::test
