// GPU code of real files: gpuvet's counts by target against `cuobjdump --list-elf --list-ptx`, and against what nvcc was told to
// make. The whole set (CUDA 13's libraries, wheels of three CUDA majors, every architecture alone) with GPUVET_FULL=1.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "cache.h"
#include "elf/bytes.h"
#include "elf/gpu_code.h"
#include "system/rooted.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;
using Counts = std::map<std::string, std::int64_t>;  // "sm_90a", "compute_120f", "lto_90", "stub:sm_75"

bool full_run() {
  const char* set = std::getenv("GPUVET_FULL");
  return set != nullptr && std::string_view(set) == "1";
}

std::string text_of(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += name + ":" + std::to_string(count) + " ";
  return text.empty() ? "nothing" : text;
}

// ---- the truth ------------------------------------------------------------------------------------------------------------

/// cuobjdump of CUDA 13, of CUDA 12 (the triton wheel's) and of Debian's CUDA 11.8: each knows only the GPUs of its time.
std::vector<std::string> tools() {
  std::vector<std::string> found;
  const auto cache = test::cache_folder();
  for (const auto& path : {cache / "tools/nvidia/cu13/bin/cuobjdump", cache / "tools/cuda-12/cuobjdump",
                           cache / "roots/debian-toolkit/usr/bin/cuobjdump"}) {
    if (fs::exists(path)) found.push_back(path.string());
  }
  return found;
}

/// "ELF file 1: libx.1.sm_90a.cubin", "PTX file 1: libx.1.sm_120f.ptx".
void count_line(const std::string& line, Counts& counts) {
  const bool elf = line.starts_with("ELF file"), ptx = line.starts_with("PTX file");
  const auto dot = line.rfind('.');
  if ((!elf && !ptx) || dot == std::string::npos) return;
  const auto at = line.rfind(".sm_", dot);
  if (at == std::string::npos) return;
  const auto number = line.substr(at + 4, dot - at - 4);
  ++counts[(elf ? "sm_" : "compute_") + number];
}

/// False: the tool gave up on a GPU or a layout that it does not know.
bool ask_cuobjdump(const std::string& tool, const std::string& file, Counts& counts) {
  for (const char* option : {"--list-elf", "--list-ptx"}) {
    FILE* pipe = popen((tool + " -all " + option + " '" + file + "' 2>&1").c_str(), "r");
    if (pipe == nullptr) return false;
    std::string line;
    bool fatal = false;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      count_line(line, counts);
      fatal = fatal || line.find("fatal") != std::string::npos;
      line.clear();
    }
    pclose(pipe);
    if (fatal) return false;
  }
  return true;
}

Counts listed_by_cuobjdump(const std::string& file) {
  for (const auto& tool : tools()) {
    Counts counts;
    if (ask_cuobjdump(tool, file, counts)) return counts;
  }
  ADD_FAILURE() << "no cuobjdump reads " << file;
  return {{"not read by cuobjdump", 1}};
}

// ---- what gpuvet says ---------------------------------------------------------------------------------------------------------

/// cuobjdump 13 writes a family's cubin like a plain one (its PTX it writes with the f), and knows no LTO-IR.
std::string as_cuobjdump_writes(const std::string& kind, std::string arch) {
  if (kind == "sass" && arch.back() == 'f') arch.pop_back();
  return arch;
}

Counts in_cuobjdumps_words(const GpuCodeFile& file, bool listed) {
  Counts counts;
  for (const auto& target : file.targets) {
    const auto count = listed ? target.listed : target.count - target.listed;
    if (target.kind != "lto" && count > 0) counts[as_cuobjdump_writes(target.kind, target.arch)] += count;
  }
  for (const auto& stub : file.stub_targets) {
    if (listed) counts[as_cuobjdump_writes(stub.name.starts_with("sm_") ? "sass" : "ptx", stub.name)] += stub.count;
  }
  return counts;
}

Counts all_counts(const GpuCodeFile& file) {
  Counts counts;
  for (const auto& target : file.targets) counts[target.arch] += target.count;
  for (const auto& stub : file.stub_targets) counts["stub:" + stub.name] += stub.count;
  return counts;
}

GpuCodeFile read_file(const std::string& path, bool headers_only = false) {
  const auto system = make_live_system();
  auto file = system->open(path);
  if (!file) {
    ADD_FAILURE() << file.error().message;
    return {};
  }
  GpuCodeOptions options;
  options.headers_only = headers_only;
  auto record = read_gpu_code(**file, options);
  record.path = path;
  return record;
}

GpuCodeFile stream_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  GpuCodeStream stream;
  std::vector<char> buffer(100003);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0)
    stream.feed({buffer.data(), static_cast<std::size_t>(file.gcount())});
  return stream.finish();
}

// ---- code outside of the sections that cuobjdump reads
// ----------------------------------------------------------------------------

