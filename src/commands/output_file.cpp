#include "commands/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace gpuvet {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  const std::string out = real == nullptr ? "" : real;
  std::free(real);
  return out;
}

bool is_inside(const std::string& folder, const std::string& root) {
  const std::string real_folder = resolved(folder), real_root = resolved(root);
  if (real_root.empty() || real_root == "/") return false;
  return real_folder == real_root || real_folder.starts_with(real_root + "/");
}

WriteError system_error() { return {WriteError::Kind::System, std::strerror(errno)}; }

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EPIPE;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void print_error(std::string_view text) { write_all(STDERR_FILENO, text); }

int print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return 0;
  print_error(std::string("gpuvet: standard output: ") + std::strerror(errno) + "\n");
  return 2;
}

WriteError write_file_atomically(const std::string& path, std::string_view text, const std::string& forbidden_root) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0) {
    if (S_ISLNK(st.st_mode)) return {WriteError::Kind::Link, ""};
    if (!S_ISREG(st.st_mode)) return {WriteError::Kind::NotRegular, ""};
  }
  if (!forbidden_root.empty() && is_inside(folder_of(path), forbidden_root)) return {WriteError::Kind::InsideRoot, ""};
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);  // O_EXCL, mode 0600
  if (fd < 0) return system_error();
  const bool written = write_all(fd, text) && ::fsync(fd) == 0;
  WriteError error = written ? WriteError() : system_error();
  if (::close(fd) != 0 && written) error = system_error();
  if (error.kind == WriteError::Kind::None && ::rename(temporary.c_str(), path.c_str()) != 0) error = system_error();
  if (error.kind != WriteError::Kind::None) ::unlink(temporary.c_str());
  return error;
}

}  // namespace gpuvet
