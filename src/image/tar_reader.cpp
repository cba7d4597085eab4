#include "image/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>

namespace gpuvet {
namespace {

/// Decompressed bytes that a source of this size may become: a gibibyte, and 200 times its size.
constexpr std::uint64_t free_expansion = std::uint64_t{1} << 30;
constexpr std::uint64_t expansion = 200;
constexpr const char* too_much = "it expands to more than any real layer does (a decompression bomb?)";

struct Closer {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Handle = std::unique_ptr<archive, Closer>;

std::string reason(archive* a) {
  const char* text = archive_error_string(a);
  return text == nullptr ? "damaged" : text;
}

std::string_view text_of(const char* plain, const char* utf8) { return plain != nullptr ? plain : utf8 != nullptr ? utf8 : ""; }

FileType type_of(archive_entry* entry) {
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return FileType::Regular;
    case AE_IFDIR:
      return FileType::Directory;
    case AE_IFLNK:
      return FileType::Link;
    case AE_IFCHR:
      return FileType::CharDevice;
    case AE_IFBLK:
      return FileType::BlockDevice;
    case AE_IFIFO:
      return FileType::Fifo;
    case AE_IFSOCK:
      return FileType::Socket;
    default:
      return FileType::Other;
  }
}

TarEntry described(archive_entry* entry) {
  TarEntry out;
  out.name = text_of(archive_entry_pathname(entry), archive_entry_pathname_utf8(entry));
  out.type = type_of(entry);
  const std::string_view hard = text_of(archive_entry_hardlink(entry), archive_entry_hardlink_utf8(entry));
  out.hard_link = !hard.empty();
  out.link = out.hard_link ? hard : text_of(archive_entry_symlink(entry), archive_entry_symlink_utf8(entry));
  out.mode = static_cast<std::uint32_t>(archive_entry_perm(entry)) & 07777;
  out.uid = static_cast<std::uint32_t>(archive_entry_uid(entry));
  out.gid = static_cast<std::uint32_t>(archive_entry_gid(entry));
  if (out.type == FileType::CharDevice || out.type == FileType::BlockDevice) {
    out.device_major = static_cast<std::uint32_t>(archive_entry_rdevmajor(entry));
    out.device_minor = static_cast<std::uint32_t>(archive_entry_rdevminor(entry));
  }
  const std::int64_t size = archive_entry_size(entry);
  out.size = size > 0 && !out.hard_link ? static_cast<std::uint64_t>(size) : 0;
  out.modified = archive_entry_mtime(entry);
  return out;
}

class Reader final : public TarBody {
 public:
  Reader(const TarSource& source, archive* a) : source_(source), archive_(a) {
    if (source_.next) return;
    source_.size = source_.bytes.size();
  }

  tl::expected<void, std::string> run(const std::function<bool(const TarEntry&, TarBody&)>& visit) {
    archive_entry* entry = nullptr;
    for (int retries = 0;;) {
      const int got = archive_read_next_header(archive_, &entry);
      if (got == ARCHIVE_EOF) break;
      if (got == ARCHIVE_RETRY && ++retries < 16) continue;
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return tl::unexpected(reason(archive_));
      plain_ = !source_.next && archive_filter_code(archive_, 0) == ARCHIVE_FILTER_NONE;
      const TarEntry what = described(entry);
      size_ = what.size;
      if (!plain_ && (size_ > allowed() || passed_ > allowed() - size_)) return tl::unexpected(too_much);
      error_.clear();
      if (!visit(what, *this)) return {};
      // What is skipped by libarchive is skipped without asking: a bomb has to be seen here.
      while (!plain_ && !next().empty()) {
      }
      if (!error_.empty()) return tl::unexpected(error_);
      passed_ += 512;
      if (!plain_ && passed_ > allowed()) return tl::unexpected(too_much);
    }
    return {};
  }

  bool in_place(std::string_view& bytes) override {
    if (!plain_) return false;
    if (size_ == 0) {
      bytes = {};
      return true;
    }
    const Piece first = piece();
    const auto* begin = source_.bytes.data();
    const bool inside = first.offset == 0 && first.bytes.size() == size_ && !std::less<>{}(first.bytes.data(), begin) &&
                        !std::less<>{}(begin + source_.bytes.size(), first.bytes.data() + first.bytes.size());
    if (inside) {
      bytes = first.bytes;
    } else {
      pending_ = first;
      has_pending_ = true;
    }
    return inside;
  }

  tl::expected<std::string, std::string> content(std::size_t limit) override {
    if (size_ > limit) return tl::unexpected(std::string("larger than ") + std::to_string(limit >> 10) + " KiB");
    std::string out;
    for (;;) {
      const Piece p = piece();
      if (p.bytes.empty()) break;
      if (p.offset > size_ || p.bytes.size() > size_ - p.offset) return tl::unexpected(std::string("damaged"));
      if (p.offset + p.bytes.size() > out.size()) out.resize(p.offset + p.bytes.size());  // holes of a sparse file are zeros
      std::ranges::copy(p.bytes, out.begin() + static_cast<std::ptrdiff_t>(p.offset));
    }
    if (!error_.empty()) return tl::unexpected(error_);
    out.resize(size_);
    return out;
  }

  std::string_view next() override { return piece().bytes; }

 private:
  struct Piece {
    std::string_view bytes;
    std::uint64_t offset = 0;
  };

  std::uint64_t allowed() const { return free_expansion + expansion * std::min(source_.size, std::uint64_t{1} << 50); }

  Piece piece() {
    if (has_pending_) {
      has_pending_ = false;
      return pending_;
    }
    const void* data = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    for (int empty = 0; empty < 64; ++empty) {
      const int got = archive_read_data_block(archive_, &data, &length, &offset);
      if (got == ARCHIVE_EOF) return {};
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
        error_ = reason(archive_);
        return {};
      }
      if (length == 0) continue;
      passed_ += length;
      if (!plain_ && passed_ > allowed()) {
        error_ = too_much;
        return {};
      }
      return {{static_cast<const char*>(data), length}, static_cast<std::uint64_t>(offset)};
    }
    return {};
  }

  TarSource source_;
  archive* archive_;
  bool plain_ = false, has_pending_ = false;
  Piece pending_;
  std::uint64_t size_ = 0, passed_ = 0;
  std::string error_;
};

la_ssize_t next_piece(archive*, void* source, const void** buffer) {
  const std::string_view piece = static_cast<TarSource*>(source)->next();
  *buffer = piece.data();
  return static_cast<la_ssize_t>(piece.size());
}

}  // namespace

tl::expected<void, std::string> read_tar(const TarSource& source, const std::function<bool(const TarEntry&, TarBody&)>& visit) {
  const Handle handle(archive_read_new());
  if (!handle) return tl::unexpected(std::string("out of memory"));
  archive* a = handle.get();
  // By name: "all" would also take filters that start programs.
  archive_read_support_format_tar(a);
  archive_read_support_filter_gzip(a);
  archive_read_support_filter_zstd(a);
  archive_read_support_filter_xz(a);
  archive_read_support_filter_bzip2(a);
  TarSource copy = source;
  const int opened = source.next ? archive_read_open(a, &copy, nullptr, next_piece, nullptr)
                                 : archive_read_open_memory(a, source.bytes.data(), source.bytes.size());
  if (opened != ARCHIVE_OK && opened != ARCHIVE_WARN) return tl::unexpected(reason(a));
  return Reader(copy, a).run(visit);
}

}  // namespace gpuvet
