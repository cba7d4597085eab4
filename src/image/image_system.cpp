#include "image/image_system.h"

#include <algorithm>
#include <cstring>

#include "system/path.h"

namespace gpuvet {
namespace {

class ImageReader final : public FileReader {
 public:
  ImageReader(std::shared_ptr<const Image> image, std::string_view bytes) : image_(std::move(image)), bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    return offset >= bytes_.size() ? std::string() : std::string(bytes_.substr(offset, length));
  }
  Result<std::size_t> read_into(std::uint64_t offset, char* to, std::size_t length) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min(length, bytes_.size() - static_cast<std::size_t>(offset));
    std::memcpy(to, bytes_.data() + offset, count);
    return count;
  }
  bool keeps_bytes() const override { return true; }
  std::string_view bytes() override { return bytes_; }

 private:
  std::shared_ptr<const Image> image_;
  std::string_view bytes_;
};

class ImageSystem final : public System {
 public:
  explicit ImageSystem(std::shared_ptr<const Image> image) : image_(std::move(image)) {}

  bool is_live() const override { return false; }

  Result<FileStatus> status(std::string_view path, bool follow) override {
    const auto id = tree().find(path, follow);
    if (!id) return tl::unexpected(id.error());
    const ImageInode& what = tree().inode(*id);
    FileStatus out;
    out.type = what.type;
    out.mode = what.mode;
    out.uid = what.uid;
    out.gid = what.gid;
    out.device_major = what.device_major;
    out.device_minor = what.device_minor;
    out.size = what.size;
    out.device = 1;
    out.inode = tree().inode_number(*id);
    out.modified = what.modified;
    return out;
  }

  Result<std::string> read_file(std::string_view path, std::size_t limit) override {
    const auto bytes = content(path);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->size() > limit) return tl::unexpected(path_error(ErrorCode::TooBig, path, "file too large"));
    return std::string(*bytes);
  }
  Result<std::string> read_head(std::string_view path, std::size_t limit) override {
    const auto bytes = content(path);
    if (!bytes) return tl::unexpected(bytes.error());
    return std::string(bytes->substr(0, limit));
  }
  Result<Tail> read_tail(std::string_view path, std::size_t limit) override {
    const auto bytes = content(path);
    if (!bytes) return tl::unexpected(bytes.error());
    const std::size_t skipped = bytes->size() > limit ? bytes->size() - limit : 0;
    return Tail{std::string(bytes->substr(skipped)), skipped > 0};
  }
  Result<std::unique_ptr<FileReader>> open(std::string_view path) override {
    const auto bytes = content(path);
    if (!bytes) return tl::unexpected(bytes.error());
    return std::make_unique<ImageReader>(image_, *bytes);
  }
  Result<std::vector<DirectoryEntry>> list(std::string_view path, std::size_t limit) override {
    const auto id = tree().find(path, true);
    if (!id) return tl::unexpected(id.error());
    if (tree().inode(*id).type != FileType::Directory)
      return tl::unexpected(path_error(ErrorCode::NotFound, path, "not a directory"));
    return tree().list(*id, limit);
  }
  Result<std::string> read_link(std::string_view path) override {
    const auto id = tree().find(path, false);
    if (!id) return tl::unexpected(id.error());
    const ImageInode& what = tree().inode(*id);
    if (what.type != FileType::Link) return tl::unexpected(path_error(ErrorCode::Other, path, "not a symbolic link"));
    return std::string(what.bytes);
  }
  Result<std::string> real_path(std::string_view path) override {
    const auto id = tree().find(path, true);
    if (!id) return tl::unexpected(id.error());
    return tree().path(*id);
  }

  Result<ProcessIdentity> identity() override { return not_available("identity"); }
  Result<bool> may_open(std::string_view) override { return not_available("access check"); }
  Result<CommandOutput> run(const std::vector<std::string>&, int, std::size_t) override { return not_available("command"); }
  Result<std::string> kernel_ring_buffer(std::size_t) override { return not_available("kernel ring buffer"); }
  Result<std::vector<std::string>> environment() override { return not_available("environment"); }

 private:
  const MergedTree& tree() const { return image_->tree; }

  static tl::unexpected<SystemError> not_available(const char* what) {
    return tl::unexpected(SystemError{ErrorCode::NotAvailable, std::string(what) + ": an image does not run"});
  }

  Result<std::string_view> content(std::string_view path) const {
    const auto id = tree().find(path, true);
    if (!id) return tl::unexpected(id.error());
    const ImageInode& what = tree().inode(*id);
    if (what.type == FileType::Directory) return tl::unexpected(path_error(ErrorCode::NotRegular, path, "is a directory"));
    if (what.type != FileType::Regular) return tl::unexpected(path_error(ErrorCode::NotRegular, path, "not a regular file"));
    // "Denied" is what everything downstream takes for "it is there, and was not seen".
    if (!what.has_content)
      return tl::unexpected(path_error(ErrorCode::Denied, path, "not read: it is in a compressed layer, and large"));
    return what.bytes;
  }

  std::shared_ptr<const Image> image_;
};

}  // namespace

std::unique_ptr<System> make_image_system(std::shared_ptr<const Image> image) {
  return std::make_unique<ImageSystem>(std::move(image));
}

}  // namespace gpuvet
