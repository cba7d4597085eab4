#pragma once
// Small ELF files for the readers' tests, in either class and byte order, without section headers: what a loader needs and no more.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpuvet::test {

struct SmallElf {
  bool wide = true;
  bool big = false;
  std::uint16_t machine = 62;
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath, runpath;
  std::vector<std::string> defines;                           ///< version definitions
  std::vector<std::pair<std::string, std::string>> versions;  ///< needed: file, version; " (weak)" behind it is its mark
  std::vector<std::string> undefined;                         ///< symbols, before the defined ones
  std::vector<std::string> symbols;
  /// DT_VERSYM of undefined and defined symbols in order; 2 is the first of `defines`, the versions follow them.
  std::vector<std::uint16_t> version_indices;
  std::string code;  ///< what every symbol points to
  std::string data;  ///< read-only data
  bool gnu_hash = false;
  std::uint16_t type = 3;
  std::uint64_t flags = 0, flags_1 = 0;
  std::string interpreter;
  std::string notes;  ///< content of a PT_NOTE
  std::uint64_t note_align = 4;

  std::string build() const;

 private:
  struct Out;
  unsigned word() const { return wide ? 8 : 4; }
  std::uint64_t segment_count() const { return 2 + !interpreter.empty() + !notes.empty(); }
};

struct SmallElf::Out {
  bool big;
  std::string bytes;
  void number(std::uint64_t v, unsigned width) {
    for (unsigned i = 0; i < width; ++i) bytes.push_back(static_cast<char>(v >> 8 * (big ? width - 1 - i : i)));
  }
  std::uint64_t align() {
    bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
    return bytes.size();
  }
};

