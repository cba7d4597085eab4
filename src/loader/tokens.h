#pragma once
// $ORIGIN, $LIB and $PLATFORM, and lists of folders, as glibc's elf/dl-load.c takes them apart (is_dst, _dl_dst_substitute,
// fillin_rpath).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuvet {

struct TokenValues {
  std::string origin;  ///< folder of the object whose path is expanded; empty: not known
  std::string platform;
  std::string lib;
  bool secure = false;  ///< AT_SECURE: $ORIGIN only as the first component
};

struct Expanded {
  std::string text;
  std::string without_value;  ///< a token that nobody could fill: glibc drops such an element; empty: none
  bool has_origin = false;
};

/// "${ORIGIN}/../lib" with its tokens replaced. "$ORIGINAL" is no token; an unknown "$X" stays.
Expanded expand_tokens(std::string_view text, const TokenValues& values);

bool has_tokens(std::string_view text);

/// Elements of a list as strsep() gives them, empty ones included: "a::b" → "a", "", "b".
std::vector<std::string_view> split_list(std::string_view list, std::string_view separators);

/// "/a//" → "/a/"; "" stays empty: the current folder.
std::string folder_prefix(std::string_view folder);

/// Does the path, with "." and ".." taken away, lie in one of these folders?
bool lies_in_one_of(std::string_view path, const std::vector<std::string>& folders);

}  // namespace gpuvet
