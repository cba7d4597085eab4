// The release that we read from a CUDA library's bytes: against the wheel that brought the library, and against what the library
// itself answers when its version function is called (none of them needs a GPU).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cache.h"
#include "elf/cuda_library_version.h"
#include "elf/elf.h"
#include "elf/static_cuda_runtime.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

Fact<std::string> version_of(System& system, const fs::path& path) {
  const auto file = system.open(path.string());
  if (!file) return Fact<std::string>::not_seen(file.error().message);
  return read_cuda_library_version(**file, read_library_file(**file));
}

/// "12.4.5.8" of "nvidia_cublas_cu12-12.4.5.8.dist-info".
std::string version_of_folder(const fs::path& dist_info) {
  const auto name = dist_info.stem().string();
  return name.substr(name.find('-') + 1);
}

/// Libraries that a wheel's RECORD lists and that are there.
std::vector<fs::path> libraries_of(const fs::path& dist_info) {
  std::vector<fs::path> libraries;
  std::ifstream in(dist_info / "RECORD");
  for (std::string line; std::getline(in, line);) {
    const auto path = dist_info.parent_path() / line.substr(0, line.find(','));
    if (path.filename().string().find(".so") != std::string::npos && fs::is_regular_file(path)) libraries.push_back(path);
  }
  return libraries;
}

std::vector<fs::path> nvidia_wheels() {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(test::cache_folder(), fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    if (it->is_directory() && name.starts_with("nvidia_") && name.ends_with(".dist-info")) found.push_back(it->path());
  }
  return found;
}

TEST(CudaLibraryVersions, AreThoseOfTheirWheels) {
  const auto system = make_live_system();
  std::size_t known = 0, seen = 0;
  for (const auto& wheel : nvidia_wheels()) {
    const auto expected = version_of_folder(wheel) + ".";
    for (const auto& path : libraries_of(wheel)) {
      ++seen;
      const auto version = version_of(*system, path);
      if (!version.is_known()) continue;
      ++known;
      EXPECT_TRUE(expected.starts_with(*version.get() + ".")) << path << ": " << *version.get() << ", the wheel is " << expected;
    }
  }
  std::printf("library versions: %zu known of %zu libraries in wheels\n", known, seen);
  if (seen == 0) GTEST_SKIP() << "no unpacked nvidia wheels in " << test::cache_folder();
}

/// "12" of "nvidia_curand_cu12-10.3.5.147"; empty: not in the name.
std::string cuda_of_folder(const fs::path& dist_info) {
  const auto name = dist_info.stem().string();
  const auto at = name.find("_cu1");
  return at == std::string::npos ? "" : name.substr(at + 3, 2);
}

// libcudart itself has the code of the static runtime: there both readers must agree. Other libraries have a copy inside, of the
// CUDA that they were built for. (libcufile keeps one of 11.1 in CUDA 12.)
TEST(StaticCudaRuntime, AsTheWheelsSay) {
  const auto system = make_live_system();
  std::size_t runtimes = 0, inside = 0;
  for (const auto& wheel : nvidia_wheels()) {
    for (const auto& path : libraries_of(wheel)) {
      const auto name = path.filename().string();
      const auto file = system->open(path.string());
      const bool big = file && (*file)->size() > (std::uint64_t{48} << 20) && std::getenv("GPUVET_FULL") == nullptr;
      if (!file || big || name.starts_with("libcufile")) continue;
      const auto release = read_static_cuda_runtime(**file);
      if (!release.is_known()) {
        EXPECT_FALSE(name.starts_with("libcudart.so")) << path;
        continue;
      }
      if (name.starts_with("libcudart.so")) EXPECT_EQ(version_of(*system, path).value_or(""), *release.get()) << path;
      ++(name.starts_with("libcudart.so") ? runtimes : inside);
      const auto cuda = cuda_of_folder(wheel);
      EXPECT_TRUE(cuda.empty() || release.get()->starts_with(cuda + ".")) << path << ": " << *release.get();
    }
  }
  std::printf("static CUDA runtimes: %zu of libcudart, %zu inside other libraries\n", runtimes, inside);
  if (runtimes + inside == 0) GTEST_SKIP() << "no unpacked nvidia wheels in " << test::cache_folder();
}

TEST(StaticCudaRuntime, OfAStrippedProgram) {
  const fs::path nvcc = "/usr/local/cuda/bin/nvcc";
  if (!fs::exists(nvcc)) GTEST_SKIP() << "no " << nvcc;
  const auto folder = fs::temp_directory_path() / ("gpuvet-static-runtime-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "a.cu") << "int main() { int count; return cudaGetDeviceCount(&count); }\n";
  const auto command = "cd " + folder.string() + " && " + nvcc.string() + " -o a a.cu && strip a && " + nvcc.string() +
                       " -cudart none -c a.cu -o b.o && " + nvcc.string() +
                       " --version | sed -n 's/.*release \\([0-9.]*\\),.*/\\1/p' >release";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string expected;
  std::ifstream(folder / "release") >> expected;
  const auto system = make_live_system();
  const auto program = system->open((folder / "a").string()), object = system->open((folder / "b.o").string());
  ASSERT_TRUE(program && object);
  EXPECT_EQ(read_static_cuda_runtime(**program).value_or(""), expected);
  EXPECT_TRUE(read_static_cuda_runtime(**object).is_absent());
  fs::remove_all(folder);
}

/// Calls a function of a library by its address.
template <class Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

struct Answer {
  const char* library;
  const char* function;
  unsigned unit;  ///< the number is major * unit + minor * unit / 10 (or 100 of 10000) + patch
  bool returned;  ///< by value; else through a pointer
};

std::string dotted(std::size_t number, unsigned unit) {
  if (unit == 10) return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  return std::to_string(number / unit) + "." + std::to_string(number % unit / 100) + "." + std::to_string(number % 100);
}

TEST(CudaLibraryVersions, AreWhatTheLibrariesAnswer) {
  const fs::path folder = "/usr/local/cuda/lib64";
  if (!fs::exists(folder / "libcudart.so")) GTEST_SKIP() << "no toolkit in " << folder;
  const auto system = make_live_system();
  std::size_t compared = 0;
  for (const auto& answer :
       {Answer{"libcudart.so", "cudaRuntimeGetVersion", 10, false}, Answer{"libcurand.so", "curandGetVersion", 1000, false},
        Answer{"libcufft.so", "cufftGetVersion", 1000, false}, Answer{"libcusolver.so", "cusolverGetVersion", 1000, false},
        Answer{"libcublasLt.so", "cublasLtGetVersion", 10000, true}, Answer{"libcudnn_graph.so", "cudnnGetVersion", 10000, true},
        Answer{"libnccl.so", "ncclGetVersion", 10000, false}}) {
    const auto path = folder / answer.library;
    void* library = fs::exists(path) ? dlopen(path.c_str(), RTLD_LAZY) : nullptr;
    if (!library) continue;
    int number = 0;
    if (answer.returned)
      if (auto* get = function_of<std::size_t()>(library, answer.function)) number = static_cast<int>(get());
    if (!answer.returned)
      if (auto* get = function_of<int(int*)>(library, answer.function)) get(&number);
    const auto version = version_of(*system, path);
    ASSERT_TRUE(version.is_known()) << path << ": " << version.why();
    EXPECT_EQ(*version.get(), dotted(static_cast<std::size_t>(number), answer.unit)) << path;
    ++compared;
  }
  std::printf("library versions: %zu asked\n", compared);
}

}  // namespace
}  // namespace gpuvet