inline std::string SmallElf::build() const {
  std::string strings(1, '\0');
  const auto text = [&](const std::string& s) {
    const auto at = strings.size();
    strings += s + '\0';
    return at;
  };
  const std::uint64_t header = wide ? 64 : 52, program = wide ? 56 : 32;
  Out body{big, std::string(header + segment_count() * program, '\0')};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dynamic;
  for (const auto& n : needed) dynamic.emplace_back(1, text(n));
  if (!soname.empty()) dynamic.emplace_back(14, text(soname));
  if (!rpath.empty()) dynamic.emplace_back(15, text(rpath));
  if (!runpath.empty()) dynamic.emplace_back(29, text(runpath));

  if (flags != 0) dynamic.emplace_back(30, flags);
  if (flags_1 != 0) dynamic.emplace_back(0x6ffffffb, flags_1);

  const auto interpreter_at = body.align();
  body.bytes += interpreter + '\0';
  const auto notes_at = body.align();
  body.bytes += notes;
  const auto code_at = body.align();
  body.bytes += code;
  body.align();
  body.bytes += data;

  const auto symbols_at = body.align();
  body.bytes.resize(body.bytes.size() + (wide ? 24 : 16), '\0');
  const auto symbol = [&](const std::string& name, unsigned section) {
    const auto at = section != 0 ? code_at : 0;
    body.number(text(name), 4);
    if (wide) body.number(0x12, 1), body.number(0, 1), body.number(section, 2), body.number(at, 8), body.number(8, 8);
    else body.number(at, 4), body.number(8, 4), body.number(0x12, 1), body.number(0, 1), body.number(section, 2);
  };
  for (const auto& s : undefined) symbol(s, 0);
  for (const auto& s : symbols) symbol(s, 1);
  const auto count = undefined.size() + symbols.size();
  const auto hash_at = body.align();
  if (gnu_hash) {  // one bucket, one bloom word, the chain in symbol order
    const auto first = symbols.empty() ? 1 : undefined.size() + 1;  // as GNU ld writes it
    body.number(1, 4), body.number(first, 4), body.number(1, 4), body.number(0, 4);
    body.number(~std::uint64_t{0}, word());
    body.number(symbols.empty() ? 0 : first, 4);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      std::uint32_t h = 5381;
      for (const char c : symbols[i]) h = h * 33 + static_cast<unsigned char>(c);
      body.number(i + 1 == symbols.size() ? h | 1 : h & ~1u, 4);
    }
  } else {
    body.number(1, 4), body.number(count + 1, 4), body.number(count == 0 ? 0 : 1, 4);
    for (std::size_t i = 0; i <= count; ++i) body.number(i == 0 || i == count ? 0 : i + 1, 4);
  }
  dynamic.emplace_back(6, symbols_at);
  dynamic.emplace_back(gnu_hash ? 0x6ffffef5 : 4, hash_at);

  if (!version_indices.empty()) {
    dynamic.emplace_back(0x6ffffff0, body.align());
    body.number(0, 2);
    for (const auto index : version_indices) body.number(index, 2);
  }
  if (!versions.empty()) {  // one verneed entry a pair
    dynamic.emplace_back(0x6ffffffe, body.align());
    dynamic.emplace_back(0x6fffffff, versions.size());
    for (std::size_t i = 0; i < versions.size(); ++i) {
      body.number(1, 2), body.number(1, 2), body.number(text(versions[i].first), 4), body.number(16, 4);
      body.number(i + 1 < versions.size() ? 32 : 0, 4);
      const auto mark = versions[i].second.find(" (weak)");
      body.number(0, 4), body.number(mark == std::string::npos ? 0 : 2, 2), body.number(2 + defines.size() + i, 2);
      body.number(text(versions[i].second.substr(0, mark)), 4), body.number(0, 4);
    }
  }
  if (!defines.empty()) {  // the base version first, as linkers do
    dynamic.emplace_back(0x6ffffffc, body.align());
    dynamic.emplace_back(0x6ffffffd, defines.size() + 1);
    for (std::size_t i = 0; i <= defines.size(); ++i) {
      body.number(1, 2), body.number(i == 0 ? 1 : 0, 2), body.number(i + 1, 2), body.number(1, 2), body.number(0, 4);
      body.number(20, 4), body.number(i < defines.size() ? 28 : 0, 4);
      body.number(text(i == 0 ? soname : defines[i - 1]), 4), body.number(0, 4);
    }
  }
  const auto strings_at = body.align();
  body.bytes += strings;
  dynamic.emplace_back(5, strings_at);
  dynamic.emplace_back(10, strings.size());
  dynamic.emplace_back(0, 0);
  const auto dynamic_at = body.align();
  for (const auto& [tag, value] : dynamic) body.number(tag, word()), body.number(value, word());

  Out head{big, std::string("\x7f" "ELF") + (wide ? '\2' : '\1') + (big ? '\2' : '\1') + '\1' + std::string(9, '\0')};
  head.number(type, 2), head.number(machine, 2), head.number(1, 4);
  head.number(0, word()), head.number(header, word()), head.number(0, word()), head.number(0, 4);
  head.number(header, 2), head.number(program, 2), head.number(segment_count(), 2), head.number(0, 2), head.number(0, 2), head.number(0, 2);
  const auto segment = [&](std::uint64_t kind, std::uint64_t offset, std::uint64_t size, std::uint64_t align = 8) {
    head.number(kind, 4);
    if (wide) head.number(5, 4);
    for (int i = 0; i < 3; ++i) head.number(offset, word());
    for (int i = 0; i < 2; ++i) head.number(size, word());
    if (!wide) head.number(5, 4);
    head.number(align, word());
  };
  segment(1, 0, body.bytes.size());
  segment(2, dynamic_at, body.bytes.size() - dynamic_at);
  if (!interpreter.empty()) segment(3, interpreter_at, interpreter.size() + 1);
  if (!notes.empty()) segment(4, notes_at, notes.size(), note_align);
  return head.bytes + body.bytes.substr(head.bytes.size());
}

}  // namespace gpuvet::test
