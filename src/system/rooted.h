#pragma once
// Files of a folder taken as a whole machine; the live host is the same over "/", with a few questions to the kernel more.

#include <sys/stat.h>

#include "system/system.h"
#include "system/tree_walk.h"

namespace gpuvet {

class RootedSystem : public System {
 public:
  explicit RootedSystem(RootFolder root) : root_(std::move(root)) {}

  bool is_live() const override { return false; }
  Result<FileStatus> status(std::string_view path, bool follow) override;
  Result<std::string> read_file(std::string_view path, std::size_t limit) override;
  Result<std::string> read_head(std::string_view path, std::size_t limit) override;
  Result<Tail> read_tail(std::string_view path, std::size_t limit) override;
  Result<std::unique_ptr<FileReader>> open(std::string_view path) override;
  Result<std::vector<DirectoryEntry>> list(std::string_view path, std::size_t limit) override;
  Result<std::string> read_link(std::string_view path) override;
  Result<std::string> real_path(std::string_view path) override;
  Result<ProcessIdentity> identity() override;
  Result<bool> may_open(std::string_view path) override;
  Result<CommandOutput> run(const std::vector<std::string>& command, int timeout_ms, std::size_t limit) override;
  Result<std::string> kernel_ring_buffer(std::size_t limit) override;
  Result<std::vector<std::string>> environment() override;

 protected:
  RootFolder root_;
};

/// What a stat says, in our words.
FileStatus status_of(const struct stat& from);

/// make_rooted_system with the way of resolving chosen: for tests and benchmarks.
Result<std::unique_ptr<System>> make_rooted_system(const std::string& root, Resolution resolution);

}  // namespace gpuvet
