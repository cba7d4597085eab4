// Toolkits on small machines.
#include <gtest/gtest.h>

#include <algorithm>

#include "../elf/small_elf.h"
#include "collect/collect.h"
#include "collect/toolkit_parts.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

std::string program(const std::string& text = "", std::vector<std::string> needed = {"libc.so.6"},
                    const std::string& runpath = "") {
  test::SmallElf elf;
  elf.needed = std::move(needed);
  elf.runpath = runpath;
  elf.data = std::string(1, '\0') + text + '\0';
  return elf.build();
}

std::string nvcc(const std::string& version) {
  auto text = "Cuda compilation tools, release " + version.substr(0, version.rfind('.')) + ", V" + version + '\0';
  for (const auto* target : {"75", "90"}) text += "sm_" + std::string(target) + '\0' + "compute_" + target + '\0';
  return program(text);
}

struct Fixture {
  RecordedTree tree;
  Machine machine;

  Fixture() {
    machine.os.id = Fact<std::string>::known("ubuntu");
    machine.os.architecture = Fact<std::string>::known("x86_64");
    machine.packages.installed = Fact<std::vector<Package>>::known({});
    tree.add_file("/usr/lib/x86_64-linux-gnu/libc.so.6", program("", {}));
  }

  /// NVIDIA's tree with everything that nvcc needs.
  void toolkit(const std::string& root, const std::string& release = "12.6", const std::string& compiler = "12.6.85") {
    for (const auto* tool : {"ptxas", "fatbinary", "cudafe++", "nvlink"}) tree.add_file(root + "/bin/" + tool, program(), 0755);
    tree.add_file(root + "/bin/nvcc", nvcc(compiler), 0755);
    tree.add_file(root + "/bin/nvcc.profile", "TOP = $(_HERE_)/..\n");
    tree.add_file(root + "/nvvm/bin/cicc", program(), 0755);
    tree.add_file(root + "/nvvm/libdevice/libdevice.10.bc", "BC");
    const auto target = root + "/targets/x86_64-linux";
    tree.add_file(target + "/include/cuda_runtime.h", "");
    tree.add_file(target + "/include/cuda.h",
                  "#define CUDA_VERSION " +
                      std::to_string(std::stoi(release) * 1000 + std::stoi(release.substr(release.find('.') + 1)) * 10) + "\n");
    tree.add_file(target + "/include/crt/host_config.h", "#if __GNUC__ > 13\n#error\n#endif\n");
    tree.add_file(target + "/lib/libcudart_static.a", "!<arch>\n");
    tree.add_file(target + "/lib/libcudart.so." + compiler, program());
    tree.add_link(target + "/lib/libcudart.so.12", "libcudart.so." + compiler);
    tree.add_link(target + "/lib/libcudart.so", "libcudart.so.12");
    tree.add_link(root + "/include", "targets/x86_64-linux/include");
    tree.add_link(root + "/lib64", "targets/x86_64-linux/lib");
  }
  void manifest(const std::string& root, const std::string& version) {
    tree.add_file(root + "/version.json",
                  R"({"cuda": {"name": "CUDA SDK", "version": ")" + version +
                      R"("}, "cuda_nvcc": {"name": "CUDA NVCC", "version": "12.6.85"}, "libcufft": {"version": "11.3"}})");
  }
  void package(const std::string& name, const std::string& version, const std::string& manager = "dpkg") {
    Package p;
    p.name = name, p.version = version, p.manager = manager, p.status = "installed", p.architecture = "amd64";
    machine.packages.installed.get()->push_back(p);
  }
  const std::vector<Toolkit>& collect() {
    const auto system = make_recorded_system(tree);
    collect_toolkits(*system, {}, machine);
    return *machine.toolkits.found.get();
  }
  const ToolkitLink* link(const std::string& path) const {
    const auto found = std::ranges::find(machine.toolkits.links, path, &ToolkitLink::path);
    return found == machine.toolkits.links.end() ? nullptr : &*found;
  }
};

using Texts = std::vector<std::string>;

TEST(Toolkits, NothingThere) {
  Fixture f;
  f.tree.add_directory("/usr/local/cuda-12.2");
  EXPECT_TRUE(f.collect().empty());
  EXPECT_TRUE(f.machine.toolkits.links.empty());
}

