#pragma once
// Finds the few lines of a long log that can matter, without looking at the others more than once.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuvet {

/// Walks over the lines of `text` that hold one of the words of log_scan.cpp. Cost: one table look-up for every two bytes.
class LogScanner {
 public:
  explicit LogScanner(std::string_view text);

  /// The next such line, without its end; `number` counts all lines from 1.
  bool next(std::string_view& line, std::uint32_t& number);

 private:
  void count_lines_up_to(std::size_t position);

  std::string_view text_;
  std::size_t at_ = 0;       ///< start of the first line not handed out yet
  std::size_t counted_ = 0;  ///< lines before this position are in `number_`
  std::uint32_t number_ = 1;
};

}  // namespace gpuvet
