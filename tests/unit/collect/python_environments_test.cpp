#include <gtest/gtest.h>

#include "collect/collect.h"
#include "elf/elf.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

using Strings = std::vector<std::string>;

/// A machine of one user with the distribution's Python 3.12.
struct Tree {
  RecordedTree tree;
  std::map<std::string, std::string> environment{{"HOME", "/home/alice"}, {"USER", "alice"}, {"PATH", "/usr/bin:/bin"}};
  CollectOptions options;

  Tree() {
    tree.add_file("/etc/passwd", "root:x:0:0::/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n");
    tree.add_directory("/home/alice");
    program("/usr/bin/python3.12");
    tree.add_link("/usr/bin/python3", "python3.12");
    tree.add_directory("/usr/lib/python3/dist-packages");
    tree.add_directory("/usr/lib/python3.12");
  }
  void program(const std::string& path) { tree.add_file(path, "#!/bin/false\n", 0755); }
  void venv(const std::string& prefix, const std::string& more = "version = 3.12.3\n", const std::string& minor = "3.12") {
    tree.add_file(prefix + "/pyvenv.cfg", "home = /usr/bin\n" + more);
    tree.add_link(prefix + "/bin/python", "python3");
    tree.add_link(prefix + "/bin/python3", "/usr/bin/python3.12");
    tree.add_directory(prefix + "/lib/python" + minor + "/site-packages");
  }
  void conda(const std::string& prefix, const std::string& version = "3.11.8") {
    const std::string minor = version.substr(0, version.rfind('.'));
    tree.add_file(prefix + "/conda-meta/history", "");
    tree.add_file(prefix + "/conda-meta/python-" + version + "-h955ad1f_0.json", "{\"build\": \"h955ad1f_0\"}");
    program(prefix + "/bin/python" + minor);
    tree.add_link(prefix + "/bin/python", "python" + minor);
    tree.add_link(prefix + "/bin/python3", "python" + minor);
    tree.add_directory(prefix + "/lib/python" + minor + "/site-packages");
  }
  std::string wheel(const std::string& site, const std::string& name, const std::string& version, const std::string& more = {}) {
    const std::string info = site + "/" + name + "-" + version + ".dist-info";
    tree.add_file(info + "/METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + more + "\n");
    tree.add_file(info + "/WHEEL", "Tag: cp312-cp312-manylinux_2_28_x86_64\n");
    tree.add_file(info + "/INSTALLER", "pip\n");
    tree.add_file(info + "/RECORD", name + "/__init__.py,,\n" + name + "-" + version + ".dist-info/METADATA,,\n");
    tree.add_file(site + "/" + name + "/__init__.py", "\n");
    return info;
  }
  Machine machine() {
    auto system = make_recorded_system(tree);
    options.environment = environment;
    options.has_environment = true;
    Machine m;
    collect_environment(*system, options, m);
    collect_python(*system, options, m);
    return m;
  }
  std::vector<PythonEnvironment> environments() { return *machine().python.environments.get(); }
};

const PythonEnvironment& find(const std::vector<PythonEnvironment>& all, std::string_view prefix) {
  static const PythonEnvironment none;
  for (const PythonEnvironment& e : all) {
    if (e.prefix == prefix) return e;
  }
  ADD_FAILURE() << "no environment " << prefix;
  return none;
}

const FrameworkBuild& framework(const PythonEnvironment& e, std::string_view name) {
  static const FrameworkBuild none;
  for (const FrameworkBuild& f : e.frameworks) {
    if (f.name == name) return f;
  }
  ADD_FAILURE() << "no framework " << name;
  return none;
}

const PythonPackage& package(const PythonEnvironment& e, std::string_view name) {
  static const PythonPackage none;
  for (const PythonPackage& p : e.packages) {
    if (p.name == name) return p;
  }
  ADD_FAILURE() << "no package " << name;
  return none;
}

const std::string venv_site = "/home/alice/proj/.venv/lib/python3.12/site-packages";

TEST(PythonEnvironments, SystemAlone) {
  Tree t;
  t.tree.remove(t.wheel("/usr/lib/python3/dist-packages", "torch", "2.1.0") + "/INSTALLER");
  const Machine m = t.machine();
  const auto& all = *m.python.environments.get();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, "system");
  EXPECT_EQ(all[0].prefix, "/usr");
  EXPECT_EQ(all[0].abi, "cp312");
  EXPECT_TRUE(all[0].active);
  EXPECT_EQ(package(all[0], "torch").manager, "distribution");
  EXPECT_TRUE(m.python.python.is_absent());
  EXPECT_TRUE(m.python.python3.is("/usr/bin/python3"));
}

