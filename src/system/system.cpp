#include "system/system.h"

#include <algorithm>

namespace gpuvet {

Result<std::size_t> FileReader::read_into(std::uint64_t offset, char* to, std::size_t length) {
  const auto piece = read_at(offset, length);
  if (!piece) return tl::unexpected(piece.error());
  const std::size_t got = std::min(length, piece->size());
  std::copy_n(piece->data(), got, to);
  return got;
}

bool System::is_directory(std::string_view path) {
  const auto found = status(path, true);
  return found && found->type == FileType::Directory;
}

Result<std::string> System::read_line(std::string_view path, std::size_t limit) {
  auto text = read_head(path, limit);
  if (!text) return text;
  // Device-tree strings end in a NUL; sysfs values in a newline.
  const std::size_t end = text->find_last_not_of(std::string_view(" \t\r\n\0", 5));
  text->resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

}  // namespace gpuvet
