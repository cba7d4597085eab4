#pragma once
// Static archives: the `ar` format with the long names of System V/GNU and of BSD. Format: ar(5), and <ar.h> of the GNU C
// library.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "system/system.h"

namespace gpuvet {

inline constexpr std::size_t ar_magic_size = 8, ar_header_size = 60;

bool is_ar_archive(std::string_view first_bytes);
/// A thin archive names other files instead of holding them.
bool is_thin_ar_archive(std::string_view first_bytes);

struct ArHeader {
  std::string name;        ///< as written: "part.o/", "/123" (in the table of long names), "#1/20" (BSD: before the content)
  std::uint64_t size = 0;  ///< of what follows, a BSD name included
  std::uint64_t bsd_name_size = 0;  ///< bytes of name before the content
  /// Symbol tables and the table of long names: no files.
  bool is_table() const;
};

/// From the 60 bytes of a member's header.
std::optional<ArHeader> parse_ar_header(std::string_view bytes);

struct ArMember {
  std::string name;  ///< "part.o"
  std::uint64_t offset = 0, size = 0;
};

/// Members in order, without tables, until `receive` returns false. Errors: damaged or cut archives (what was good was received).
tl::expected<void, std::string> for_each_ar_member(FileReader& file, const std::function<bool(const ArMember&)>& receive);

}  // namespace gpuvet
