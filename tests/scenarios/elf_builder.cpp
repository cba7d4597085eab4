#include "elf_builder.h"

#include "elf/symbol_hash.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "../support/module_signature.h"
#include "../unit/elf/small_fatbin.h"

namespace gpuvet::test {
namespace {

/// Appends little-endian integers; all built files are little-endian.
struct Bytes {
  std::string data;
  void u16(std::uint64_t v) { integer(v, 2); }
  void u32(std::uint64_t v) { integer(v, 4); }
  void u64(std::uint64_t v) { integer(v, 8); }
  void integer(std::uint64_t v, int count) {
    for (int i = 0; i < count; ++i) data.push_back(static_cast<char>(v >> (8 * i)));
  }
  void pad_to(std::size_t size) { data.resize(size, '\0'); }
};

std::uint64_t aligned(std::uint64_t offset) { return (offset + 15) & ~std::uint64_t{15}; }

std::uint16_t machine_number(std::string_view machine) {
  if (machine == "aarch64") return 183;
  if (machine == "i386") return 3;
  return 62;
}

struct Section {
  std::string name;
  std::uint32_t type = 1;
  std::uint64_t flags = 2;
  std::string content;
  std::uint32_t link = 0, info = 0;
  std::uint64_t entry_size = 0;
  std::uint64_t offset = 0;
};

/// Sizes and field widths that differ between the classes.
struct Layout {
  bool wide;
  std::size_t header() const { return wide ? 64 : 52; }
  std::size_t program() const { return wide ? 56 : 32; }
  std::size_t section() const { return wide ? 64 : 40; }
  void word(Bytes& out, std::uint64_t v) const { out.integer(v, wide ? 8 : 4); }
};

struct Program {
  std::uint32_t type, flags;
  std::uint64_t offset, size, align;
};

void write_header(Bytes& out, const Layout& layout, std::uint16_t type, std::uint16_t machine, std::size_t programs,
                  std::uint64_t section_offset, std::size_t sections) {
  out.data = std::string("\x7f" "ELF", 4);
  out.data.push_back(layout.wide ? 2 : 1);
  out.data.push_back(1);
  out.data.push_back(1);
  out.pad_to(16);
  out.u16(type);
  out.u16(machine);
  out.u32(1);
  layout.word(out, 0);
  layout.word(out, programs != 0 ? layout.header() : 0);
  layout.word(out, section_offset);
  out.u32(0);
  out.u16(layout.header());
  out.u16(layout.program());
  out.u16(programs);
  out.u16(layout.section());
  out.u16(sections);
  out.u16(sections - 1);
}

void write_program(Bytes& out, const Layout& layout, const Program& p) {
  out.u32(p.type);
  if (layout.wide) out.u32(p.flags);
  layout.word(out, p.offset);
  layout.word(out, p.offset);
  layout.word(out, p.offset);
  layout.word(out, p.size);
  layout.word(out, p.size);
  if (!layout.wide) out.u32(p.flags);
  layout.word(out, p.align);
}

void write_section(Bytes& out, const Layout& layout, const Section& s, std::uint32_t name_offset) {
  out.u32(name_offset);
  out.u32(s.type);
  layout.word(out, s.flags);
  layout.word(out, (s.flags & 2) != 0 ? s.offset : 0);
  layout.word(out, s.offset);
  layout.word(out, s.content.size());
  out.u32(s.link);
  out.u32(s.info);
  layout.word(out, 16);
  layout.word(out, s.entry_size);
}

/// PT_LOAD, PT_DYNAMIC and, of a program, PT_INTERP.
std::size_t program_count(const std::vector<Section>& sections) {
  for (const Section& s : sections)
    if (s.name == ".interp") return 3;
  return 2;
}

/// Lays sections out one after the other and writes the file. Section 0 must be the null section.
std::string assemble(const Layout& layout, std::uint16_t type, std::uint16_t machine, std::vector<Section>& sections, bool dynamic) {
  Section names{".shstrtab", 3, 0, std::string(1, '\0')};
  std::vector<std::uint32_t> name_offsets;
  sections.push_back(names);
  for (const Section& s : sections) {
    name_offsets.push_back(s.name.empty() ? 0 : static_cast<std::uint32_t>(sections.back().content.size()));
    if (!s.name.empty()) {
      const std::string name = s.name + '\0';
      sections.back().content += name;
    }
  }
  const std::size_t programs = dynamic ? program_count(sections) : 0;
  std::uint64_t offset = aligned(layout.header() + programs * layout.program());
  for (std::size_t i = 1; i < sections.size(); ++i) {
    sections[i].offset = offset;
    offset = aligned(offset + sections[i].content.size());
  }
  Bytes out;
  write_header(out, layout, type, machine, programs, offset, sections.size());
  if (dynamic) {
    write_program(out, layout, {1, 5, 0, offset, 0x1000});
    for (const Section& s : sections) {
      if (s.type == 6) write_program(out, layout, {2, 6, s.offset, s.content.size(), 8});
      if (s.name == ".interp") write_program(out, layout, {3, 4, s.offset, s.content.size(), 1});
    }
  }
  for (std::size_t i = 1; i < sections.size(); ++i) {
    out.pad_to(sections[i].offset);
    out.data += sections[i].content;
  }
  out.pad_to(offset);
  for (std::size_t i = 0; i < sections.size(); ++i) write_section(out, layout, sections[i], name_offsets[i]);
  return out.data;
}

std::uint32_t add_string(std::string& table, std::string_view text) {
  const auto offset = static_cast<std::uint32_t>(table.size());
  table.append(text);
  table.push_back('\0');
  return offset;
}

struct TableSymbol {
  std::uint32_t name = 0;
  bool defined = true;
  std::uint64_t address = 0x100, size = 4;
};

std::string symbol_table(const Layout& layout, const std::vector<TableSymbol>& symbols) {
  Bytes out;
  out.pad_to(layout.wide ? 24 : 16);
  for (const TableSymbol& symbol : symbols) {
    const std::uint64_t address = symbol.defined ? symbol.address : 0, size = symbol.defined ? symbol.size : 0;
    out.u32(symbol.name);
    if (!layout.wide) out.u32(address), out.u32(size);
    out.data.push_back(0x12);  // STB_GLOBAL, STT_FUNC
    out.data.push_back(0);
    out.u16(symbol.defined ? 1 : 0);
    if (layout.wide) out.u64(address), out.u64(size);
  }
  return out.data;
}

/// .gnu.version_d: the file itself, then each version.
std::string version_definitions(const std::vector<std::uint32_t>& names, const std::vector<std::string>& texts) {
  Bytes out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.u16(1), out.u16(i == 0 ? 1 : 0), out.u16(i + 1), out.u16(1);
    out.u32(sysv_symbol_hash(texts[i])), out.u32(20), out.u32(i + 1 < names.size() ? 28 : 0);
    out.u32(names[i]), out.u32(0);
  }
  return out.data;
}

struct NeededVersion {
  std::uint32_t file, name;
  std::string text;
};

/// .gnu.version_r: one record a version, though linkers join those of a file.
std::string version_needs(const std::vector<NeededVersion>& needs) {
  Bytes out;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    out.u16(1), out.u16(1), out.u32(needs[i].file), out.u32(16), out.u32(i + 1 < needs.size() ? 32 : 0);
    out.u32(sysv_symbol_hash(needs[i].text)), out.u16(0), out.u16(i + 2), out.u32(needs[i].name), out.u32(0);
  }
  return out.data;
}

