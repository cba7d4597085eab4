#include "text/literal_set.h"

#include <algorithm>
#include <cstring>

namespace gpuvet {
namespace {

constexpr std::size_t run = 4, stride = 3, window = run + stride - 1;
constexpr std::size_t furthest_window = 32;  // a hit is told once the search is so far behind it
constexpr int filter_bits = 17, slot_bits = 13;

/// Of the four bytes at `at`, filter_bits long.
std::uint32_t hash_of(const char* at) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, at, run);
  return (bytes * 2654435761u) >> (32 - filter_bits);
}

/// How often a byte stands in logs, roughly; only the order matters.
unsigned commonness(char c) {
  constexpr std::string_view frequent = " etaoinsrl0123456789", some = "dchumpfgywbvk./:-=,_\"";
  if (frequent.find(c) != std::string_view::npos) return 5;
  if (some.find(c) != std::string_view::npos) return 3;
  return 1;
}

/// Where the rarest bytes of a literal begin.
std::size_t rarest_window(std::string_view literal) {
  std::size_t best = 0;
  unsigned best_cost = ~0u;
  for (std::size_t at = 0; at + window <= literal.size() && at <= furthest_window; ++at) {
    unsigned cost = 0;
    for (std::size_t i = 0; i < stride; ++i) {
      unsigned product = 1;
      for (std::size_t k = 0; k < run; ++k) product *= commonness(literal[at + i + k]);
      cost += product;
    }
    if (cost < best_cost) best = at, best_cost = cost;
  }
  return best;
}

}  // namespace

LiteralSet::LiteralSet(std::vector<std::pair<std::string, std::uint32_t>> literals) : literals_(std::move(literals)) {
  static_assert(shortest_literal == window);
  std::erase_if(literals_, [](const auto& literal) { return literal.first.size() < shortest_literal; });
  if (literals_.empty()) return;
  filter_.assign((std::size_t{1} << filter_bits) / 64, 0);
  std::vector<std::pair<std::uint32_t, Run>> by_hash;
  by_hash.reserve(literals_.size() * stride);
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    const std::string& text = literals_[i].first;
    const std::size_t begin = rarest_window(text);
    furthest_ = std::max(furthest_, begin + stride - 1);
    for (std::size_t offset = begin; offset < begin + stride; ++offset)
      by_hash.push_back({hash_of(text.data() + offset), {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(offset)}});
  }
  const auto slot = [](std::uint32_t hash) { return hash >> (filter_bits - slot_bits); };
  std::ranges::stable_sort(by_hash, {}, [](const auto& entry) { return entry.first; });
  first_.assign((std::size_t{1} << slot_bits) + 1, 0);
  for (const auto& [hash, entry] : by_hash) {
    filter_[hash / 64] |= std::uint64_t{1} << (hash % 64);
    ++first_[slot(hash) + 1];
    runs_.push_back(entry);
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

bool LiteralSet::may_begin_run(const char* at) const {
  const std::uint32_t hash = hash_of(at);
  return ((filter_[hash / 64] >> (hash % 64)) & 1) != 0;
}

/// Calls take(position, literal) for every literal that starts at `from` or later, each once, in the order of what stands for it,
/// as long as that begins before `limit`.
template <class Take>
void LiteralSet::walk(std::string_view text, std::size_t from, const std::size_t& limit, Take take) const {
  if (literals_.empty() || text.size() < window) return;
  const char* const data = text.data();
  const auto look = [&](std::size_t at) {
    const std::uint32_t slot = hash_of(data + at) >> (filter_bits - slot_bits);
    for (std::uint32_t i = first_[slot]; i < first_[slot + 1]; ++i) {
      const Run& entry = runs_[i];
      const std::string& literal = literals_[entry.literal].first;
      if (at < from + entry.offset) continue;
      const std::size_t start = at - entry.offset;
      if (literal.size() <= text.size() - start && std::memcmp(data + start, literal.data(), literal.size()) == 0)
        take(start, literals_[entry.literal]);
    }
  };
  const std::size_t end = text.size() - run + 1;  // of the places where a run may begin
  std::size_t at = from;
  constexpr std::size_t together = 4;
  while (at < limit && at + (together - 1) * stride < end) {
    bool any = false;
    for (std::size_t i = 0; i < together; ++i) any |= may_begin_run(data + at + i * stride);
    if (any)
      for (std::size_t i = 0; i < together; ++i)
        if (may_begin_run(data + at + i * stride)) look(at + i * stride);
    at += together * stride;
  }
  for (; at < limit && at < end; at += stride)
    if (may_begin_run(data + at)) look(at);
}

LiteralSet::Hit LiteralSet::find(std::string_view text, std::size_t from) const {
  Hit hit;
  std::size_t limit = text.size();
  walk(text, from, limit, [&](std::size_t position, const auto& literal) {
    if (position > hit.position || (position == hit.position && literal.first.size() <= hit.length)) return;
    hit = {position, literal.first.size(), literal.second};
    // One that starts before may be told by bytes further behind.
    limit = std::min(limit, position + furthest_ + 1);
  });
  return hit;
}

void LiteralSet::all_in(std::string_view text, std::vector<std::uint32_t>& numbers) const {
  numbers.clear();
  walk(text, 0, text.size(), [&](std::size_t, const auto& literal) { numbers.push_back(literal.second); });
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace gpuvet
