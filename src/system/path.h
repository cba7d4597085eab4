#pragma once
// Paths of an inspected machine, taken apart the way the kernel does it.

#include <string>
#include <string_view>
#include <vector>

#include "system/system.h"

namespace gpuvet {

inline constexpr int max_links = 40;                  ///< the kernel's MAXSYMLINKS
inline constexpr std::size_t max_path_length = 4095;  ///< PATH_MAX without its NUL
inline constexpr std::size_t max_name_length = 255;   ///< NAME_MAX
/// Components that one resolution may step over, link targets and re-walks after ".." included.
inline constexpr int max_steps = 20000;

/// "/a//b/" → {"a", "b", "."}: empty components go, a trailing slash asks for a directory and becomes ".".
std::vector<std::string> split_path(std::string_view path);
/// {"a", "b"} → "/a/b"; nothing → "/".
std::string join_path(const std::vector<std::string>& components);
/// Null when the text can be a path at all; else why not (empty, too long, a NUL inside).
const char* bad_path(std::string_view path);

/// An error about `path` with a message in the kernel's words: "/x: no such file or directory".
SystemError path_error(ErrorCode code, std::string_view path, std::string_view why);

}  // namespace gpuvet
