#include "model/json_writer.h"

#include <charconv>
#include <cmath>

#include "model/utf8.h"

namespace gpuvet {
namespace {

constexpr char32_t byte_escapes = 0x10ff00;  ///< + byte

void append_hex4(std::string& out, unsigned code) {
  static constexpr char digits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[(code >> shift) & 15U];
}

void append_escaped_byte(std::string& out, char byte) {
  append_hex4(out, 0xdbff);
  append_hex4(out, 0xdf00U | static_cast<unsigned char>(byte));
}

void append_control(std::string& out, char32_t code) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      append_hex4(out, static_cast<unsigned>(code));
  }
}

template <class Number>
void append_number(std::string& out, Number value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end.ptr);
}

/// C1 controls, bidirectional overrides, line separators: a terminal or an editor that shows the document must not obey them.
bool is_invisible(char32_t code) {
  return (code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

}  // namespace

void append_json_string(std::string& out, std::string_view bytes) {
  out += '"';
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Char c = utf8_at(bytes, i);
    const bool keep = c.valid && c.code < byte_escapes;
    if (!keep) {
      for (std::size_t k = 0; k < c.length; ++k) append_escaped_byte(out, bytes[i + k]);
    } else if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code < 0x20 || c.code == 0x7f || is_invisible(c.code)) {
      append_control(out, c.code);
    } else {
      out.append(bytes, i, c.length);
    }
    i += c.length;
  }
  out += '"';
}

std::string json_string_bytes(std::string_view parsed) {
  std::string out;
  out.reserve(parsed.size());
  for (std::size_t i = 0; i < parsed.size();) {
    const Utf8Char c = utf8_at(parsed, i);
    if (c.valid && c.code >= byte_escapes) {
      out += static_cast<char>(static_cast<unsigned char>(c.code - byte_escapes));
    } else {
      out.append(parsed, i, c.length);
    }
    i += c.length;
  }
  return out;
}

void JsonWriter::new_line() {
  out_ += '\n';
  out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) out_ += ',';
  if (depth_ > 0) new_line();
  first_ = false;
}

void JsonWriter::begin(char bracket) {
  separate();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!first_) new_line();
  out_ += bracket;
  first_ = false;
}

void JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ": ";
  after_key_ = true;
}

void JsonWriter::string(std::string_view bytes) {
  separate();
  append_json_string(out_, bytes);
}

void JsonWriter::integer(std::int64_t value) {
  separate();
  append_number(out_, value);
}

void JsonWriter::natural(std::uint64_t value) {
  separate();
  append_number(out_, value);
}

void JsonWriter::number(double value) {
  if (!std::isfinite(value)) return string(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  separate();
  append_number(out_, value);
}

void JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::null() {
  separate();
  out_ += "null";
}

void JsonWriter::raw(std::string_view json) {
  separate();
  while (!json.empty() && json.back() == '\n') json.remove_suffix(1);
  for (const char c : json) {  // new lines are never inside a JSON string
    if (c == '\n') {
      new_line();
    } else {
      out_ += c;
    }
  }
}

}  // namespace gpuvet
