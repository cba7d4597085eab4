#pragma once
// UTF-8 read one character at a time, with what is not UTF-8 kept apart: for JSON, terminals and redaction.

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuvet {

struct Utf8Char {
  char32_t code = 0;
  std::uint8_t length = 0;  ///< bytes taken; at least 1 unless the text is at its end
  bool valid = false;       ///< false: one byte that starts no well-formed sequence (code is that byte)
};

/// The character at `offset`: well-formed as in Unicode 3.9 (no overlong forms, no surrogates, at most U+10FFFF). O(1).
Utf8Char utf8_at(std::string_view text, std::size_t offset);

void append_utf8(std::string& out, char32_t code);

}  // namespace gpuvet
