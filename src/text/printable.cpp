#include "text/printable.h"

#include "model/utf8.h"

namespace gpuvet {

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(text.size() < limit ? text.size() : limit);
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    std::size_t length = 1;
    char plain = text[at];
    if (byte < 0x20 || byte == 0x7f) {
      plain = ' ';
    } else if (byte >= 0x80) {
      const Utf8Char c = utf8_at(text, at);
      length = c.valid ? c.length : 1;
      if (!c.valid) plain = '?';
    }
    if (out.size() + length > limit) break;
    if (length > 1)
      out.append(text.substr(at, length));
    else
      out += plain;
    at += length;
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white(" \t\r\n\v\f\0", 7);
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

}  // namespace gpuvet
