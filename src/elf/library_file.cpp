// One shared library → LibraryFile, by positioned reads: a libcuda has 20 to 90 MB and is never read as a whole unless its
// driver version hides in the middle.

#include <algorithm>
#include <array>

#include "elf/cut_off.h"
#include "elf/driver_version.h"
#include "elf/dynamic.h"
#include "elf/elf.h"
#include "elf/loader_error.h"
#include "elf/notes.h"
#include "elf/window_reader.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

// Symbols that tell what a driver library can do, and those that a loader of it asks for.
constexpr std::array driver_symbols{"cuInit"sv,
                                    "cuDriverGetVersion"sv,
                                    "cuGetProcAddress"sv,
                                    "cuGetProcAddress_v2"sv,
                                    "cuLibraryLoadData"sv,
                                    "cuLaunchKernelEx"sv,
                                    "cuCtxCreate_v4"sv,
                                    "cuGreenCtxCreate"sv,
                                    "cuMemCreate"sv,
                                    "cuTensorMapEncodeTiled"sv,
                                    "nvmlInit_v2"sv,
                                    "nvmlInit"sv};

bool is_cuda(std::string_view soname) { return soname.starts_with("libcuda.so"); }
bool is_nvml(std::string_view soname) { return soname.starts_with("libnvidia-ml.so"); }
bool is_driver_library(std::string_view soname) {
  return is_cuda(soname) || soname.starts_with("libnvidia-") || soname.starts_with("libcudadebugger.so") ||
         soname.starts_with("libnvcuvid.so");
}

/// Does the code at a function do nothing but return this number? x86: mov eax, N … ret; AArch64: mov w0, #N; POWER: li r3, N.
bool returns_constant(const ElfFile& elf, std::uint64_t address, std::uint32_t number) {
  const auto bytes = elf.read(elf.offset_of(address), 16);
  const auto code = bytes.text();
  const auto v = elf.header.view(code);
  switch (elf.header.machine) {
    case 3:
    case 62: {
      const std::string move{'\xb8', static_cast<char>(number), 0, 0, 0};
      const auto at = code.find(move);
      if (at == std::string_view::npos) return false;
      // Nothing but frame keeping (endbr64, push rbp, pop rbp, leave) may stand around it.
      const auto end = code.find('\xc3', at + move.size());
      return end != std::string_view::npos && end - at - move.size() <= 1;
    }
    case 183: {
      for (const std::uint64_t at : {0, 4})
        if (v.u32(at) == (0x52800000u | number << 5) && v.u32(at + 4) == 0xd65f03c0u) return true;
      return false;
    }
    case 21:
      return v.u32(0) == (0x38600000u | number);
    default:
      return false;
  }
}

/// Does a function of the library only return this number?
bool only_returns(const ElfFile& elf, const DynamicSection& dynamic, std::string_view function, std::uint32_t number) {
  const auto address = find_symbol(elf, dynamic, function);
  return address && returns_constant(elf, *address, number);
}

/// A library that needs no other, not even the C library, and carries no driver version does nothing.
bool is_hollow(const LibraryFile& library) { return library.needed.empty() && !library.driver_version.is_known(); }

/// The toolkit's libnvidia-ml carries a warning that it is a stub, or (no text) only returns DRIVER_NOT_LOADED (9). A real one
/// has its version inside.
bool is_nvml_stub(const ElfFile& elf, const DynamicSection& dynamic) {
  constexpr std::uint64_t largest_stub = std::uint64_t{512} << 10;
  if (elf.file.size() > largest_stub) return false;
  if (const auto section = find_section(elf.file, elf.header, ".rodata")) {
    const auto text = elf.read(section->offset, static_cast<std::size_t>(std::min(section->size, largest_stub)));
    if (text.text().find("is a stub library"sv) != std::string_view::npos) return true;
  }
  return only_returns(elf, dynamic, "nvmlInit_v2", 9);
}

