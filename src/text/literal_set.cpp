#include "text/literal_set.h"

#include <algorithm>
#include <cstring>

namespace gpuvet {

/// Of the three bytes at `at`.
std::size_t LiteralSet::slot(const char* at) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, at, 3);
  return (bytes * 2654435761u) >> 17;
}

LiteralSet::LiteralSet(std::vector<std::pair<std::string, std::uint32_t>> literals) : literals_(std::move(literals)) {
  std::erase_if(literals_, [](const auto& literal) { return literal.first.size() < shortest_literal; });
  if (literals_.empty()) return;
  window_ = 255;
  for (const auto& [text, number] : literals_) window_ = std::min(window_, text.size());
  const auto end_slot = [&](const auto& literal) { return slot(literal.first.data() + window_ - 3); };
  std::ranges::sort(literals_, [&](const auto& a, const auto& b) {
    if (end_slot(a) != end_slot(b)) return end_slot(a) < end_slot(b);
    if (a.first.size() != b.first.size()) return a.first.size() > b.first.size();
    return a < b;
  });
  shift_.assign(table_size, static_cast<std::uint8_t>(window_ - 2));
  first_.assign(table_size + 1, 0);
  for (const auto& literal : literals_) {
    for (std::size_t i = 0; i + 3 <= window_; ++i) {
      std::uint8_t& shift = shift_[slot(literal.first.data() + i)];
      shift = std::min(shift, static_cast<std::uint8_t>(window_ - 3 - i));
    }
    ++first_[end_slot(literal) + 1];
  }
  for (std::size_t i = 1; i <= table_size; ++i) first_[i] += first_[i - 1];
}

/// Calls take(position, literal) for every literal in order of position, longest first; stops when it returns false.
template <class Take>
void LiteralSet::walk(std::string_view text, std::size_t from, Take take) const {
  if (literals_.empty() || text.size() < window_) return;
  const char* const data = text.data();
  const std::size_t last = text.size() - window_;
  std::size_t at = from;
  while (at <= last) {
    const std::size_t here = slot(data + at + window_ - 3);
    if (const std::uint8_t shift = shift_[here]; shift != 0) {
      at += shift;
      continue;
    }
    for (std::uint32_t i = first_[here]; i < first_[here + 1]; ++i) {
      const std::string& literal = literals_[i].first;
      if (literal.size() <= text.size() - at && std::memcmp(data + at, literal.data(), literal.size()) == 0 &&
          !take(at, literals_[i]))
        return;
    }
    ++at;
  }
}

LiteralSet::Hit LiteralSet::find(std::string_view text, std::size_t from) const {
  Hit hit;
  walk(text, from, [&](std::size_t position, const auto& literal) {
    hit = {position, literal.first.size(), literal.second};
    return false;
  });
  return hit;
}

void LiteralSet::all_in(std::string_view text, std::vector<std::uint32_t>& numbers) const {
  numbers.clear();
  walk(text, 0, [&](std::size_t, const auto& literal) {
    numbers.push_back(literal.second);
    return true;
  });
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace gpuvet