TEST(PythonEnvironments, UserSiteBelongsToTheSystemUnlessSwitchedOff) {
  Tree t;
  t.wheel("/home/alice/.local/lib/python3.12/site-packages", "torch", "2.5.1");
  EXPECT_EQ(t.environments()[0].packages.size(), 1u);
  t.environment["PYTHONNOUSERSITE"] = "1";
  EXPECT_EQ(t.environments()[0].packages.size(), 0u);
}

TEST(PythonEnvironments, ActivatedVenvIsFirstAndNamedAfterItsProject) {
  Tree t;
  t.venv("/home/alice/proj/.venv", "uv = 0.5.9\nversion_info = 3.12.8\ninclude-system-site-packages = false\n");
  t.environment["VIRTUAL_ENV"] = "/home/alice/proj/.venv";
  t.environment["PATH"] = "/home/alice/proj/.venv/bin:/usr/bin";
  const auto all = t.environments();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].prefix, "/home/alice/proj/.venv");
  EXPECT_EQ(all[0].kind, "uv");
  EXPECT_EQ(all[0].name, "proj");
  EXPECT_EQ(all[0].base, "/usr");
  EXPECT_EQ(all[0].found_by, "VIRTUAL_ENV");
  EXPECT_TRUE(all[0].python.is("3.12.8"));
  EXPECT_TRUE(all[0].active);
  EXPECT_FALSE(all[1].active);
}

TEST(PythonEnvironments, AnActivatedFolderThatIsGoneIsNotActive) {
  Tree t;
  t.environment["VIRTUAL_ENV"] = "/home/alice/gone";
  const auto all = t.environments();
  EXPECT_EQ(all[0].prefix, "/usr");
  EXPECT_TRUE(all[0].active);
  EXPECT_TRUE(find(all, "/home/alice/gone").interpreter.is_absent());
}

TEST(PythonEnvironments, SystemSitePackagesAreSeen) {
  Tree t;
  t.venv("/home/alice/proj/.venv", "version = 3.12.3\ninclude-system-site-packages = true\n");
  t.wheel(venv_site, "torchvision", "0.20.1");
  t.wheel("/usr/lib/python3/dist-packages", "torch", "2.1.0");
  const auto all = t.environments();
  const auto& e = find(all, "/home/alice/proj/.venv");
  EXPECT_TRUE(e.system_site_packages);
  EXPECT_EQ(e.packages.size(), 2u);
  EXPECT_EQ(e.site_packages.back(), "/usr/lib/python3/dist-packages");
}

TEST(PythonEnvironments, PythonPathComesFirstForTheActiveOne) {
  Tree t;
  t.wheel("/opt/modules/python", "torch", "2.4.0");
  t.wheel("/usr/lib/python3/dist-packages", "torch", "2.1.0");
  t.environment["PYTHONPATH"] = "/opt/modules/python:/nowhere:relative";
  const auto all = t.environments();
  EXPECT_EQ(all[0].site_packages.front(), "/opt/modules/python");
  EXPECT_EQ(all[0].packages.front().version, "2.4.0");
}

TEST(PythonEnvironments, ALinkToTheSystemsPythonIsNoOtherOne) {
  Tree t;
  t.tree.add_link("/usr/local/bin/python3", "/usr/bin/python3");
  t.tree.add_link("/usr/local/bin/python3.12", "/usr/bin/python3.12");
  t.environment["PATH"] = "/usr/local/bin:/usr/bin";
  const auto all = t.environments();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].prefix, "/usr");
  EXPECT_TRUE(all[0].active);
}

TEST(PythonEnvironments, PipAmongTheDistributionsOwn) {
  Tree t;
  t.wheel("/usr/lib/python3.12/site-packages", "torch", "2.5.1");
  const auto all = t.environments();
  EXPECT_EQ(package(all[0], "torch").manager, "pip");
}

