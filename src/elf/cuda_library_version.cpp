#include "elf/cuda_library_version.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>

#include "elf/dynamic.h"
#include "elf/symbol_table.h"
#include "elf/window_reader.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_function = 4096;
constexpr std::size_t max_called = 64;
constexpr std::size_t max_symbols = 20000;

/// How a library writes its version as one number.
enum class Form : std::uint8_t {
  Cuda,       ///< 12040: 12.4
  Dotted,     ///< 11201: 11.2.1, or 120405: 12.4.5
  TwoNumbers  ///< major and minor, stored through the first and the second argument
};

struct VersionFunction {
  std::string_view soname;    ///< start of the library's soname
  std::string_view function;  ///< what returns or compares the version
  Form form;
};

// Seen in the libraries of CUDA 11.8, 12.1, 12.4 and 13.0, cuDNN 8.9, 9.1 and 9.19, NCCL 2.21 and 2.28.
constexpr std::array functions{VersionFunction{"libcudart.so", "cudaRuntimeGetVersion", Form::Cuda},
                               VersionFunction{"libcublasLt.so", "cublasLtGetVersion", Form::Dotted},
                               VersionFunction{"libcublas.so", "cublasGetVersion_v2", Form::Dotted},
                               VersionFunction{"libcudnn.so", "cudnnGetVersion", Form::Dotted},
                               VersionFunction{"libcudnn_graph.so", "cudnnGetVersion", Form::Dotted},
                               VersionFunction{"libcudnn_ops.so", "cudnnOpsVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_cnn.so", "cudnnCnnVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_adv.so", "cudnnAdvVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_ops_infer.so", "cudnnOpsInferVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_ops_train.so", "cudnnOpsTrainVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_cnn_infer.so", "cudnnCnnInferVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_cnn_train.so", "cudnnCnnTrainVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_adv_infer.so", "cudnnAdvInferVersionCheck", Form::Dotted},
                               VersionFunction{"libcudnn_adv_train.so", "cudnnAdvTrainVersionCheck", Form::Dotted},
                               VersionFunction{"libnccl.so", "ncclGetVersion", Form::Dotted},
                               VersionFunction{"libcusparse.so", "cusparseGetVersion", Form::Dotted},
                               VersionFunction{"libcusolver.so", "cusolverGetVersion", Form::Dotted},
                               VersionFunction{"libcufft.so", "cufftGetVersion", Form::Dotted},
                               VersionFunction{"libcurand.so", "curandGetVersion", Form::Dotted},
                               VersionFunction{"libnvrtc.so", "nvrtcVersion", Form::TwoNumbers},
                               VersionFunction{"libnvrtc.alt.so", "nvrtcVersion", Form::TwoNumbers},
                               VersionFunction{"libnvJitLink.so", "nvJitLinkVersion", Form::TwoNumbers}};

bool digit(char c) { return c >= '0' && c <= '9'; }

/// The number at the front of `text`, taken away from it; nothing where there is none of at most six digits.
std::optional<unsigned> take_number(std::string_view& text) {
  unsigned value = 0;
  std::size_t width = 0;
  while (width < text.size() && width < 7 && digit(text[width])) value = value * 10 + static_cast<unsigned>(text[width++] - '0');
  if (width == 0 || width == 7) return std::nullopt;
  text.remove_prefix(width);
  return value;
}

/// "12" of "libcublasLt.so.12", "11" of "libcudart.so.11.0".
std::optional<unsigned> major_of_soname(std::string_view soname) {
  const auto at = soname.find(".so."sv);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = soname.substr(at + 4);
  return take_number(rest);
}

