#include "elf/cubin.h"

#include <algorithm>

#include "elf/bytes.h"

namespace gpuvet {
namespace {

constexpr std::uint16_t machine_cuda = 190;
constexpr std::size_t elf_header = 64, section_header = 64, program_header = 56;
constexpr std::uint32_t section_nv_compat = 0x70000086;
constexpr std::size_t longest_note = 4096;

struct Section {
  std::string_view name, bytes;
  std::uint32_t type = 0;
  std::uint64_t offset = 0, size = 0;
  bool in_file = true;
};

Section section_at(const ByteView& cubin, std::uint64_t offset, std::string_view names) {
  constexpr std::uint32_t nobits = 8;
  Section section;
  constexpr std::size_t longest_name = 256;  // beginnings tell, and the whole of a short one
  const auto name = ByteView{names}.slice(cubin.u32(offset), longest_name);
  section.name = name.substr(0, name.find('\0'));
  section.type = cubin.u32(offset + 4);
  section.offset = cubin.u64(offset + 24);
  section.size = cubin.u64(offset + 32);
  section.in_file = section.type != nobits;
  if (section.in_file) section.bytes = cubin.slice(section.offset, section.size);
  return section;
}

bool has_code(const Section& section) {
  constexpr std::string_view prefix = ".text.";
  if (section.name.starts_with(prefix)) return !is_empty_kernel(section.name.substr(prefix.size()));
  return section.name == ".text" && section.size > 0;
}

/// "… -arch sm_100f -m 64": how the compiler was called. Notes of nvlink hold the same words.
char variant_of_options(std::string_view note) {
  constexpr std::string_view word = "-arch";
  const auto at = note.find(word);
  if (at == std::string_view::npos) return '\0';
  auto rest = note.substr(at + word.size());
  if (rest.size() < 4 || !rest.substr(1).starts_with("sm_")) return '\0';
  rest.remove_prefix(4);
  const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const char after = digits < rest.size() ? rest[digits] : '\0';
  return after == 'a' || after == 'f' ? after : '\0';
}

/// Records of (format, attribute, 16-bit value); format 4 is followed by that many bytes. Attribute 9 is 1 for 'a' targets.
char variant_of_compat(std::string_view bytes) {
  const ByteView view{bytes};
  for (std::uint64_t at = 0; view.has(at, 4);) {
    const auto format = view.u8(at), attribute = view.u8(at + 1);
    const auto value = view.u16(at + 2);
    if (format == 2 && attribute == 9) return value == 1 ? 'a' : '\0';
    at += 4 + (format == 4 ? value : 0u);
  }
  return '\0';
}

}  // namespace

// _ZN3cub11EmptyKernelIvEEvv, _ZN6thrust8cuda_cub3cub11EmptyKernelIvEEvv, _ZN3cub17CUB_300001_SM_7506detail11EmptyKernelIvEEvv
bool is_empty_kernel(std::string_view symbol) {
  return symbol.starts_with("_ZN") && symbol.find("3cub") != std::string_view::npos && symbol.ends_with("11EmptyKernelIvEEvv");
}

std::optional<CubinHeader> parse_cubin_header(std::string_view first_bytes) {
  const ByteView view{first_bytes};
  if (!view.has(0, elf_header) || !first_bytes.starts_with("\x7f"
                                                           "ELF\x02\x01\x01"))
    return std::nullopt;
  if (view.u16(18) != machine_cuda) return std::nullopt;
  const auto flags = view.u32(48);
  const bool newer = view.u8(8) >= 8;  // ABI 8: every target of CUDA 13, sm_100 and up of any toolkit
  CubinHeader header;
  header.arch = newer ? flags >> 8 & 0xff : flags & 0xff;
  // The bit has another meaning in cubins of older GPUs, which have no variants.
  header.variant = !newer && header.arch >= 90 && (flags & 0x800) != 0 ? 'a' : '\0';
  const auto programs = view.u64(32), sections = view.u64(40);
  const std::uint64_t programs_end = programs + std::uint64_t{view.u16(56)} * program_header;
  const std::uint64_t sections_end = sections + std::uint64_t{view.u16(60)} * section_header;
  if (programs_end < programs || sections_end < sections || header.arch == 0) return std::nullopt;
  header.size = std::max({programs_end, sections_end, std::uint64_t{elf_header}});
  return header;
}

std::optional<CubinContent> look_into_cubin(std::string_view cubin) {
  const auto header = parse_cubin_header(cubin.substr(0, elf_header));
  if (!header) return std::nullopt;
  const ByteView view{cubin};
  const auto sections = view.u64(40);
  const std::uint64_t count = view.u16(60), names_index = view.u16(62);
  if (view.u16(58) != section_header || count == 0 || names_index >= count || !view.has(sections, count * section_header))
    return std::nullopt;
  const auto names = section_at(view, sections + names_index * section_header, {}).bytes;
  CubinContent content;
  content.size = header->size;
  std::string_view options, compat;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto section = section_at(view, sections + i * section_header, names);
    const auto end = section.offset + section.size;
    if (section.in_file && end >= section.offset) content.size = std::max(content.size, end);
    content.code = content.code || has_code(section);
    if (section.name == ".note.nv.tkinfo") options = section.bytes.substr(0, longest_note);
    if (section.type == section_nv_compat) compat = section.bytes.substr(0, longest_note);
  }
  content.variant = variant_of_options(options);
  if (content.variant == 0) content.variant = variant_of_compat(compat);
  if (content.variant == 0) content.variant = header->variant;
  return content;
}

}  // namespace gpuvet
