#pragma once
// What the forecaster may ask about the inspected machine. It reads start-up files; it never runs anything.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

/// All paths are absolute paths of the inspected machine. Empty answers mean "cannot be told" (a folder that may not be entered).
struct ShellFiles {
  enum class Read : std::uint8_t { Text, Missing, Unreadable };
  struct Content {
    Read state = Read::Missing;
    std::string text;
  };
  std::function<Content(const std::string&)> read;
  std::function<std::optional<bool>(const std::string&)> is_file;        ///< links followed
  std::function<std::optional<bool>(const std::string&)> is_directory;   ///< links followed
  std::function<std::optional<bool>(const std::string&)> is_executable;  ///< a regular file with an execute bit
  /// Names in a folder, sorted; a missing folder is an empty list.
  std::function<std::optional<std::vector<std::string>>(const std::string&)> list;
};

}  // namespace gpuvet
