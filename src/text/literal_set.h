#pragma once
// Finds many literals in long text at once, most bytes of which are never looked at.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuvet {

/// Literals with a number each; several literals may share a number. The search steps by the shortest literal's length (Wu and
/// Manber, "A fast algorithm for multi-pattern searching", 1994), so short ones slow it down.
class LiteralSet {
 public:
  static constexpr std::size_t shortest_literal = 5;  ///< bytes; shorter ones are ignored

  LiteralSet() = default;
  explicit LiteralSet(std::vector<std::pair<std::string, std::uint32_t>> literals);

  struct Hit {
    std::size_t position = std::string_view::npos;  ///< npos: none
    std::size_t length = 0;
    std::uint32_t number = 0;
  };
  /// The first literal that starts at `from` or later; at one place the longest. O(length / shortest literal) on ordinary text.
  Hit find(std::string_view text, std::size_t from) const;
  /// Numbers of all literals in `text`, each once, ascending.
  void all_in(std::string_view text, std::vector<std::uint32_t>& numbers) const;

  bool empty() const { return literals_.empty(); }

 private:
  static constexpr std::size_t table_size = 1 << 15;
  static std::size_t slot(const char* at);
  template <class Take>
  void walk(std::string_view text, std::size_t from, Take take) const;

  std::vector<std::pair<std::string, std::uint32_t>> literals_;  ///< grouped by the slot of their window's end
  std::size_t window_ = 0;                                       ///< length of the shortest literal
  std::vector<std::uint8_t> shift_;                              ///< by slot: how far the window may move on
  std::vector<std::uint32_t> first_;                             ///< by slot: literals that end a window there, first and end
};

}  // namespace gpuvet
