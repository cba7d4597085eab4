#include "render/terminal_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "model/utf8.h"
#include "render/render.h"

namespace gpuvet {
namespace {

struct Range {
  char32_t first, last;
};

bool in_ranges(const Range* ranges, std::size_t count, char32_t code) {
  const Range* end = ranges + count;
  const Range* found = std::upper_bound(ranges, end, code, [](char32_t c, const Range& r) { return c < r.first; });
  return found != ranges && code <= (found - 1)->last;
}

// Unicode 15 East_Asian_Width W and F (UAX #11), blocks joined where only unassigned characters lie between.
constexpr std::array<Range, 24> wide{
    {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
     {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
     {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff}, {0x1f300, 0x1f320}, {0x1f32d, 0x1f335},
     {0x1f337, 0x1f37c}, {0x1f3a0, 0x1f3ca}, {0x1f400, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}}};
// Combining and zero-width characters that turn up in names and logs.
constexpr std::array<Range, 12> zero{{{0x0300, 0x036f},
                                      {0x0483, 0x0489},
                                      {0x0591, 0x05bd},
                                      {0x0610, 0x061a},
                                      {0x064b, 0x065f},
                                      {0x0e34, 0x0e3a},
                                      {0x1ab0, 0x1aff},
                                      {0x1dc0, 0x1dff},
                                      {0x200b, 0x200f},
                                      {0x20d0, 0x20ff},
                                      {0xfe00, 0xfe0f},
                                      {0xfe20, 0xfe2f}}};

int width_of(char32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0;
  if (code < 0x300) return 1;
  if (in_ranges(zero.data(), zero.size(), code)) return 0;
  return in_ranges(wide.data(), wide.size(), code) ? 2 : 1;
}

/// Characters that may not begin a line (closing punctuation), as Chinese typesetting has it (GB/T 15834, W3C CLREQ).
bool sticks_to_previous(char32_t code) {
  static constexpr std::u32string_view closing = U"，。、；：？！）》」』】〉”’％…—)";
  return closing.find(code) != std::u32string_view::npos;
}
/// Characters that may not end a line (opening punctuation).
bool sticks_to_next(char32_t code) {
  static constexpr std::u32string_view opening = U"（《「『【〈“‘(";
  return opening.find(code) != std::u32string_view::npos;
}

struct Piece {
  std::string text;  ///< without blanks at the end
  int width = 0;
  bool blank_before = false;
};

/// Pieces between which a line may break.
std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  bool blank = false, break_before = true;
  char32_t previous = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_at(text, i);
    const int columns = c.valid ? width_of(c.code) : 1;
    if (c.code == ' ' || c.code == '\t') {
      blank = break_before = true;
    } else {
      const bool east_asian = columns == 2 || width_of(previous) == 2;
      const bool may_break = east_asian && !sticks_to_previous(c.code) && !sticks_to_next(previous);
      if (pieces.empty() || break_before || may_break) pieces.push_back({"", 0, blank});
      pieces.back().text.append(text, i, c.length);
      pieces.back().width += columns;
      blank = break_before = false;
      previous = c.code;
    }
    i += c.length;
  }
  return pieces;
}

void wrap_line(std::string_view text, int width, std::vector<std::string>& out) {
  std::string line;
  int used = 0;
  for (const Piece& piece : pieces_of(text)) {
    const int gap = piece.blank_before && !line.empty() ? 1 : 0;
    if (!line.empty() && used + gap + piece.width > width) {
      out.push_back(std::move(line));
      line.clear();
      used = 0;
    }
    if (!line.empty() && gap != 0) line += ' ', ++used;
    line += piece.text;
    used += piece.width;
  }
  out.push_back(std::move(line));
}

void append_hex_escape(std::string& out, unsigned byte) {
  static constexpr char digits[] = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15U];
}

/// C1 controls, bidirectional overrides and other invisible characters that could forge what is seen.
bool is_deceptive(char32_t code) {
  return (code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xe0000 && code <= 0xe007f) ||
         (code >= 0xe000 && code <= 0xf8ff);
}

}  // namespace

int display_width(std::string_view utf8) {
  int columns = 0;
  for (std::size_t i = 0; i < utf8.size();) {
    const Utf8Char c = utf8_at(utf8, i);
    columns += c.valid ? width_of(c.code) : 1;
    i += c.length;
  }
  return columns;
}

std::string printable(std::string_view foreign) {
  std::string out;
  out.reserve(foreign.size());
  for (std::size_t i = 0; i < foreign.size();) {
    const Utf8Char c = utf8_at(foreign, i);
    if (c.code == '\t' && c.valid) {
      out += ' ';
    } else if (!c.valid || c.code < 0x20 || c.code == 0x7f || is_deceptive(c.code)) {
      for (std::size_t k = 0; k < c.length; ++k) append_hex_escape(out, static_cast<unsigned char>(foreign[i + k]));
    } else {
      out.append(foreign, i, c.length);
    }
    i += c.length;
  }
  return out;
}

std::string styled(std::string_view text, Style style, bool color) {
  if (!color || style == Style::Plain || text.empty()) return std::string(text);
  // The sixteen standard colours only: every terminal has them, and themes keep them legible.
  static constexpr std::array<std::string_view, 7> codes{"", "1", "2", "32", "1;31", "33", "36"};
  return "\x1b[" + std::string(codes[static_cast<std::size_t>(style)]) + "m" + std::string(text) + "\x1b[0m";
}

std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    wrap_line(text.substr(0, end), std::max(width, 8), lines);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string paragraph(std::string_view text, std::string_view first, std::string_view rest, int width) {
  std::string out;
  const int indent = std::max(display_width(first), display_width(rest));
  bool is_first = true;
  for (const std::string& line : wrap(text, width - indent)) {
    out.append(is_first ? first : rest).append(line);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
    is_first = false;
  }
  return out;
}

std::string ascii_only(std::string_view text) {
  static constexpr std::array<std::pair<char32_t, std::string_view>, 14> forms{{{U'…', "..."},
                                                                                {U'–', "-"},
                                                                                {U'—', "-"},
                                                                                {U'→', "->"},
                                                                                {U'“', "\""},
                                                                                {U'”', "\""},
                                                                                {U'‘', "'"},
                                                                                {U'’', "'"},
                                                                                {U'≥', ">="},
                                                                                {U'≤', "<="},
                                                                                {U'×', "x"},
                                                                                {U'✓', "+"},
                                                                                {U'✗', "x"},
                                                                                {U'·', "-"}}};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_at(text, i);
    const auto* form = std::find_if(forms.begin(), forms.end(), [&](const auto& f) { return f.first == c.code; });
    if (c.code < 0x80) {
      out += text[i];
    } else if (form != forms.end()) {
      out += form->second;
    } else {
      char buffer[16];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<std::uint32_t>(c.code), 16);
      out.append("\\u{").append(buffer, end.ptr).append("}");
    }
    i += c.length;
  }
  return out;
}

}  // namespace gpuvet
