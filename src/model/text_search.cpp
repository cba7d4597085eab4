#include "model/text_search.h"

#include <algorithm>

namespace gpuvet {

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return part.empty() || !std::ranges::search(text, part, [&](char a, char b) { return lower(a) == lower(b); }).empty();
}

}  // namespace gpuvet
