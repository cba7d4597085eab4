#pragma once
// Foreign text made fit to be kept and quoted: valid UTF-8, one line, bounded.

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuvet {

/// At most `limit` bytes of `text`: control characters become blanks, bytes that are no UTF-8 become '?'. O(limit).
std::string printable(std::string_view text, std::size_t limit = 400);

/// `text` without white space at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace gpuvet
