#include "system/user_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "system/fd.h"

namespace gpuvet {
namespace {

constexpr int pipe_deadline_ms = 30000;

tl::unexpected<SystemError> failure(ErrorCode code, std::string why) { return tl::unexpected(SystemError{code, std::move(why)}); }

tl::unexpected<SystemError> errno_failure() {
  const int error = errno;
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::NotFound
                         : error == EACCES || error == EPERM ? ErrorCode::Denied
                                                             : ErrorCode::Other;
  return failure(code, std::strerror(error));
}

/// "<(COMMAND)" of a shell, or a descriptor that was handed over: somebody writes to it. A FIFO of a folder may have nobody.
bool is_descriptor(std::string_view path) {
  return path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

struct Source {
  Fd owned;
  int fd = -1;
  bool regular = false;
};

Result<Source> open_source(const std::string& path) {
  Source source;
  if (path == "-") {
    source.fd = STDIN_FILENO;
  } else {
    // Non-blocking: opening a FIFO without a writer must not wait.
    source.owned = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!source.owned) return errno_failure();
    source.fd = source.owned.get();
  }
  struct stat st {};
  if (::fstat(source.fd, &st) != 0) return errno_failure();
  source.regular = S_ISREG(st.st_mode);
  const bool terminal_or_pipe =
      is_descriptor(path) && (S_ISFIFO(st.st_mode) || (path == "-" && (S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode))));
  if (!source.regular && !terminal_or_pipe)
    return failure(ErrorCode::NotRegular, S_ISDIR(st.st_mode)    ? "is a directory"
                                          : S_ISFIFO(st.st_mode) ? "is a FIFO, not a regular file"
                                                                 : "not a regular file");
  return source;
}

/// Reads to the end, keeping at most the last `keep` bytes when `tail`, else stopping behind `keep` + 1.
Result<System::Tail> read_source(const Source& source, std::size_t keep, bool tail) {
  System::Tail out;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(pipe_deadline_ms);
  char buffer[65536];
  while (tail || out.text.size() <= keep) {
    if (!source.regular && ::isatty(source.fd) == 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
      pollfd wait{source.fd, POLLIN, 0};
      const int ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(left)) : 0;
      if (ready == 0) return failure(ErrorCode::TimedOut, "no end within 30 seconds");
      if (ready < 0 && errno != EINTR) return errno_failure();
    }
    const ssize_t count = ::read(source.fd, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return errno_failure();
    if (count == 0) break;
    out.text.append(buffer, static_cast<std::size_t>(count));
    if (tail && out.text.size() > 2 * keep + sizeof buffer) {
      out.text.erase(0, out.text.size() - keep);
      out.truncated = true;
    }
  }
  if (tail && out.text.size() > keep) {
    out.text.erase(0, out.text.size() - keep);
    out.truncated = true;
  }
  return out;
}

}  // namespace

Result<std::string> read_user_file(const std::string& path, std::size_t limit) {
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  auto read = read_source(*source, limit, false);
  if (!read) return tl::unexpected(read.error());
  if (read->text.size() > limit) return failure(ErrorCode::TooBig, "larger than " + std::to_string(limit >> 20) + " MiB");
  return std::move(read->text);
}

Result<System::Tail> read_user_file_tail(const std::string& path, std::size_t limit) {
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  bool skipped = false;
  if (source->regular) {
    const off_t end = ::lseek(source->fd, 0, SEEK_END);
    skipped = end > static_cast<off_t>(limit);
    if (::lseek(source->fd, skipped ? end - static_cast<off_t>(limit) : 0, SEEK_SET) < 0) return errno_failure();
  }
  auto tail = read_source(*source, limit, true);
  if (tail && skipped) tail->truncated = true;
  return tail;
}

Result<void> stream_user_file(const std::string& path, const std::function<void(std::string_view)>& take) {
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  std::vector<char> buffer(1 << 18);
  for (;;) {
    if (!source->regular && path != "-") {
      pollfd wait{source->fd, POLLIN, 0};
      const int ready = ::poll(&wait, 1, pipe_deadline_ms);
      if (ready == 0) return failure(ErrorCode::TimedOut, "silent for 30 seconds");
      if (ready < 0 && errno != EINTR) return errno_failure();
    }
    const ssize_t count = ::read(source->fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd wait{source->fd, POLLIN, 0};
      ::poll(&wait, 1, -1);
      continue;
    }
    if (count < 0) return errno_failure();
    if (count == 0) return {};
    take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
  }
}

Result<FileMapping> map_user_file(const std::string& path) {
  const auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  struct stat st {};
  if (::fstat(source->fd, &st) != 0) return errno_failure();
  if (!source->regular) return failure(ErrorCode::NotRegular, "not a regular file");
  FileMapping mapping(source->fd, static_cast<std::uint64_t>(st.st_size));
  if (mapping.bytes().empty() && st.st_size > 0) return failure(ErrorCode::Other, "cannot be mapped");
  return mapping;
}

bool is_user_folder(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

Result<std::vector<std::string>> list_user_tables(const std::string& folder) {
  DIR* directory = ::opendir(folder.c_str());
  if (directory == nullptr) return errno_failure();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.ends_with(".tsv") && names.size() < 256) names.push_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gpuvet
