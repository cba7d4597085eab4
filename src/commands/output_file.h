#pragma once
// The only writing that gpuvet does: standard streams, and the file named with -o.

#include <string>
#include <string_view>

namespace gpuvet {

/// All of `text` to a descriptor. False when it failed; a reader that went away (EPIPE) is no failure.
bool write_all(int descriptor, std::string_view text);
/// To standard output; 0, or 2 when that is not possible (closed, full).
int print(std::string_view text);
void print_error(std::string_view text);

/// Writes `text` to `path` so that a reader sees the old file or the whole new one, mode 0600: temporary file beside it, fsync,
/// rename. Never through a link, never over something that is no regular file, never below `forbidden_root` (empty: none).
/// Returns what went wrong; empty: nothing.
struct WriteError {
  enum class Kind { None, Link, NotRegular, InsideRoot, System } kind = Kind::None;
  std::string why;
};
WriteError write_file_atomically(const std::string& path, std::string_view text, const std::string& forbidden_root);

}  // namespace gpuvet
