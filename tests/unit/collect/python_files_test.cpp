#include <gtest/gtest.h>

#include "collect/python_files.h"

namespace gpuvet {
namespace {

using Strings = std::vector<std::string>;

std::string text_of(const std::map<std::string, PythonValue>& values, const std::string& name) {
  const auto it = values.find(name);
  return it == values.end() ? "(none)" : it->second.text;
}

TEST(PythonFiles, VenvConfig) {
  auto values = read_venv_config("home = /usr/bin\r\nInclude-System-Site-Packages=TRUE\nversion_info = 3.12.8\nno equal sign\n= x\n");
  EXPECT_EQ(values["home"], "/usr/bin");
  EXPECT_EQ(values["include-system-site-packages"], "TRUE");
  EXPECT_EQ(values["version_info"], "3.12.8");
}

TEST(PythonFiles, MetadataHeadersEndAtTheFirstEmptyLine) {
  const auto m = read_metadata_headers(
      "Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1+cu124\nDescription: x\n    Version: folded\n"
      "Requires-Dist: filelock\nRequires-Dist: nvidia-cublas-cu12 (==12.4.5.8) ; platform_system == \"Linux\"\nrequires-dist: triton==3.1.0\n"
      "\nName: other\nRequires-Dist: nvidia-nccl-cu12\n");
  EXPECT_EQ(m.name, "torch");
  EXPECT_EQ(m.version, "2.5.1+cu124");
  EXPECT_EQ(m.requirements, (Strings{"nvidia-cublas-cu12 (==12.4.5.8) ; platform_system == \"Linux\"", "triton==3.1.0"}));
  EXPECT_EQ(read_metadata_headers("").name, "");
}

TEST(PythonFiles, DistributionFolders) {
  const auto dist = parse_distribution_folder("torch-2.5.1+cu124.dist-info");
  ASSERT_TRUE(dist);
  EXPECT_EQ(dist->name + " " + dist->version, "torch 2.5.1+cu124");
  const auto egg = parse_distribution_folder("Foo_Bar-1.0-py3.10.egg-info");
  ASSERT_TRUE(egg);
  EXPECT_EQ(egg->name + " " + egg->version, "Foo_Bar 1.0");
  EXPECT_TRUE(egg->egg);
  EXPECT_EQ(parse_distribution_folder("torch.dist-info")->version, "");
  EXPECT_FALSE(parse_distribution_folder("~orch-2.5.1.dist-info"));  // what pip leaves of one that it was about to remove
  EXPECT_FALSE(parse_distribution_folder(".dist-info"));
  EXPECT_FALSE(parse_distribution_folder("torch"));
}

TEST(PythonFiles, CondaFiles) {
  const auto file = parse_conda_file("pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0.json");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->name, "pytorch");
  EXPECT_EQ(file->version, "2.5.1");
  EXPECT_EQ(file->build, "py3.12_cuda12.4_cudnn9.1.0_0");
  EXPECT_EQ(parse_conda_file("cuda-cudart-dev-12.4.127-0.json")->name, "cuda-cudart-dev");
  EXPECT_FALSE(parse_conda_file("history"));
  EXPECT_FALSE(parse_conda_file("a-1.json"));
  EXPECT_FALSE(parse_conda_file("-1-2.json"));
}

TEST(PythonFiles, CudaOfTags) {
  EXPECT_EQ(cuda_of_tag("cu124"), "12.4");
  EXPECT_EQ(cuda_of_tag("cu130"), "13.0");
  EXPECT_EQ(cuda_of_tag("cu92"), "9.2");
  EXPECT_EQ(cuda_of_tag("cu102"), "10.2");
  EXPECT_EQ(cuda_of_tag("cu12"), "12");
  EXPECT_EQ(cuda_of_tag("cuda12x"), "12");
  EXPECT_EQ(cuda_of_tag("cuda12.cudnn88"), "12");
  EXPECT_EQ(cuda_of_tag("cuda126_py312h123_300"), "12.6");
  EXPECT_EQ(cuda_of_tag("py3.12_cuda12.4_cudnn9.1.0_0"), "12.4");
  EXPECT_EQ(cuda_of_tag("pt25cu124"), "12.4");
  EXPECT_EQ(cuda_of_tag("cu12torch2.5cxx11abifalse"), "12");
  for (const char* none : {"", "cpu", "cpu_mkl_py312h", "rocm6.2", "cudnn9.1", "cu", "cuda", "circuit1", "cu12345"}) EXPECT_EQ(cuda_of_tag(none), "") << none;
}

TEST(PythonFiles, TorchVersionFiles) {
  const auto typed = read_python_values(
      "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n__version__ = '2.6.0+cu126'\n"
      "debug = False\ncuda: Optional[str] = '12.6'\ngit_version = '01c0'\nhip: Optional[str] = None\nxpu: str | None = None  # 'no'\n");
  EXPECT_EQ(text_of(typed, "__version__"), "2.6.0+cu126");
  EXPECT_EQ(text_of(typed, "cuda"), "12.6");
  EXPECT_EQ(typed.at("cuda").line, 6u);
  EXPECT_EQ(typed.at("hip").kind, PythonValue::Kind::None);
  EXPECT_EQ(typed.at("xpu").kind, PythonValue::Kind::None);
  EXPECT_EQ(text_of(typed, "debug"), "False");
  const auto plain = read_python_values("__version__ = \"1.13.1+cpu\"\r\ncuda = None\r\nhip = None");
  EXPECT_EQ(text_of(plain, "__version__"), "1.13.1+cpu");
  EXPECT_EQ(plain.at("cuda").kind, PythonValue::Kind::None);
}

TEST(PythonFiles, TensorFlowBuildInfoOfThreeAges) {
  const auto pairs = read_python_values(
      "import collections\n\nbuild_info = collections.OrderedDict([('cpu_compiler', '/usr/lib/llvm-17/bin/clang'), "
      "('cuda_compute_capabilities', ['sm_60', 'compute_90']), ('cuda_version', '12.3'), ('cudnn_version', '8'), ('is_cuda_build', True)])\n");
  EXPECT_EQ(text_of(pairs, "cuda_version"), "12.3");
  EXPECT_EQ(text_of(pairs, "cudnn_version"), "8");
  EXPECT_EQ(text_of(pairs, "is_cuda_build"), "True");
  EXPECT_EQ(pairs.at("cuda_compute_capabilities").list, (Strings{"sm_60", "compute_90"}));
  const auto dict = read_python_values("build_info = {'cuda_version': '10.1', 'cuda_compute_capabilities': ['sm_35'], 'is_rocm_build': False, 'is_cuda_build': True}\n");
  EXPECT_EQ(text_of(dict, "cuda_version"), "10.1");
  EXPECT_EQ(text_of(dict, "is_cuda_build"), "True");
  const auto names = read_python_values("is_rocm_build = False\nis_cuda_build = True\ncuda_version_number = '10.0'\n");
  EXPECT_EQ(text_of(names, "cuda_version_number"), "10.0");
}

TEST(PythonFiles, OtherVersionFiles) {
  EXPECT_EQ(text_of(read_python_values("__version__ = version = '0.6.3.post1'\n__version_tuple__ = version_tuple = (0, 6, 3)\n"), "__version__"), "0.6.3.post1");
  const auto jax = read_python_values("_version = \"0.4.35\"\n# comment\n__version__ = _get_version_string()\n");
  EXPECT_EQ(text_of(jax, "_version"), "0.4.35");
  EXPECT_EQ(text_of(jax, "__version__"), "(none)");
  const auto paddle = read_python_values("full_version    = '2.6.1'\ncuda_version    = 'False'\ncudnn_version   = 'False'\n\"\"\"\ncuda_version = '1.0'\n\"\"\"\n");
  EXPECT_EQ(text_of(paddle, "cuda_version"), "False");
  const auto deepspeed = read_python_values("version='0.15.4'\ntorch_info={\"version\": \"2.5\", \"bf16_support\": False, \"cuda_version\": \"12.4\"}\n");
  EXPECT_EQ(text_of(deepspeed, "version"), "0.15.4");
  EXPECT_EQ(text_of(deepspeed, "cuda_version"), "12.4");
}

TEST(PythonFiles, WhatIsNoLiteralIsLeftOut) {
  const auto values = read_python_values("import os\nif True:\n    cuda = '9.0'\ncuda = get('cuda')\nx = ['a', f('b')]\nopen_text = 'never closed\nlast = '1");
  EXPECT_EQ(text_of(values, "cuda"), "(none)");
  EXPECT_EQ(text_of(values, "x"), "(none)");
  EXPECT_EQ(text_of(values, "last"), "1");
}

TEST(PythonFiles, JsonScalars) {
  EXPECT_EQ(json_scalar(R"({"version": {"cuda": 1204, "hip": null}, "env": {}})", "version/cuda"), "1204");
  EXPECT_EQ(json_scalar(R"({"argv": ["/opt/conda/bin/python", "-m"], "x": [[], {}, 1]})", "argv/0"), "/opt/conda/bin/python");
  EXPECT_EQ(json_scalar(R"({"a": [], "b": [1, {"c": [2, "d\"e"]}]})", "b/1/c/1"), "d\"e");
  EXPECT_FALSE(json_scalar(R"({"a": 1})", "b"));
  EXPECT_FALSE(json_scalar("", "a"));
  // Cut off: what came before is told, and that it is cut off.
  EXPECT_EQ(json_scalar(R"({"channel": "conda-forge", "files": ["a", "b)", "channel"), "conda-forge");
  const auto whole = [](std::string_view text) { return for_each_json_scalar(text, [](std::string_view, std::string_view) { return true; }); };
  EXPECT_TRUE(whole(R"({"a": [1, true, null, -2.5e3, "x"]} )"));
  for (const char* bad : {"{", "[1,", "{\"a\" 1}", "{\"a\": }", "nonsense!", "[1 2]", "\"x"}) EXPECT_FALSE(whole(bad)) << bad;
  EXPECT_FALSE(whole(std::string(100000, '[')));
}

TEST(PythonFiles, PackagesThatMatter) {
  for (const char* name : {"torch", "torchvision", "nvidia-cublas-cu12", "cupy-cuda12x", "tensorflow-cpu", "jax-cuda12-plugin", "jaxlib", "onnxruntime-gpu", "opencv-python-headless",
                           "pytorch-triton", "flash-attn", "cudatoolkit", "cuda-version", "numba-cuda", "tensorrt-cu12", "faiss-gpu", "transformer-engine-torch"})
    EXPECT_TRUE(package_matters(name)) << name;
  for (const char* name : {"requests", "pip", "cuda", "", "typing-extensions", "pandas", "curl"}) EXPECT_EQ(package_matters(name), std::string_view(name) == "cuda") << name;
  EXPECT_EQ(requirement_name("nvidia_cublas.cu12[x]==1"), "nvidia-cublas-cu12");
}

}  // namespace
}  // namespace gpuvet
