#include "system/audit_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "system/path.h"
#include "system/tree_walk.h"

namespace gpuvet {
namespace {

/// As in src/audit/audit.c: no record is begun behind this size.
constexpr std::int64_t most_record_bytes = std::int64_t{64} << 20;

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Would a loader be able to map the library from there? Not from a file system mounted noexec.
bool can_be_mapped(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return false;
  ::munmap(mapped, 4096);
  return true;
}

std::string path_of(const Fd& fd) { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd.get()); }

}  // namespace

AuditFiles::AuditFiles(AuditFiles&& other) noexcept
    : library_(std::move(other.library_)),
      record_(std::move(other.record_)),
      library_path_(std::move(other.library_path_)),
      record_path_(std::move(other.record_path_)),
      folder_(std::exchange(other.folder_, {})) {}

AuditFiles::~AuditFiles() {
  if (folder_.empty()) return;
  ::unlink(library_path_.c_str());
  ::unlink(record_path_.c_str());
  ::rmdir(folder_.c_str());
}

/// Children reach the files through /proc of this process, and nothing is left behind.
std::optional<AuditFiles> AuditFiles::in_memory(std::string_view library) {
  AuditFiles files;
  files.library_ = above_standard(static_cast<int>(::syscall(SYS_memfd_create, "gpuvet-audit", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  files.record_ = above_standard(static_cast<int>(::syscall(SYS_memfd_create, "gpuvet-record", MFD_CLOEXEC)));
  if (!files.library_ || !files.record_ || !write_whole(files.library_.get(), library)) return std::nullopt;
  ::fcntl(files.library_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  files.library_path_ = path_of(files.library_);
  files.record_path_ = path_of(files.record_);
  if (!can_be_mapped(files.library_path_)) return std::nullopt;
  return files;
}

/// For kernels and sandboxes without memfd or /proc.
std::optional<AuditFiles> AuditFiles::in_folder(const std::string& above, std::string_view library) {
  std::string folder = above + "/gpuvet-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return std::nullopt;
  AuditFiles files;
  files.folder_ = folder;
  files.library_path_ = folder + "/audit.so";
  files.record_path_ = folder + "/record";
  files.library_ = Fd(::open(files.library_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0500));
  files.record_ = above_standard(::open(files.record_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!files.library_ || !files.record_ || !write_whole(files.library_.get(), library)) return std::nullopt;
  files.library_.reset();
  if (!can_be_mapped(files.library_path_)) return std::nullopt;
  return files;
}

Result<AuditFiles> AuditFiles::make(std::string_view library) {
  if (std::getenv("GPUVET_AUDIT_IN_FOLDER") == nullptr) {
    if (auto files = in_memory(library)) return std::move(*files);
  }
  for (const char* name : {"TMPDIR", "XDG_RUNTIME_DIR", "HOME"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value != '/') continue;
    // A ':' would split LD_AUDIT.
    if (std::string_view(value).find(':') != std::string_view::npos) continue;
    if (auto files = in_folder(value, library)) return std::move(*files);
  }
  if (auto files = in_folder("/tmp", library)) return std::move(*files);
  return tl::unexpected(path_error(ErrorCode::NotAvailable, "audit library", "no place that a loader could map it from"));
}

std::vector<std::string> AuditFiles::environment() const {
  const char* others = std::getenv("LD_AUDIT");
  struct stat status {};
  ::fstat(record_.get(), &status);
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "%llx:%llx:", static_cast<unsigned long long>(status.st_dev),
                static_cast<unsigned long long>(status.st_ino));
  return {"LD_AUDIT=" + (others == nullptr ? "" : std::string(others) + ":") + library_path_,
          "GPUVET_AUDIT=" + std::string(numbers) + record_path_};
}

Result<std::string> AuditFiles::records(bool& full) const {
  struct stat status {};
  if (::fstat(record_.get(), &status) != 0) return tl::unexpected(errno_error(errno, "records"));
  full = status.st_size >= most_record_bytes;
  std::string text(static_cast<std::size_t>(std::min<std::int64_t>(status.st_size, most_record_bytes + (1 << 20))), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::pread(record_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace gpuvet
