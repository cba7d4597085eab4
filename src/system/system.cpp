#include "system/system.h"

namespace gpuvet {

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