TEST(Toolkits, WholeOne) {
  Fixture f;
  f.toolkit("/usr/local/cuda-12.6");
  f.manifest("/usr/local/cuda-12.6", "12.6.3");
  f.tree.add_link("/usr/local/cuda", "/etc/alternatives/cuda");
  f.tree.add_link("/etc/alternatives/cuda", "/usr/local/cuda-12.6");
  f.machine.environment["PATH"] = "/usr/local/cuda/bin:/usr/bin";
  const auto& found = f.collect();
  ASSERT_EQ(found.size(), 1u);
  const auto& t = found[0];
  EXPECT_EQ(t.path, "/usr/local/cuda-12.6");
  EXPECT_EQ(t.names, (Texts{"/etc/alternatives/cuda", "/usr/local/cuda"}));
  EXPECT_TRUE(t.version.is("12.6.3"));
  EXPECT_EQ(t.version.origin().source, "/usr/local/cuda-12.6/version.json");
  EXPECT_TRUE(t.nvcc.is("/usr/local/cuda-12.6/bin/nvcc"));
  EXPECT_TRUE(t.nvcc_version.is("12.6.85"));
  EXPECT_EQ(t.architectures, (Texts{"7.5", "9.0"}));
  EXPECT_TRUE(t.missing.empty()) << t.missing.front();
  EXPECT_TRUE(t.dangling.empty());
  EXPECT_TRUE(t.gcc_max.is(13));
  EXPECT_TRUE(t.headers_fit_glibc_2_41.is_absent());
  EXPECT_TRUE(t.has_runtime_library);
  EXPECT_EQ(t.origin, "unknown");
  EXPECT_EQ(f.link("/usr/local/cuda")->state, "toolkit");
  EXPECT_EQ(f.link("/usr/local/cuda")->real_path, "/usr/local/cuda-12.6");
}

TEST(Toolkits, ManifestAndFiles) {
  Fixture f;
  f.toolkit("/usr/local/cuda-12.6");
  f.manifest("/usr/local/cuda-12.6", "12.6.3");
  f.tree.remove("/usr/local/cuda-12.6/bin/ptxas");
  f.tree.remove("/usr/local/cuda-12.6/nvvm");
  const auto& t = f.collect().at(0);
  EXPECT_EQ(t.missing, (Texts{"bin/ptxas", "nvvm/bin/cicc", "nvvm/libdevice"}));
  ASSERT_EQ(t.components.get()->size(), 2u);
  const auto& compiler = t.components.get()->at(0);
  EXPECT_EQ(compiler.name, "cuda_nvcc");
  EXPECT_EQ(compiler.missing, (Texts{"bin/ptxas", "nvvm/bin/cicc", "nvvm/libdevice/libdevice.10.bc"}));
  EXPECT_EQ(compiler.checked, 6);
  const auto& fft = t.components.get()->at(1);
  EXPECT_EQ(fft.missing.size(), 1u);
  EXPECT_EQ(fft.checked, 1);
}

TEST(Toolkits, RuntimeOnly) {
  Fixture f;
  f.tree.add_file("/usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12.4.127", program());
  f.tree.add_link("/usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12", "libcudart.so.12.4.127");
  f.tree.add_link("/usr/local/cuda-12.4/lib64", "targets/x86_64-linux/lib");
  const auto& t = f.collect().at(0);
  EXPECT_TRUE(t.nvcc.is_absent());
  EXPECT_TRUE(t.missing.empty());
  EXPECT_TRUE(t.has_runtime_library);
  EXPECT_TRUE(t.version.is("12.4"));
}

TEST(Toolkits, LinksThatLeadNowhere) {
  Fixture f;
  f.toolkit("/usr/local/cuda-12.6");
  f.tree.add_link("/usr/local/cuda-12.6/targets/x86_64-linux/lib/libcufft.so", "libcufft.so.11");
  f.tree.add_link("/usr/local/cuda", "/etc/alternatives/cuda");
  f.tree.add_link("/etc/alternatives/cuda", "/usr/local/cuda-12.2");
  f.tree.add_directory("/usr/local/cuda-old");
  f.tree.add_link("/usr/local/cuda-11", "cuda-old");
  const auto& t = f.collect().at(0);
  EXPECT_EQ(t.dangling, (Texts{"lib64/libcufft.so"}));
  EXPECT_EQ(f.link("/usr/local/cuda")->state, "dangling");
  EXPECT_EQ(f.link("/usr/local/cuda")->real_path, "");
  EXPECT_EQ(f.link("/usr/local/cuda-11")->state, "no-toolkit");
}

