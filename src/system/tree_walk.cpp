#include "system/tree_walk.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "system/path.h"

namespace gpuvet {
namespace {

// <linux/openat2.h> is younger than some supported build hosts; the numbers are the kernel's ABI.
struct OpenHow {
  std::uint64_t flags = 0;
  std::uint64_t mode = 0;
  std::uint64_t resolve = 0;
};
constexpr std::uint64_t resolve_no_magiclinks = 0x02;
constexpr std::uint64_t resolve_no_symlinks = 0x04;
constexpr std::uint64_t resolve_in_root = 0x10;
constexpr long openat2_number = 437;

int openat2_in_root(int root, const char* path, int flags, std::uint64_t more_resolve = 0) {
  OpenHow how;
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolve_in_root | resolve_no_magiclinks | more_resolve;
  // EAGAIN: something was renamed while ".." was resolved, so that the kernel cannot vouch for the result.
  int fd = -1;
  for (int tries = 0; tries < 16; ++tries) {
    fd = static_cast<int>(syscall(openat2_number, root, path, &how, sizeof how));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return fd;
}

/// The path itself, tidied, when no link and no ".." is in it: one call instead of three a component, and most paths are such.
/// Else nothing; errno then tells why (ENOENT: missing before any link was met).
std::optional<std::string> path_without_links(int root, std::string_view path) {
  errno = 0;
  auto components = split_path(path);
  if (std::find(components.begin(), components.end(), "..") != components.end()) return std::nullopt;
  const Fd fd(openat2_in_root(root, std::string(path).c_str(), O_PATH, resolve_no_symlinks));
  if (!fd) return std::nullopt;
  std::erase(components, ".");
  return join_path(components);
}

bool kernel_has_openat2(int root) {
  const Fd probe(openat2_in_root(root, ".", O_PATH));
  return static_cast<bool>(probe);
}

Fd open_step(int directory, const std::string& name, int flags) {
  int fd = -1;
  do {
    fd = ::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return Fd(fd);
}

/// The kernel's "magic" links (/proc/PID/exe, …/fd/3) jump to an object instead of a path; nothing says so but their names.
bool is_magic_link(int link, const std::vector<std::string>& parents, const std::string& name) {
  struct statfs filesystem {};
  if (::fstatfs(link, &filesystem) != 0 || filesystem.f_type != PROC_SUPER_MAGIC) return false;
  if (name == "exe" || name == "cwd" || name == "root") return true;
  if (parents.empty()) return false;
  const std::string& folder = parents.back();
  return folder == "fd" || folder == "ns" || folder == "map_files";
}

/// Where a walk ended: the last component, not a link that was to be followed, and the directory it is in.
struct WalkEnd {
  Fd directory;
  std::string name = ".";
  std::vector<std::string> components;  ///< the resolved path
};

class Walker {
 public:
  Walker(int root, std::string_view path) : root_(root), path_(path) {}

  Result<WalkEnd> walk(bool follow_last) {
    const auto first = split_path(path_);
    pending_.assign(first.begin(), first.end());
    if (!restart()) return fail(errno);
    while (!pending_.empty()) {
      if (++steps_ > max_steps) return fail(ELOOP);
      std::string name = std::move(pending_.front());
      pending_.pop_front();
      if (name == ".") continue;
      if (name == "..") {
        if (!climb()) return fail(errno);
        continue;
      }
      Fd next = open_step(at_.directory.get(), name, O_PATH);
      struct stat status {};
      if (!next || ::fstat(next.get(), &status) != 0) return fail(errno);
      if (S_ISLNK(status.st_mode) && (follow_last || !pending_.empty())) {
        if (const int error = follow(next.get(), name)) return fail(error);
        continue;
      }
      at_.components.push_back(name);
      if (pending_.empty()) {
        at_.name = std::move(name);
        break;
      }
      if (!S_ISDIR(status.st_mode)) return fail(ENOTDIR);
      at_.directory = std::move(next);
    }
    return std::move(at_);
  }

 private:
  tl::unexpected<SystemError> fail(int error) const { return tl::unexpected(errno_error(error, path_)); }

  bool restart() {
    at_.directory = Fd(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
    return static_cast<bool>(at_.directory);
  }

  /// ".." never asks the kernel for "..": the parent is walked to again from the root, so that a folder moved out
  /// of the tree meanwhile cannot lead outside.
  bool climb() {
    if (at_.components.empty()) return true;
    at_.components.pop_back();
    if (!restart()) return false;
    for (const std::string& name : at_.components) {
      if (++steps_ > max_steps) {
        errno = ELOOP;
        return false;
      }
      Fd next = open_step(at_.directory.get(), name, O_PATH | O_DIRECTORY);
      if (!next) return false;
      at_.directory = std::move(next);
    }
    return true;
  }

  /// Puts the link's target before what is still to be walked. 0, or an errno value.
  int follow(int link, const std::string& name) {
    if (++links_ > max_links) return ELOOP;
    if (is_magic_link(link, at_.components, name)) return ELOOP;
    std::string target(max_path_length + 1, '\0');
    const ssize_t length = ::readlinkat(link, "", target.data(), target.size());
    if (length < 0) return errno;
    if (length == 0) return ENOENT;
    target.resize(static_cast<std::size_t>(length));
    const auto parts = split_path(target);
    pending_.insert(pending_.begin(), parts.begin(), parts.end());
    if (target.front() == '/') {
      at_.components.clear();
      if (!restart()) return errno;
    }
    return 0;
  }

  int root_;
  std::string_view path_;
  std::deque<std::string> pending_;
  WalkEnd at_;
  int links_ = 0;
  int steps_ = 0;
};

ErrorCode code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      return ErrorCode::NotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::Denied;
    case ELOOP:
    case EXDEV:
      return ErrorCode::Loop;
    case ENXIO:
      return ErrorCode::NotRegular;
    case ETIMEDOUT:
      return ErrorCode::TimedOut;
    default:
      return ErrorCode::Other;
  }
}

}  // namespace

SystemError errno_error(int number, std::string_view path) {
  std::string why = std::strerror(number);
  if (!why.empty() && why.front() >= 'A' && why.front() <= 'Z') why.front() = static_cast<char>(why.front() - 'A' + 'a');
  return path_error(code_of(number), path, why);
}

RootFolder::RootFolder(Fd root, Resolution wanted)
    : root_(std::move(root)),
      resolution_(wanted == Resolution::Kernel && kernel_has_openat2(root_.get()) ? Resolution::Kernel : Resolution::Walk) {}

Result<Fd> RootFolder::open(std::string_view path, int flags, bool follow) const {
  if (const char* why = bad_path(path)) return tl::unexpected(path_error(ErrorCode::NotFound, path, why));
  if (resolution_ == Resolution::Kernel) {
    Fd fd(openat2_in_root(root_.get(), std::string(path).c_str(), flags | (follow ? 0 : O_NOFOLLOW)));
    if (fd) return fd;
    if (errno != EAGAIN) return tl::unexpected(errno_error(errno, path));
  }
  auto end = Walker(root_.get(), path).walk(follow);
  if (!end) return tl::unexpected(end.error());
  Fd fd = open_step(end->directory.get(), end->name, flags);
  if (!fd) return tl::unexpected(errno_error(errno, path));
  return fd;
}

Result<std::string> RootFolder::real_path(std::string_view path) const {
  if (const char* why = bad_path(path)) return tl::unexpected(path_error(ErrorCode::NotFound, path, why));
  if (resolution_ == Resolution::Kernel) {
    if (auto plain = path_without_links(root_.get(), path)) return std::move(*plain);
    if (errno == ENOENT) return tl::unexpected(errno_error(ENOENT, path));
  }
  auto end = Walker(root_.get(), path).walk(true);
  if (!end) return tl::unexpected(end.error());
  return join_path(end->components);
}

}  // namespace gpuvet