std::string dotted(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

/// A number read as the version of a library of this major; empty where it is none.
std::string as_version(std::uint32_t number, Form form, unsigned major) {
  if (form == Form::Cuda) {
    const auto minor = number % 1000 / 10;
    return number / 1000 == major && number % 10 == 0 && minor < 20 ? dotted(major, minor) : std::string{};
  }
  for (const unsigned unit : {10000u, 1000u}) {
    const std::uint64_t start = std::uint64_t{major} * unit;
    if (number < start || number - start >= 3000) continue;
    const auto rest = static_cast<unsigned>(number - start);
    return dotted(major, rest / 100) + "." + std::to_string(rest % 100);
  }
  return {};
}

// ---- x86-64 ----------------------------------------------------------------------------------------------------------

/// Bytes between the opcode C7 and its immediate: ModRM and what it asks for; 0 where it is no move.
unsigned store_operand_size(unsigned modrm) {
  if ((modrm >> 3 & 7) != 0) return 0;
  const auto mode = modrm >> 6, base = modrm & 7;
  const unsigned with_sib = base == 4 ? 2 : 1;
  if (mode == 0) return base == 5 ? 5 : with_sib;
  return mode == 1 ? with_sib + 1 : mode == 2 ? with_sib + 4 : 1;
}

void x86_constants(const ByteView& v, std::vector<std::uint32_t>& found) {
  for (std::uint64_t at = 0; at < v.bytes.size(); ++at) {
    const auto opcode = v.u8(at);
    std::uint64_t number = 0;
    if (opcode >= 0xb8 && opcode <= 0xbf)
      number = at + 1;
    else if (opcode == 0xc7)
      if (const auto operand = store_operand_size(v.u8(at + 1))) number = at + 1 + operand;
    if (number != 0 && v.has(number, 4)) found.push_back(v.u32(number));
  }
}

/// `mov dword [rdi], A` and `mov dword [rsi], B`.
std::optional<std::string> x86_two_numbers(std::string_view code) {
  const auto stored = [&](std::string_view move) -> std::optional<std::uint32_t> {
    const auto at = code.find(move);
    if (at == std::string_view::npos || at + 6 > code.size()) return std::nullopt;
    return ByteView{code}.u32(at + 2);
  };
  const auto major = stored("\xc7\x07"sv), minor = stored("\xc7\x06"sv);
  if (!major || !minor || *major < 7 || *major > 99 || *minor > 99) return std::nullopt;
  return dotted(*major, *minor);
}

// ---- AArch64 ---------------------------------------------------------------------------------------------------------

/// Follows constants through registers: MOVZ, the MOVKs that complete it, and STR to [x0] and [x1].
struct Arm {
  std::array<std::uint32_t, 32> registers{};
  std::array<std::size_t, 32> position{};  ///< of a register's number among `moved`, one more than its index
  std::array<std::optional<std::uint32_t>, 2> stored;
  std::vector<std::uint32_t> moved;

  void begin(std::uint32_t to, std::uint32_t number) {
    registers[to] = number;
    moved.push_back(number);
    position[to] = moved.size();
  }
  void complete(std::uint32_t to, std::uint32_t number) {
    if (position[to] == 0) return;
    registers[to] = moved[position[to] - 1] = number;
  }

  void step(std::uint32_t instruction) {
    const auto to = instruction & 31, immediate = instruction >> 5 & 0xffff;
    switch (instruction & 0x7fe00000) {  // either width
      case 0x52800000:
        return begin(to, immediate);
      case 0x52a00000:
        return begin(to, immediate << 16);
      case 0x72800000:
        return complete(to, (registers[to] & 0xffff0000) | immediate);
      case 0x72a00000:
        return complete(to, (registers[to] & 0xffff) | immediate << 16);
      case 0x72c00000:
      case 0x72e00000:  // longer than a version number
        return complete(to, 0);
      default:
        break;
    }
    const auto base = instruction >> 5 & 31;
    if ((instruction & 0xfffffc00) == 0xb9000000 && base < 2) stored[base] = to == 31 ? 0 : registers[to];
  }
};

Arm run_arm(const ByteView& v) {
  Arm arm;
  for (std::uint64_t at = 0; v.has(at, 4); at += 4) arm.step(v.u32(at));
  return arm;
}

std::optional<std::string> two_numbers(std::string_view code, std::string_view machine) {
  if (machine == "x86_64") return x86_two_numbers(code);
  if (machine != "aarch64") return std::nullopt;
  const auto arm = run_arm({code});
  if (!arm.stored[0] || !arm.stored[1] || *arm.stored[0] < 7 || *arm.stored[0] > 99 || *arm.stored[1] > 99) return std::nullopt;
  return dotted(*arm.stored[0], *arm.stored[1]);
}

// ---- the functions ---------------------------------------------------------------------------------------------------

/// Addresses of functions that a piece of code calls directly, or leaves for.
std::vector<std::uint64_t> called(std::string_view code, std::uint64_t address, std::string_view machine) {
  std::vector<std::uint64_t> addresses;
  const ByteView v{code};
  if (machine == "x86_64") {
    for (std::uint64_t at = 0; v.has(at, 5); ++at)
      if (v.u8(at) == 0xe8 || v.u8(at) == 0xe9)
        addresses.push_back(address + at + 5 + static_cast<std::uint64_t>(static_cast<std::int32_t>(v.u32(at + 1))));
  } else {
    for (std::uint64_t at = 0; v.has(at, 4); at += 4) {
      if ((v.u32(at) & 0x7c000000) != 0x14000000) continue;  // B, BL: 26 bits, in words
      const auto words = static_cast<std::int32_t>(v.u32(at) << 6) >> 6;
      addresses.push_back(address + at + static_cast<std::uint64_t>(std::int64_t{words} * 4));
    }
  }
  addresses.resize(std::min(addresses.size(), max_called));
  return addresses;
}

/// The code of a short function: up to its first return.
std::string short_function(const ElfFile& elf, std::uint64_t address, std::string_view machine) {
  const auto offset = elf.offset_of(address);
  const auto bytes = offset != 0 ? elf.read(offset, 48) : FilePiece();
  const auto code = bytes.text();
  return std::string(code.substr(0, machine == "x86_64" ? code.find('\xc3') : code.find("\xc0\x03\x5f\xd6"sv)));
}

std::set<std::string> versions_in(std::string_view code, const LibraryFile& library, Form form, unsigned major) {
  std::set<std::string> versions;
  for (const auto number : constants_in_code(code, library.machine))
    if (auto version = as_version(number, form, major); !version.empty()) versions.insert(std::move(version));
  return versions;
}

Fact<std::string> version_by_function(const ElfFile& elf, const DynamicSection& dynamic, const LibraryFile& library,
                                      const VersionFunction& source) {
  using Version = Fact<std::string>;
  const auto place = find_symbol_place(elf, dynamic, source.function);
  const auto major = major_of_soname(library.soname);
  if (!place || !major) return Version::not_seen("it has no " + std::string(source.function));
  const auto size = place->size == 0 ? 256 : static_cast<std::size_t>(std::min<std::uint64_t>(place->size, max_function));
  const auto bytes = elf.read(elf.offset_of(place->address), size);
  const auto code = bytes.text();
  if (source.form == Form::TwoNumbers) {
    if (auto version = two_numbers(code, library.machine)) return Version::known(std::move(*version));
    return Version::not_seen("its version function is of an unknown form");
  }
  auto versions = versions_in(code, library, source.form, *major);
  // CUDA's own libraries measure the call for profilers and leave the work to an inner function.
  if (versions.empty())
    for (const auto address : called(code, place->address, library.machine))
      versions.merge(versions_in(short_function(elf, address, library.machine), library, source.form, *major));
  if (versions.size() == 1) return Version::known(*versions.begin());
  return Version::not_seen(versions.empty() ? "its version function names none" : "its version function names several");
}

/// Exported names with a release in them: "__nvJitLinkComplete_12_4", "__nvrtc_builtins__13_0_getBuiltinHeader". The newest.
std::string release_in_names(const SymbolTable& table, std::string_view prefix) {
  std::pair<unsigned, unsigned> newest{0, 0};
  for (const auto& symbol : table.symbols) {
    if (!symbol.defined || !symbol.name.starts_with(prefix)) continue;
    auto rest = symbol.name.substr(prefix.size());
    const auto major = take_number(rest);
    if (!major || !rest.starts_with('_')) continue;
    rest.remove_prefix(1);
    if (const auto minor = take_number(rest)) newest = std::max(newest, {*major, *minor});
  }
  return newest.first == 0 ? std::string{} : dotted(newest.first, newest.second);
}

/// Empty: the library is none of those, or exports no such name.
std::string version_by_names(FileReader& file, const LibraryFile& library) {
  const bool linker = library.soname.starts_with("libnvJitLink.so"), builtins = library.soname.starts_with("libnvrtc-builtins");
  if (!linker && !builtins) return {};
  const auto table = read_symbol_table(file, max_symbols);
  return table ? release_in_names(*table, linker ? "__nvJitLinkComplete_" : "__nvrtc_builtins__") : std::string{};
}

}  // namespace

