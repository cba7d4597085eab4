#include "elf/window_reader.h"

#include <algorithm>

namespace gpuvet {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t largest_window = std::size_t{64} << 10;
constexpr std::size_t max_windows = 64;
constexpr std::uint64_t small_file = std::uint64_t{16} << 10;  // read at once

}  // namespace

const WindowReader::Window* WindowReader::holder(std::uint64_t offset, std::size_t length) const {
  const auto end = std::min<std::uint64_t>(offset + length, file_.size());
  for (const auto& window : windows_)
    if (offset >= window.offset && end <= window.offset + window.bytes.size()) return &window;
  return nullptr;
}

Result<std::string> WindowReader::read_at(std::uint64_t offset, std::size_t length) {
  if (offset >= file_.size() || length == 0) return std::string();
  length = static_cast<std::size_t>(std::min<std::uint64_t>(length, file_.size() - offset));
  if (length > largest_window || file_.keeps_bytes()) return file_.read_at(offset, length);
  const auto* window = holder(offset, length);
  if (!window) {
    const bool whole = file_.size() <= small_file;
    const auto start = whole ? 0 : offset / page * page;
    const auto end = whole ? file_.size() : (offset + length + page - 1) / page * page;
    auto bytes = file_.read_at(start, static_cast<std::size_t>(end - start));
    if (!bytes) return bytes;
    if (windows_.size() == max_windows) windows_.erase(windows_.begin() + 1);  // the first one has the headers
    windows_.push_back({start, std::move(*bytes)});
    window = &windows_.back();
  }
  const auto at = static_cast<std::size_t>(offset - window->offset);
  return at < window->bytes.size() ? window->bytes.substr(at, length) : std::string();
}

}  // namespace gpuvet
