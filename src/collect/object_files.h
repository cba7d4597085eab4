#pragma once
// A machine's files as a dynamic loader opens them: System → ObjectSource, with a memory of what was asked.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/forecast.h"
#include "loader/object_source.h"
#include "model/machine.h"
#include "system/system.h"

namespace gpuvet {

/// Reads each file once. Folders are listed, or probed, at most once each.
class SystemObjects final : public ObjectSource {
 public:
  explicit SystemObjects(System& system);
  ~SystemObjects() override;
  const LibraryFile* open(std::string_view path) override;
  bool is_folder(std::string_view path) override;
  const std::vector<LoaderCacheEntry>* cache_entries(std::string_view soname) override;

  /// The bytes of a file that open() gave, with a memory of what was read of them. Null: it cannot be opened any more.
  std::shared_ptr<FileReader> reader(const LibraryFile& file);

  /// loader_rules() with a memory: the plan of one target asks for the same again and again. `program` is a file of this source,
  /// `machine` always the same.
  const LoaderRules& rules(const Machine& machine, const LibraryFile* program);

  /// Puts everything that was opened, and the cache entries that were asked for, into a machine's loader view, so that the same
  /// forecast on a ViewSource gives the same answer.
  void store(LoaderView& view) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The rules of the loader that starts `program` (its interpreter decides glibc or musl; null: the machine's own).
LoaderRules loader_rules(System& system, const Machine& machine, const LibraryFile* program);

}  // namespace gpuvet
