#pragma once
// A file descriptor that closes itself.

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace gpuvet {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

/// The same file by a number that is none of the standard streams': where one of those is closed, it would be taken for it.
inline Fd above_standard(int fd) {
  const Fd original(fd);
  return Fd(original ? ::fcntl(original.get(), F_DUPFD_CLOEXEC, 3) : -1);
}

}  // namespace gpuvet
