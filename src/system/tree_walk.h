#pragma once
// Opening files below a root folder so that no link, ".." or absolute target leaves it.

#include <string>
#include <string_view>

#include "system/fd.h"
#include "system/system.h"

namespace gpuvet {

/// How paths are resolved: by the kernel (openat2 with RESOLVE_IN_ROOT, Linux 5.6), or component by component with O_NOFOLLOW.
/// Both give the same answers; the walk is for older kernels and for sandboxes that refuse openat2.
enum class Resolution { Kernel, Walk };

class RootFolder {
 public:
  /// `root` is an open directory. Kernel resolution falls back to the walk where the kernel refuses it.
  RootFolder(Fd root, Resolution wanted);

  /// open(2) inside the root; `flags` as there, O_CLOEXEC is added. With follow = false a final link is not followed
  /// (which needs O_PATH to succeed on a link).
  Result<Fd> open(std::string_view path, int flags, bool follow = true) const;
  /// The path inside the root with all links resolved; the last component must exist.
  Result<std::string> real_path(std::string_view path) const;

  Resolution resolution() const { return resolution_; }

 private:
  Fd root_;
  Resolution resolution_;
};

/// An errno value as an error about `path`.
SystemError errno_error(int number, std::string_view path);

}  // namespace gpuvet
