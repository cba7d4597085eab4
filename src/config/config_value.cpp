#include "config/config_value.h"

#include <algorithm>

namespace gpuvet {

const ConfigValue* ConfigValue::find(std::string_view key) const {
  const auto it = std::find_if(members.rbegin(), members.rend(), [&](const ConfigMember& member) { return member.key == key; });
  return it == members.rend() ? nullptr : &it->value;
}

const ConfigValue* ConfigValue::at(std::initializer_list<std::string_view> keys) const {
  const ConfigValue* value = this;
  for (const std::string_view key : keys) {
    value = value->find(key);
    if (value == nullptr) return nullptr;
  }
  return value;
}

std::string ConfigValue::text_of(std::string_view key) const {
  const ConfigValue* value = find(key);
  return value != nullptr && value->is_scalar() ? value->text : std::string();
}

}  // namespace gpuvet
