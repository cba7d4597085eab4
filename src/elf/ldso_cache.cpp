#include "elf/ldso_cache.h"

#include <algorithm>
#include <optional>

#include "elf/bytes.h"

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr auto old_magic = "ld.so-1.7.0"sv;
constexpr auto new_magic = "glibc-ld.so.cache1.1"sv;
constexpr std::uint64_t old_header = 16, old_entry = 12;
constexpr std::uint64_t new_header = 48, new_entry = 24;
constexpr std::uint64_t max_entries = 200000;
constexpr std::size_t max_text = 4096;

using Entries = std::vector<LoaderCacheEntry>;

/// Adds an entry whose strings lie at these offsets of `texts`; one with strings out of range is left out.
void add(Entries& entries, const ByteView& texts, std::uint64_t soname, std::uint64_t path, std::int64_t flags,
         std::uint64_t hwcap) {
  LoaderCacheEntry entry{std::string(texts.c_string(soname).substr(0, max_text)),
                         std::string(texts.c_string(path).substr(0, max_text)), flags, hwcap};
  if (!entry.soname.empty() && !entry.path.empty()) entries.push_back(std::move(entry));
}

/// The table is written in the byte order of its machine: a count that does not fit means the other one.
std::optional<ByteView> in_fitting_order(std::string_view bytes, std::uint64_t count_at, std::uint64_t header,
                                         std::uint64_t entry) {
  for (const bool big : {false, true}) {
    const ByteView v{bytes, big};
    const auto count = v.u32(count_at);
    if (v.has(count_at, 4) && count <= max_entries && v.has(header, count * entry)) return v;
  }
  return std::nullopt;
}

/// `bytes` begins at the new table's header: its string offsets count from there.
tl::expected<Entries, std::string> read_new(std::string_view bytes) {
  const auto v = in_fitting_order(bytes, new_magic.size(), new_header, new_entry);
  if (!v) return failure("more entries than the file can hold");
  Entries entries;
  for (std::uint64_t i = 0, at = new_header; i < v->u32(new_magic.size()); ++i, at += new_entry)
    add(entries, *v, v->u32(at + 4), v->u32(at + 8), v->u32(at), v->u64(at + 16));
  return entries;
}

/// String offsets of the old table count from behind its entries.
tl::expected<Entries, std::string> read_old(const ByteView& v) {
  const std::uint64_t count = v.u32(old_magic.size() + 1);
  const ByteView texts{v.slice(old_header + count * old_entry, v.bytes.size()), v.big_endian};
  Entries entries;
  for (std::uint64_t i = 0, at = old_header; i < count; ++i, at += old_entry)
    add(entries, texts, v.u32(at + 4), v.u32(at + 8), v.u32(at), 0);
  return entries;
}

}  // namespace

tl::expected<Entries, std::string> read_loader_cache(std::string_view bytes) {
  if (bytes.starts_with(new_magic)) return read_new(bytes);
  if (!bytes.starts_with(old_magic)) return failure("not a loader cache");
  const auto v = in_fitting_order(bytes, old_magic.size() + 1, old_header, old_entry);
  if (!v) return failure("more entries than the file can hold");
  // A new table behind the old one begins at the next multiple of its alignment, which is 4 or 8 depending on the machine.
  const auto end = old_header + std::uint64_t{v->u32(old_magic.size() + 1)} * old_entry;
  for (const std::uint64_t alignment : {8, 4, 16}) {
    const auto rest = v->slice((end + alignment - 1) / alignment * alignment, bytes.size());
    if (rest.starts_with(new_magic)) return read_new(rest);
  }
  return read_old(*v);
}

}  // namespace gpuvet