/// DT_HASH with one bucket: it tells a reader how many symbols there are.
std::string hash_table(std::size_t symbols) {
  Bytes out;
  out.u32(1);
  out.u32(symbols + 1);
  out.u32(symbols != 0 ? 1 : 0);
  for (std::size_t i = 0; i <= symbols; ++i) out.u32(i == 0 || i == symbols ? 0 : i + 1);
  return out.data;
}

}  // namespace

std::string build_shared_library(const SharedLibrarySpec& spec) {
  const Layout layout{spec.elf_class == 64};
  std::string strings(1, '\0'), text;
  const auto name_all = [&](const std::vector<std::string>& names) {
    std::vector<std::uint32_t> offsets;
    for (const auto& name : names) offsets.push_back(add_string(strings, name));
    return offsets;
  };
  const auto needed = name_all(spec.needed);
  const std::uint32_t soname = add_string(strings, spec.soname), rpath = add_string(strings, spec.rpath), runpath = add_string(strings, spec.runpath);
  std::vector<TableSymbol> symbols;
  for (const auto& name : spec.imports) symbols.push_back({add_string(strings, name), false, 0, 0});
  for (const auto& name : spec.symbols) symbols.push_back({add_string(strings, name), true, 0x100, 4});
  const std::size_t first_function = symbols.size();
  for (const auto& [name, code] : spec.functions) {
    symbols.push_back({add_string(strings, name), true, text.size(), code.size()});
    text += code;
  }
  std::vector<std::string> defined;
  if (!spec.version_definitions.empty()) defined.push_back(spec.soname);
  defined.insert(defined.end(), spec.version_definitions.begin(), spec.version_definitions.end());
  const std::string definitions = version_definitions(name_all(defined), defined);
  std::vector<NeededVersion> needs;
  for (const auto& [file, version] : spec.version_needs) needs.push_back({add_string(strings, file), add_string(strings, version), version});

  std::vector<Section> sections = {{"", 0, 0, ""},
                                   {".hash", 5, 2, hash_table(symbols.size()), 2},
                                   {".dynsym", 11, 2, symbol_table(layout, symbols), 3, 1, layout.wide ? 24u : 16u},
                                   {".dynstr", 3, 2, strings},
                                   {".rodata", 1, 2, spec.read_only_data},
                                   {".text", 1, 6, text},
                                   {".gnu.version_d", 0x6ffffffd, 2, definitions, 3},
                                   {".gnu.version_r", 0x6ffffffe, 2, version_needs(needs), 3}};
  if (!spec.fatbin.empty()) sections.push_back({".nv_fatbin", 1, 2, spec.fatbin});
  if (!spec.interpreter.empty()) sections.push_back({".interp", 1, 2, spec.interpreter + '\0'});
  sections.push_back({".dynamic", 6, 3, "", 3, 0, layout.wide ? 16u : 8u});
  // Offsets are fixed by the sizes, so .dynamic can be written before assembling.
  std::uint64_t offset = aligned(layout.header() + program_count(sections) * layout.program());
  std::vector<std::uint64_t> offsets(sections.size());
  for (std::size_t i = 1; i < sections.size(); ++i) {
    offsets[i] = offset;
    offset = aligned(offset + sections[i].content.size());
  }
  for (std::size_t i = first_function; i < symbols.size(); ++i) symbols[i].address += offsets[5];
  sections[2].content = symbol_table(layout, symbols);
  Bytes dynamic;
  const auto entry = [&](std::uint64_t tag, std::uint64_t value) { layout.word(dynamic, tag), layout.word(dynamic, value); };
  for (const std::uint32_t name : needed) entry(1, name);
  if (!spec.soname.empty()) entry(14, soname);
  if (!spec.rpath.empty()) entry(15, rpath);
  if (!spec.runpath.empty()) entry(29, runpath);
  if (spec.bind_now) entry(0x6ffffffb, 1);
  entry(4, offsets[1]);
  entry(5, offsets[3]);
  entry(6, offsets[2]);
  entry(10, strings.size());
  entry(11, layout.wide ? 24 : 16);
  if (!defined.empty()) entry(0x6ffffffc, offsets[6]), entry(0x6ffffffd, defined.size());
  if (!needs.empty()) entry(0x6ffffffe, offsets[7]), entry(0x6fffffff, needs.size());
  entry(0, 0);
  sections.back().content = dynamic.data;
  return assemble(layout, 3, machine_number(spec.machine), sections, true);
}

