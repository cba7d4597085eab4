#pragma once
// RE2 takes and gives its own view of a text.

#include <re2/re2.h>

#include <string_view>

namespace gpuvet {

inline re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view(const re2::StringPiece& text) {
  return text.data() == nullptr ? std::string_view() : std::string_view(text.data(), text.size());
}

}  // namespace gpuvet
