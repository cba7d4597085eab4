#pragma once
// Writes JSON text piece by piece, without a document tree: two-space indent, pure ASCII where a byte is not UTF-8.
//
// JSON strings hold Unicode, a machine's strings hold bytes. A byte XX that is no UTF-8 is written as \udbff\udfXX, the
// character U+10FFXX of a private-use plane; json_string_bytes() turns it back. (Real characters U+10FF80 … U+10FFFF are
// written byte by byte the same way, so nothing is lost and nothing is ambiguous.)

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuvet {

class JsonWriter {
 public:
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  /// Name of the next value in an object.
  void key(std::string_view name);
  void string(std::string_view bytes);
  void integer(std::int64_t value);
  void natural(std::uint64_t value);
  /// Infinite values and NaN, which JSON lacks, become strings.
  void number(double value);
  void boolean(bool value);
  void null();
  /// A whole JSON value written elsewhere with the same indent (machine_to_json's).
  void raw(std::string_view json);

  // Convenience for objects.
  void field(std::string_view name, std::string_view bytes) { key(name), string(bytes); }
  void field_bool(std::string_view name, bool value) { key(name), boolean(value); }

  const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void separate();  ///< comma and new line before a value or key
  void new_line();

  std::string out_;
  int depth_ = 0;
  bool first_ = true;  ///< nothing yet in the innermost container
  bool after_key_ = false;
};

/// `bytes` as a quoted JSON string.
void append_json_string(std::string& out, std::string_view bytes);
/// Undoes the byte escapes in a parsed JSON string.
std::string json_string_bytes(std::string_view parsed);

}  // namespace gpuvet
