#include "commands/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace gpuvet {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::string_view first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const std::string_view value = variable(name); !value.empty()) return value;
  }
  return {};
}

/// COLUMNS, for output that goes to no terminal; nothing when it is no sensible number.
std::optional<int> width_of_environment() {
  const std::string_view text = variable("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error != std::errc() || end != text.data() + text.size() || columns < 20 || columns > 1000) return std::nullopt;
  return columns;
}

int width_of(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return width_of_environment().value_or(80);
  return std::max<int>(size.ws_col, 40);
}

}  // namespace

bool input_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }
bool output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

bool error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

int terminal_width() { return width_of(STDOUT_FILENO); }
int error_width() { return width_of(STDERR_FILENO); }

Language language_of_locale() {
  return first_set({"LC_ALL", "LC_MESSAGES", "LANG"}).starts_with("zh") ? Language::Chinese : Language::English;
}

bool locale_is_ascii() {
  std::string locale(first_set({"LC_ALL", "LC_CTYPE", "LANG"}));
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (locale.empty()) return variable("TERM") == "linux";
  return locale.find("utf-8") == std::string::npos && locale.find("utf8") == std::string::npos;
}

bool color_unwanted() { return !variable("NO_COLOR").empty() || variable("TERM") == "dumb"; }

}  // namespace gpuvet