std::vector<std::uint32_t> constants_in_code(std::string_view code, std::string_view machine) {
  std::vector<std::uint32_t> found;
  if (machine == "x86_64")
    x86_constants({code}, found);
  else if (machine == "aarch64")
    found = run_arm({code}).moved;
  return found;
}

Fact<std::string> read_cuda_library_version(FileReader& file, const LibraryFile& library) {
  using Version = Fact<std::string>;
  if (library.state != "elf" || !library.dynamic) return Version::not_seen("no library");
  WindowReader windows(file);
  if (auto version = version_by_names(windows, library); !version.empty()) return Version::known(std::move(version));
  for (const auto& source : functions) {
    if (!library.soname.starts_with(source.soname)) continue;
    const auto header = read_elf_header(windows);
    if (!header) break;
    const ElfFile elf{windows, *header, read_segments(windows, *header)};
    const auto dynamic = read_dynamic_section(elf);
    return dynamic ? version_by_function(elf, *dynamic, library, source) : Version::not_seen("no dynamic section");
  }
  return Version::not_seen("no library whose version functions are known");
}

std::string newest_version_needed(const std::vector<std::string>& version_needs, std::string_view series) {
  std::vector<unsigned> newest;
  std::string text;
  for (const auto& need : version_needs) {
    const auto colon = need.rfind(':');
    if (colon == std::string::npos || need.ends_with(" (weak)")) continue;
    auto version = std::string_view(need).substr(colon + 1);
    if (!version.starts_with(series)) continue;
    version.remove_prefix(series.size());
    const auto name = version;
    std::vector<unsigned> numbers;
    for (auto number = take_number(version); number; number = take_number(version)) {
      numbers.push_back(*number);
      if (!version.starts_with('.')) break;
      version.remove_prefix(1);
    }
    if (!version.empty() || numbers <= newest) continue;
    newest = std::move(numbers);
    text = name;
  }
  return text;
}

}  // namespace gpuvet
