#include "text/paste_collector.h"

#include <algorithm>
#include <cstring>

namespace gpuvet {
namespace {

constexpr std::size_t decide_after = 512;   // bytes that tell the encoding
constexpr std::size_t tail_block = 64 << 10;

/// Line ends in a block. The compiler turns this loop into vector code.
std::uint64_t count_lines(std::string_view block) {
  std::uint64_t count = 0;
  const char* at = block.data();
  const char* const end = at + block.size();
  while (end - at >= 255) {
    std::uint8_t part = 0;
    for (int i = 0; i < 255; ++i) part = static_cast<std::uint8_t>(part + (at[i] == '\n'));
    count += part;
    at += 255;
  }
  for (; at < end; ++at) count += *at == '\n';
  return count;
}

bool marks_utf16(std::string_view bytes, bool& big_endian) {
  if (bytes.starts_with("\xff\xfe")) return big_endian = false, true;
  if (bytes.starts_with("\xfe\xff")) return big_endian = true, true;
  std::size_t zeros[2] = {0, 0};
  const std::size_t n = std::min(bytes.size(), decide_after) & ~std::size_t{1};
  for (std::size_t i = 0; i < n; ++i) zeros[i & 1] += bytes[i] == 0;
  if (n < 8 || (zeros[0] < n / 4 && zeros[1] < n / 4)) return false;
  big_endian = zeros[0] > zeros[1];
  return true;
}

}  // namespace

PasteCollector::PasteCollector(const LiteralSet& literals, Limits limits) : literals_(literals), limits_(limits) {}

void PasteCollector::feed(std::string_view bytes) {
  if (!decided_) {
    pending_ += bytes;
    if (pending_.size() < decide_after) return;
    decided_ = true;
    utf16_ = marks_utf16(pending_, big_endian_);
    const std::string first = std::move(pending_);
    pending_.clear();
    return feed(first);
  }
  if (!utf16_) return feed_text(bytes);
  odd_ += bytes;
  // A surrogate pair or a unit that is cut waits for the next piece.
  const std::size_t whole = odd_.size() & ~std::size_t{3};
  std::string part = odd_.substr(0, whole);
  odd_.erase(0, whole);
  const bool marked = part.starts_with("\xff\xfe") || part.starts_with("\xfe\xff");
  if (!marked) part.insert(0, big_endian_ ? "\xfe\xff" : "\xff\xfe");
  feed_text(decoded_text(std::move(part)));
}

void PasteCollector::feed_text(std::string_view bytes) {
  while (!bytes.empty()) {
    if (too_long_) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end);
      too_long_ = false;
      pending_ += '\n';
      bytes.remove_prefix(1);
      take_lines(pending_);
      pending_.clear();
      continue;
    }
    const std::size_t last = bytes.rfind('\n');
    if (last == std::string_view::npos) {
      pending_ += bytes.substr(0, limits_.longest_line - std::min(limits_.longest_line, pending_.size()));
      too_long_ = pending_.size() >= limits_.longest_line;
      return;
    }
    if (!pending_.empty()) {
      const std::size_t first = bytes.find('\n');
      pending_ += bytes.substr(0, std::min(first, limits_.longest_line));
      pending_ += '\n';
      const std::string line = std::move(pending_);
      pending_.clear();
      take_lines(line);
      bytes.remove_prefix(first + 1);
      continue;
    }
    take_lines(bytes.substr(0, last + 1));
    bytes.remove_prefix(last + 1);
  }
}

/// `block` is whole lines.
void PasteCollector::take_lines(std::string_view block) {
  while (!block.empty() && head_size_ < limits_.head) {
    const std::size_t end = block.find('\n');
    std::string_view line = block.substr(0, std::min(end, limits_.longest_line));
    block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++line_number_;
    head_size_ += line.size() + 1;
    head_.push_back({static_cast<std::uint32_t>(line_number_), std::string(line), {}, false});
  }
  if (!block.empty()) keep_tail(block);
}

