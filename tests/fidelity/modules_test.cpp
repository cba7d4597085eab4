// What our module reader says of a distribution's signed modules, against modinfo(8) of kmod.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "../scenarios/elf_builder.h"
#include "cache.h"
#include "elf/bytes.h"
#include "elf/module_file.h"
#include "system/system.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;
using Fields = std::map<std::string, std::string>;  // the first value of each key

constexpr std::size_t every = 3;  // of 1100 modules some hundred are enough
constexpr std::array keys{"version", "vermagic", "license", "srcversion", "name", "depends", "retpoline", "intree"};

std::vector<fs::path> modules() {
  auto all = test::cached_files("linux-image", [](const fs::path& path) { return path.extension() == ".ko"; });
  std::vector<fs::path> sample;
  for (std::size_t i = 0; i < all.size(); i += every) sample.push_back(all[i]);
  return sample;
}

/// Output of one command of the machine's shell.
std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 65536> buffer;
  while (const auto got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
  pclose(pipe);
  return out;
}

std::string modinfo_command() {
  if (!output_of("command -v modinfo").empty()) return "modinfo";
  const auto program = test::cached_files("kmod", [](const fs::path& path) { return path.filename() == "kmod" && path.parent_path().filename() == "bin"; });
  const auto library = test::cached_files("libkmod2", [](const fs::path& path) { return path.filename().string().starts_with("libkmod.so.2"); });
  if (program.empty() || library.empty()) return "";
  const auto folder = fs::temp_directory_path() / ("gpuvet-modinfo-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::error_code ignored;
  fs::create_symlink(program.front(), folder / "modinfo", ignored);
  fs::create_symlink(library.front(), folder / "libkmod.so.2", ignored);
  return "LD_LIBRARY_PATH='" + folder.string() + "' '" + (folder / "modinfo").string() + "'";
}

/// "key:   value" lines; each module begins with "filename:".
std::map<std::string, Fields> parse_modinfo_output(const std::string& text) {
  std::map<std::string, Fields> modules;
  Fields* now = nullptr;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    const auto colon = line.find(':');
    if (line.empty() || line[0] == '\t' || colon == std::string::npos) continue;  // the signature's bytes go over several lines
    const auto start = std::min(line.find_first_not_of(' ', colon + 1), line.size());
    const auto key = line.substr(0, colon);
    if (key == "filename") now = &modules[line.substr(start)];
    if (now) now->try_emplace(key, line.substr(start));
  }
  return modules;
}

std::map<std::string, Fields> ask_modinfo(const std::vector<fs::path>& files) {
  std::string arguments;
  for (const auto& file : files) arguments += " '" + file.string() + "'";
  return parse_modinfo_output(output_of(modinfo_command() + arguments + " 2>/dev/null"));
}

void expect_same(const ModuleFileContent& content, const Fields& truth, const std::string& name) {
  for (const char* key : keys) {
    const auto* ours = content.value(key);
    const auto theirs = truth.find(key);
    EXPECT_EQ(ours != nullptr, theirs != truth.end()) << name << ": " << key;
    if (ours && theirs != truth.end()) {
      EXPECT_EQ(*ours, theirs->second) << name << ": " << key;
    }
  }
  EXPECT_TRUE(content.has_signature.is(truth.contains("sig_id"))) << name;
  if (const auto signer = truth.find("signer"); signer != truth.end()) {
    EXPECT_TRUE(content.signer.is(signer->second)) << name << ": " << content.signer.value_or("(none)") << " is not " << signer->second;
  }
}

TEST(GenuineModules, SameAsModinfo) {
  const auto files = modules();
  if (files.empty()) GTEST_SKIP() << "no kernel modules in " << test::cache_folder() << ": run tests/fidelity/fetch_vendor_packages.sh";
  const auto truth = ask_modinfo(files);
  if (truth.empty()) GTEST_SKIP() << "no modinfo (kmod) here";
  ASSERT_EQ(truth.size(), files.size());
  const auto system = make_live_system();
  std::size_t signed_modules = 0;
  for (const auto& path : files) {
    const auto file = system->open(path.string());
    ASSERT_TRUE(file) << path;
    const auto content = read_module_file(**file);
    ASSERT_TRUE(content) << path << ": " << content.error();
    expect_same(*content, truth.at(path.string()), path.filename().string());
    if (content->has_signature.is(true)) ++signed_modules;
  }
  std::printf("%zu modules, %zu of them signed\n", files.size(), signed_modules);
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(GenuineModules, SameWhenCompressed) {
  auto files = modules();
  if (files.empty()) GTEST_SKIP() << "no kernel modules in " << test::cache_folder();
  const auto truth = ask_modinfo(files);
  if (truth.empty()) GTEST_SKIP() << "no modinfo (kmod) here";
  ModuleFileLimits stream_only;
  stream_only.to_the_end = 0;  // as a module of 60 MB is read
  for (std::size_t i = 0; i < files.size(); i += 17)
    for (const char* suffix : {".xz", ".zst", ".gz"}) {
      const auto name = files[i].filename().string() + suffix;
      const auto bytes = test::compress_for_name(content_of(files[i]), name);
      MemoryReader whole(bytes), part(bytes);
      const auto content = read_module_file(whole);
      ASSERT_TRUE(content) << name << ": " << content.error();
      expect_same(*content, truth.at(files[i].string()), name);
      const auto streamed = read_module_file(part, stream_only);
      ASSERT_TRUE(streamed) << name << ": " << streamed.error();
      EXPECT_EQ(streamed->info, content->info) << name;
    }
}

/// The time that a module of NVIDIA's size takes, with .modinfo where a linker puts it: behind code and read-only data, before
/// data, relocations and symbols. Printed, not judged: machines differ.
TEST(GenuineModules, TimeOfABigModule) {
  std::string module = test::build_kernel_module({{"version", "550.120"}, {"license", "NVIDIA"}, {"vermagic", "6.8.0-49-generic SMP "}});
  const auto at = module.find("version=");
  for (const std::size_t before : {std::size_t{1} << 20, std::size_t{24} << 20}) {
    std::string big = module.substr(0, at);
    std::uint32_t state = 1;
    while (big.size() < before) big.push_back(static_cast<char>((state = state * 1664525 + 1013904223) >> (big.size() % 3 ? 29 : 24)));
    big += std::string(1, '\0') + module.substr(at);
    big.resize(std::size_t{48} << 20, '\0');
    for (const char* suffix : {".zst", ".gz"}) {
      const auto bytes = test::compress_for_name(big, std::string("nvidia.ko") + suffix);
      MemoryReader reader(bytes);
      const auto start = std::chrono::steady_clock::now();
      const auto content = read_module_file(reader);
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      ASSERT_TRUE(content) << content.error();
      EXPECT_EQ(*content->value("version"), "550.120");
      std::printf(".modinfo at %zu MiB, %s: %.1f ms, %llu KiB decompressed\n", before >> 20, suffix, time.count(),
                  static_cast<unsigned long long>(content->bytes_decompressed >> 10));
    }
  }
}

}  // namespace
}  // namespace gpuvet
