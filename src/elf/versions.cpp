#include "elf/versions.h"

#include <array>

namespace gpuvet {
namespace {

constexpr std::size_t max_records = 4096;
constexpr std::uint64_t definition_size = 20, need_size = 16, name_size = 8;
// Tables have no size, only a count of entries that point to each other: a small piece first, the largest allowed one where an
// entry lies behind it.
constexpr std::array<std::size_t, 2> pieces{std::size_t{2} << 10, std::size_t{256} << 10};

struct Walk {
  std::vector<VersionRecord> records;
  bool complete = true;  ///< every entry lay inside the piece
};

Walk walk_definitions(const ByteView& v, std::uint64_t count) {
  Walk walk;
  for (std::uint64_t i = 0, at = 0; i < count && walk.records.size() < max_records; ++i) {
    const auto name = at + v.u32(at + 12);
    walk.complete = v.has(at, definition_size) && v.has(name, name_size);
    if (!walk.complete) return walk;
    // The names behind the first are its parents' and no definition.
    walk.records.push_back({0, v.u32(name), v.u16(at + 4), v.u16(at + 2)});
    const auto next = v.u32(at + 16);
    if (next == 0) break;
    at += next;
  }
  return walk;
}

/// The versions wanted of one library.
void walk_file(const ByteView& v, std::uint64_t at, Walk& walk) {
  const auto file = v.u32(at + 4);
  auto version = at + v.u32(at + 8);
  for (unsigned i = 0; i < v.u16(at + 2) && walk.records.size() < max_records; ++i) {
    walk.complete = v.has(version, need_size);
    if (!walk.complete) return;
    walk.records.push_back({file, v.u32(version + 8), v.u16(version + 6), v.u16(version + 4)});
    const auto next = v.u32(version + 12);
    if (next == 0) break;
    version += next;
  }
}

Walk walk_needs(const ByteView& v, std::uint64_t count) {
  Walk walk;
  // An entry without versions adds no record: the number of entries is bounded too.
  for (std::uint64_t i = 0, at = 0; i < count && i < max_records && walk.records.size() < max_records; ++i) {
    walk.complete = v.has(at, need_size);
    if (walk.complete) walk_file(v, at, walk);
    if (!walk.complete) return walk;
    const auto next = v.u32(at + 12);
    if (next == 0) break;
    at += next;
  }
  return walk;
}

std::vector<VersionRecord> read_records(const ElfFile& elf, std::uint64_t offset, std::uint64_t count,
                                        Walk (*walk)(const ByteView&, std::uint64_t)) {
  Walk found;
  if (offset == 0) return {};
  for (const auto size : pieces) {
    const auto bytes = elf.read(offset, size);
    found = walk(elf.header.view(bytes), count);
    if (found.complete) break;
  }
  return std::move(found.records);
}

}  // namespace

std::vector<VersionRecord> version_definition_records(const ElfFile& elf, const DynamicSection& dynamic) {
  return read_records(elf, dynamic.version_definitions, dynamic.version_definition_count, walk_definitions);
}

std::vector<VersionRecord> version_need_records(const ElfFile& elf, const DynamicSection& dynamic) {
  return read_records(elf, dynamic.version_needs, dynamic.version_need_count, walk_needs);
}

}  // namespace gpuvet
