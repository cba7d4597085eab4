#pragma once
// What a dynamic loader asks the file system for, as an interface: the forecast runs on a live machine, on a root, on a recorded
// machine and on a snapshot alike.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"

namespace gpuvet {

class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  /// The file that open(path) leads to; null: there is none. A file that is there and cannot be used has another state than
  /// "elf" ("empty", "not-elf", "unreadable"). The record's address stays valid as long as the source. Repeated calls are cheap.
  virtual const LibraryFile* open(std::string_view path) = 0;
  /// Is this a folder that can be entered? glibc forgets folders that are not there.
  virtual bool is_folder(std::string_view path) = 0;
  /// Entries of /etc/ld.so.cache for this soname, in the order of the file. Null: there is no (readable) cache.
  virtual const std::vector<LoaderCacheEntry>* cache_entries(std::string_view soname) = 0;
};

/// A machine's own loader view. `open` gives only files that the view has; so a forecast on a snapshot equals the one on its
/// machine for every plan that was collected.
class ViewSource final : public ObjectSource {
 public:
  explicit ViewSource(const LoaderView& view);
  const LibraryFile* open(std::string_view path) override;
  bool is_folder(std::string_view path) override;
  const std::vector<LoaderCacheEntry>* cache_entries(std::string_view soname) override;

 private:
  const LoaderView& view_;
  std::map<std::string_view, const LibraryFile*> by_path_;
  std::map<std::string, std::vector<LoaderCacheEntry>, std::less<>> by_soname_;
  bool has_cache_ = false;
};

}  // namespace gpuvet
