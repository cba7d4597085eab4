#pragma once
// Finds many literals in long text at once; of most places only one bit of a small table is looked at.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuvet {

/// Literals with a number each; several literals may share a number. Of each literal six bytes that are rare in texts stand for
/// it; they hold three runs of four bytes, and of those one lies at a place that is looked at when every third is (sampling of
/// q-grams, as in Fredriksson and Grabowski, "Average-optimal string matching", 2009). A run that is in a bit table leads to the
/// literals.
class LiteralSet {
 public:
  static constexpr std::size_t shortest_literal = 6;  ///< bytes; shorter ones are ignored

  LiteralSet() = default;
  explicit LiteralSet(std::vector<std::pair<std::string, std::uint32_t>> literals);

  struct Hit {
    std::size_t position = std::string_view::npos;  ///< npos: none
    std::size_t length = 0;
    std::uint32_t number = 0;
  };
  /// The first literal that starts at `from` or later; at one place the longest. O(length / 3) on ordinary text.
  Hit find(std::string_view text, std::size_t from) const;
  /// Numbers of all literals in `text`, each once, ascending.
  void all_in(std::string_view text, std::vector<std::uint32_t>& numbers) const;

  bool empty() const { return literals_.empty(); }

 private:
  /// A run of four bytes of a literal.
  struct Run {
    std::uint32_t literal = 0, offset = 0;
  };

  bool may_begin_run(const char* at) const;
  template <class Take>
  void walk(std::string_view text, std::size_t from, const std::size_t& limit, Take take) const;

  std::vector<std::pair<std::string, std::uint32_t>> literals_;
  std::vector<std::uint64_t> filter_;  ///< bits by hash of a run
  std::vector<Run> runs_;              ///< grouped by slot
  std::vector<std::uint32_t> first_;   ///< by slot: its runs, first and end
  std::size_t furthest_ = 0;           ///< the largest offset of a run
};

}  // namespace gpuvet
