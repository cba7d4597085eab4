#include <algorithm>
#include <filesystem>

#include "compile_data/generate.h"

namespace compile_data {
namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '"':
      out += "\\\"";
      break;
    case '?':
      out += "\\?";
      break;  // no trigraphs
    default:
      out += c;
  }
}

}  // namespace

std::vector<std::string> files_in(const std::string& folder, std::string_view extension) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file() && entry.path().extension() == extension) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    append_escaped(out, text[i]);
    if (text[i] == '\n' && i + 1 < text.size()) out += "\"\n  \"";
  }
  return out + "\"";
}

}  // namespace compile_data
