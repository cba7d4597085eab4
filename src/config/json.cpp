// nlohmann's parser tells what it reads but not where: an iterator that counts along knows.

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "config/tree_builder.h"

namespace gpuvet {
namespace {

using Json = nlohmann::json;

/// How far the parser has read, and where the token began that it is reading.
struct Progress {
  std::string_view text;
  std::size_t read = 0;  ///< bytes handed out

  ConfigPlace place_of(std::size_t offset) const {
    const std::string_view before = text.substr(0, offset);
    const std::size_t last = before.rfind('\n');
    const auto lines = static_cast<std::int64_t>(std::count(before.begin(), before.end(), '\n'));
    return {lines + 1, static_cast<std::int64_t>(last == std::string_view::npos ? offset : offset - last - 1) + 1};
  }
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(Progress* progress, std::size_t offset) : progress_(progress), offset_(offset) {}
  reference operator*() const { return progress_->text[offset_]; }
  CountingIterator& operator++() {
    progress_->read = ++offset_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.offset_ == b.offset_; }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  Progress* progress_;
  std::size_t offset_;
};

class Reader : public nlohmann::json_sax<Json> {
 public:
  Reader(Progress& progress, ConfigError& error) : progress_(progress), error_(error) {}

  bool null() override { return scalar(ConfigKind::Null, "null"); }
  bool boolean(bool value) override { return scalar(ConfigKind::Bool, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return scalar(ConfigKind::Number, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(ConfigKind::Number, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& written) override { return scalar(ConfigKind::Number, written); }
  bool string(string_t& value) override { return scalar(ConfigKind::String, std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(ConfigKind::Map); }
  bool start_array(std::size_t) override { return open(ConfigKind::List); }
  bool key(string_t& name) override {
    builder_.key(std::move(name), token_place());
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& why) override {
    std::string text = why.what();
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while …"
    if (const std::size_t colon = text.find(": "); colon != std::string::npos) text.erase(0, colon + 2);
    error_ = {std::move(text), progress_.place_of(std::min(position == 0 ? 0 : position - 1, progress_.text.size()))};
    return false;
  }
  ConfigValue& root() { return builder_.root(); }

 private:
  /// The token that was just read began at the first byte after the one before that is no blank, comma or colon.
  ConfigPlace token_place() {
    std::size_t start = std::min(token_end_, progress_.text.size());
    const auto between = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ':'; };
    while (start < progress_.text.size() && between(progress_.text[start])) ++start;
    advance_to(start);
    token_end_ = progress_.read;
    return place_;
  }

  void advance_to(std::size_t offset) {
    for (; counted_ < offset; ++counted_) {
      const bool ends = progress_.text[counted_] == '\n';
      place_ = ends ? ConfigPlace{place_.line + 1, 1} : ConfigPlace{place_.line, place_.column + 1};
    }
  }

  bool within_bounds(bool fits, ConfigPlace place) {
    if (!fits) error_ = {"more values, or deeper ones, than such a file can have", place};
    return fits;
  }
  bool scalar(ConfigKind kind, std::string text) {
    ConfigValue value;
    value.kind = kind;
    value.text = std::move(text);
    value.place = token_place();
    // The parser looked one byte ahead to see a number's end.
    if (kind == ConfigKind::Number && token_end_ > 0 && token_end_ < progress_.text.size()) --token_end_;
    const ConfigPlace place = value.place;
    return within_bounds(builder_.scalar(std::move(value)), place);
  }
  bool open(ConfigKind kind) {
    const ConfigPlace place = token_place();
    return within_bounds(builder_.open(kind, place), place);
  }
  bool close() {
    token_end_ = progress_.read;
    return builder_.close();
  }

  Progress& progress_;
  ConfigError& error_;
  TreeBuilder builder_;
  std::size_t token_end_ = 0;
  std::size_t counted_ = 0;
  ConfigPlace place_{1, 1};
};

}  // namespace

tl::expected<ConfigValue, ConfigError> parse_json_config(std::string_view text, bool comments) {
  if (text.size() > config_text_limit) return tl::unexpected(ConfigError{"larger than such a file can be", {1, 1}});
  Progress progress{text};
  ConfigError error{"no JSON", {1, 1}};
  Reader reader(progress, error);
  const bool read = Json::sax_parse(CountingIterator(&progress, 0), CountingIterator(&progress, text.size()), &reader,
                                    nlohmann::detail::input_format_t::json, true, comments);
  if (!read) return tl::unexpected(error);
  return std::move(reader.root());
}

}  // namespace gpuvet
