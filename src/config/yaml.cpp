// libyaml's events to a tree. YAML 1.1, as Docker Compose, Kubernetes and CDI's readers take it, with 1.2's booleans.

#include <algorithm>
#include <map>
#include <memory>

#include <yaml.h>

#include "config/tree_builder.h"

namespace gpuvet {
namespace {

ConfigPlace place_of(const yaml_mark_t& mark) {
  return {static_cast<std::int64_t>(mark.line) + 1, static_cast<std::int64_t>(mark.column) + 1};
}

std::string text_of(const yaml_char_t* text, std::size_t length) { return {reinterpret_cast<const char*>(text), length}; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_number(std::string_view text) {
  if (text.empty()) return false;
  const std::string_view digits = text.front() == '-' || text.front() == '+' ? text.substr(1) : text;
  if (digits.empty() || digits.find_first_of("0123456789") == std::string_view::npos) return false;
  return digits.find_first_not_of("0123456789.eExXabcdefABCDEF_+-") == std::string_view::npos &&
         ((digits.front() >= '0' && digits.front() <= '9') || digits.front() == '.');
}

/// What a plain (unquoted) scalar is.
ConfigValue plain_scalar(std::string text, ConfigPlace place) {
  ConfigValue value;
  value.place = place;
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) {
    value.kind = ConfigKind::Null;
  } else if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) {
    value.kind = ConfigKind::Bool;
    text = "true";
  } else if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
    value.kind = ConfigKind::Bool;
    text = "false";
  } else {
    value.kind = is_number(text) ? ConfigKind::Number : ConfigKind::String;
  }
  value.text = std::move(text);
  return value;
}

std::size_t count_of(const ConfigValue& value) {
  std::size_t count = 1;
  for (const ConfigValue& item : value.items) count += count_of(item);
  for (const ConfigMember& member : value.members) count += count_of(member.value);
  return count;
}

std::size_t depth_of(const ConfigValue& value) {
  std::size_t deepest = 0;
  for (const ConfigValue& item : value.items) deepest = std::max(deepest, depth_of(item));
  for (const ConfigMember& member : value.members) deepest = std::max(deepest, depth_of(member.value));
  return deepest + 1;
}

/// yaml.org/type/merge: keys of the map itself win over merged ones. They come behind the merged ones, where find() looks first.
void merge_into(std::vector<ConfigMember>& members, const ConfigValue& merged) {
  if (merged.is_list()) {
    // Earlier maps of a list win.
    for (auto it = merged.items.rbegin(); it != merged.items.rend(); ++it) merge_into(members, *it);
    return;
  }
  members.insert(members.end(), merged.members.begin(), merged.members.end());
}

void apply_merge_keys(ConfigValue& map) {
  const auto is_merge = [](const ConfigMember& member) { return member.key == "<<"; };
  if (std::none_of(map.members.begin(), map.members.end(), is_merge)) return;
  std::vector<ConfigMember> members;
  for (const ConfigMember& member : map.members)
    if (is_merge(member)) merge_into(members, member.value);
  for (ConfigMember& member : map.members)
    if (!is_merge(member)) members.push_back(std::move(member));
  map.members = std::move(members);
}

struct ParserCloser {
  void operator()(yaml_parser_t* parser) const {
    yaml_parser_delete(parser);
    delete parser;
  }
};