/// The end of the text stays whole; what falls out of it is searched for lines that matter.
void PasteCollector::keep_tail(std::string_view block) {
  if (tail_.empty() || tail_.back().size() + block.size() > tail_block) {
    tail_.emplace_back();
    tail_first_.push_back(line_number_ + 1);
  }
  // A large block that will fall out at once need not be copied.
  if (block.size() > 2 * limits_.tail) {
    std::size_t cut = block.find('\n', block.size() - limits_.tail);
    if (cut == std::string_view::npos) cut = 0;
    while (!tail_.empty()) {
      line_number_ = tail_first_.front() - 1;
      scan_middle(tail_.front());
      line_number_ += count_lines(tail_.front());
      tail_.pop_front();
      tail_first_.pop_front();
    }
    tail_size_ = 0;
    scan_middle(block.substr(0, cut + 1));
    line_number_ += count_lines(block.substr(0, cut + 1));
    block.remove_prefix(cut + 1);
    if (block.empty()) return;
    tail_.emplace_back();
    tail_first_.push_back(line_number_ + 1);
  }
  tail_.back() += block;
  tail_size_ += block.size();
  line_number_ += count_lines(block);
  while (tail_size_ > limits_.tail && tail_.size() > 1) {
    const std::string old = std::move(tail_.front());
    const std::uint64_t now = line_number_;
    line_number_ = tail_first_.front() - 1;
    scan_middle(old);
    line_number_ = now;
    tail_size_ -= old.size();
    tail_.pop_front();
    tail_first_.pop_front();
  }
}

void PasteCollector::add_middle(std::string_view line, std::uint64_t number) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  line = line.substr(0, limits_.longest_line);
  if (middle_size_ + line.size() > limits_.middle) return;
  const std::uint64_t before = middle_.empty() ? (head_.empty() ? 0 : head_.back().number) : middle_.back().number;
  if (number <= before) return;
  middle_size_ += line.size() + 64;
  middle_.push_back({static_cast<std::uint32_t>(number), std::string(line), {}, number != before + 1});
}

/// Lines with a literal, and some after each; `line_number_` is that of the line before the block.
void PasteCollector::scan_middle(std::string_view block) {
  std::uint64_t number = line_number_ + 1;  // of the line at `at`
  std::size_t at = 0;                       // start of a line
  if (middle_size_ >= limits_.middle) return;
  const auto next_line = [&](std::size_t from) {
    const std::size_t end = block.find('\n', from);
    return end == std::string_view::npos ? block.size() : end + 1;
  };
  while (at < block.size()) {
    if (number <= context_until_) {
      const std::size_t end = next_line(at);
      add_middle(block.substr(at, end - at - (block[end - 1] == '\n' ? 1 : 0)), number);
      at = end;
      ++number;
      continue;
    }
    std::size_t from = at;
    LiteralSet::Hit hit;
    for (;;) {
      hit = literals_.find(block, from);
      if (hit.position == std::string_view::npos) break;
      if (hits_.size() <= hit.number) hits_.resize(hit.number + 1);
      if (hits_[hit.number] < limits_.per_literal) break;
      from = hit.position + hit.length;
    }
    if (hit.position == std::string_view::npos) return;
    ++hits_[hit.number];
    const std::size_t start = hit.position == 0 ? std::string_view::npos : block.rfind('\n', hit.position - 1);
    const std::size_t line = start == std::string_view::npos ? 0 : start + 1;
    number += count_lines(block.substr(at, line - at));
    at = line;
    context_until_ = number + limits_.context;
  }
}

PastedText PasteCollector::finish(std::string name) {
  if (!decided_) {
    decided_ = true;
    utf16_ = marks_utf16(pending_, big_endian_);
    const std::string all = std::move(pending_);
    pending_.clear();
    feed(all);
  }
  if (!odd_.empty()) {
    std::string rest = std::move(odd_);
    rest.insert(0, big_endian_ ? "\xfe\xff" : "\xff\xfe");
    feed_text(decoded_text(std::move(rest)));
  }
  if (!pending_.empty()) {
    pending_ += '\n';
    take_lines(std::string(std::move(pending_)));
    pending_.clear();
  }
  std::vector<PasteLine> lines = std::move(head_);
  std::uint64_t before = lines.empty() ? 0 : lines.back().number;
  const auto add = [&](PasteLine line) {
    if (line.number <= before) return;
    line.gap_before = line.number != before + 1;
    before = line.number;
    lines.push_back(std::move(line));
  };
  for (PasteLine& line : middle_) add(std::move(line));
  for (std::size_t i = 0; i < tail_.size(); ++i) {
    std::uint64_t number = tail_first_[i];
    std::string_view rest = tail_[i];
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, std::min(end, limits_.longest_line));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      add({static_cast<std::uint32_t>(number++), std::string(line), {}, false});
    }
  }
  const bool complete = std::ranges::none_of(lines, &PasteLine::gap_before);
  return make_pasted_text(std::move(name), std::move(lines), complete);
}

}  // namespace gpuvet
