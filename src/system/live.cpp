// The running host: the files of "/", and the few questions that only its kernel can answer.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "system/command.h"
#include "system/path.h"
#include "system/rooted.h"

extern char** environ;

namespace gpuvet {
namespace {

/// The fixed places of the programs that may run; PATH is the user's and is not asked.
struct AllowedProgram {
  std::string_view name;
  const char* paths[3];
};
constexpr AllowedProgram allowed_programs[] = {
    {"journalctl", {"/usr/bin/journalctl", "/bin/journalctl", "/run/current-system/sw/bin/journalctl"}},
};

/// Programs of Windows that WSL starts (binfmt), for --windows: in Windows' own folders, wherever PATH says that drive C is
/// mounted.
struct WindowsProgram {
  std::string_view name, folder, usual;
};
constexpr WindowsProgram windows_programs[] = {
    {"powershell.exe", "/windowspowershell/v1.0", "/mnt/c/Windows/System32/WindowsPowerShell/v1.0"},
    {"wsl.exe", "/system32", "/mnt/c/Windows/System32"},
    {"nvidia-smi.exe", "/system32", "/mnt/c/Windows/System32"},
};

std::string find_windows_program(const WindowsProgram& program) {
  std::string folders = std::string(program.usual);
  if (const char* path = std::getenv("PATH")) folders += ':' + std::string(path);
  for (std::size_t at = 0; at < folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    std::string folder = folders.substr(at, end - at);
    at = end + 1;
    while (folder.ends_with('/')) folder.pop_back();
    // A program of that name elsewhere on PATH is somebody else's.
    std::string lowered = folder;
    for (char& c : lowered) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!folder.starts_with('/') || !lowered.ends_with(program.folder)) continue;
    std::string file = folder + '/' + std::string(program.name);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// What WSL needs to reach Windows from a program, and wsl.exe's wish for UTF-8 (since WSL 0.64; it writes UTF-16 else).
std::vector<std::string> windows_environment() {
  std::vector<std::string> variables = {"WSL_UTF8=1", "WSLENV=WSL_UTF8"};
  if (const char* interop = std::getenv("WSL_INTEROP")) variables.push_back(std::string("WSL_INTEROP=") + interop);
  return variables;
}

bool is_driver_node(std::string_view path) {
  return (path.starts_with("/dev/nvidia") || path == "/dev/dxg") && path.find("..") == std::string_view::npos;
}

/// Drops whole records from the front until at most `limit` bytes are left: the newest lines matter.
void keep_newest(std::string& records, std::size_t limit) {
  if (records.size() <= limit) return;
  const std::size_t newline = records.find('\n', records.size() - limit - 1);
  records.erase(0, newline == std::string::npos ? records.size() : newline + 1);
}

class LiveSystem final : public RootedSystem {
 public:
  using RootedSystem::RootedSystem;

  bool is_live() const override { return true; }

  /// One call where a root needs three: nothing has to be kept inside "/".
  Result<FileStatus> status(std::string_view path, bool follow) override {
    if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return RootedSystem::status(path, follow);
    const std::string name(path);
    struct stat found {};
    if (::fstatat(AT_FDCWD, name.c_str(), &found, AT_NO_AUTOMOUNT | (follow ? 0 : AT_SYMLINK_NOFOLLOW)) != 0)
      return tl::unexpected(errno_error(errno, path));
    return status_of(found);
  }

  Result<std::string> read_link(std::string_view path) override {
    if (!path.starts_with('/') || bad_path(path) != nullptr) return RootedSystem::read_link(path);
    std::string target(max_path_length + 1, '\0');
    const ssize_t length = ::readlink(std::string(path).c_str(), target.data(), target.size());
    if (length < 0 && errno != EINVAL) return tl::unexpected(errno_error(errno, path));
    if (length < 0) return tl::unexpected(path_error(ErrorCode::Other, path, "not a symbolic link"));
    target.resize(static_cast<std::size_t>(length));
    return target;
  }

  /// The kernel names what it opened, where /proc is mounted; a name that it marks as deleted is no path.
  Result<std::string> real_path(std::string_view path) override {
    const auto fd = root_.open(path, O_PATH);
    if (!fd) return tl::unexpected(fd.error());
    std::string name(max_path_length + 1, '\0');
    const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd->get())).c_str(), name.data(), name.size());
    name.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    const bool whole = name.starts_with('/') && name.size() <= max_path_length && !name.ends_with(" (deleted)");
    return whole ? Result<std::string>(std::move(name)) : RootedSystem::real_path(path);
  }

