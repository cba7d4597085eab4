#include "system/rooted.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>

#include "system/file_mapping.h"
#include "system/path.h"

namespace gpuvet {
namespace {

/// Files of /proc tell size 0: their tail is found by reading all of them, but never more than this.
constexpr std::size_t most_streamed = std::size_t{64} << 20;
constexpr std::size_t chunk_size = std::size_t{64} << 10;

FileType type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileType::Regular;
  if (S_ISDIR(mode)) return FileType::Directory;
  if (S_ISLNK(mode)) return FileType::Link;
  if (S_ISCHR(mode)) return FileType::CharDevice;
  if (S_ISBLK(mode)) return FileType::BlockDevice;
  if (S_ISFIFO(mode)) return FileType::Fifo;
  return S_ISSOCK(mode) ? FileType::Socket : FileType::Other;
}

FileType type_of_entry(const dirent& entry, int directory) {
  switch (entry.d_type) {
    case DT_REG:
      return FileType::Regular;
    case DT_DIR:
      return FileType::Directory;
    case DT_LNK:
      return FileType::Link;
    case DT_CHR:
      return FileType::CharDevice;
    case DT_BLK:
      return FileType::BlockDevice;
    case DT_FIFO:
      return FileType::Fifo;
    case DT_SOCK:
      return FileType::Socket;
    default:
      break;  // some file systems do not tell
  }
  struct stat status {};
  if (::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return FileType::Other;
  return type_of(status.st_mode);
}

struct OpenFile {
  Fd fd;
  std::uint64_t size = 0;
};

/// Opens with `flags` and refuses all but regular files.
Result<OpenFile> open_as_regular(const RootFolder& root, std::string_view path, int flags) {
  auto fd = root.open(path, flags);
  if (!fd) return tl::unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return tl::unexpected(errno_error(errno, path));
  if (S_ISDIR(status.st_mode)) return tl::unexpected(path_error(ErrorCode::NotRegular, path, "is a directory"));
  if (!S_ISREG(status.st_mode)) return tl::unexpected(path_error(ErrorCode::NotRegular, path, "not a regular file"));
  return OpenFile{std::move(*fd), static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0))};
}