namespace {

std::string little_endian(std::uint32_t number) {
  Bytes out;
  out.u32(number);
  return out.data;
}

std::vector<unsigned> numbers_of(const std::string& version) {
  std::vector<unsigned> numbers;
  for (std::size_t at = 0; at < version.size(); at = std::min(version.find('.', at), version.size() - 1) + 1)
    numbers.push_back(static_cast<unsigned>(std::stoul(version.substr(at))));
  numbers.resize(std::max<std::size_t>(numbers.size(), 3), 0);
  return numbers;
}

/// mov eax, NUMBER; ret
std::string returns_number(std::uint32_t number) { return "\xb8" + little_endian(number) + "\xc3"; }

/// mov dword [rdi], A; mov dword [rsi], B; xor eax, eax; ret
std::string stores_numbers(unsigned first, unsigned second) {
  return "\xc7\x07" + little_endian(first) + "\xc7\x06" + little_endian(second) + "\x31\xc0\xc3";
}

}  // namespace

void tell_release(SharedLibrarySpec& spec, const std::string& version) {
  const auto n = numbers_of(version);
  const std::string stem = spec.soname.substr(0, spec.soname.find(".so"));
  const std::uint32_t dotted = n[0] * (n[0] < 9 && stem.starts_with("libcudnn") ? 1000 : 10000) + n[1] * 100 + n[2];
  const auto numbered = [&](const char* function) { spec.functions.emplace_back(function, returns_number(dotted)); };
  if (stem == "libcudart") spec.functions.emplace_back("cudaRuntimeGetVersion", returns_number(n[0] * 1000 + n[1] * 10));
  if (stem == "libcublasLt") numbered("cublasLtGetVersion");
  if (stem == "libcublas") numbered("cublasGetVersion_v2");
  if (stem == "libcudnn" || stem == "libcudnn_graph") numbered("cudnnGetVersion");
  if (stem == "libcudnn_ops") numbered("cudnnOpsVersionCheck");
  if (stem == "libcudnn_cnn") numbered("cudnnCnnVersionCheck");
  if (stem == "libcudnn_adv") numbered("cudnnAdvVersionCheck");
  if (stem == "libnccl") numbered("ncclGetVersion");
  if (stem == "libcusparse") numbered("cusparseGetVersion");
  if (stem == "libnvrtc") spec.functions.emplace_back("nvrtcVersion", stores_numbers(n[0], n[1]));
  if (stem == "libnvrtc-builtins") spec.symbols.push_back("__nvrtc_builtins__" + std::to_string(n[0]) + "_" + std::to_string(n[1]) + "_getBuiltinHeader");
  // Each release keeps the names of those before it.
  if (stem == "libnvJitLink")
    for (unsigned minor = 0; minor <= n[1]; ++minor) spec.symbols.push_back("__nvJitLinkComplete_" + std::to_string(n[0]) + "_" + std::to_string(minor));
}

