#include "model/json.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "model/fields.h"
#include "model/json_writer.h"

namespace gpuvet {
namespace {

constexpr std::size_t max_bytes = std::size_t{64} << 20;
constexpr int max_depth = 32;                            ///< Machine itself nests about ten deep
constexpr std::size_t max_items = std::size_t{1} << 18;  ///< "[{},{},…" would else become gigabytes of empty structs
constexpr std::size_t max_quoted = 40;

// ---- writing -------------------------------------------------------------------------------------------------------

// Field left out: nothing is lost, because reading starts from the default.
bool is_empty(const std::string& v) { return v.empty(); }
template <class T>
bool is_empty(const std::vector<T>& v) {
  return v.empty();
}
bool is_empty(const std::map<std::string, std::string>& v) { return v.empty(); }
template <class T>
bool is_empty(const Fact<T>& v) {
  return v == Fact<T>();
}
bool is_empty(const Origin& v) { return v == Origin(); }
template <class T>
bool is_empty(const T&) {
  return false;
}

void write(JsonWriter& w, const std::string& v) { w.string(v); }
void write(JsonWriter& w, bool v) { w.boolean(v); }
void write(JsonWriter& w, std::int64_t v) { w.integer(v); }
void write(JsonWriter& w, std::uint64_t v) { w.natural(v); }
void write(JsonWriter& w, std::uint32_t v) { w.natural(v); }
void write(JsonWriter& w, double v) { w.number(v); }
template <HasFields T>
void write(JsonWriter& w, const T& object);
template <class T>
void write(JsonWriter& w, const Fact<T>& fact);

template <class T>
void write(JsonWriter& w, const std::vector<T>& list) {
  w.begin_array();
  for (const T& item : list) write(w, item);
  w.end_array();
}

void write(JsonWriter& w, const std::map<std::string, std::string>& map) {
  w.begin_object();
  for (const auto& [name, value] : map) w.field(name, value);
  w.end_object();
}

template <class T>
void write(JsonWriter& w, const Fact<T>& fact) {
  w.begin_object();
  if (fact.is_known()) {
    w.key("known");
    write(w, *fact.get());
  } else if (fact.is_absent()) {
    w.field_bool("absent", true);
  } else {
    w.field("not_seen", fact.why());
  }
  if (!is_empty(fact.origin())) {
    w.key("origin");
    write(w, fact.origin());
  }
  w.end_object();
}

template <HasFields T>
void write(JsonWriter& w, const T& object) {
  w.begin_object();
  visit_fields(object, [&](const char* name, const auto& field) {
    if (is_empty(field)) return;
    w.key(name);
    write(w, field);
  });
  w.end_object();
}

// ---- reading -------------------------------------------------------------------------------------------------------

using nlohmann::json;

/// Where we are in the document, for messages only; the first error stops everything.
class Reader {
 public:
  bool failed() const { return !error_.empty(); }
  std::string take_error() { return std::move(error_); }

  void fail(std::string_view what) {
    if (!failed()) error_ = place_ + ": " + std::string(what);
  }
  template <class Function>
  void inside(const std::string& step, Function function) {
    if (failed()) return;
    const std::size_t length = place_.size();
    place_ += step;
    function();
    place_.resize(length);
  }

  /// First of all: a newer document may mean other things by the same names.
  void check_schema(const json& j) {
    const auto found = j.find("schema");
    if (found == j.end()) return fail("no schema; this is no gpuvet snapshot");
    std::int64_t schema = 0;
    inside(".schema", [&] {
      read(*found, schema);
      if (schema > Machine::current_schema) {
        fail(std::to_string(schema) + " is newer than this gpuvet reads (" + std::to_string(Machine::current_schema) + ")");
      } else if (schema < 1) {
        fail("there is no such schema");
      }
    });
  }