/// Opens a regular file. It is looked at first: opening a FIFO or a device, even for a moment, can have effects.
/// The kernel's own /proc and /sys of a live host hold neither, and most reads are there: they go without that look.
Result<OpenFile> open_regular(const RootFolder& root, std::string_view path, bool live) {
  const bool kernels_own = live && (path.starts_with("/proc/") || path.starts_with("/sys/"));
  if (live && !kernels_own && bad_path(path) == nullptr && path.starts_with('/')) {
    // Nothing has to be kept inside "/": one call tells what three would.
    struct stat status {};
    if (::fstatat(AT_FDCWD, std::string(path).c_str(), &status, AT_NO_AUTOMOUNT) == 0 && !S_ISREG(status.st_mode))
      return tl::unexpected(
          path_error(ErrorCode::NotRegular, path, S_ISDIR(status.st_mode) ? "is a directory" : "not a regular file"));
  } else if (!kernels_own) {
    const auto seen = open_as_regular(root, path, O_PATH);
    if (!seen) return tl::unexpected(seen.error());
  }
  return open_as_regular(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/// One read that survives signals; 0 also where a file of /proc would make us wait.
ssize_t read_some(int fd, char* to, std::size_t length) {
  ssize_t count = 0;
  do {
    count = ::read(fd, to, length);
  } while (count < 0 && errno == EINTR);
  return count < 0 && errno == EAGAIN ? 0 : count;
}

/// Up to `limit` bytes from the current position.
Result<std::string> read_up_to(const OpenFile& file, std::string_view path, std::size_t limit) {
  std::string text;
  char probe[4096];  // tells the end of a file of known size without growing its text
  // The told size is a hint only: 0 for /proc, 4096 for sysfs; the file may also grow meanwhile.
  std::size_t room = std::max<std::size_t>(std::min<std::uint64_t>(file.size, chunk_size * 16), sizeof probe);
  while (text.size() < limit) {
    const std::size_t before = text.size();
    if (before > 0 && before == file.size) {
      const ssize_t more = read_some(file.fd.get(), probe, std::min(sizeof probe, limit - before));
      if (more < 0) return tl::unexpected(errno_error(errno, path));
      if (more == 0) break;
      text.append(probe, static_cast<std::size_t>(more));
      continue;
    }
    text.resize(std::min(limit, before + room));
    const ssize_t count = read_some(file.fd.get(), text.data() + before, text.size() - before);
    if (count < 0) return tl::unexpected(errno_error(errno, path));
    text.resize(before + static_cast<std::size_t>(count));
    if (count == 0) break;
    room = chunk_size;
  }
  return text;
}

Result<std::string> read_range(int fd, std::string_view path, std::uint64_t offset, std::size_t length) {
  std::string text;
  while (text.size() < length) {
    const std::size_t before = text.size();
    text.resize(std::min(length, before + chunk_size * 16));
    ssize_t count = 0;
    do {
      count = ::pread(fd, text.data() + before, text.size() - before, static_cast<off_t>(offset + before));
    } while (count < 0 && errno == EINTR);
    if (count < 0) return tl::unexpected(errno_error(errno, path));
    text.resize(before + static_cast<std::size_t>(count));
    if (count == 0) break;
  }
  return text;
}

Result<System::Tail> stream_tail(const OpenFile& file, std::string_view path, std::size_t limit) {
  System::Tail tail;
  std::string chunk(chunk_size, '\0');
  for (std::size_t total = 0; total < most_streamed;) {
    const ssize_t count = read_some(file.fd.get(), chunk.data(), chunk.size());
    if (count < 0) return tl::unexpected(errno_error(errno, path));
    if (count == 0) break;
    total += static_cast<std::size_t>(count);
    tail.text.append(chunk, 0, static_cast<std::size_t>(count));
    if (tail.text.size() > limit) {
      tail.text.erase(0, tail.text.size() - limit);
      tail.truncated = true;
    }
  }
  return tail;
}

class RootedReader final : public FileReader {
 public:
  RootedReader(OpenFile file, std::string_view path) : file_(std::move(file)), path_(path) {}
  std::uint64_t size() const override { return file_.size; }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    if (offset >= file_.size) return std::string();
    const std::uint64_t left = file_.size - offset;
    if (const auto all = mapped_.bytes(); !all.empty()) return std::string(all.substr(static_cast<std::size_t>(offset), length));
    return read_range(file_.fd.get(), path_, offset, static_cast<std::size_t>(std::min<std::uint64_t>(length, left)));
  }
  Result<std::size_t> read_into(std::uint64_t offset, char* to, std::size_t length) override {
    if (offset >= file_.size) return std::size_t{0};
    length = static_cast<std::size_t>(std::min<std::uint64_t>(length, file_.size - offset));
    std::size_t done = 0;
    while (done < length) {
      const ssize_t count = ::pread(file_.fd.get(), to + done, length - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return tl::unexpected(errno_error(errno, path_));
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }
  std::uint64_t next_data(std::uint64_t offset) override {
    const off_t found = ::lseek(file_.fd.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (found < 0) return errno == ENXIO ? file_.size : offset;  // others: a file system that does not know
    return static_cast<std::uint64_t>(found);
  }
  bool keeps_bytes() const override { return !mapped_.bytes().empty(); }
  std::string_view bytes() override {
    if (!asked_) mapped_ = FileMapping(file_.fd.get(), file_.size);
    asked_ = true;
    return mapped_.bytes();
  }

 private:
  OpenFile file_;
  std::string path_;
  FileMapping mapped_;
  bool asked_ = false;  ///< for mapped_
};

tl::unexpected<SystemError> not_available(const char* what) {
  return tl::unexpected(SystemError{ErrorCode::NotAvailable, std::string(what) + ": not the running host"});
}

}  // namespace

FileStatus status_of(const struct stat& from) {
  FileStatus status;
  status.type = type_of(from.st_mode);
  status.mode = from.st_mode & 07777;
  status.uid = from.st_uid;
  status.gid = from.st_gid;
  if (status.type == FileType::CharDevice || status.type == FileType::BlockDevice) {
    status.device_major = major(from.st_rdev);
    status.device_minor = minor(from.st_rdev);
  }
  if (status.type == FileType::Regular || status.type == FileType::Link) status.size = static_cast<std::uint64_t>(from.st_size);
  status.device = from.st_dev;
  status.inode = from.st_ino;
  status.modified = from.st_mtime;
  return status;
}

Result<FileStatus> RootedSystem::status(std::string_view path, bool follow) {
  const auto fd = root_.open(path, O_PATH, follow);
  if (!fd) return tl::unexpected(fd.error());
  struct stat found {};
  if (::fstat(fd->get(), &found) != 0) return tl::unexpected(errno_error(errno, path));
  return status_of(found);
}

Result<std::string> RootedSystem::read_file(std::string_view path, std::size_t limit) {
  const auto file = open_regular(root_, path, is_live());
  if (!file) return tl::unexpected(file.error());
  const auto too_big = [&] { return tl::unexpected(path_error(ErrorCode::TooBig, path, "file too large")); };
  if (file->size > limit) return too_big();
  auto text = read_up_to(*file, path, std::max(limit, limit + 1));  // one more tells a longer file
  if (text && text->size() > limit) return too_big();
  return text;
}

Result<std::string> RootedSystem::read_head(std::string_view path, std::size_t limit) {
  const auto file = open_regular(root_, path, is_live());
  if (!file) return tl::unexpected(file.error());
  return read_up_to(*file, path, limit);
}

Result<System::Tail> RootedSystem::read_tail(std::string_view path, std::size_t limit) {
  const auto file = open_regular(root_, path, is_live());
  if (!file) return tl::unexpected(file.error());
  if (file->size == 0) return stream_tail(*file, path, limit);
  const std::uint64_t skipped = file->size > limit ? file->size - limit : 0;
  auto text =
      read_range(file->fd.get(), path, skipped, static_cast<std::size_t>(std::min<std::uint64_t>(limit, file->size - skipped)));
  if (!text) return tl::unexpected(text.error());
  return Tail{std::move(*text), skipped > 0};
}

Result<std::unique_ptr<FileReader>> RootedSystem::open(std::string_view path) {
  auto file = open_regular(root_, path, is_live());
  if (!file) return tl::unexpected(file.error());
  return std::make_unique<RootedReader>(std::move(*file), path);
}

Result<std::vector<DirectoryEntry>> RootedSystem::list(std::string_view path, std::size_t limit) {
  auto fd = root_.open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (!fd) return tl::unexpected(fd.error());
  const int number = fd->get();
  DIR* directory = ::fdopendir(number);
  if (directory == nullptr) return tl::unexpected(errno_error(errno, path));
  fd->release();  // closedir closes it
  std::vector<DirectoryEntry> entries;
  while (entries.size() < limit) {
    const dirent* entry = ::readdir(directory);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back({std::string(name), type_of_entry(*entry, number)});
  }
  ::closedir(directory);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

Result<std::string> RootedSystem::read_link(std::string_view path) {
  const auto fd = root_.open(path, O_PATH, false);
  if (!fd) return tl::unexpected(fd.error());
  std::string target(max_path_length + 1, '\0');
  const ssize_t length = ::readlinkat(fd->get(), "", target.data(), target.size());
  // On an O_PATH descriptor of anything but a link, readlinkat says ENOENT (or EINVAL).
  if (length < 0) return tl::unexpected(path_error(ErrorCode::Other, path, "not a symbolic link"));
  target.resize(static_cast<std::size_t>(length));
  return target;
}

Result<std::string> RootedSystem::real_path(std::string_view path) { return root_.real_path(path); }

Result<ProcessIdentity> RootedSystem::identity() { return not_available("identity"); }
Result<bool> RootedSystem::may_open(std::string_view) { return not_available("access check"); }
Result<CommandOutput> RootedSystem::run(const std::vector<std::string>&, int, std::size_t) { return not_available("command"); }
Result<std::string> RootedSystem::kernel_ring_buffer(std::size_t) { return not_available("kernel ring buffer"); }
Result<std::vector<std::string>> RootedSystem::environment() { return not_available("environment"); }

Result<std::unique_ptr<System>> make_rooted_system(const std::string& root, Resolution resolution) {
  Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return tl::unexpected(errno_error(errno, root));
  return std::make_unique<RootedSystem>(RootFolder(std::move(fd), resolution));
}

Result<std::unique_ptr<System>> make_rooted_system(const std::string& root) {
  return make_rooted_system(root, Resolution::Kernel);
}

}  // namespace gpuvet
