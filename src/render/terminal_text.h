#pragma once
// Text on a terminal: widths, wrapping, colours, and what has to be escaped. display_width() and printable() are in render.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

enum class Style : std::uint8_t { Plain, Bold, Dim, Good, Bad, Warning, Command };

/// `text` in a style, when colours are wanted.
std::string styled(std::string_view text, Style style, bool color);

/// Lines of at most `width` columns. Breaks at blanks and between East Asian characters, never before closing punctuation; a
/// word wider than a line stays whole. New lines in the text are kept. The lines have no indent.
std::vector<std::string> wrap(std::string_view text, int width);

/// wrap() with `first` before the first line and `rest` before the others; ends with a new line.
std::string paragraph(std::string_view text, std::string_view first, std::string_view rest, int width);

/// Without characters beyond ASCII: punctuation by its ASCII form, the rest as \\u{…}.
std::string ascii_only(std::string_view text);

}  // namespace gpuvet
