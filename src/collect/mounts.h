#pragma once
// The mounts that the judged process sees.

#include <cstdint>
#include <string>
#include <vector>

#include "model/fact.h"
#include "system/system.h"

namespace gpuvet {

/// One line of mountinfo (proc_pid_mountinfo(5)) or, where only that is there, of mounts; octal escapes undone.
struct Mount {
  std::string subtree;  ///< which folder or file of its file system it shows; "/" where the list does not tell
  std::string point;
  std::string type, source;
  std::string options;  ///< of the file system, not of the mount
  Origin origin;        ///< with the whole line, cut as every quote
};

struct MountTable {
  std::string path;  ///< the list that was read; empty: there is none
  std::vector<Mount> mounts;

  /// What lies on top at this very point; null: nothing is mounted there.
  const Mount* at(std::string_view point) const;
};

MountTable read_mounts(System& system);

}  // namespace gpuvet
