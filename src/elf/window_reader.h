#pragma once
// A file behind a few remembered windows: the tables that a library reader needs lie close together, so a read of 4 KiB often
// answers ten questions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/system.h"

namespace gpuvet {

class WindowReader final : public FileReader {
 public:
  explicit WindowReader(FileReader& file) : file_(file) {}
  std::uint64_t size() const override { return file_.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override;
  /// Not remembered: whoever brings a buffer keeps the bytes himself.
  Result<std::size_t> read_into(std::uint64_t offset, char* to, std::size_t length) override {
    return file_.read_into(offset, to, length);
  }
  std::uint64_t next_data(std::uint64_t offset) override { return file_.next_data(offset); }
  bool keeps_bytes() const override { return true; }
  std::string_view bytes() override { return file_.bytes(); }

 private:
  struct Window {
    std::uint64_t offset = 0;
    std::string bytes;
  };
  /// The bytes where a window has all of them (or the file ends in it).
  const Window* holder(std::uint64_t offset, std::size_t length) const;

  FileReader& file_;
  std::vector<Window> windows_;
};

}  // namespace gpuvet