TEST(PythonEnvironments, UsualPlaces) {
  Tree t;
  for (const char* prefix : {"/home/alice/.virtualenvs/a", "/home/alice/venv", "/home/alice/code/deep/project/venv", "/home/alice/.local/share/pipx/venvs/tool",
                             "/home/alice/.cache/pypoetry/virtualenvs/x-py3.12", "/opt/venv", "/workspace/job/.venv", "/home/alice/torch-env"})
    t.venv(prefix);
  for (const char* prefix : {"/opt/conda", "/opt/conda/envs/ml", "/home/alice/miniconda3/envs/other", "/data/envs/listed"}) t.conda(prefix);
  t.tree.add_file("/home/alice/.conda/environments.txt", "/opt/conda\n/data/envs/listed\n/gone\n");
  t.program("/home/alice/.pyenv/versions/3.10.13/bin/python3.10");
  t.tree.add_link("/home/alice/.pyenv/versions/3.10.13/bin/python", "python3.10");
  t.tree.add_directory("/home/alice/.pyenv/versions/3.10.13/lib/python3.10/site-packages");
  const auto all = t.environments();
  EXPECT_EQ(all.size(), 14u);
  EXPECT_EQ(find(all, "/home/alice/.local/share/pipx/venvs/tool").kind, "pipx");
  EXPECT_EQ(find(all, "/home/alice/.cache/pypoetry/virtualenvs/x-py3.12").kind, "poetry");
  EXPECT_EQ(find(all, "/opt/conda/envs/ml").kind, "conda");
  EXPECT_TRUE(find(all, "/opt/conda/envs/ml").python.is("3.11.8"));
  EXPECT_EQ(find(all, "/home/alice/.pyenv/versions/3.10.13").kind, "pyenv");
  EXPECT_TRUE(find(all, "/home/alice/.pyenv/versions/3.10.13").python.is("3.10.13"));
  EXPECT_EQ(find(all, "/data/envs/listed").found_by, "conda environments.txt");
}

TEST(PythonEnvironments, AskedByOption) {
  Tree t;
  t.venv("/srv/a/b/c/d/e");
  t.options.python_environments = {"/srv/a/b/c/d/e/", "/nowhere"};
  const auto all = t.environments();
  EXPECT_EQ(find(all, "/srv/a/b/c/d/e").found_by, "--env");
  EXPECT_FALSE(find(all, "/nowhere").problems.empty());
}

TEST(PythonEnvironments, PyenvShimLeadsToItsVersion) {
  Tree t;
  t.program("/home/alice/.pyenv/shims/python");
  t.program("/home/alice/.pyenv/versions/3.10.13/bin/python");
  t.tree.add_directory("/home/alice/.pyenv/versions/3.10.13/lib/python3.10/site-packages");
  t.tree.add_file("/home/alice/.pyenv/version", "3.10.13\n");
  t.environment["PATH"] = "/home/alice/.pyenv/shims:/usr/bin";
  EXPECT_EQ(t.environments()[0].prefix, "/home/alice/.pyenv/versions/3.10.13");
  t.environment["PYENV_VERSION"] = "system";
  EXPECT_EQ(t.environments()[0].prefix, "/usr");
}

TEST(PythonEnvironments, JupyterKernels) {
  Tree t;
  t.venv("/data/kernels/venv");
  t.tree.add_file("/home/alice/.local/share/jupyter/kernels/ml/kernel.json", R"({"argv": ["/data/kernels/venv/bin/python", "-m", "ipykernel"], "language": "python"})");
  const auto all = t.environments();
  EXPECT_EQ(find(all, "/data/kernels/venv").jupyter_kernels, Strings{"ml"});
}

TEST(PythonEnvironments, FreeThreadedTag) {
  Tree t;
  t.venv("/home/alice/venv", "version = 3.13.1\n", "3.13t");
  EXPECT_EQ(find(t.environments(), "/home/alice/venv").abi, "cp313t");
}

