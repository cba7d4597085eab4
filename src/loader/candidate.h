#pragma once
// One search for one name: what a loader makes of each file that it comes to. Internal to loader/.

#include "loader/load_state.h"

namespace gpuvet {

class Search {
 public:
  Search(LoadState& state, std::string_view name) : state_(state), name_(name) {}

  /// Nothing that lies behind can matter any more.
  bool done() const { return decided() && !state_.rules.want_shadows; }
  bool decided() const { return found_.file != nullptr || !found_.error.empty(); }

  void folders(const std::vector<SearchPlace>& places, std::string_view rule);
  /// `path` as the loader opens it.
  void at(const std::string& path, std::string_view rule, std::string_view detail);
  /// A place that the loader leaves out.
  void passed_over(const std::string& path, std::string_view rule, std::string why);

  Found take() { return std::move(found_); }

 private:
  void settle(const LibraryFile& file, const std::string& path, std::string_view rule, std::string_view detail,
              std::string error);
  bool known_copy(const LibraryFile& file) const;

  LoadState& state_;
  std::string_view name_;
  Found found_;
};

}  // namespace gpuvet
