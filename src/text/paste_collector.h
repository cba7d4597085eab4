#pragma once
// A text of any length in bounded memory: its beginning and its end whole, between them the lines that can matter.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/literal_set.h"
#include "text/pasted_text.h"

namespace gpuvet {

/// Takes a text in pieces. Texts of up to `head + tail` bytes are kept whole (a short line counts as some bytes more). Of longer
/// ones the lines between are kept that have one of the literals, at most `per_literal` for each and some lines after each.
class PasteCollector {
 public:
  struct Limits {
    std::size_t head = 2 << 20, tail = 1 << 20, middle = 2 << 20;  ///< bytes
    std::size_t longest_line = 8192;                               ///< what is behind is not looked at
    std::uint32_t per_literal = 16;
    std::uint32_t context = 12;  ///< lines kept after one with a literal
    bool may_be_utf16 = true;    ///< false: what a command writes, which may begin with any bytes
  };

  PasteCollector(const LiteralSet& literals, Limits limits);
  explicit PasteCollector(const LiteralSet& literals) : PasteCollector(literals, Limits()) {}

  void feed(std::string_view bytes);
  /// One of several texts ends: its last line is whole, and the next one has an encoding of its own.
  void end_of_text();
  /// Call once.
  PastedText finish(std::string name);

  std::uint64_t lines() const { return line_number_; }

 private:
  struct TailBlock {
    std::string text;  ///< whole lines
    std::uint64_t first = 0, lines = 0;
    std::size_t cost() const;
  };

  void decide();
  void feed_text(std::string_view bytes);
  void feed_utf16(std::string units);
  void grow_line(std::string_view bytes);
  void end_line();
  std::string_view kept_part(std::string_view line) const;
  void take_lines(std::string_view block);
  void keep_tail(std::string_view block);
  void drop_from_tail();
  bool takes(std::string_view line);
  void scan_middle(std::string_view block, std::uint64_t number);
  void add_middle(std::string_view line, std::uint64_t number);

  const LiteralSet& literals_;
  Limits limits_;
  std::string pending_;  ///< a line that is not whole yet, or bytes whose encoding is not told yet
  bool decided_ = false, utf16_ = false;
  std::string odd_;  ///< UTF-16: bytes of a unit that is not whole
  bool big_endian_ = false;
  std::uint64_t line_number_ = 0;
  std::size_t head_size_ = 0, middle_size_ = 0, tail_size_ = 0;
  std::vector<PasteLine> head_, middle_;
  std::deque<TailBlock> tail_;
  std::vector<std::uint32_t> hits_;     ///< by number of a literal
  std::vector<std::uint32_t> numbers_;  ///< of one line
  std::uint64_t context_until_ = 0;
  bool too_long_ = false;  ///< the rest of a line that is longer than any is being passed over
  bool returned_ = false;  ///< the last byte of the line so far is a carriage return
};

}  // namespace gpuvet
