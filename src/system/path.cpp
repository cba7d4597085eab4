#include "system/path.h"

#include <algorithm>

namespace gpuvet {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> components;
  std::size_t at = 0;
  while (at < path.size()) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (slash > at) components.emplace_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  if (!components.empty() && path.back() == '/') components.emplace_back(".");
  return components;
}

std::string join_path(const std::vector<std::string>& components) {
  std::string path;
  for (const std::string& component : components) path += "/" + component;
  return path.empty() ? "/" : path;
}

const char* bad_path(std::string_view path) {
  if (path.empty()) return "empty path";
  if (path.size() > max_path_length) return "file name too long";
  if (path.find('\0') != std::string_view::npos) return "NUL in a path";
  return nullptr;
}

SystemError path_error(ErrorCode code, std::string_view path, std::string_view why) {
  constexpr std::size_t shown = 300;  // a hostile tree may ask for very long names
  std::string message(path.substr(0, shown));
  if (path.size() > shown) message += "…";
  message += ": ";
  message += why;
  return {code, std::move(message)};
}

}  // namespace gpuvet
