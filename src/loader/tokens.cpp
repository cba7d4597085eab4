#include "loader/tokens.h"

#include <algorithm>
#include <array>

namespace gpuvet {
namespace {

constexpr std::array<std::string_view, 3> tokens{"ORIGIN", "PLATFORM", "LIB"};

struct Token {
  std::string_view name;
  std::size_t length = 0;  ///< with braces, without the '$'; 0: none
};

bool continues_a_name(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const char c = text[at];
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// The token that stands behind a '$'.
Token token_at(std::string_view text) {
  const bool braces = text.starts_with('{');
  const auto inner = text.substr(braces ? 1 : 0);
  for (const auto name : tokens) {
    if (!inner.starts_with(name) || continues_a_name(inner, name.size())) continue;
    if (!braces) return {name, name.size()};
    if (inner.size() > name.size() && inner[name.size()] == '}') return {name, name.size() + 2};
  }
  return {};
}

/// In a set-user-ID program $ORIGIN counts only as the whole first component.
bool stands_alone(std::string_view text, std::size_t dollar, std::size_t length) {
  const auto behind = dollar + 1 + length;
  return dollar == 0 && (behind == text.size() || text[behind] == '/');
}

}  // namespace

Expanded expand_tokens(std::string_view text, const TokenValues& values) {
  Expanded result;
  for (std::size_t at = 0; at < text.size();) {
    const Token token = text[at] == '$' ? token_at(text.substr(at + 1)) : Token{};
    if (token.length == 0) {
      result.text += text[at++];
      continue;
    }
    const bool origin = token.name == "ORIGIN";
    result.has_origin |= origin;
    std::string_view value = origin ? values.origin : token.name == "LIB" ? values.lib : values.platform;
    if (origin && values.secure && !stands_alone(text, at, token.length)) value = {};
    if (value.empty()) {
      result.text.clear();
      result.without_value = token.name;
      return result;
    }
    result.text += value;
    at += 1 + token.length;
  }
  return result;
}

bool has_tokens(std::string_view text) {
  for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1))
    if (token_at(text.substr(at + 1)).length != 0) return true;
  return false;
}

std::vector<std::string_view> split_list(std::string_view list, std::string_view separators) {
  std::vector<std::string_view> elements;
  while (true) {
    const auto end = list.find_first_of(separators);
    elements.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return elements;
    list.remove_prefix(end + 1);
  }
}

std::string folder_prefix(std::string_view folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.remove_suffix(1);
  std::string prefix(folder);
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  return prefix;
}

bool lies_in_one_of(std::string_view path, const std::vector<std::string>& folders) {
  std::vector<std::string_view> parts;
  for (const auto part : split_list(path, "/")) {
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
  }
  std::string plain = "/";
  for (const auto part : parts) plain.append(part) += '/';
  return std::ranges::any_of(folders, [&](const auto& folder) { return plain.starts_with(folder_prefix(folder)); });
}

}  // namespace gpuvet
