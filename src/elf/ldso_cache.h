#pragma once
// /etc/ld.so.cache. Formats: glibc's sysdeps/generic/dl-cache.h and elf/cache.c: the old "ld.so-1.7.0" table, the new
// "glibc-ld.so.cache1.1" one, or the new one behind the old one.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "elf/bytes.h"
#include "model/machine.h"

namespace gpuvet {

/// A cache as glibc uses it: looked up by soname, without making records of the entries that nobody asks for.
class LoaderCache {
 public:
  /// Takes the file's bytes. Where both tables are there, the new one decides, as for glibc since 2.2.
  static tl::expected<LoaderCache, std::string> parse(std::string bytes);

  /// Entries for this soname in the order of the file, found as glibc finds them: by binary search in a table that is sorted
  /// backwards, numbers inside of names compared as numbers. A table that is not sorted may hide entries, from glibc too.
  std::vector<LoaderCacheEntry> find(std::string_view soname) const;
  /// All entries whose strings lie in the file.
  std::vector<LoaderCacheEntry> all() const;
  std::size_t size() const { return count_; }

 private:
  bool take_new(std::uint64_t at);
  bool take_old();
  void read_hwcaps();
  ByteView texts() const { return {std::string_view(bytes_).substr(texts_at_), big_endian_}; }
  ByteView table() const { return {std::string_view(bytes_).substr(table_at_), big_endian_}; }
  std::string_view text_from(std::uint64_t index) const;
  LoaderCacheEntry entry(std::uint64_t index) const;

  std::string bytes_;
  bool big_endian_ = false, is_new_ = false;
  std::uint64_t texts_at_ = 0, table_at_ = 0, count_ = 0;
  std::vector<std::string> hwcaps_;  ///< of the extension, by index
};

/// How glibc orders names: below 0, 0 or above 0. "libx.so.10" is greater than "libx.so.9", "libx.so.01" equals "libx.so.1".
/// `table_name` ends at its first NUL.
int compare_cache_names(std::string_view name, std::string_view table_name);

/// All entries in the order of the file.
tl::expected<std::vector<LoaderCacheEntry>, std::string> read_loader_cache(std::string_view bytes);

}  // namespace gpuvet