void fill_driver_facts(const ElfFile& elf, const DynamicSection& dynamic, LibraryFile& library) {
  const auto& soname = library.soname;
  for (const auto symbol : driver_symbols)
    if ((symbol.starts_with("cu") ? is_cuda(soname) : is_nvml(soname)) && find_symbol(elf, dynamic, symbol))
      library.symbols.emplace_back(symbol);
  // The toolkit's libcuda answers every call with CUDA_ERROR_STUB_LIBRARY (34); a driver's cuInit never does only that.
  // Measured on the stubs of CUDA 11.8 and 13.0.
  if (is_cuda(soname) && only_returns(elf, dynamic, "cuInit", 34)) library.stub = true;
  if (!library.stub) library.driver_version = find_driver_version(elf, is_cuda(soname) || is_nvml(soname));
  const bool has_entry = is_cuda(soname) ? find_symbol(elf, dynamic, "cuInit").has_value() : is_nvml(soname);
  if (has_entry && is_hollow(library)) library.stub = true;
  if (is_nvml(soname) && !library.driver_version.is_known() && is_nvml_stub(elf, dynamic)) library.stub = true;
  // What is not there speaks for nothing.
  if (library.whole_size != 0) library.stub = false;
  if (library.stub) library.driver_version = Fact<std::string>::absent();
}

/// The string of PT_INTERP.
std::string interpreter(const ElfFile& elf) {
  constexpr std::uint32_t segment_interpreter = 3;
  constexpr std::uint64_t max_path = 4096;
  for (const auto& segment : elf.segments) {
    if (segment.type != segment_interpreter) continue;
    const auto bytes = elf.read(segment.offset, static_cast<std::size_t>(std::min(segment.file_size, max_path)));
    const auto text = bytes.text();
    return std::string(text.substr(0, text.find('\0')));
  }
  return {};
}

/// libc.so.6 is a library and has an interpreter as well: it can be run.
std::string type_of(const ElfFile& elf, const LibraryFile& library) {
  constexpr std::int64_t flag_pie = 0x08000000;
  switch (elf.header.type) {
    case 1:
      return "object";
    case 2:
      return "program";
    case 3:
      return (library.flags_1 & flag_pie) != 0 || (!library.interpreter.empty() && library.soname.empty()) ? "program" : "shared";
    case 4:
      return "core";
    default:
      return "";
  }
}

void fill_dynamic_facts(const ElfFile& elf, const DynamicSection& dynamic, LibraryFile& library) {
  const auto text = [&](std::optional<std::uint64_t> offset) {
    return offset ? dynamic_string(elf, dynamic, *offset) : std::string{};
  };
  library.dynamic = true;
  library.soname = text(dynamic.soname);
  library.rpath = text(dynamic.rpath);
  library.runpath = text(dynamic.runpath);
  library.has_runpath = dynamic.runpath.has_value();
  for (const auto offset : dynamic.filters) library.filters.push_back(text(offset));
  for (const auto offset : dynamic.auxiliaries) library.filters.push_back(text(offset) + " (optional)");
  library.flags = static_cast<std::int64_t>(dynamic.flags);
  library.flags_1 = static_cast<std::int64_t>(dynamic.flags_1);
  for (const auto offset : dynamic.needed) library.needed.push_back(text(offset));
  library.version_definitions = read_version_definitions(elf, dynamic);
  library.version_needs = read_version_needs(elf, dynamic);
}

/// What stands in the program headers and where they lead.
void fill_facts(const ElfFile& elf, LibraryFile& library) {
  library.elf_class = elf.header.wide ? "64" : "32";
  library.whole_size = static_cast<std::int64_t>(whole_size_if_cut(elf));
  library.machine = elf_machine_name(elf.header.machine);
  constexpr std::uint16_t type_core = 4;
  const auto dynamic = elf.header.type == type_core ? std::nullopt : read_dynamic_section(elf);
  if (dynamic) fill_dynamic_facts(elf, *dynamic, library);
  library.interpreter = interpreter(elf);
  library.type = type_of(elf, library);
  if (library.loader_error.empty()) library.loader_error = segment_loader_error(elf, static_cast<std::uint64_t>(library.flags_1));
  if (elf.header.type == type_core) return;
  auto notes = read_notes(elf);
  library.build_id = std::move(notes.build_id);
  library.isa_needed = notes.isa_needed;
  if (dynamic && is_driver_library(library.soname)) fill_driver_facts(elf, *dynamic, library);
}

}  // namespace

LibraryFile read_library_file(FileReader& file) {
  LibraryFile library;
  library.size = static_cast<std::int64_t>(file.size());
  WindowReader windows(file);
  const auto first = windows.read_at(0, 64);
  if (!first) {
    library.state = "unreadable";
    return library;
  }
  library.loader_error = header_loader_error(*first);
  const auto header = parse_elf_header(*first);
  library.state = file.size() == 0 ? "empty" : header ? "elf" : "not-elf";
  if (header) fill_facts({windows, *header, read_segments(windows, *header)}, library);
  return library;
}

}  // namespace gpuvet
