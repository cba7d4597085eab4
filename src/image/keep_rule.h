#pragma once
// Which files' contents are kept while a compressed layer passes by: what collectors read. The rest is known by name and size.

#include <cstdint>
#include <string_view>

namespace gpuvet {

/// Bytes of contents kept of one image at most.
inline constexpr std::uint64_t most_kept_bytes = std::uint64_t{1} << 30;

/// `path` has neither "./" nor "/" in front.
bool keeps_content(std::string_view path, std::uint64_t size);

}  // namespace gpuvet