  Result<ProcessIdentity> identity() override {
    ProcessIdentity identity;
    identity.uid = ::geteuid();
    identity.groups.push_back(::getegid());
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> more(static_cast<std::size_t>(std::max(count, 0)));
    const int got = ::getgroups(static_cast<int>(more.size()), more.data());
    for (int i = 0; i < got; ++i) {
      if (more[static_cast<std::size_t>(i)] != identity.groups.front())
        identity.groups.push_back(more[static_cast<std::size_t>(i)]);
    }
    return identity;
  }

  /// Asks with access(2): the kernel checks mode, ACLs, the device cgroup (v1 and v2) and SELinux/AppArmor there as it does
  /// in open(2) (fs/namei.c, inode_permission). Opening for real would wake or initialise the GPU, may hang on a wedged
  /// one, and lets the kernel load the module of an unknown major: a check must do none of that.
  Result<bool> may_open(std::string_view path) override {
    const std::string name(path);
    if (!is_driver_node(path))
      return tl::unexpected(path_error(ErrorCode::NotAvailable, path, "not a node of the NVIDIA driver"));
    struct stat status {};
    if (::stat(name.c_str(), &status) != 0) return tl::unexpected(errno_error(errno, path));
    if (!S_ISCHR(status.st_mode)) return tl::unexpected(path_error(ErrorCode::NotAvailable, path, "not a character device"));
    if (::access(name.c_str(), R_OK | W_OK) != 0) return denied(std::strerror(errno));
    struct statvfs filesystem {};
    if (::statvfs(name.c_str(), &filesystem) == 0 && (filesystem.f_flag & ST_NODEV) != 0)
      return denied("Permission denied (mounted nodev)");
    return true;
  }

  Result<CommandOutput> run(const std::vector<std::string>& command, int timeout_ms, std::size_t limit) override {
    const std::string_view name = command.empty() ? std::string_view() : std::string_view(command.front());
    for (const AllowedProgram& program : allowed_programs) {
      if (program.name != name) continue;
      for (const char* path : program.paths) {
        if (::access(path, X_OK) == 0) return run_command(path, {command.begin() + 1, command.end()}, timeout_ms, limit);
      }
      return tl::unexpected(path_error(ErrorCode::NotFound, name, "no such program"));
    }
    for (const WindowsProgram& program : windows_programs) {
      if (program.name != name) continue;
      const std::string file = find_windows_program(program);
      if (file.empty()) return tl::unexpected(path_error(ErrorCode::NotFound, name, "no such program"));
      return run_command(file, {command.begin() + 1, command.end()}, timeout_ms, limit, windows_environment());
    }
    return tl::unexpected(path_error(ErrorCode::NotAvailable, name, "not among the programs that may run"));
  }

  Result<std::string> kernel_ring_buffer(std::size_t limit) override {
    constexpr const char* path = "/dev/kmsg";
    struct stat status {};
    // In some containers /dev/kmsg is a link to a console: reading that would take somebody's input.
    if (::stat(path, &status) != 0) return tl::unexpected(errno_error(errno, path));
    if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(1, 11))
      return tl::unexpected(path_error(ErrorCode::NotRegular, path, "not the kernel's log device"));
    const Fd fd(::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (!fd) return tl::unexpected(errno_error(errno, path));
    return read_records(fd.get(), limit);
  }

  Result<std::vector<std::string>> environment() override {
    std::vector<std::string> variables;
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) variables.emplace_back(*at);
    return variables;
  }

 private:
  static tl::unexpected<SystemError> denied(std::string why) {
    return tl::unexpected(SystemError{ErrorCode::Denied, std::move(why)});
  }

  /// One read(2) is one record; EAGAIN is the end. A flooded log cannot keep us here: there is a deadline.
  static Result<std::string> read_records(int fd, std::size_t limit) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    std::string records;
    char record[16384];
    for (int count = 0;; ++count) {
      const ssize_t length = ::read(fd, record, sizeof record);
      if (length < 0 && errno == EINTR) continue;
      if (length < 0 && errno == EPIPE) {  // records were overwritten under us; reading goes on at the oldest one left
        if (std::chrono::steady_clock::now() > deadline) break;
        continue;
      }
      if (length <= 0) break;
      records.append(record, static_cast<std::size_t>(length));
      if (records.size() > 2 * limit) keep_newest(records, limit);
      if ((count & 1023) == 1023 && std::chrono::steady_clock::now() > deadline) break;
    }
    keep_newest(records, limit);
    return records;
  }
};

}  // namespace

std::unique_ptr<System> make_live_system() {
  return std::make_unique<LiveSystem>(RootFolder(Fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), Resolution::Kernel));
}

}  // namespace gpuvet