std::string build_fatbin(const std::vector<std::string>& targets) {
  std::vector<Entry> entries;
  for (const auto& word : targets) {
    const bool thrust = word.starts_with("thrust:"), variables = word.starts_with("variables:");
    const bool empty = word.starts_with("empty:") || variables;
    const std::string kernel = thrust ? "_ZN3cub17CUB_300001_SM_7506detail11EmptyKernelIvEEvv" : "_Z6kernelPf";
    const auto target = word.substr(word.find(':') + 1);
    const bool ptx = target.starts_with("compute_");
    const auto arch = static_cast<unsigned>(std::stoul(target.substr(target.find('_') + 1)));
    Entry entry;
    entry.kind = ptx ? 1 : 2;
    entry.arch = arch;
    if (ptx) entry.major = 8, entry.minor = 0;
    entry.payload = ptx ? ".version 8.0\n.target sm_" + std::to_string(arch) + "\n.address_size 64\n" : cubin(arch, {".nv.info", empty ? (variables ? ".nv.global" : ".nv.callgraph") : ".text." + kernel}, "", arch >= 100);
    if (ptx && !empty) entry.payload += ".visible .entry " + kernel + "()\n{\nret;\n}\n";
    entries.push_back(std::move(entry));
  }
  return container(entries);
}

std::string build_kernel_module(const std::vector<std::pair<std::string, std::string>>& modinfo) {
  std::string info;
  for (const auto& [key, value] : modinfo) info += key + "=" + value + '\0';
  std::vector<Section> sections = {{"", 0, 0, ""}, {".text", 1, 6, std::string(16, '\x90')}, {".modinfo", 1, 2, info}};
  return assemble(Layout{true}, 1, 62, sections, false);
}

std::string append_module_signature(std::string module, std::string_view signer) {
  return module + signature_trailer(pkcs7(std::string(signer)));
}

std::string compress_for_name(std::string bytes, std::string_view file_name) {
  std::string out;
  if (file_name.ends_with(".zst")) {
    out.resize(ZSTD_compressBound(bytes.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
    return out;
  }
  if (file_name.ends_with(".xz")) {
    out.resize(lzma_stream_buffer_bound(bytes.size()));
    std::size_t size = 0;
    if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) != LZMA_OK) {
      throw std::runtime_error("xz encoder failed");
    }
    out.resize(size);
    return out;
  }
  if (file_name.ends_with(".gz")) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    out.resize(deflateBound(&stream, bytes.size()) + 64);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }
  return bytes;
}

}  // namespace gpuvet::test
