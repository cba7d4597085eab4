#include "loader/object_source.h"

namespace gpuvet {

ViewSource::ViewSource(const LoaderView& view) : view_(view) {
  for (const auto& file : view.files) by_path_.try_emplace(file.path, &file);
  const auto* entries = view.cache.get();
  has_cache_ = entries != nullptr;
  if (entries == nullptr) return;
  for (const auto& entry : *entries) by_soname_[entry.soname].push_back(entry);
}

const LibraryFile* ViewSource::open(std::string_view path) {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

/// The view holds no folders: those that matter have a file in them.
bool ViewSource::is_folder(std::string_view path) {
  std::string prefix(path);
  if (prefix.empty() || prefix.back() != '/') prefix += '/';
  const auto next = by_path_.lower_bound(prefix);
  return next != by_path_.end() && next->first.starts_with(prefix);
}

const std::vector<LoaderCacheEntry>* ViewSource::cache_entries(std::string_view soname) {
  static const std::vector<LoaderCacheEntry> none;
  if (!has_cache_) return nullptr;
  const auto found = by_soname_.find(soname);
  return found == by_soname_.end() ? &none : &found->second;
}

}  // namespace gpuvet