TEST(PythonEnvironments, WheelsWithTheirOrigin) {
  Tree t;
  t.venv("/home/alice/proj/.venv");
  const std::string info = t.wheel(venv_site, "torch", "2.5.1+cu124", "Requires-Dist: nvidia-cublas-cu12==12.4.5.8; platform_system == \"Linux\"\nRequires-Dist: sympy\n");
  t.tree.add_file(info + "/direct_url.json", R"({"url": "https://example.org/torch.whl", "archive_info": {}})");
  t.tree.add_file(venv_site + "/requests-2.0.dist-info/METADATA", "Name: requests\n");
  const auto all = t.environments();
  const PythonEnvironment& e = find(all, "/home/alice/proj/.venv");
  EXPECT_EQ(e.package_count, 2);
  ASSERT_EQ(e.packages.size(), 1u);
  const PythonPackage& p = e.packages[0];
  EXPECT_EQ(p.version, "2.5.1+cu124");
  EXPECT_EQ(p.installer, "pip");
  EXPECT_EQ(p.tags, Strings{"cp312-cp312-manylinux_2_28_x86_64"});
  EXPECT_EQ(p.requirements, Strings{"nvidia-cublas-cu12==12.4.5.8; platform_system == \"Linux\""});
  EXPECT_EQ(p.url, "https://example.org/torch.whl");
  EXPECT_EQ(p.state, "");
}

TEST(PythonEnvironments, WhatIsHalfThere) {
  Tree t;
  t.venv("/home/alice/proj/.venv");
  t.wheel(venv_site, "torch", "2.5.1");
  t.tree.remove(venv_site + "/torch");
  t.tree.add_directory(venv_site + "/triton-3.1.0.dist-info");
  t.tree.add_file(venv_site + "/xformers.dist-info/METADATA", "Name: xformers\n");
  t.tree.add_device(venv_site + "/vllm-0.6.0.dist-info/METADATA", FileType::Fifo, 0, 0, 0644);
  t.tree.add_file(venv_site + "/jax-0.4.35.dist-info/METADATA", "");
  t.tree.add_file(venv_site + "/~orch-2.1.0.dist-info/METADATA", "Name: torch\nVersion: 2.1.0\n");
  const auto all = t.environments();
  const PythonEnvironment& e = find(all, "/home/alice/proj/.venv");
  EXPECT_EQ(package(e, "torch").state, "files-missing");
  EXPECT_EQ(package(e, "triton").state, "no-metadata");
  EXPECT_EQ(package(e, "xformers").state, "no-version");
  EXPECT_EQ(package(e, "vllm").state, "unreadable");
  EXPECT_EQ(package(e, "vllm").version, "0.6.0");
  EXPECT_EQ(package(e, "jax").state, "no-metadata");
  EXPECT_EQ(e.packages.size(), 5u);
}

TEST(PythonEnvironments, NvidiaWheelWhoseFilesAreGone) {
  Tree t;
  t.venv("/home/alice/proj/.venv");
  for (const char* name : {"cublas", "nccl"}) {
    const std::string info = venv_site + "/nvidia_" + name + "_cu12-1.0.dist-info";
    t.tree.add_file(info + "/METADATA", "Name: x\nVersion: 1.0\n");
    t.tree.add_file(info + "/RECORD", std::string("nvidia/__init__.py,,\nnvidia/") + name + "/lib/lib" + name + ".so.12,,\n");
  }
  t.tree.add_file(venv_site + "/nvidia/cublas/lib/libcublas.so.12", "");
  const auto all = t.environments();
  const PythonEnvironment& e = find(all, "/home/alice/proj/.venv");
  EXPECT_EQ(package(e, "nvidia-cublas-cu12").state, "");
  EXPECT_EQ(package(e, "nvidia-nccl-cu12").state, "files-missing");
}

TEST(PythonEnvironments, UnreadableHomesAreSaid) {
  Tree t;
  t.tree.add_directory("/home/bob");
  t.tree.nodes["/home/bob"].unreadable = true;
  const Machine m = t.machine();
  ASSERT_EQ(m.python.problems.size(), 1u);
  EXPECT_EQ(m.python.problems[0].source, "/home/bob");
}

TEST(PythonEnvironments, LinksInCircles) {
  Tree t;
  t.tree.add_link("/home/alice/a", "b");
  t.tree.add_link("/home/alice/b", "a");
  t.tree.add_directory("/home/alice/projects");
  t.tree.add_link("/home/alice/projects/up", "..");
  t.tree.add_link("/home/alice/venv", "venv");
  EXPECT_EQ(t.environments().size(), 1u);
}

// ---- builds of frameworks ---------------------------------------------------------------------------------------------

FrameworkBuild build_of(const std::string& import, const std::string& distribution, const std::string& version, const std::map<std::string, std::string>& files) {
  Tree t;
  t.venv("/home/alice/proj/.venv");
  const std::string info = t.wheel(venv_site, distribution, version);
  t.tree.add_file(venv_site + "/" + import + "/__init__.py", "");
  for (const auto& [path, text] : files) t.tree.add_file(venv_site + "/" + path, text);
  const auto all = t.environments();
  const PythonEnvironment& e = find(all, "/home/alice/proj/.venv");
  return e.frameworks.empty() ? FrameworkBuild{} : e.frameworks.back();
}

TEST(FrameworkBuilds, Torch) {
  const auto cuda = build_of("torch", "torch", "2.5.1", {{"torch/version.py", "__version__ = '2.5.1+cu124'\ncuda = '12.4'\nhip = None\n"}, {"torch/lib/libtorch_cuda.so", ""}});
  EXPECT_EQ(cuda.flavour, "cuda");
  EXPECT_EQ(cuda.version, "2.5.1+cu124");
  EXPECT_TRUE(cuda.cuda.is("12.4"));
  EXPECT_TRUE(cuda.hip.is_absent());
  EXPECT_EQ(cuda.libraries, Strings{"torch/lib/libtorch_cuda.so"});
  EXPECT_EQ(cuda.origin.line, 2u);
  const auto cpu = build_of("torch", "torch", "2.5.1", {{"torch/version.py", "__version__ = '2.5.1+cpu'\ncuda = None\nhip = None\n"}});
  EXPECT_EQ(cpu.flavour, "cpu");
  EXPECT_TRUE(cpu.cuda.is_absent());
  const auto rocm = build_of("torch", "torch", "2.5.1", {{"torch/version.py", "__version__ = '2.5.1+rocm6.2'\ncuda = None\nhip = '6.2.41133'\n"}});
  EXPECT_EQ(rocm.flavour, "rocm");
  EXPECT_TRUE(rocm.hip.is("6.2.41133"));
  // A default aarch64 wheel has no local part: None alone says CPU.
  EXPECT_EQ(build_of("torch", "torch", "2.5.1", {{"torch/version.py", "__version__ = '2.5.1'\ncuda: Optional[str] = None\n"}}).flavour, "cpu");
  EXPECT_EQ(build_of("torch", "torch", "2.5.1", {}).flavour, "");
  EXPECT_EQ(build_of("torch", "torch", "2.5.1", {{"torch/lib/libc10_cuda.so", ""}}).flavour, "cuda");
}

TEST(FrameworkBuilds, TensorFlow) {
  const auto cpu = build_of("tensorflow", "tensorflow_cpu", "2.16.1", {{"tensorflow/python/platform/build_info.py", "build_info = collections.OrderedDict([('is_cuda_build', False)])\n"}});
  EXPECT_EQ(cpu.flavour, "cpu");
  EXPECT_EQ(cpu.version, "2.16.1");
  const auto gpu = build_of("tensorflow", "tensorflow", "2.16.1",
                            {{"tensorflow/python/platform/build_info.py", "build_info = collections.OrderedDict([('cuda_version', '12.3'), ('cudnn_version', '8'), ('is_cuda_build', True), ('is_rocm_build', False)])\n"}});
  EXPECT_EQ(gpu.flavour, "cuda");
  EXPECT_TRUE(gpu.cuda.is("12.3"));
  EXPECT_TRUE(gpu.cudnn.is("8"));
}

TEST(FrameworkBuilds, Others) {
  EXPECT_EQ(build_of("onnxruntime", "onnxruntime_gpu", "1.20.1", {{"onnxruntime/capi/libonnxruntime_providers_cuda.so", ""}}).flavour, "cuda");
  EXPECT_EQ(build_of("onnxruntime", "onnxruntime", "1.20.1", {{"onnxruntime/capi/onnxruntime_pybind11_state.so", ""}}).flavour, "cpu");
  EXPECT_TRUE(build_of("cupy", "cupy_cuda12x", "13.3.0", {{"cupy/.data/_wheel.json", R"({"cuda": "12.x"})"}}).cuda.is("12"));
  EXPECT_EQ(build_of("jaxlib", "jaxlib", "0.4.35", {{"jaxlib/version.py", "_version = \"0.4.35\"\n"}}).flavour, "cpu");
  const auto old = build_of("jaxlib", "jaxlib", "0.4.7+cuda12.cudnn88", {});
  EXPECT_EQ(old.flavour, "cuda");
  EXPECT_TRUE(old.cuda.is("12"));
  EXPECT_TRUE(old.cudnn.is("8.8"));
  EXPECT_TRUE(build_of("xformers", "xformers", "0.0.28", {{"xformers/cpp_lib.json", R"({"version": {"cuda": 1204, "torch": "2.5.0+cu124"}})"}}).cuda.is("12.4"));
  EXPECT_EQ(build_of("bitsandbytes", "bitsandbytes", "0.45.0", {{"bitsandbytes/libbitsandbytes_cpu.so", ""}, {"bitsandbytes/libbitsandbytes_cuda124.so", ""}}).flavour, "cuda");
  EXPECT_EQ(build_of("paddle", "paddlepaddle_gpu", "2.6.1", {{"paddle/version/__init__.py", "full_version = '2.6.1'\ncuda_version = '11.8'\ncudnn_version = '8.6.0'\n"}}).cuda.value_or(""), "11.8");
  EXPECT_EQ(build_of("paddle", "paddlepaddle", "2.6.1", {{"paddle/version/__init__.py", "full_version = '2.6.1'\ncuda_version = 'False'\n"}}).flavour, "cpu");
  EXPECT_EQ(build_of("cv2", "opencv_python", "4.10.0", {}).flavour, "cpu");
  EXPECT_EQ(build_of("llama_cpp", "llama_cpp_python", "0.3.2", {{"llama_cpp/lib/libggml-cuda.so", ""}, {"llama_cpp/lib/libggml-cpu.so", ""}}).flavour, "cuda");
  EXPECT_EQ(build_of("faiss", "faiss_cpu", "1.9.0", {}).flavour, "cpu");
  EXPECT_EQ(build_of("torchvision", "torchvision", "0.20.1", {{"torchvision/version.py", "__version__ = '0.20.1+cu124'\n"}}).cuda.value_or(""), "12.4");
}

TEST(FrameworkBuilds, CondaBuildStrings) {
  Tree t;
  t.conda("/opt/conda/envs/ml");
  const std::string site = "/opt/conda/envs/ml/lib/python3.11/site-packages";
  t.wheel(site, "tensorflow", "2.17.0");
  t.tree.add_file("/opt/conda/envs/ml/conda-meta/tensorflow-base-2.17.0-cpu_py311h1_0.json",
                  R"({"build": "cpu_py311h1_0", "channel": "https://conda.anaconda.org/conda-forge/linux-64", "depends": ["python >=3.11", "cuda-version 12.6", "zlib"]})");
  t.tree.add_file("/opt/conda/envs/ml/conda-meta/cudnn-9.3.0.75-0.json", "{\"build\": \"0\", \"channel\": \"pkgs/main\", ");
  const auto all = t.environments();
  const PythonEnvironment& e = find(all, "/opt/conda/envs/ml");
  EXPECT_EQ(framework(e, "tensorflow").flavour, "cpu");
  EXPECT_EQ(package(e, "tensorflow-base").channel, "conda-forge");
  EXPECT_EQ(package(e, "tensorflow-base").build, "cpu_py311h1_0");
  EXPECT_EQ(package(e, "tensorflow-base").requirements, (Strings{"python >=3.11", "cuda-version 12.6"}));
  EXPECT_EQ(package(e, "cudnn").state, "unreadable");
  EXPECT_EQ(package(e, "cudnn").channel, "defaults");
}

TEST(FrameworkBuilds, JaxPlugin) {
  Tree t;
  t.venv("/home/alice/proj/.venv");
  t.wheel(venv_site, "jax_cuda12_plugin", "0.4.35");
  t.wheel(venv_site, "jaxlib", "0.4.35");
  t.tree.add_file(venv_site + "/jax_plugins/xla_cuda12/xla_cuda_plugin.so", "");
  const auto all = t.environments();
  const PythonEnvironment& e = find(all, "/home/alice/proj/.venv");
  EXPECT_EQ(framework(e, "jaxlib").flavour, "");
  EXPECT_TRUE(framework(e, "jax-cuda12-plugin").cuda.is("12"));
  EXPECT_EQ(framework(e, "jax-cuda12-pjrt").libraries, Strings{"jax_plugins/xla_cuda12/xla_cuda_plugin.so"});
}

TEST(PythonEnvironments, TheMarkerOfADistributionCountsForItsOwnPythonOnly) {
  Tree t;
  t.tree.add_file("/usr/lib/python3.12/EXTERNALLY-MANAGED", "[externally-managed]\n");
  t.venv("/home/alice/venv");
  bool system_seen = false, venv_seen = false;
  for (const PythonEnvironment& environment : t.environments()) {
    if (environment.prefix == "/usr") system_seen = environment.externally_managed;
    if (environment.prefix == "/home/alice/venv") venv_seen = !environment.externally_managed;
  }
  EXPECT_TRUE(system_seen);
  EXPECT_TRUE(venv_seen);
  t.environment["PIP_BREAK_SYSTEM_PACKAGES"] = "1";
  for (const PythonEnvironment& environment : t.environments()) EXPECT_FALSE(environment.externally_managed);
}

}  // namespace
}  // namespace gpuvet
