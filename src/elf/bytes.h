#pragma once
// Foreign bytes in memory, read without casts: every access is range-checked and in the file's own byte order.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "system/system.h"

namespace gpuvet {

/// An error in words.
inline tl::unexpected<std::string> failure(std::string what) { return tl::unexpected<std::string>(std::move(what)); }

/// A view of bytes. A read beyond the end gives 0; who must tell the two apart asks `has` first.
struct ByteView {
  std::string_view bytes;
  bool big_endian = false;

  bool has(std::uint64_t offset, std::uint64_t length) const { return offset <= bytes.size() && length <= bytes.size() - offset; }
  std::uint64_t number(std::uint64_t offset, unsigned width) const {
    if (!has(offset, width)) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[offset + (big_endian ? i : width - 1 - i)]);
      value = value << 8 | byte;
    }
    return value;
  }
  std::uint8_t u8(std::uint64_t offset) const { return load<std::uint8_t>(offset); }
  std::uint16_t u16(std::uint64_t offset) const { return load<std::uint16_t>(offset); }
  std::uint32_t u32(std::uint64_t offset) const { return load<std::uint32_t>(offset); }
  std::uint64_t u64(std::uint64_t offset) const { return load<std::uint64_t>(offset); }

  /// The part from `offset` on, at most `length` bytes; empty beyond the end.
  std::string_view slice(std::uint64_t offset, std::uint64_t length) const {
    return offset < bytes.size() ? bytes.substr(offset, length) : std::string_view{};
  }
  /// The NUL-terminated string at `offset`; empty when it does not end inside the view.
  std::string_view c_string(std::uint64_t offset) const {
    if (offset >= bytes.size()) return {};
    const auto end = bytes.find('\0', offset);
    return end == std::string_view::npos ? std::string_view{} : bytes.substr(offset, end - offset);
  }

 private:
  /// Whole words at once: symbol tables have millions of them.
  template <class Word>
  Word load(std::uint64_t offset) const {
    if (!has(offset, sizeof(Word))) return 0;
    Word value;
    std::memcpy(&value, bytes.data() + offset, sizeof(Word));
    if (big_endian == (std::endian::native == std::endian::big)) return value;
    if constexpr (sizeof(Word) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(Word) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(Word) == 8) return __builtin_bswap64(value);
    return value;
  }
};

/// A piece of a file: lent where the file lies in memory, else read into a string of its own.
class FilePiece {
 public:
  FilePiece() = default;
  explicit FilePiece(std::string_view lent) : lent_(lent) {}
  explicit FilePiece(std::string own) : own_(std::move(own)), is_lent_(false) {}

  std::string_view text() const { return is_lent_ ? lent_ : std::string_view(own_); }
  operator std::string_view() const { return text(); }
  std::size_t size() const { return text().size(); }

 private:
  std::string_view lent_;
  std::string own_;
  bool is_lent_ = true;
};

/// Up to `length` bytes from `offset`; fewer, or none, where the file ends or cannot be read.
inline FilePiece piece_of(FileReader& file, std::uint64_t offset, std::size_t length) {
  if (const auto all = file.bytes(); !all.empty()) return FilePiece(ByteView{all}.slice(offset, length));
  if (offset >= file.size()) return {};
  auto read = file.read_at(offset, length);
  return read ? FilePiece(std::move(*read)) : FilePiece();
}

/// Reads up to `length` bytes to the end of a buffer; how many. For who goes through all of a large file: mapped pages would
/// count as memory of this process.
inline std::size_t append_read(FileReader& file, std::uint64_t offset, std::size_t length, std::string& to) {
  const auto before = to.size();
  to.resize(before + length);
  const auto count = file.read_into(offset, to.data() + before, length).value_or(0);
  to.resize(before + count);
  return count;
}

/// Bytes in memory behind the interface of a file.
class MemoryReader final : public FileReader {
 public:
  explicit MemoryReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    return std::string(ByteView{bytes_}.slice(offset, length));
  }
  std::string_view bytes() override { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace gpuvet
