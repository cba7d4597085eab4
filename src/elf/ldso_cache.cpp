#include "elf/ldso_cache.h"

#include <algorithm>

namespace gpuvet {
namespace {

using namespace std::string_view_literals;

constexpr auto old_magic = "ld.so-1.7.0"sv;
constexpr auto new_magic = "glibc-ld.so.cache1.1"sv;
constexpr std::uint64_t old_header = 16, old_entry = 12;
constexpr std::uint64_t new_header = 48, new_entry = 24;
constexpr std::uint64_t max_entries = 200000;
constexpr std::size_t max_text = 4096, max_found = 1024, max_hwcaps = 256;
constexpr std::uint32_t extension_magic = 0xeaa42174, tag_hwcaps = 1;

/// Is the hwcap field an index into the extension's names? The low ten bits of its upper half are the ISA level.
bool names_hwcaps(std::uint64_t hwcap) { return (hwcap >> 32 & ~std::uint64_t{0x3ff}) == std::uint64_t{1} << 30; }

bool digit(char c) { return c >= '0' && c <= '9'; }

/// The number at the front of `text`, taken away from it; wraps like glibc's int.
std::int32_t take_number(std::string_view& text) {
  std::uint32_t value = 0;
  for (; !text.empty() && digit(text[0]); text.remove_prefix(1)) value = value * 10 + static_cast<std::uint32_t>(text[0] - '0');
  return static_cast<std::int32_t>(value);
}

char front(std::string_view text) { return text.empty() ? '\0' : text[0]; }

/// A table of a byte order that its count of entries fits, from `header` bytes behind `at`.
bool fits(const ByteView& v, std::uint64_t at, std::uint64_t count_at, std::uint64_t header, std::uint64_t entry) {
  const auto count = v.u32(at + count_at);
  return v.has(at, header) && count <= max_entries && v.has(at + header, count * entry);
}

}  // namespace

int compare_cache_names(std::string_view name, std::string_view table_name) {
  while (!name.empty()) {
    if (digit(name[0]) != digit(front(table_name))) return digit(name[0]) ? 1 : -1;
    if (digit(name[0])) {
      const auto left = take_number(name), right = take_number(table_name);
      if (left != right) return static_cast<std::int32_t>(static_cast<std::uint32_t>(left) - static_cast<std::uint32_t>(right));
    } else if (name[0] != front(table_name)) {
      return static_cast<signed char>(name[0]) - static_cast<signed char>(front(table_name));
    } else {
      name.remove_prefix(1);
      table_name.remove_prefix(1);
    }
  }
  return -static_cast<signed char>(front(table_name));
}

/// The new table's string offsets count from its header, the extension's from the start of the file.
bool LoaderCache::take_new(std::uint64_t at) {
  const ByteView v{bytes_};
  const auto order = v.u8(at + 28) & 3;  // 0: an old ldconfig that did not tell; 1: invalid
  for (const bool big : {false, true}) {
    if ((order == 2 && big) || (order == 3 && !big) || order == 1) continue;
    if (!fits({bytes_, big}, at, new_magic.size(), new_header, new_entry)) continue;
    big_endian_ = big;
    is_new_ = true;
    texts_at_ = at;
    table_at_ = at + new_header;
    count_ = ByteView{bytes_, big}.u32(at + new_magic.size());
    read_hwcaps();
    return true;
  }
  return false;
}

/// String offsets of the old table count from behind its entries.
bool LoaderCache::take_old() {
  for (const bool big : {false, true}) {
    if (!fits({bytes_, big}, 0, old_magic.size() + 1, old_header, old_entry)) continue;
    big_endian_ = big;
    count_ = ByteView{bytes_, big}.u32(old_magic.size() + 1);
    table_at_ = old_header;
    texts_at_ = old_header + count_ * old_entry;
    return true;
  }
  return false;
}

void LoaderCache::read_hwcaps() {
  const ByteView v{bytes_, big_endian_};
  const std::uint64_t at = v.u32(texts_at_ + 32);
  if (at == 0 || v.u32(at) != extension_magic) return;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(v.u32(at + 4), 64); ++i) {
    const auto section = at + 8 + i * 16;
    if (v.u32(section) != tag_hwcaps) continue;
    const std::uint64_t names = v.u32(section + 8), size = v.u32(section + 12);
    if (!v.has(names, size)) return;
    for (std::uint64_t n = 0; n + 4 <= size && hwcaps_.size() < max_hwcaps; n += 4)
      hwcaps_.emplace_back(ByteView{v.slice(v.u32(names + n), max_text)}.c_string(0));
    return;
  }
}

