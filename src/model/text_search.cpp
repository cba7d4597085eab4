#include "model/text_search.h"

#include <algorithm>

namespace gpuvet {

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto equal = [&](char a, char b) { return lower(a) == lower(b); };
  // Not std::ranges::search: clang 14, which builds the fuzz targets, cannot compile libstdc++ 12's subrange.
  return std::search(text.begin(), text.end(), part.begin(), part.end(), equal) != text.end() || part.empty();
}

}  // namespace gpuvet
