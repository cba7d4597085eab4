#pragma once
// Builds a ConfigValue from a parser's events, within the bounds of config_value.h.

#include <string>
#include <vector>

#include "config/config_value.h"

namespace gpuvet {

/// A finished value is added to the map or list that is open; a map's keys come first. All calls answer false beyond the bounds.
class TreeBuilder {
 public:
  bool open(ConfigKind kind, ConfigPlace place);
  /// Closes the innermost map or list.
  bool close();
  void key(std::string text, ConfigPlace place);
  bool scalar(ConfigValue value);
  bool wants_key() const { return !open_.empty() && open_.back().value.is_map() && !open_.back().has_key; }
  bool done() const { return done_; }
  ConfigValue& root() { return root_; }

 private:
  struct Open {
    ConfigValue value;
    std::string key;
    ConfigPlace key_place;
    bool has_key = false;
  };
  bool add(ConfigValue value);

  std::vector<Open> open_;
  ConfigValue root_;
  std::size_t count_ = 0;
  bool done_ = false;
};

}  // namespace gpuvet
