#pragma once
// Configuration files of other programs (JSON, YAML, TOML) as one kind of tree in which every value knows its line and column.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace gpuvet {

/// Lines and columns count from 1; columns in bytes.
struct ConfigPlace {
  std::int64_t line = 0;
  std::int64_t column = 0;
  friend bool operator==(const ConfigPlace&, const ConfigPlace&) = default;
};

enum class ConfigKind : std::uint8_t { Null, Bool, Number, String, List, Map };

struct ConfigMember;

struct ConfigValue {
  ConfigKind kind = ConfigKind::Null;
  std::string text;  ///< of a scalar: a string's content; "true" or "false"; a number as written
  ConfigPlace place;
  std::vector<ConfigValue> items;     ///< of a list
  std::vector<ConfigMember> members;  ///< of a map, in the order of the file; a key that comes twice is there twice

  bool is_map() const { return kind == ConfigKind::Map; }
  bool is_list() const { return kind == ConfigKind::List; }
  bool is_scalar() const { return kind != ConfigKind::Map && kind != ConfigKind::List; }
  /// The member of that name (the last one, as YAML and JSON readers take it), or null: none, or no map.
  const ConfigValue* find(std::string_view key) const;
  /// The value behind several keys, or null.
  const ConfigValue* at(std::initializer_list<std::string_view> keys) const;
  /// The text of a member that is a scalar; empty where there is none.
  std::string text_of(std::string_view key) const;
  /// True for the boolean true (YAML: also yes and on, as its readers of version 1.1 take them).
  bool is_true() const { return kind == ConfigKind::Bool && text == "true"; }
  bool is_false() const { return kind == ConfigKind::Bool && text == "false"; }
};

struct ConfigMember {
  std::string key;
  ConfigPlace place;  ///< of the key
  ConfigValue value;
};

/// Why a text is no such file; the place is the parser's.
struct ConfigError {
  std::string message;
  ConfigPlace place;
};

/// Bounds of what is read: beyond them a text is refused. Aliases of YAML count as what they stand for.
inline constexpr std::size_t config_text_limit = std::size_t{8} << 20;
inline constexpr std::size_t config_value_limit = 200'000;
inline constexpr std::size_t config_depth_limit = 100;

/// RFC 8259. `comments` lets // and /* */ pass, as some programs do.
tl::expected<ConfigValue, ConfigError> parse_json_config(std::string_view text, bool comments = false);
/// All documents of a YAML stream; anchors, aliases and merge keys ("<<") are resolved. A cycle is an error.
tl::expected<std::vector<ConfigValue>, ConfigError> parse_yaml_config(std::string_view text);
/// TOML 1.0.
tl::expected<ConfigValue, ConfigError> parse_toml_config(std::string_view text);

}  // namespace gpuvet