TEST(Toolkits, VersionsByOtherFiles) {
  Fixture f;
  f.toolkit("/usr/local/cuda-12.6");
  EXPECT_TRUE(f.collect().at(0).version.is("12.6"));
  EXPECT_EQ(f.collect().at(0).version.origin().line, 1u);
  f.tree.add_file("/usr/local/cuda-12.6/version.txt", "CUDA Version 10.2.89\n");
  EXPECT_TRUE(f.collect().at(0).version.is("10.2.89"));
  f.tree.add_file("/usr/local/cuda-12.6/version.json", "{ broken");
  EXPECT_TRUE(f.collect().at(0).version.is("10.2.89"));
  EXPECT_TRUE(f.collect().at(0).components.is_not_seen());
}

TEST(Toolkits, Packages) {
  Fixture f;
  f.toolkit("/usr/local/cuda-12.6");
  f.package("cuda-nvcc-12-6", "12.6.85-1");
  f.tree.add_file("/var/lib/dpkg/info/cuda-nvcc-12-6.list", "/.\n/usr/local/cuda-12.6/bin/nvcc\n");
  EXPECT_EQ(f.collect().at(0).origin, "deb");
  EXPECT_TRUE(f.collect().at(0).package.is("cuda-nvcc-12-6"));
  f.tree.add_file("/var/lib/dpkg/info/cuda-nvcc-12-6.list", "/.\n/usr/local/cuda-12.6/bin/nvcc.profile\n");
  f.tree.add_file("/usr/local/cuda-12.6/bin/cuda-uninstaller", program(), 0755);
  EXPECT_EQ(f.collect().at(0).origin, "runfile");
  EXPECT_TRUE(f.collect().at(0).package.is_absent());
}

TEST(Toolkits, RpmAndPacman) {
  Fixture f;
  f.toolkit("/usr/local/cuda-12.6");
  f.toolkit("/opt/cuda");
  f.package("cuda-nvcc-12-6", "12.6.85-1", "rpm");
  f.package("cuda", "12.6.3-1", "pacman");
  const auto& found = f.collect();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].origin, "pacman");
  EXPECT_EQ(found[1].origin, "rpm");
}

TEST(Toolkits, DebianPackage) {
  Fixture f;
  f.tree.add_file("/usr/bin/nvcc", "#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc \"$@\"\n", 0755);
  f.tree.add_file("/usr/lib/nvidia-cuda-toolkit/bin/nvcc", nvcc("11.8.89"), 0755);
  f.tree.add_file("/usr/lib/nvidia-cuda-toolkit/bin/cicc", program(), 0755);
  f.tree.add_file("/usr/lib/nvidia-cuda-toolkit/bin/g++", "#!/bin/sh\n", 0755);
  f.tree.add_file("/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc", "BC");
  for (const auto* tool : {"ptxas", "fatbinary", "cudafe++", "nvlink"})
    f.tree.add_file(std::string("/usr/bin/") + tool, program(), 0755);
  f.tree.add_file("/usr/include/cuda_runtime.h", "");
  f.tree.add_file("/usr/lib/x86_64-linux-gnu/libcudart_static.a", "!<arch>\n");
  f.package("nvidia-cuda-toolkit", "11.8.89~11.8.0-5~deb12u1");
  f.machine.environment["PATH"] = "/usr/bin";
  const auto& found = f.collect();
  ASSERT_EQ(found.size(), 1u);
  const auto& t = found[0];
  EXPECT_EQ(t.path, "/usr");
  EXPECT_EQ(t.origin, "distribution");
  EXPECT_TRUE(t.nvcc.is("/usr/bin/nvcc"));
  EXPECT_TRUE(t.nvcc_version.is("11.8.89"));
  EXPECT_TRUE(t.version.is("11.8"));
  EXPECT_TRUE(t.missing.empty()) << t.missing.front();
  EXPECT_TRUE(t.package.is("nvidia-cuda-toolkit"));
  const auto& compilers = *f.machine.toolkits.compilers.get();
  ASSERT_EQ(compilers.size(), 1u);
  EXPECT_EQ(compilers[0].found_by, "beside nvcc");
}

