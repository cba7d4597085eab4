// What the collector says of whole toolkits, against what their own compiler says when it is asked (here in the test only).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "cache.h"
#include "collect/collect.h"
#include "system/rooted.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  std::string text;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char buffer[4096];
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
    pclose(pipe);
  }
  return text;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "13.0.88" of `nvcc --version`.
std::string asked_version(const std::string& nvcc) {
  const auto text = output_of(nvcc + " --version");
  const auto at = text.find(", V");
  return at == std::string::npos ? "" : text.substr(at + 3, text.find('\n', at) - at - 3);
}

/// {"7.5", "8.0" …} of `nvcc --list-gpu-code` or `--list-gpu-arch`.
std::set<std::string> asked_targets(const std::string& nvcc, const std::string& option) {
  std::set<std::string> targets;
  std::istringstream lines(output_of(nvcc + " " + option));
  for (std::string line; std::getline(lines, line);) {
    const auto number = line.substr(line.find('_') + 1);
    if (number.size() >= 2) targets.insert(number.substr(0, number.size() - 1) + "." + number.back());
  }
  return targets;
}

std::int64_t number_after(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + words.size());
}

void expect_agreement(const Toolkit& toolkit, const std::string& nvcc, const std::string& host_config) {
  EXPECT_TRUE(toolkit.nvcc_version.is(asked_version(nvcc))) << toolkit.nvcc_version.why();
  const std::set<std::string> targets(toolkit.architectures.begin(), toolkit.architectures.end());
  EXPECT_EQ(targets, asked_targets(nvcc, "--list-gpu-code"));
  EXPECT_EQ(targets, asked_targets(nvcc, "--list-gpu-arch"));
  // The header's own sentences.
  EXPECT_TRUE(toolkit.gcc_max.is(number_after(host_config, "gcc versions later than "))) << toolkit.gcc_max.why();
  EXPECT_TRUE(toolkit.clang_max.is(number_after(host_config, "clang version must be less than ") - 1)) << toolkit.clang_max.why();
  EXPECT_TRUE(toolkit.gcc_min.is_absent());
  EXPECT_TRUE(toolkit.missing.empty()) << toolkit.missing.front();
  EXPECT_TRUE(toolkit.has_runtime_library);
  for (const auto& tool : toolkit.tools) {
    EXPECT_TRUE(tool.state == "elf" || tool.state == "script") << tool.path << ": " << tool.state;
  }
}

Machine machine_with(const std::string& path) {
  Machine machine;
  machine.os.id = Fact<std::string>::known("debian");
  machine.os.architecture = Fact<std::string>::known("x86_64");
  machine.environment["PATH"] = path;
  return machine;
}

const Toolkit* toolkit_at(const Machine& machine, const std::string& path) {
  const auto* all = machine.toolkits.found.get();
  if (all == nullptr) return nullptr;
  const auto found = std::ranges::find(*all, path, &Toolkit::path);
  return found == all->end() ? nullptr : &*found;
}

TEST(ToolkitFidelity, ThisMachinesToolkit) {
  const auto real = fs::exists("/usr/local/cuda/bin/nvcc") ? fs::canonical("/usr/local/cuda") : fs::path();
  if (real.empty()) GTEST_SKIP() << "no toolkit in /usr/local/cuda";
  auto machine = machine_with("/usr/local/cuda/bin:/usr/local/bin:/usr/bin");
  const auto system = make_live_system();
  collect_toolkits(*system, {}, machine);
  const auto* toolkit = toolkit_at(machine, real.string());
  ASSERT_NE(toolkit, nullptr);
  expect_agreement(*toolkit, "/usr/local/cuda/bin/nvcc", read_text("/usr/local/cuda/include/crt/host_config.h"));
  EXPECT_EQ(toolkit->names, std::vector<std::string>{"/usr/local/cuda"});
  EXPECT_TRUE(toolkit->dangling.empty());
  const auto math = read_text("/usr/local/cuda/include/crt/math_functions.h");
  EXPECT_TRUE(toolkit->headers_fit_glibc_2_41.is(math.find("sinpi(double x);") == std::string::npos));
}

TEST(ToolkitFidelity, DebiansToolkit) {
  const auto root = test::cache_folder() / "roots/debian-toolkit";
  if (!fs::exists(root / "usr/lib/nvidia-cuda-toolkit/bin/nvcc"))
    GTEST_SKIP() << "no toolkit in " << root << ": run tests/fidelity/fetch_vendor_packages.sh";
  auto machine = machine_with("/usr/bin");
  const auto system = make_rooted_system(root.string());
  ASSERT_TRUE(system.has_value());
  collect_toolkits(**system, {}, machine);
  ASSERT_EQ(machine.toolkits.found.get()->size(), 1u);
  const auto& toolkit = machine.toolkits.found.get()->front();
  EXPECT_EQ(toolkit.path, "/usr");
  EXPECT_EQ(toolkit.origin, "distribution");
  EXPECT_TRUE(toolkit.version.is("11.8"));
  EXPECT_TRUE(toolkit.headers_fit_glibc_2_41.is(false));
  expect_agreement(toolkit, (root / "usr/lib/nvidia-cuda-toolkit/bin/nvcc").string(),
                   read_text(root / "usr/include/crt/host_config.h"));
}

TEST(ToolkitFidelity, HostCompilersSayTheSame) {
  auto machine = machine_with("/usr/local/bin:/usr/bin");
  const auto system = make_live_system();
  collect_toolkits(*system, {}, machine);
  std::size_t compared = 0;
  for (const auto& compiler : *machine.toolkits.compilers.get()) {
    const auto* version = compiler.version.get();
    if (version == nullptr) continue;
    const bool clang = compiler.real_path.find("clang") != std::string::npos;
    const auto text = output_of(compiler.path + (clang ? " --version" : " -dumpfullversion"));
    const auto told = clang ? text.substr(std::min(text.size(), text.find("version ") + 8)) : text;
    EXPECT_TRUE(told.starts_with(*version)) << compiler.path << ": " << *version << " against " << told;
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no compilers here";
}

TEST(ToolkitFidelity, OneToolkitIsQuick) {
  if (!fs::exists("/usr/local/cuda/bin/nvcc")) GTEST_SKIP() << "no toolkit in /usr/local/cuda";
  const auto system = make_live_system();
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    auto machine = machine_with("/usr/local/cuda/bin:/usr/local/bin:/usr/bin");
    const auto start = std::chrono::steady_clock::now();
    collect_toolkits(*system, {}, machine);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("one toolkit: %.2f ms (best of 20)\n", best);
  EXPECT_LT(best, 50.0);  // far above what it takes: only a whole 100 MB binary that is read would exceed it
}

}  // namespace
}  // namespace gpuvet
