#pragma once
// A machine in memory: for scenarios and tests. Links are resolved inside it, as a rooted System does.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "system/system.h"

namespace gpuvet {

/// Everything a RecordedSystem holds. Parent directories are implied. Paths are absolute.
struct RecordedTree {
  struct Node {
    FileType type = FileType::Regular;
    std::string content;     ///< file bytes, or a link's target
    std::uint32_t mode = 0;  ///< 0: 0644 files, 0755 directories
    std::uint32_t uid = 0, gid = 0;
    std::uint32_t device_major = 0, device_minor = 0;
    bool unreadable = false;     ///< reading or listing it is Denied
    bool cgroup_denied = false;  ///< a device node that the control group's device rules refuse
  };
  std::map<std::string, Node, std::less<>> nodes;
  /// What programs answer that the machine could be asked to run ("wsl.exe"), whatever their arguments; others are not available.
  std::map<std::string, std::string, std::less<>> answers;

  void add_file(std::string path, std::string content, std::uint32_t mode = 0);
  void add_link(std::string path, std::string target);
  void add_directory(std::string path);
  void add_device(std::string path, FileType type, std::uint32_t major, std::uint32_t minor, std::uint32_t mode,
                  std::uint32_t uid = 0, std::uint32_t gid = 0);
  /// Removes the path and everything below it.
  void remove(std::string_view path);
};

std::unique_ptr<System> make_recorded_system(RecordedTree tree);

}  // namespace gpuvet