TEST(Toolkits, LinkIntoUsrBinIsNoDistribution) {
  Fixture f;
  f.toolkit("/usr/local/cuda-12.6");
  f.tree.add_link("/usr/bin/nvcc", "/usr/local/cuda-12.6/bin/nvcc");
  EXPECT_EQ(f.collect().size(), 1u);
  EXPECT_EQ(f.link("/usr/bin/nvcc")->state, "toolkit");
}

TEST(Toolkits, ToolsAndTheirLibraries) {
  Fixture f;
  f.toolkit("/usr/local/cuda-11.4", "11.4", "11.4.152");
  f.tree.add_file("/usr/local/cuda-11.4/bin/cuda-gdb",
                  program("", {"libtinfo.so.5", "libown.so.1", "libc.so.6"}, "$ORIGIN/../own"), 0755);
  f.tree.add_file("/usr/local/cuda-11.4/own/libown.so.1", program());
  f.tree.add_file("/usr/local/cuda-11.4/bin/nsys", "#!/bin/sh\n", 0755);
  f.tree.add_file("/usr/local/cuda-11.4/bin/ncu", "", 0755);
  f.tree.add_file("/usr/local/cuda-11.4/bin/nvprof", program(), 0644);
  f.tree.add_link("/usr/local/cuda-11.4/bin/nvvp", "../libnvvp/nvvp");
  const auto& t = f.collect().at(0);
  const auto tool = [&](const std::string& name) { return *std::ranges::find(t.tools, name, &ToolkitTool::name); };
  EXPECT_EQ(tool("cuda-gdb").state, "elf");
  EXPECT_EQ(tool("cuda-gdb").missing_libraries, (Texts{"libtinfo.so.5"}));
  EXPECT_EQ(tool("nsys").state, "script");
  EXPECT_EQ(tool("ncu").state, "empty");
  EXPECT_EQ(tool("nvprof").state, "not-executable");
  EXPECT_EQ(tool("nvvp").state, "dangling");
  EXPECT_TRUE(tool("nvcc").missing_libraries.empty());
}

TEST(Toolkits, PartOfAMachineMissesNothing) {
  Fixture f;
  f.toolkit("/usr/local/cuda-11.4", "11.4", "11.4.152");
  f.tree.add_file("/usr/local/cuda-11.4/bin/cuda-gdb", program("", {"libtinfo.so.5"}), 0755);
  f.tree.remove("/usr/lib/x86_64-linux-gnu/libc.so.6");
  for (const auto& tool : f.collect().at(0).tools) EXPECT_TRUE(tool.missing_libraries.empty()) << tool.name;
}

TEST(Toolkits, PythonEnvironments) {
  Fixture f;
  f.toolkit("/opt/conda/envs/ml");
  f.tree.add_file("/opt/conda/envs/ml/conda-meta/cuda-nvcc-tools-12.6.85-he02047a_0.json", "{}");
  f.tree.add_file("/opt/conda/envs/ml/conda-meta/cuda-version-12.6-h7480c83_3.json", "{}");
  f.tree.add_file("/v/lib/python3.12/site-packages/nvidia/cuda_nvcc/bin/ptxas", program(), 0755);
  f.tree.add_file("/v/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12", program());
  PythonEnvironment conda, venv;
  conda.prefix = "/opt/conda/envs/ml", conda.kind = "conda";
  venv.prefix = "/v", venv.kind = "venv", venv.site_packages = {"/v/lib/python3.12/site-packages"};
  PythonPackage nvcc_package;
  nvcc_package.name = "nvidia-cuda-nvcc-cu12", nvcc_package.version = "12.4.131";
  venv.packages = {nvcc_package};
  f.machine.python.environments = Fact<std::vector<PythonEnvironment>>::known({conda, venv});
  f.machine.environment["PATH"] = "/opt/conda/envs/ml/bin";
  const auto& found = f.collect();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].origin, "conda");
  EXPECT_EQ(found[0].environment, "/opt/conda/envs/ml");
  EXPECT_TRUE(found[0].package.is("cuda-nvcc-tools"));
  EXPECT_TRUE(found[0].missing.empty());
  EXPECT_EQ(found[1].origin, "pip");
  EXPECT_TRUE(found[1].nvcc.is_absent());
  EXPECT_TRUE(found[1].version.is("12.4"));
  EXPECT_TRUE(found[1].has_runtime_library);
  EXPECT_TRUE(found[1].package.is("nvidia-cuda-nvcc-cu12"));
}

