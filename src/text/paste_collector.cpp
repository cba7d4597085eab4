#include "text/paste_collector.h"

#include <algorithm>
#include <cstring>

namespace gpuvet {
namespace {

constexpr std::size_t decide_after = 512;  // bytes that tell the encoding
constexpr std::size_t tail_block = 64 << 10;
constexpr std::size_t line_cost = 32;  // bytes that a line counts as at least: each is an object of its own

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
    if (pending_.size() >= decide_after) decide();
    return;
  }
  if (!utf16_) return feed_text(bytes);
  odd_ += bytes;
  // A unit or a surrogate pair that is cut waits for the next piece.
  std::size_t whole = odd_.size() & ~std::size_t{1};
  if (whole >= 2 && (static_cast<unsigned char>(odd_[big_endian_ ? whole - 2 : whole - 1]) & 0xfc) == 0xd8) whole -= 2;
  std::string part = odd_.substr(0, whole);
  odd_.erase(0, whole);
  feed_utf16(std::move(part));
}

/// The encoding, from the beginning of the text; then that beginning is taken.
void PasteCollector::decide() {
  decided_ = true;
  utf16_ = limits_.may_be_utf16 && marks_utf16(pending_, big_endian_);
  std::string first = std::move(pending_);
  pending_.clear();
  if (utf16_ && (first.starts_with("\xff\xfe") || first.starts_with("\xfe\xff"))) first.erase(0, 2);
  if (!utf16_ && first.starts_with("\xef\xbb\xbf")) first.erase(0, 3);
  feed(first);
}

void PasteCollector::feed_utf16(std::string units) {
  units.insert(0, big_endian_ ? "\xfe\xff" : "\xff\xfe");
  feed_text(decoded_text(std::move(units)));
}

void PasteCollector::feed_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t first = bytes.find('\n');
    if (first == std::string_view::npos) return grow_line(bytes);
    if (pending_.empty()) {
      const std::size_t last = bytes.rfind('\n');
      take_lines(bytes.substr(0, last + 1));
      bytes.remove_prefix(last + 1);
      continue;
    }
    grow_line(bytes.substr(0, first));
    end_line();
    bytes.remove_prefix(first + 1);
  }
}

/// More of a line that is not whole yet. Of one that gets too long the beginning is kept, or that of what its last carriage
/// return left to see: as shown_part of the whole line.
void PasteCollector::grow_line(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t end = bytes.find_last_not_of('\r');
  if ((too_long_ || pending_.size() + bytes.size() > limits_.longest_line) && end != std::string_view::npos) {
    const std::size_t back = bytes.substr(0, end).rfind('\r');
    const std::size_t back_before = too_long_ ? std::string::npos : pending_.rfind('\r');
    if (back != std::string_view::npos || returned_) {
      bytes.remove_prefix(back + 1);  // npos: all of it
      pending_.clear();
      too_long_ = false;
    } else if (back_before != std::string::npos) {
      pending_.erase(0, back_before + 1);
    }
  }
  returned_ = bytes.back() == '\r';
  const std::size_t room = limits_.longest_line - std::min(limits_.longest_line, pending_.size());
  too_long_ |= bytes.size() > room;
  pending_ += bytes.substr(0, room);
}

void PasteCollector::end_line() {
  pending_ += '\n';
  const std::string line = std::move(pending_);
  pending_.clear();
  too_long_ = returned_ = false;
  take_lines(line);
}

std::string_view PasteCollector::kept_part(std::string_view line) const {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return shown_part(line, limits_.longest_line);
}

/// `block` is whole lines.
void PasteCollector::take_lines(std::string_view block) {
  while (!block.empty() && head_size_ < limits_.head) {
    const std::size_t end = block.find('\n');
    const std::string_view line = kept_part(block.substr(0, end));
    block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
    ++line_number_;
    head_size_ += std::max(line.size() + 1, line_cost);
    head_.push_back({static_cast<std::uint32_t>(line_number_), std::string(line), {}, false});
  }
  if (!block.empty()) keep_tail(block);
}

std::size_t PasteCollector::TailBlock::cost() const { return std::max<std::size_t>(text.size(), lines * line_cost); }

