// What our readers say of genuine driver libraries, against what the vendor's file names and code say.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "elf/elf.h"
#include "knowledge/knowledge.h"
#include "system/system.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

fs::path cache() {
  if (const char* set = std::getenv("GPUVET_CACHE")) return set;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME")) return fs::path(xdg) / "gpuvet";
  const char* home = std::getenv("HOME");
  return fs::path(home ? home : "/nonexistent") / ".cache/gpuvet";
}

/// Real files below the cache whose name begins so.
std::vector<fs::path> files(const std::string& prefix, bool stubs = false) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(cache() / "unpacked", error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file() && !it->is_symlink() && it->path().filename().string().starts_with(prefix) &&
        (it->path().parent_path().filename() == "stubs") == stubs)
      found.push_back(it->path());
  return found;
}

LibraryFile read(const fs::path& path) {
  const auto system = make_live_system();
  const auto file = system->open(path.string());
  return file ? read_library_file(**file) : LibraryFile{};
}

std::string version_in_name(const fs::path& path) {
  const auto name = path.filename().string();
  return name.substr(name.find(".so.") + 4);
}

/// cuDriverGetVersion of a library, asked in a child: vendor code does not run in this process.
int driver_api_version(const fs::path& path) {
  int pipes[2];
  if (pipe(pipes) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int version = -1;
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      if (auto* ask = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion"))) ask(&version);
    const auto written = write(pipes[1], &version, sizeof version);
    _exit(written == sizeof version ? 0 : 1);
  }
  close(pipes[1]);
  int version = -1;
  if (::read(pipes[0], &version, sizeof version) != sizeof version) version = -1;
  close(pipes[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return version;
}

TEST(VendorFiles, DriverVersionIsRead) {
  auto libraries = files("libcuda.so.");
  for (auto& path : files("libnvidia-ml.so.")) libraries.push_back(path);
  if (libraries.empty()) GTEST_SKIP() << "no vendor packages in " << cache() << ": run tests/fidelity/fetch_vendor_packages.sh";
  for (const auto& path : libraries) {
    const auto library = read(path);
    EXPECT_TRUE(library.driver_version.is(version_in_name(path))) << path << ": " << library.driver_version.value_or(library.driver_version.why());
    EXPECT_FALSE(library.stub) << path;
  }
}

TEST(VendorFiles, StubsAreTold) {
  auto libraries = files("libcuda.so", true);
  for (auto& path : files("libnvidia-ml.so", true)) libraries.push_back(path);
  if (libraries.empty()) GTEST_SKIP() << "no CUDA stubs in " << cache();
  for (const auto& path : libraries) EXPECT_TRUE(read(path).stub) << path;
}

TEST(VendorFiles, WhatTheFileDoesNotSayIsNotSeen) {
  const auto libraries = files("libnvidia-ptxjitcompiler.so.");
  if (libraries.empty()) GTEST_SKIP() << "no libnvidia-ptxjitcompiler in " << cache();
  for (const auto& path : libraries) EXPECT_TRUE(read(path).driver_version.is_not_seen()) << path;
}

TEST(VendorFiles, BranchTableEqualsCuDriverGetVersion) {
  const auto libraries = files("libcuda.so.");
  if (libraries.empty()) GTEST_SKIP() << "no libcuda in " << cache();
  const Knowledge knowledge;
  for (const auto& path : libraries) {
    const auto driver = DriverVersion::parse(version_in_name(path));
    ASSERT_TRUE(driver) << path;
    const auto native = knowledge.native_cuda(*driver);
    ASSERT_TRUE(native) << path;
    const int asked = driver_api_version(path);
    if (asked < 0) GTEST_SKIP() << path << " does not load on this machine";
    EXPECT_EQ(CudaVersion::from_driver_api(asked), *native) << path;
  }
}

}  // namespace
}  // namespace gpuvet
