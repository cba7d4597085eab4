#include "elf/static_cuda_runtime.h"

#include <algorithm>
#include <functional>
#include <set>

#include "elf/bytes.h"
#include "elf/dynamic.h"
#include "elf/read_only_data.h"
#include "elf/window_reader.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr std::uint64_t max_searched = std::uint64_t{512} << 20;
/// Every runtime has the text of cudaErrorInsufficientDriver.
constexpr auto runtime_text = "CUDA driver version is insufficient for CUDA runtime version"sv;

// cudaRuntimeGetVersion ends in:  test rdi,rdi; je +n; mov dword [rdi],VERSION; xor eax,eax; ret. Seen in the static runtimes of
// 11.0, 11.8, 12.0 to 12.9 and 13.0 to 13.5: libcudart_static.a, and the copies inside cuBLAS, cuDNN, NCCL, CuPy, ctranslate2.
constexpr auto before_jump = "\x48\x85\xff\x74"sv, store = "\xc7\x07"sv, behind_number = "\x31\xc0\xc3"sv;
constexpr std::size_t jump_size = 5, function_size = 14;

/// 13000 → "13.0"; empty: no CUDA release. libcufft's 10900 and NCCL's 22105 are none.
std::string as_release(std::uint32_t number) {
  const std::uint32_t major = number / 1000, rest = number % 1000;
  if (major < 9 || major > 19 || rest % 10 != 0 || rest / 10 > 19) return {};
  return std::to_string(major) + "." + std::to_string(rest / 10);
}

void collect_releases(std::string_view code, std::set<std::string>& releases) {
  const ByteView v{code};
  for (auto at = code.find(store); at != std::string_view::npos; at = code.find(store, at + 1)) {
    if (at < jump_size || at - jump_size + function_size > code.size()) continue;
    if (code.substr(at - jump_size, before_jump.size()) != before_jump || code.substr(at + 6, 3) != behind_number) continue;
    if (auto release = as_release(v.u32(at + 2)); !release.empty()) releases.insert(std::move(release));
  }
}

/// Hands a range over in pieces, each with the end of the one before in front; until `take` has enough.
void in_pieces(const ElfFile& elf, FileRange range, std::uint64_t& left, std::size_t overlap,
               const std::function<bool(std::string_view)>& take) {
  std::string bytes;
  for (std::uint64_t at = 0; at < range.size && left > 0;) {
    bytes.erase(0, bytes.size() - std::min(bytes.size(), overlap));
    const auto count = append_read(elf.file, range.offset + at,
                                   static_cast<std::size_t>(std::min({std::uint64_t{piece}, range.size - at, left})), bytes);
    if (count == 0 || take(bytes)) return;
    at += count;
    left -= count;
  }
}

bool has_runtime(const ElfFile& elf, std::uint64_t& left) {
  bool found = false;
  for (const FileRange range : read_only_data(elf)) {
    if (found) break;
    in_pieces(elf, range, left, runtime_text.size(),
              [&](std::string_view bytes) { return found = bytes.find(runtime_text) != std::string_view::npos; });
  }
  return found;
}

}  // namespace

std::string releases_handed_out(std::string_view code) {
  std::set<std::string> releases;
  collect_releases(code, releases);
  std::string text;
  for (const std::string& release : releases) text += (text.empty() ? "" : " ") + release;
  return text;
}

Fact<std::string> read_static_cuda_runtime(FileReader& file) {
  using Release = Fact<std::string>;
  constexpr std::uint32_t segment_load = 1, flag_execute = 1;
  WindowReader windows(file);
  const auto header = read_elf_header(windows);
  if (!header) return Release::not_seen("no ELF file");
  const ElfFile elf{file, *header, read_segments(windows, *header)};
  auto left = max_searched;
  if (!has_runtime(elf, left)) return left == 0 ? Release::not_seen("the file is too big") : Release::absent();
  std::set<std::string> releases;
  for (const auto& s : elf.segments) {
    if (s.type != segment_load || (s.flags & flag_execute) == 0) continue;
    in_pieces(elf, {s.offset, s.file_size}, left, function_size, [&](std::string_view bytes) {
      collect_releases(bytes, releases);
      return releases.size() > 1;
    });
  }
  if (releases.size() == 1 && left > 0) return Release::known(*releases.begin());
  return Release::not_seen(releases.empty() ? "its code names no release" : "its code names several releases");
}

}  // namespace gpuvet
