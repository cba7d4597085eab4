#pragma once
// Tar archives, plain or compressed as a whole (gzip, zstd, xz, bzip2), read once from beginning to end: what container images
// are made of. Bytes of an uncompressed archive in memory are shown where they lie.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "system/system.h"

namespace gpuvet {

/// Bytes of an archive: all of them in memory, or piece by piece (an empty piece is the end).
struct TarSource {
  std::string_view bytes;
  std::function<std::string_view()> next;
  std::uint64_t size = 0;  ///< of the pieces together; of `bytes` their own size counts
};

struct TarEntry {
  std::string_view name;  ///< as written
  FileType type = FileType::Other;
  bool hard_link = false;
  std::string_view link;  ///< target of a symbolic or hard link
  std::uint32_t mode = 0, uid = 0, gid = 0, device_major = 0, device_minor = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
};

/// The bytes of the entry that is being visited.
class TarBody {
 public:
  virtual ~TarBody() = default;
  /// Does the archive lie uncompressed in memory, and the entry in one piece? Then its bytes, good as long as the archive's.
  virtual bool in_place(std::string_view& bytes) = 0;
  /// The whole content; nothing when it is longer than `limit` or broken.
  virtual tl::expected<std::string, std::string> content(std::size_t limit) = 0;
  /// The next piece, in order; empty at the end. What it points to is good until the next call. Not after the two above.
  virtual std::string_view next() = 0;
};

/// Calls `visit` for every entry until it returns false. Errors: no tar archive, truncated or damaged, or an expansion that no
/// real archive has.
tl::expected<void, std::string> read_tar(const TarSource& source, const std::function<bool(const TarEntry&, TarBody&)>& visit);

}  // namespace gpuvet
