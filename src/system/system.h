#pragma once
// System: the only door to the inspected machine. Nothing outside system/ opens a file, runs a program or asks the kernel.
// Paths are absolute paths of the inspected machine ("/proc/modules"); a root never leaks into them.
// All reads are bounded; FIFOs, sockets and devices are never opened for reading, and nothing here writes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace gpuvet {

enum class ErrorCode : std::uint8_t {
  NotFound,    ///< no such file, or a component of the path is missing or no directory
  Denied,      ///< permission
  NotRegular,  ///< FIFO, socket, device: refused
  TooBig,      ///< more than the asked limit (nothing is returned)
  Loop,        ///< too many links, or a link that cannot be followed inside the root
  TimedOut,
  NotAvailable,  ///< this System cannot do that (a command on a root, …)
  Other
};

struct SystemError {
  ErrorCode code = ErrorCode::Other;
  std::string message;  ///< "/proc/kcore: permission denied"
};

template <class T>
using Result = tl::expected<T, SystemError>;

enum class FileType : std::uint8_t { Regular, Directory, Link, CharDevice, BlockDevice, Fifo, Socket, Other };

struct FileStatus {
  FileType type = FileType::Other;
  std::uint32_t mode = 0;  ///< permission bits, 07777
  std::uint32_t uid = 0, gid = 0;
  std::uint32_t device_major = 0, device_minor = 0;  ///< of a device node
  std::uint64_t size = 0;                            ///< bytes; 0 for most of /proc and /sys
  std::uint64_t device = 0, inode = 0;
  std::int64_t modified = 0;  ///< seconds since the epoch
};

struct DirectoryEntry {
  std::string name;
  FileType type = FileType::Other;  ///< of the entry itself, links not followed
};

/// An open regular file for positioned reads.
class FileReader {
 public:
  virtual ~FileReader() = default;
  virtual std::uint64_t size() const = 0;
  /// Up to `length` bytes from `offset`; fewer only at the end of the file.
  virtual Result<std::string> read_at(std::uint64_t offset, std::size_t length) = 0;
  /// The same into the caller's own buffer; the number of bytes read.
  virtual Result<std::size_t> read_into(std::uint64_t offset, char* to, std::size_t length);
  /// The first offset at or after this one where the file may hold data: skips the holes of a sparse file; size() when only a
  /// hole is left.
  virtual std::uint64_t next_data(std::uint64_t offset) { return offset; }
  /// Are small reads cheap, because the bytes lie in memory or what was read is kept?
  virtual bool keeps_bytes() const { return false; }
  /// The whole file where it lies in memory or can be mapped, for who looks at a few places of a large one; empty: read it. Good
  /// as long as the reader. Bytes that go missing while one looks (a file that is cut, a broken disk) become zeros.
  virtual std::string_view bytes() { return {}; }
};

struct CommandOutput {
  int exit_code = 0;
  std::string output;  ///< standard output, cut at the limit
  bool truncated = false;
};

/// Who runs the judged process, as far as this System can tell.
struct ProcessIdentity {
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> groups;
};

class System {
 public:
  static constexpr std::size_t default_limit = std::size_t{4} << 20;

  virtual ~System() = default;

  /// True for the running host itself: only there may live calls (journalctl, access checks) answer.
  virtual bool is_live() const = 0;

  /// lstat (follow = false) or stat.
  virtual Result<FileStatus> status(std::string_view path, bool follow = true) = 0;
  /// The whole regular file; more than `limit` bytes is TooBig. Works on /proc and /sys, whose sizes lie.
  virtual Result<std::string> read_file(std::string_view path, std::size_t limit = default_limit) = 0;
  /// The first `limit` bytes at most.
  virtual Result<std::string> read_head(std::string_view path, std::size_t limit) = 0;
  /// The last `limit` bytes at most, and whether something before them was left out.
  struct Tail {
    std::string text;
    bool truncated = false;
  };
  virtual Result<Tail> read_tail(std::string_view path, std::size_t limit) = 0;
  virtual Result<std::unique_ptr<FileReader>> open(std::string_view path) = 0;
  /// Entries sorted by name, "." and ".." left out; more than `limit` entries are cut off silently at the limit.
  virtual Result<std::vector<DirectoryEntry>> list(std::string_view path, std::size_t limit = 65536) = 0;
  /// The link's own text.
  virtual Result<std::string> read_link(std::string_view path) = 0;
  /// The path with every link resolved, inside the root.
  virtual Result<std::string> real_path(std::string_view path) = 0;

  // ---- live host only; others answer NotAvailable ----
  virtual Result<ProcessIdentity> identity() = 0;
  /// Would open(path, O_RDWR) work for this process? Device nodes of the NVIDIA driver only; asked without opening them (live.cpp
  /// says why). The error's message is the kernel's reason.
  virtual Result<bool> may_open(std::string_view path) = 0;
  /// Runs one of the few allowed programs (journalctl) without a shell, with a deadline; output is cut at `limit`.
  virtual Result<CommandOutput> run(const std::vector<std::string>& command, int timeout_ms, std::size_t limit) = 0;
  /// The kernel ring buffer by /dev/kmsg, raw records.
  virtual Result<std::string> kernel_ring_buffer(std::size_t limit) = 0;
  /// This process' environment as "NAME=value" entries.
  virtual Result<std::vector<std::string>> environment() = 0;

  // ---- conveniences built on the above ----
  bool exists(std::string_view path) { return status(path, true).has_value(); }
  bool is_directory(std::string_view path);
  /// File content with trailing white space removed: for one-line /proc and /sys files.
  Result<std::string> read_line(std::string_view path, std::size_t limit = 4096);
};

/// The running host.
std::unique_ptr<System> make_live_system();

/// A folder taken as a whole machine. No path, link or ".." leaves it (openat2 RESOLVE_IN_ROOT, or an equal walk).
/// Fails when `root` is no readable directory.
Result<std::unique_ptr<System>> make_rooted_system(const std::string& root);

}  // namespace gpuvet