struct Hidden {
  std::string containers;           ///< one behind another
  std::vector<std::string> cubins;  ///< outside of containers
};

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The sections that cuobjdump reads.
std::vector<std::pair<std::uint64_t, std::uint64_t>> listed_ranges(const ByteView& view) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> listed;
  const auto names = view.u64(40) + std::uint64_t{view.u16(62)} * 64;
  for (std::uint64_t i = 0; i < view.u16(60); ++i) {
    const auto section = view.u64(40) + i * 64;
    const auto name = view.c_string(view.u64(names + 24) + view.u32(section));
    if (name == ".nv_fatbin" || name == "__nv_relfatbin")
      listed.emplace_back(view.u64(section + 24), view.u64(section + 24) + view.u64(section + 32));
  }
  return listed;
}

std::uint64_t cubin_size(const ByteView& cubin) {
  auto size = std::max(cubin.u64(40) + cubin.u16(60) * 64u, cubin.u64(32) + cubin.u16(56) * 56u);
  for (std::uint64_t i = 0; i < cubin.u16(60); ++i) {
    const auto section = cubin.u64(40) + i * 64;
    if (cubin.u32(section + 4) != 8) size = std::max(size, cubin.u64(section + 24) + cubin.u64(section + 32));
  }
  return size;
}

/// What lies outside of those sections, at any byte, found by a walk of the test's own.
Hidden hidden_code(const std::string& bytes) {
  const ByteView view{bytes};
  const auto listed = listed_ranges(view);
  const auto is_listed = [&](std::uint64_t at) {
    return std::ranges::any_of(listed, [&](const auto& range) { return at >= range.first && at < range.second; });
  };
  const std::string container("\x50\xed\x55\xba\x01\x00\x10\x00", 8), elf("\x7f\x45\x4c\x46\x02\x01\x01");
  Hidden hidden;
  auto next_container = bytes.find(container), next_elf = bytes.find(elf, 1);
  while (next_container != std::string::npos || next_elf != std::string::npos) {
    const auto at = std::min(next_container, next_elf);
    std::uint64_t end = at + 4;
    if (at == next_container && view.u64(at + 8) <= bytes.size() - at - 16) {
      end = at + 16 + view.u64(at + 8);
      if (!is_listed(at)) hidden.containers += bytes.substr(at, end - at);
    } else if (at == next_elf && view.u16(at + 18) == 190) {
      end = at + cubin_size(ByteView{std::string_view(bytes).substr(at)});
      hidden.cubins.push_back(bytes.substr(at, end - at));
    }
    if (next_container < end) next_container = bytes.find(container, end);
    if (next_elf < end) next_elf = bytes.find(elf, end);
  }
  return hidden;
}

/// Those of a file, as files of their own.
Counts hidden_by_cuobjdump(const std::string& path) {
  const auto hidden = hidden_code(slurp(path));
  const auto base = (fs::temp_directory_path() / ("gpuvet-hidden-" + std::to_string(::getpid()))).string();
  Counts counts;
  const auto ask = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(base + name, std::ios::binary) << bytes;
    for (const auto& [target, count] : listed_by_cuobjdump(base + name)) counts[target] += count;
    fs::remove(base + name);
  };
  if (!hidden.containers.empty()) ask(".fatbin", hidden.containers);
  for (const auto& cubin : hidden.cubins) ask(".cubin", cubin);
  return counts;
}

// ---- comparison -------------------------------------------------------------------------------------------------------------

struct Score {
  int files = 0, equal = 0, with_code = 0;
  void print(const std::string& what) const {
    std::cout << "gpu-code fidelity: " << equal << " of " << files << " files equal (" << what << ", " << with_code
              << " with GPU code)\n";
  }
};

bool same(const std::string& path, const std::string& what, const Counts& ours, const Counts& truth) {
  EXPECT_EQ(text_of(ours), text_of(truth)) << path << ": " << what;
  return ours == truth;
}

std::string slurp_head(const std::string& path) {
  std::string head(16, '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), 16);
  return head;
}

/// One file, in every way that gpuvet reads files.
void compare(const std::string& path, Score& score) {
  const auto whole = read_file(path), quick = read_file(path, true), streamed = stream_file(path);
  EXPECT_EQ(whole.state, "") << path << ": " << whole.problem;
  bool equal = same(path, "listed code", in_cuobjdumps_words(whole, true), listed_by_cuobjdump(path));
  equal = same(path, "headers only", in_cuobjdumps_words(quick, true), in_cuobjdumps_words(whole, true)) && equal;
  equal = same(path, "as a stream", all_counts(streamed), all_counts(whole)) && equal;
  const bool elf = slurp_head(path).starts_with(
                       "\x7f"
                       "ELF\x02") &&
                   !path.ends_with(".cubin");
  if (elf) equal = same(path, "hidden code", in_cuobjdumps_words(whole, false), hidden_by_cuobjdump(path)) && equal;
  ++score.files;
  score.equal += equal ? 1 : 0;
  score.with_code += whole.containers > 0 ? 1 : 0;
}

/// Real files below a folder, links left out.
std::vector<std::string> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& wanted) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file() && !it->is_symlink() && wanted(it->path())) found.push_back(it->path().string());
  }
  std::ranges::sort(found);
  return found;
}