/// The end of the text stays whole; what falls out of it is searched for lines that matter.
void PasteCollector::keep_tail(std::string_view block) {
  // The beginning of a large block that will fall out at once need not be copied.
  if (block.size() > 2 * limits_.tail) {
    const std::size_t cut = block.find('\n', block.size() - limits_.tail - 1) + 1;
    while (!tail_.empty()) drop_from_tail();
    scan_middle(block.substr(0, cut), line_number_ + 1);
    line_number_ += count_lines(block.substr(0, cut));
    block.remove_prefix(cut);
  }
  const std::size_t block_size = std::clamp<std::size_t>(limits_.tail / 2, 1, tail_block);
  while (!block.empty()) {
    std::size_t size = block.size();
    if (size > block_size) size = block.rfind('\n', block_size - 1) + 1;  // npos + 1 = 0: the first line is longer
    if (size == 0) size = block.find('\n') + 1;
    if (tail_.empty() || tail_.back().text.size() + size > block_size) tail_.push_back({{}, line_number_ + 1, 0});
    TailBlock& last = tail_.back();
    const std::uint64_t lines = count_lines(block.substr(0, size));
    tail_size_ -= last.cost();
    last.text += block.substr(0, size);
    last.lines += lines;
    tail_size_ += last.cost();
    line_number_ += lines;
    block.remove_prefix(size);
    while (tail_size_ > limits_.tail && tail_.size() > 1) drop_from_tail();
  }
}

void PasteCollector::drop_from_tail() {
  scan_middle(tail_.front().text, tail_.front().first);
  tail_size_ -= tail_.front().cost();
  tail_.pop_front();
}

void PasteCollector::add_middle(std::string_view line, std::uint64_t number) {
  line = kept_part(line);
  if (middle_size_ + line.size() > limits_.middle) return;
  const std::uint64_t before = middle_.empty() ? (head_.empty() ? 0 : head_.back().number) : middle_.back().number;
  if (number <= before) return;
  middle_size_ += line.size() + 64;
  middle_.push_back({static_cast<std::uint32_t>(number), std::string(line), {}, number != before + 1});
}

/// Does the line have a literal that was not yet found often enough?
bool PasteCollector::takes(std::string_view line) {
  bool fresh = false;
  literals_.all_in(line, numbers_);
  for (const std::uint32_t number : numbers_) {
    if (hits_.size() <= number) hits_.resize(number + 1);
    if (hits_[number] >= limits_.per_literal) continue;
    ++hits_[number];
    fresh = true;
  }
  return fresh;
}

/// Lines with a literal, and some after each; `number` is that of the first line.
void PasteCollector::scan_middle(std::string_view block, std::uint64_t number) {
  std::size_t at = 0;  // start of the line of that number
  const auto line_end = [&](std::size_t from) { return std::min(block.find('\n', from), block.size() - 1) + 1; };
  while (at < block.size() && middle_size_ < limits_.middle) {
    if (number <= context_until_) {
      const std::size_t end = line_end(at);
      add_middle(block.substr(at, end - at - (block[end - 1] == '\n' ? 1 : 0)), number);
      at = end;
      ++number;
      continue;
    }
    const LiteralSet::Hit hit = literals_.find(block, at);
    if (hit.position == std::string_view::npos) return;
    const std::size_t start = hit.position == 0 ? std::string_view::npos : block.rfind('\n', hit.position - 1);
    const std::size_t line = start == std::string_view::npos ? 0 : start + 1;
    number += count_lines(block.substr(at, line - at));
    at = line;
    const std::size_t end = line_end(hit.position);
    if (takes(block.substr(line, end - line))) {
      context_until_ = number + limits_.context;
    } else {
      at = end;
      ++number;
    }
  }
}

void PasteCollector::end_of_text() {
  if (!decided_) decide();
  if (!odd_.empty()) feed_utf16(std::move(odd_));
  odd_.clear();
  if (!pending_.empty()) end_line();
  decided_ = utf16_ = false;
}

PastedText PasteCollector::finish(std::string name) {
  end_of_text();
  std::vector<PasteLine> lines = std::move(head_);
  std::uint64_t before = lines.empty() ? 0 : lines.back().number;
  const auto add = [&](PasteLine line) {
    if (line.number <= before) return;
    line.gap_before = line.number != before + 1;
    before = line.number;
    lines.push_back(std::move(line));
  };
  for (PasteLine& line : middle_) add(std::move(line));
  for (const TailBlock& block : tail_) {
    std::uint64_t number = block.first;
    std::string_view rest = block.text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      add({static_cast<std::uint32_t>(number++), std::string(kept_part(rest.substr(0, end))), {}, false});
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  const bool complete = std::ranges::none_of(lines, &PasteLine::gap_before);
  return make_pasted_text(std::move(name), std::move(lines), complete);
}

}  // namespace gpuvet
