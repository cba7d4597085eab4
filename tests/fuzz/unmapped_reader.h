#pragma once
// The same bytes as a file that is read, not mapped: readers have a way for each.

#include "elf/bytes.h"

namespace gpuvet {

class UnmappedReader final : public FileReader {
 public:
  explicit UnmappedReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override { return bytes_.read_at(offset, length); }

 private:
  MemoryReader bytes_;
};

}  // namespace gpuvet
