#pragma once
// A file in memory, by mmap, for reading. The program that maps a file is killed by SIGBUS when it touches what is no longer
// there: another one cut the file, or the disk has an error. Here such places become zeros instead, as if the file had a hole.

#include <cstdint>
#include <string_view>

namespace gpuvet {

class FileMapping {
 public:
  FileMapping() = default;
  /// Maps `size` bytes of an open file; bytes() stays empty where that cannot be done.
  FileMapping(int fd, std::uint64_t size);
  ~FileMapping();
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
  int slot_ = -1;  ///< of the table that the signal handler looks at
};

}  // namespace gpuvet
