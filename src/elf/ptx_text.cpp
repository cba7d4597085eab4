#include "elf/ptx_text.h"

#include <charconv>

#include "elf/cubin.h"

namespace gpuvet {
namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";

/// Without blanks and comments in front.
std::string_view skip_blanks(std::string_view text) {
  while (true) {
    const auto at = text.find_first_not_of(blanks);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at);
    const bool line = text.starts_with("//"), block = text.starts_with("/*");
    if (!line && !block) return text;
    const auto end = text.find(line ? "\n" : "*/", 2);
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + (line ? 1 : 2));
  }
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::uint16_t> take_number(std::string_view& text) {
  std::uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<PtxHead> parse_ptx_head(std::string_view text) {
  PtxHead head;
  text = skip_blanks(text);
  if (!take_word(text, ".version")) return std::nullopt;
  text = skip_blanks(text);
  const auto major = take_number(text);
  if (!major || !take_word(text, ".")) return std::nullopt;
  const auto minor = take_number(text);
  text = skip_blanks(text);
  if (!minor || !take_word(text, ".target")) return std::nullopt;
  text = skip_blanks(text);
  if (!take_word(text, "sm_")) return std::nullopt;
  const auto arch = take_number(text);
  if (!arch) return std::nullopt;
  if (!text.empty() && (text.front() == 'a' || text.front() == 'f')) head.variant = text.front();
  head.major = *major;
  head.minor = *minor;
  head.arch = *arch;
  return head;
}

bool is_empty_ptx(std::string_view text) {
  if (!parse_ptx_head(text)) return false;
  // A comment that has one of the words makes it a text with code: that errs on the safe side.
  for (const std::string_view word : {".entry", ".func"}) {
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      auto name = skip_blanks(text.substr(at + word.size()));
      name = name.substr(0, name.find_first_of(" \t\r\n(){};"));
      if (!is_empty_kernel(name)) return false;
    }
  }
  return true;
}

}  // namespace gpuvet