  void read(const json& j, std::string& out) {
    if (!j.is_string()) return fail("not a string");
    out = json_string_bytes(j.get_ref<const std::string&>());
  }
  void read(const json& j, bool& out) {
    if (!j.is_boolean()) return fail("not true or false");
    out = j.get<bool>();
  }
  void read(const json& j, double& out) {
    if (j.is_number()) {
      out = j.get<double>();
    } else if (j == "inf" || j == "-inf") {
      out = j == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    } else if (j == "nan") {
      out = std::numeric_limits<double>::quiet_NaN();
    } else {
      fail("not a number");
    }
  }
  template <class Integer>
  requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>) void read(const json& j, Integer& out) {
    if (!j.is_number_integer()) return fail("not a whole number");
    const bool fits =
        j.is_number_unsigned() ? std::in_range<Integer>(j.get<std::uint64_t>()) : std::in_range<Integer>(j.get<std::int64_t>());
    if (!fits) return fail("number out of range");
    out = j.is_number_unsigned() ? static_cast<Integer>(j.get<std::uint64_t>()) : static_cast<Integer>(j.get<std::int64_t>());
  }
  void read(const json& j, std::map<std::string, std::string>& out) {
    if (!j.is_object()) return fail("not an object");
    for (const auto& item : j.items()) {  // no structured binding: clang 14 does not let a lambda capture one
      inside("." + item.key().substr(0, max_quoted), [&] { read(item.value(), out[json_string_bytes(item.key())]); });
    }
  }
  template <class T>
  void read(const json& j, std::vector<T>& out) {
    if (!j.is_array()) return fail("not an array");
    items_ += j.size();
    if (items_ > max_items) return fail("too many items");
    out.resize(j.size());
    for (std::size_t i = 0; i < j.size() && !failed(); ++i) {
      inside("[" + std::to_string(i) + "]", [&] { read(j[i], out[i]); });
    }
  }
  template <class T>
  void read(const json& j, Fact<T>& out) {
    if (!j.is_object()) return fail("not an object with known, absent or not_seen");
    Origin origin;
    if (const auto o = j.find("origin"); o != j.end()) inside(".origin", [&] { read(*o, origin); });
    const auto known = j.find("known"), absent = j.find("absent"), not_seen = j.find("not_seen");
    if ((known != j.end()) + (absent != j.end()) + (not_seen != j.end()) != 1) {
      return fail("wants exactly one of known, absent and not_seen");
    }
    if (known != j.end()) {
      T value{};
      inside(".known", [&] { read(*known, value); });
      out = Fact<T>::known(std::move(value), std::move(origin));
    } else if (absent != j.end()) {
      bool yes = false;
      inside(".absent", [&] { read(*absent, yes); });
      if (!yes) fail("absent can only be true");
      out = Fact<T>::absent(std::move(origin));
    } else {
      std::string why;
      inside(".not_seen", [&] { read(*not_seen, why); });
      out = Fact<T>::not_seen(std::move(why), std::move(origin));
    }
  }
  template <HasFields T>
  void read(const json& j, T& object) {
    if (!j.is_object()) return fail("not an object");
    visit_fields(object, [&](const char* name, auto& field) {
      const auto found = j.find(name);
      if (found != j.end()) inside(std::string(".") + name, [&] { read(*found, field); });
    });
  }

 private:
  std::string place_ = "machine";
  std::string error_;
  std::size_t items_ = 0;
};

/// Deepest nesting of brackets outside strings; the parser is only let loose on what is bounded.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::string place_in_text(std::string_view text, std::size_t byte) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line, column = 1;
    } else {
      ++column;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

tl::expected<json, std::string> parse(std::string_view text) {
  if (text.size() > max_bytes) return tl::unexpected("larger than " + std::to_string(max_bytes >> 20) + " MiB");
  if (too_deep(text)) return tl::unexpected(std::string("nested too deeply"));
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    return tl::unexpected(place_in_text(text, error.byte) + ": not valid JSON");
  } catch (const json::exception&) {
    return tl::unexpected(std::string("not valid JSON (a number out of range?)"));
  }
}

/// The document of `check --format json` holds its machine as a member.
const json& machine_inside(const json& document) {
  if (document.is_object() && document.contains("verdict")) {
    if (const auto found = document.find("machine"); found != document.end()) return *found;
  }
  return document;
}

}  // namespace

std::string machine_to_json(const Machine& machine) {
  JsonWriter w;
  write(w, machine);
  return w.take() + "\n";
}

tl::expected<Machine, std::string> machine_from_json(std::string_view text) {
  const auto document = parse(text);
  if (!document) return tl::unexpected(document.error());
  const json& j = machine_inside(*document);
  if (!j.is_object()) return tl::unexpected(std::string("machine: not an object"));
  Machine machine;
  Reader reader;
  reader.check_schema(j);
  if (!reader.failed()) reader.read(j, machine);
  if (reader.failed()) return tl::unexpected(reader.take_error());
  return machine;
}

}  // namespace gpuvet
