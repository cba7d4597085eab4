// Roots made of genuine driver libraries, read through the rooted system and judged by all rules.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "cache.h"
#include "collect/collect.h"
#include "diagnose/diagnose.h"
#include "knowledge/knowledge.h"
#include "system/system.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

const std::string library_folder = "usr/lib/x86_64-linux-gnu";

/// A Debian machine with one RTX 3090 whose driver is loaded, in a temporary folder; no /dev: a capture has none.
class Root {
 public:
  Root() {
    std::string pattern = (fs::temp_directory_path() / "gpuvet-root-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    file("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\n");
    file("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
    file("proc/devices", "Character devices:\n195 nvidia-frontend\n508 nvidia-uvm\n");
    const std::string device = "sys/bus/pci/devices/0000:01:00.0/";
    for (const auto& [name, value] : {std::pair{"vendor", "0x10de\n"}, {"device", "0x2204\n"}, {"class", "0x030000\n"}, {"revision", "0xa1\n"},
                                      {"subsystem_vendor", "0x1458\n"}, {"subsystem_device", "0x403b\n"}, {"enable", "1\n"}})
      file(device + name, value);
    fs::create_directories(folder_ / "sys/bus/pci/drivers/nvidia");
    fs::create_symlink("../../drivers/nvidia", folder_ / device / "driver");
  }
  ~Root() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void file(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }

  void loaded_module(const std::string& version) {
    file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version +
                                           "  Wed Oct 25 20:27:35 UTC 2023\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14) \n");
    file("proc/modules",
         "nvidia_uvm 1540096 0 - Live 0x0000000000000000 (POE)\nnvidia 56827904 1 nvidia_uvm, Live 0x0000000000000000 (POE)\n");
    file("sys/module/nvidia/version", version + "\n");
    file("sys/module/nvidia_uvm/refcnt", "0\n");
  }

  /// The genuine file under the name it has in the package, with the loader's link beside it.
  void library(const fs::path& genuine, const std::string& soname) {
    fs::create_directories(folder_ / library_folder);
    fs::copy_file(genuine, folder_ / library_folder / genuine.filename());
    fs::create_symlink(genuine.filename(), folder_ / library_folder / soname);
  }

  void copy(const fs::path& genuine, const std::string& path) {
    fs::create_directories((folder_ / path).parent_path());
    fs::copy_file(genuine, folder_ / path);
  }

  Diagnosis judge(const std::map<std::string, std::string>& environment = {}) const {
    const auto system = make_rooted_system(folder_.string());
    EXPECT_TRUE(system);
    if (!system) return {};
    CollectOptions options;
    options.has_environment = true;
    options.environment = environment;
    return diagnose(collect(**system, options), Knowledge{});
  }

 private:
  fs::path folder_;
};

fs::path genuine(const std::string& package, const std::string& prefix) {
  const auto found = test::cached_files(package, [&](const fs::path& path) { return path.filename().string().starts_with(prefix); });
  return found.empty() ? fs::path() : found.front();
}

struct Libraries {
  fs::path cuda = genuine("libcuda1", "libcuda.so."), nvml = genuine("libnvidia-ml1", "libnvidia-ml.so."),
           ptx = genuine("libnvidia-ptxjitcompiler1", "libnvidia-ptxjitcompiler.so.");
  bool complete() const { return !cuda.empty() && !nvml.empty() && !ptx.empty(); }
  std::string version() const { return cuda.filename().string().substr(std::string("libcuda.so.").size()); }
  void into(Root& root) const {
    root.library(cuda, "libcuda.so.1");
    root.library(nvml, "libnvidia-ml.so.1");
    root.library(ptx, "libnvidia-ptxjitcompiler.so.1");
  }
};

bool names(const Diagnosis& diagnosis, const std::string& kind) {
  return std::ranges::any_of(diagnosis.findings, [&](const Finding& finding) { return finding.kind == kind; });
}

std::string serious(const Diagnosis& diagnosis) {
  std::string kinds;
  for (const auto& finding : diagnosis.findings)
    if (finding.severity != Severity::Note) kinds += finding.kind + " ";
  return kinds;
}

TEST(WholeMachine, LibrariesOf535WithAModuleOf525) {
  const Libraries libraries;
  if (!libraries.complete()) GTEST_SKIP() << "no driver libraries in " << test::cache_folder() << ": run tests/fidelity/fetch_vendor_packages.sh";
  Root root;
  libraries.into(root);
  root.loaded_module("525.147.05");
  const auto diagnosis = root.judge();
  EXPECT_EQ(diagnosis.root_cause, "driver-library-version-mismatch") << serious(diagnosis);
  EXPECT_EQ(diagnosis.verdict, Verdict::Broken);
}

TEST(WholeMachine, EqualVersionsAreWhole) {
  const Libraries libraries;
  if (!libraries.complete()) GTEST_SKIP() << "no driver libraries in " << test::cache_folder();
  Root root;
  libraries.into(root);
  root.loaded_module(libraries.version());
  const auto diagnosis = root.judge();
  EXPECT_FALSE(names(diagnosis, "driver-library-version-mismatch"));
  EXPECT_EQ(diagnosis.root_cause, "");
  EXPECT_EQ(serious(diagnosis), "");
}

TEST(WholeMachine, ToolkitStubOnTheLibraryPath) {
  const Libraries libraries;
  auto stub = genuine("nvidia-cuda-dev", "libcuda.so");
  for (const char* path : {"/usr/local/cuda/lib64/stubs/libcuda.so", "/usr/local/cuda/targets/x86_64-linux/lib/stubs/libcuda.so"})
    if (fs::exists(path)) stub = path;
  if (!libraries.complete() || stub.empty()) GTEST_SKIP() << "no driver libraries or no CUDA stub in " << test::cache_folder();
  Root root;
  libraries.into(root);
  root.loaded_module(libraries.version());
  // The toolkit's folder has only libcuda.so; people add the link when a program asks for libcuda.so.1.
  root.copy(stub, "usr/local/cuda/lib64/stubs/libcuda.so");
  root.copy(stub, "usr/local/cuda/lib64/stubs/libcuda.so.1");
  EXPECT_EQ(root.judge({{"LD_LIBRARY_PATH", "/usr/local/cuda/lib64/stubs"}}).root_cause, "stub-libcuda-loaded");
  EXPECT_EQ(serious(root.judge()), "");
}

}  // namespace
}  // namespace gpuvet
