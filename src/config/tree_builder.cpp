#include "config/tree_builder.h"

namespace gpuvet {

bool TreeBuilder::open(ConfigKind kind, ConfigPlace place) {
  if (open_.size() >= config_depth_limit || ++count_ > config_value_limit) return false;
  Open opened;
  opened.value.kind = kind;
  opened.value.place = place;
  open_.push_back(std::move(opened));
  return true;
}

bool TreeBuilder::close() {
  if (open_.empty()) return false;
  ConfigValue value = std::move(open_.back().value);
  open_.pop_back();
  return add(std::move(value));
}

void TreeBuilder::key(std::string text, ConfigPlace place) {
  if (open_.empty()) return;
  open_.back().key = std::move(text);
  open_.back().key_place = place;
  open_.back().has_key = true;
}

bool TreeBuilder::scalar(ConfigValue value) {
  if (++count_ > config_value_limit) return false;
  return add(std::move(value));
}

bool TreeBuilder::add(ConfigValue value) {
  if (open_.empty()) {
    root_ = std::move(value);
    done_ = true;
    return true;
  }
  Open& parent = open_.back();
  if (parent.value.is_list()) {
    parent.value.items.push_back(std::move(value));
  } else {
    parent.value.members.push_back({std::move(parent.key), parent.key_place, std::move(value)});
    parent.has_key = false;
  }
  return true;
}

}  // namespace gpuvet
