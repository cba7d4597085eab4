#include "text/stream_lines.h"

namespace gpuvet {

void StreamLines::feed(int stream, std::string_view bytes) {
  std::string& rest = rest_[stream == 0 ? 0 : 1];
  const std::size_t last = bytes.rfind('\n');
  if (last == std::string_view::npos) {
    rest += bytes;
    if (rest.size() > longest_) cut(rest);
    return;
  }
  if (!rest.empty()) {
    const std::size_t first = bytes.find('\n');
    rest += bytes.substr(0, first + 1);
    take_(rest);
    rest.clear();
    if (first < last) take_(bytes.substr(first + 1, last - first));
  } else {
    take_(bytes.substr(0, last + 1));
  }
  rest = bytes.substr(last + 1);
  if (rest.size() > longest_) cut(rest);
}

void StreamLines::cut(std::string& rest) {
  rest += '\n';
  take_(rest);
  rest.clear();
}

void StreamLines::finish() {
  for (std::string& rest : rest_)
    if (!rest.empty()) cut(rest);
}

}  // namespace gpuvet
