#pragma once
// Tiny fat binaries, cubins and archives, made by hand.

#include <cstdint>
#include <string>
#include <vector>

namespace gpuvet::test {

inline void put(std::string& to, std::uint64_t number, unsigned width) {
  for (unsigned i = 0; i < width; ++i) to.push_back(i < 8 ? static_cast<char>(number >> 8 * i) : '\0');
}

struct Entry {
  unsigned kind = 2, arch = 90;
  std::uint64_t flags = 0x11;
  std::string payload = std::string(16, 'x');
  unsigned major = 1, minor = 8;
  std::uint64_t plain_size = 0, compressed_size = 0;
  unsigned header_size = 64;

  std::string bytes() const {
    std::string out;
    const auto stored = (payload.size() + 7) / 8 * 8;
    put(out, kind, 2);
    put(out, 0x101, 2);
    put(out, header_size, 4);
    put(out, stored, 8);
    put(out, compressed_size, 4);
    put(out, 0, 4);
    put(out, minor, 2);
    put(out, major, 2);
    put(out, arch, 4);
    put(out, 0, 8);
    put(out, flags, 8);
    put(out, 0, 8);
    put(out, plain_size, 8);
    out.resize(header_size, '\0');
    out += payload;
    out.resize(header_size + stored, '\0');
    return out;
  }
};

inline std::string container(const std::vector<Entry>& entries) {
  std::string body, out;
  for (const auto& entry : entries) body += entry.bytes();
  put(out, 0xba55ed50, 4);
  put(out, 1, 2);
  put(out, 16, 2);
  put(out, body.size(), 8);
  return out + body;
}

/// A cubin with these (empty) sections; `options`: content of .note.nv.tkinfo.
inline std::string cubin(unsigned arch, const std::vector<std::string>& sections, const std::string& options = "",
                         bool newer = true) {
  std::string names(1, '\0');
  std::vector<std::uint64_t> at;
  auto all = sections;
  all.push_back(".shstrtab");
  if (!options.empty()) all.push_back(".note.nv.tkinfo");
  for (const auto& name : all) {
    at.push_back(names.size());
    names += name + '\0';
  }
  std::string out(
      "\x7f"
      "ELF\x02\x01\x01");
  put(out, newer ? 65 : 51, 1);
  put(out, newer ? 8 : 7, 1);
  out.resize(16, '\0');
  put(out, 2, 2);
  put(out, 190, 2);
  put(out, 1, 4);
  put(out, 0, 16);
  const auto names_at = 64 + options.size();
  const auto table = (names_at + names.size() + 7) / 8 * 8;
  put(out, table, 8);
  put(out, newer ? 0x06000004 | arch << 8 : 0x00500500 | arch, 4);
  put(out, 64, 2);
  put(out, 0, 4);  // no program headers
  put(out, 64, 2);
  put(out, all.size() + 1, 2);
  put(out, sections.size() + 1, 2);
  out += options + names;
  out.resize(table + 64, '\0');
  for (std::size_t i = 0; i < all.size(); ++i) {
    put(out, at[i], 4);
    put(out, 1, 4);
    put(out, 0, 16);
    const bool strings = all[i] == ".shstrtab", note = all[i] == ".note.nv.tkinfo";
    put(out, strings ? names_at : 64, 8);
    put(out, strings ? names.size() : note ? options.size() : 0, 8);
    put(out, 0, 24);
  }
  return out;
}

/// An x86-64 ELF file with these sections.
inline std::string host_elf(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string out(
      "\x7f"
      "ELF\x02\x01\x01"),
      names(1, '\0'), table(64, '\0');
  out.resize(16, '\0');
  put(out, 3, 2);
  put(out, 62, 2);
  put(out, 1, 4);
  out.resize(64, '\0');
  const auto header = [&](const std::string& name, std::uint64_t size) {
    put(table, names.size(), 4);
    names += name + '\0';
    put(table, 1, 4);
    put(table, 0, 16);
    put(table, out.size(), 8);
    put(table, size, 8);
    put(table, 0, 24);
  };
  for (const auto& [name, bytes] : sections) {
    header(name, bytes.size());
    out += bytes;
    out.resize((out.size() + 7) / 8 * 8, '\0');
  }
  names += ".shstrtab";
  const auto names_size = names.size() + 1;
  names.resize(names.size() - 9);
  header(".shstrtab", names_size);
  out += names;
  out.resize((out.size() + 7) / 8 * 8, '\0');
  std::string place, count;
  put(place, out.size(), 8);
  put(count, 64, 2);
  put(count, sections.size() + 2, 2);
  put(count, sections.size() + 1, 2);
  out.replace(40, 8, place);
  out.replace(58, 6, count);
  return out + table;
}

inline std::string ar_member(std::string name, const std::string& bytes) {
  name.resize(16, ' ');
  auto size = std::to_string(bytes.size());
  size.resize(10, ' ');
  std::string out = name + std::string(32, ' ') + size + "`\n" + bytes;
  if (out.size() % 2 != 0) out += '\n';
  return out;
}

}  // namespace gpuvet::test