tl::expected<LoaderCache, std::string> LoaderCache::parse(std::string bytes) {
  LoaderCache cache;
  cache.bytes_ = std::move(bytes);
  const std::string_view all = cache.bytes_;
  if (all.starts_with(new_magic)) {
    if (cache.take_new(0)) return cache;
    return failure("more entries than the file can hold");
  }
  if (!all.starts_with(old_magic)) return failure("not a loader cache");
  if (!cache.take_old()) return failure("more entries than the file can hold");
  // A new table behind the old one begins at the next multiple of its alignment, which is 4 or 8 depending on the machine.
  for (const std::uint64_t alignment : {8, 4, 16}) {
    const auto at = (cache.texts_at_ + alignment - 1) / alignment * alignment;
    if (!ByteView{all}.slice(at, new_magic.size()).starts_with(new_magic)) continue;
    if (cache.take_new(at)) return cache;
    return failure("more entries than the file can hold");
  }
  return cache;
}

/// Texts from an entry's soname on; empty where it lies outside.
std::string_view LoaderCache::text_from(std::uint64_t index) const {
  return texts().slice(table().u32(index * (is_new_ ? new_entry : old_entry) + 4), std::string_view::npos);
}

LoaderCacheEntry LoaderCache::entry(std::uint64_t index) const {
  const auto v = table();
  const auto at = index * (is_new_ ? new_entry : old_entry);
  const auto text = [&](std::uint64_t field) { return ByteView{texts().slice(v.u32(at + field), max_text)}.c_string(0); };
  LoaderCacheEntry e;
  e.flags = v.u32(at);
  e.soname = text(4);
  e.path = text(8);
  if (!is_new_) return e;
  e.hwcap = v.u64(at + 16);
  const auto name = e.hwcap & 0xffffffff;
  if (names_hwcaps(e.hwcap) && name < hwcaps_.size()) e.hwcaps = hwcaps_[static_cast<std::size_t>(name)];
  return e;
}

std::vector<LoaderCacheEntry> LoaderCache::find(std::string_view soname) const {
  const auto compare = [&](std::uint64_t index) { return compare_cache_names(soname, text_from(index)); };
  std::vector<LoaderCacheEntry> found;
  std::uint64_t left = 0, right = count_;  // the searched part is [left, right)
  while (left < right) {
    const auto middle = left + (right - 1 - left) / 2;
    if (text_from(middle).empty()) return found;
    const int order = compare(middle);
    if (order == 0) {
      auto first = middle;
      while (first > 0 && middle - first < max_found && compare(first - 1) == 0) --first;
      for (auto i = first; i < right && found.size() < max_found && (i <= middle || compare(i) == 0); ++i)
        if (auto e = entry(i); !e.path.empty()) found.push_back(std::move(e));
      return found;
    }
    if (order < 0)
      left = middle + 1;
    else
      right = middle;
  }
  return found;
}

std::vector<LoaderCacheEntry> LoaderCache::all() const {
  std::vector<LoaderCacheEntry> entries;
  entries.reserve(count_);
  for (std::uint64_t i = 0; i < count_; ++i)
    if (auto e = entry(i); !e.soname.empty() && !e.path.empty()) entries.push_back(std::move(e));
  return entries;
}

tl::expected<std::vector<LoaderCacheEntry>, std::string> read_loader_cache(std::string_view bytes) {
  const auto cache = LoaderCache::parse(std::string(bytes));
  if (!cache) return failure(cache.error());
  return cache->all();
}

}  // namespace gpuvet
