#include <algorithm>
#include <sstream>

#include <toml++/toml.h>

#include "config/config_value.h"

namespace gpuvet {
namespace {

ConfigPlace place_of(const toml::source_region& source) {
  return {static_cast<std::int64_t>(source.begin.line), static_cast<std::int64_t>(source.begin.column)};
}

std::string written(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) text << value.get();
  });
  return std::move(text).str();
}

ConfigValue from_node(const toml::node& node);

void add_table(ConfigValue& value, const toml::table& table) {
  value.kind = ConfigKind::Map;
  for (const auto& [key, member] : table)
    value.members.push_back({std::string(key.str()), place_of(key.source()), from_node(member)});
  // The table is sorted by name; the file's own order is what a reader expects.
  std::ranges::stable_sort(value.members, {},
                           [](const ConfigMember& member) { return std::pair(member.place.line, member.place.column); });
}

ConfigValue from_node(const toml::node& node) {
  ConfigValue value;
  value.place = place_of(node.source());
  if (const auto* table = node.as_table()) {
    add_table(value, *table);
  } else if (const auto* array = node.as_array()) {
    value.kind = ConfigKind::List;
    for (const toml::node& item : *array) value.items.push_back(from_node(item));
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = ConfigKind::Bool;
    value.text = boolean->get() ? "true" : "false";
  } else if (const auto* string = node.as_string()) {
    value.kind = ConfigKind::String;
    value.text = string->get();
  } else {
    value.kind = node.is_number() ? ConfigKind::Number : ConfigKind::String;
    value.text = written(node);
  }
  return value;
}

}  // namespace

tl::expected<ConfigValue, ConfigError> parse_toml_config(std::string_view text) {
  if (text.size() > config_text_limit) return tl::unexpected(ConfigError{"larger than such a file can be", {1, 1}});
  try {
    return from_node(toml::parse(text));
  } catch (const toml::parse_error& error) {
    return tl::unexpected(ConfigError{std::string(error.description()), place_of(error.source())});
  }
}

}  // namespace gpuvet