bool is_library(const fs::path& path) {
  const auto name = path.filename().string();
  return name.ends_with(".so") || name.find(".so.") != std::string::npos || name.ends_with(".a");
}

// ---- compiled here ------------------------------------------------------------------------------------------------------------

Counts ordered(const std::string& words) {
  Counts counts;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const auto colon = word.rfind(':');
    counts[word.substr(0, colon)] += std::atoll(word.c_str() + colon + 1);
  }
  return counts;
}

/// cuobjdump reads no PTX text and no archive member without code, and refuses a fatbin of LTO-IR alone.
void compare_sample(const fs::path& file, const std::string& expected, Score& score) {
  const auto before = score.equal;
  const auto record = read_file(file.string());
  bool equal = same(file.string(), "as ordered", all_counts(record), ordered(expected));
  if (file.extension() == ".ptx") {
    ++score.files;
    score.equal += equal ? 1 : 0;
    return;
  }
  compare(file.string(), score);
  if (!equal && score.equal > before) --score.equal;
}

void compare_samples(const std::string& nvcc, const std::string& name) {
  if (tools().empty()) GTEST_SKIP() << "no cuobjdump in the cache: run tests/fidelity/fetch_python_wheels.sh";
  if (!fs::exists(nvcc)) GTEST_SKIP() << "no " << nvcc;
  const auto folder = fs::temp_directory_path() / ("gpuvet-gpu-code-" + name + "-" + std::to_string(::getpid()));
  const auto command = std::string(GPU_CODE_SAMPLES) + " '" + nvcc + "' '" + folder.string() + "'" + (full_run() ? " full" : "");
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no host compiler for " << nvcc;
  std::ifstream list(folder / "expected.tsv");
  Score score;
  for (std::string line; std::getline(list, line);) {
    const auto tab = line.find('\t');
    if (fs::exists(folder / line.substr(0, tab))) compare_sample(folder / line.substr(0, tab), line.substr(tab + 1), score);
  }
  score.print("compiled by " + name);
  EXPECT_GT(score.files, 10);
  EXPECT_EQ(score.equal, score.files);
  fs::remove_all(folder);
}

TEST(GpuCodeFidelity, CompiledByCuda13) { compare_samples("/usr/local/cuda/bin/nvcc", "CUDA-13"); }

TEST(GpuCodeFidelity, CompiledByDebiansToolkit) {
  compare_samples((test::cache_folder() / "roots/debian-toolkit/usr/lib/nvidia-cuda-toolkit/bin/nvcc").string(), "CUDA-11.8");
}

// ---- vendors' files
// -------------------------------------------------------------------------------------------------------------

void compare_all(const std::vector<std::string>& files, const std::string& what) {
  Score score;
  for (const auto& file : files) compare(file, score);
  score.print(what);
  EXPECT_EQ(score.equal, score.files);
}

TEST(GpuCodeFidelity, LibrariesOfThisToolkit) {
  if (tools().empty()) GTEST_SKIP() << "no cuobjdump in the cache: run tests/fidelity/fetch_python_wheels.sh";
  auto files = files_below("/usr/local/cuda/lib/", is_library);
  if (files.empty()) GTEST_SKIP() << "no libraries in /usr/local/cuda/lib";
  // By default the small ones: cuobjdump needs seconds for the others.
  if (!full_run()) std::erase_if(files, [](const std::string& file) { return fs::file_size(file) > (std::uintmax_t{60} << 20); });
  compare_all(files, "CUDA libraries");
}

/// Wheels are unpacked by Python's own zipfile beside themselves, once.
std::vector<std::string> unpacked_wheels(const fs::path& folder, std::uintmax_t largest) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".whl" || entry.file_size() > largest) continue;
    const auto to = test::cache_folder() / "wheels/unpacked" / entry.path().stem();
    if (!fs::exists(to)) {
      const auto command = "python3 -m zipfile -e '" + entry.path().string() + "' '" + to.string() + "'";
      if (std::system(command.c_str()) != 0) ADD_FAILURE() << command;
    }
    const auto found = files_below(to, is_library);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

TEST(GpuCodeFidelity, Wheels) {
  if (tools().empty()) GTEST_SKIP() << "no cuobjdump in the cache: run tests/fidelity/fetch_python_wheels.sh";
  const auto largest = full_run() ? std::uintmax_t{1} << 40 : std::uintmax_t{8} << 20;
  std::vector<std::string> files;
  for (const char* folder : {"wheels/gpu-code", "wheels/small", "wheels/large"}) {
    const auto found = unpacked_wheels(test::cache_folder() / folder, largest);
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty()) GTEST_SKIP() << "no wheels in the cache: run tests/fidelity/fetch_python_wheels.sh";
  compare_all(files, "wheels");
}

}  // namespace
}  // namespace gpuvet