TEST(Toolkits, ModuleFilesAndVariables) {
  Fixture f;
  f.toolkit("/shared/apps/cuda/12.6");
  f.toolkit("/data/cuda");
  f.tree.add_file("/shared/modules/cuda/12.6.lua",
                  "local root = \"/shared/apps/cuda/12.6\"\nprepend_path(\"PATH\", pathJoin(root, \"bin\"))\n");
  f.machine.environment["MODULEPATH"] = "/none:/shared/modules";
  f.machine.environment["CUDA_HOME"] = "/data/cuda";
  const auto& found = f.collect();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "/data/cuda");
  EXPECT_EQ(found[1].path, "/shared/apps/cuda/12.6");
}

TEST(Toolkits, WrapperLeadsToTheToolkit) {
  Fixture f;
  f.toolkit("/data/cuda-12.6");
  f.tree.add_file("/usr/local/bin/nvcc", "#!/bin/sh\nexec /data/cuda-12.6/bin/nvcc \"$@\"\n", 0755);
  f.tree.add_link("/usr/local/include/cuda_runtime.h", "/data/cuda-12.6/include/cuda_runtime.h");
  const auto& found = f.collect();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "/data/cuda-12.6");
}

TEST(Toolkits, HpcSdk) {
  Fixture f;
  const std::string sdk = "/opt/nvidia/hpc_sdk/Linux_x86_64/24.7";
  f.toolkit(sdk + "/cuda/12.5", "12.5", "12.5.40");
  f.tree.add_link(sdk + "/cuda/bin", "12.5/bin");
  f.tree.add_file(sdk + "/compilers/bin/nvcc", "#!/bin/sh\n", 0755);
  f.tree.add_link("/opt/nvidia/hpc_sdk/Linux_x86_64/2024", "24.7");
  f.machine.environment["PATH"] = sdk + "/compilers/bin:/usr/bin";
  const auto& found = f.collect();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].origin, "hpc-sdk");
  EXPECT_TRUE(found[0].version.is("12.5"));
  EXPECT_TRUE(f.machine.toolkits.links.empty());
}

TEST(Toolkits, UnreadableFolder) {
  Fixture f;
  f.tree.add_directory("/usr/local");
  f.tree.nodes["/usr/local"].unreadable = true;
  const auto system = make_recorded_system(f.tree);
  collect_toolkits(*system, {}, f.machine);
  EXPECT_TRUE(f.machine.toolkits.found.is_not_seen());
}

TEST(ToolkitManifest, HostileTexts) {
  EXPECT_FALSE(read_toolkit_manifest("").has_value());
  EXPECT_FALSE(read_toolkit_manifest("[]").has_value());
  EXPECT_FALSE(read_toolkit_manifest(std::string(100000, '[')).has_value());
  EXPECT_TRUE(read_toolkit_manifest(R"({"cuda": 5, "x": {"version": []}, "y": {"version": "a;b"}})")->components.empty());
}

TEST(ToolkitPackages, Names) {
  EXPECT_EQ(release_in_package_name("cuda-nvcc-12-6"), "12.6");
  EXPECT_EQ(release_in_package_name("libcublas-dev-13-0"), "13.0");
  for (const auto* name : {"cuda", "cuda-keyring", "nvidia-driver-550", "cuda-12", "-12-6-x", ""})
    EXPECT_EQ(release_in_package_name(name), "") << name;
}

}  // namespace
}  // namespace gpuvet