class Event {
 public:
  ~Event() {
    if (filled_) yaml_event_delete(&event_);
  }
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  bool next(yaml_parser_t& parser) {
    if (filled_) yaml_event_delete(&event_);
    filled_ = yaml_parser_parse(&parser, &event_) == 1;
    return filled_;
  }
  const yaml_event_t& operator*() const { return event_; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
  bool filled_ = false;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : parser_(new yaml_parser_t) {
    if (yaml_parser_initialize(parser_.get()) == 0) {
      failed_ = true;
      return;
    }
    yaml_parser_set_input_string(parser_.get(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }

  tl::expected<std::vector<ConfigValue>, ConfigError> read() {
    if (failed_) return tl::unexpected(ConfigError{"no memory for it", {1, 1}});
    std::vector<ConfigValue> documents;
    while (true) {
      if (!event_.next(*parser_)) return tl::unexpected(parser_error());
      if (event_->type == YAML_STREAM_END_EVENT) return documents;
      if (event_->type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      if (!event_.next(*parser_)) return tl::unexpected(parser_error());
      auto value = read_value(0);
      if (!value) return tl::unexpected(value.error());
      documents.push_back(std::move(*value));
    }
  }

 private:
  using Value = tl::expected<ConfigValue, ConfigError>;

  ConfigError parser_error() const {
    std::string message = parser_->problem != nullptr ? parser_->problem : "no YAML";
    if (parser_->context != nullptr) message = std::string(parser_->context) + ": " + message;
    return {message, place_of(parser_->problem_mark)};
  }
  static Value refused(const char* why, ConfigPlace place) { return tl::unexpected(ConfigError{why, place}); }

  /// The value that the present event begins.
  Value read_value(std::size_t depth) {
    const ConfigPlace place = place_of(event_->start_mark);
    if (depth >= config_depth_limit || ++count_ > config_value_limit)
      return refused("more values, or deeper ones, than such a file can have", place);
    switch (event_->type) {
      case YAML_ALIAS_EVENT:
        return aliased(place, depth);
      case YAML_SCALAR_EVENT:
        return scalar(place);
      case YAML_SEQUENCE_START_EVENT:
        return list(place, depth);
      case YAML_MAPPING_START_EVENT:
        return map(place, depth);
      default:
        return refused("no value where one is expected", place);
    }
  }

  Value aliased(ConfigPlace place, std::size_t depth) {
    const std::string name =
        text_of(event_->data.alias.anchor, std::string_view(reinterpret_cast<const char*>(event_->data.alias.anchor)).size());
    const auto it = anchors_.find(name);
    // An alias inside the value that its anchor names is not there yet: a cycle.
    if (it == anchors_.end()) return refused("an alias without its anchor, or inside of it", place);
    count_ += count_of(it->second);
    if (count_ > config_value_limit || depth + depth_of(it->second) > config_depth_limit)
      return refused("aliases that stand for more than such a file can hold", place);
    ConfigValue value = it->second;
    value.place = place;
    return value;
  }

  Value scalar(ConfigPlace place) {
    const auto& data = event_->data.scalar;
    std::string text = text_of(data.value, data.length);
    ConfigValue value;
    if (data.style == YAML_PLAIN_SCALAR_STYLE && data.tag == nullptr) {
      value = plain_scalar(std::move(text), place);
    } else {
      value.kind = ConfigKind::String;
      value.text = std::move(text);
      value.place = place;
    }
    remember(data.anchor, value);
    return value;
  }

  void remember(const yaml_char_t* anchor, const ConfigValue& value) {
    if (anchor != nullptr) anchors_[reinterpret_cast<const char*>(anchor)] = value;
  }

  static std::string anchor_name(const yaml_char_t* anchor) {
    return anchor == nullptr ? "" : reinterpret_cast<const char*>(anchor);
  }

  Value list(ConfigPlace place, std::size_t depth) {
    const std::string anchor = anchor_name(event_->data.sequence_start.anchor);
    ConfigValue value;
    value.kind = ConfigKind::List;
    value.place = place;
    while (true) {
      if (!event_.next(*parser_)) return tl::unexpected(parser_error());
      if (event_->type == YAML_SEQUENCE_END_EVENT) break;
      auto item = read_value(depth + 1);
      if (!item) return item;
      value.items.push_back(std::move(*item));
    }
    if (!anchor.empty()) anchors_[anchor] = value;
    return value;
  }

  Value map(ConfigPlace place, std::size_t depth) {
    const std::string anchor = anchor_name(event_->data.mapping_start.anchor);
    ConfigValue value;
    value.kind = ConfigKind::Map;
    value.place = place;
    while (true) {
      if (!event_.next(*parser_)) return tl::unexpected(parser_error());
      if (event_->type == YAML_MAPPING_END_EVENT) break;
      auto key = read_value(depth + 1);
      if (!key) return key;
      if (!event_.next(*parser_)) return tl::unexpected(parser_error());
      auto member = read_value(depth + 1);
      if (!member) return member;
      // A list or map as a key says nothing to any reader here.
      value.members.push_back({key->is_scalar() ? key->text : std::string(), key->place, std::move(*member)});
    }
    apply_merge_keys(value);
    if (!anchor.empty()) anchors_[anchor] = value;
    return value;
  }

  std::unique_ptr<yaml_parser_t, ParserCloser> parser_;
  Event event_;
  std::map<std::string, ConfigValue, std::less<>> anchors_;
  std::size_t count_ = 0;
  bool failed_ = false;
};

}  // namespace

tl::expected<std::vector<ConfigValue>, ConfigError> parse_yaml_config(std::string_view text) {
  if (text.size() > config_text_limit) return tl::unexpected(ConfigError{"larger than such a file can be", {1, 1}});
  return Reader(text).read();
}

}  // namespace gpuvet
