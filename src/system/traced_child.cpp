#include "system/traced_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "system/fd.h"
#include "system/path.h"
#include "system/tree_walk.h"

extern char** environ;

namespace gpuvet {
namespace {

/// As in src/audit/audit.c: no record is begun behind this size.
constexpr std::int64_t most_record_bytes = std::int64_t{64} << 20;

/// The two files that the child opens by path: the library, and the record that it appends to.
struct AuditFiles {
  Fd library, record;
  std::string library_path, record_path;
  std::string folder;  ///< empty: both are in memory

  AuditFiles() = default;
  AuditFiles(AuditFiles&& other) noexcept
      : library(std::move(other.library)),
        record(std::move(other.record)),
        library_path(std::move(other.library_path)),
        record_path(std::move(other.record_path)),
        folder(std::exchange(other.folder, {})) {}
  ~AuditFiles() {
    if (folder.empty()) return;
    ::unlink(library_path.c_str());
    ::unlink(record_path.c_str());
    ::rmdir(folder.c_str());
  }
};

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

/// In memory: children reach the files through /proc of this process, and nothing is left behind.
std::optional<AuditFiles> files_in_memory(std::string_view library) {
  AuditFiles files;
  files.library = Fd(static_cast<int>(::syscall(SYS_memfd_create, "gpuvet-audit", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  files.record = Fd(static_cast<int>(::syscall(SYS_memfd_create, "gpuvet-record", MFD_CLOEXEC)));
  if (!files.library || !files.record || !write_whole(files.library.get(), library)) return std::nullopt;
  ::fcntl(files.library.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  files.library_path = path_of(files.library);
  files.record_path = path_of(files.record);
  if (!can_be_mapped(files.library_path)) return std::nullopt;
  return files;
}

/// A folder of our own, for kernels and sandboxes without memfd or /proc.
std::optional<AuditFiles> files_in_folder(const std::string& above, std::string_view library) {
  std::string folder = above + "/gpuvet-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return std::nullopt;
  AuditFiles files;
  files.folder = folder;
  files.library_path = folder + "/audit.so";
  files.record_path = folder + "/record";
  files.library = Fd(::open(files.library_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0500));
  files.record = Fd(::open(files.record_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!files.library || !files.record || !write_whole(files.library.get(), library)) return std::nullopt;
  files.library.reset();
  if (!can_be_mapped(files.library_path)) return std::nullopt;
  return files;
}

std::optional<AuditFiles> make_files(std::string_view library) {
  if (std::getenv("GPUVET_AUDIT_IN_FOLDER") == nullptr) {
    if (auto files = files_in_memory(library)) return files;
  }
  for (const char* name : {"TMPDIR", "XDG_RUNTIME_DIR", "HOME"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value != '/') continue;
    // A ':' would split LD_AUDIT.
    if (std::string_view(value).find(':') != std::string_view::npos) continue;
    if (auto files = files_in_folder(value, library)) return files;
  }
  return files_in_folder("/tmp", library);
}

/// A program file as a shell finds it: the name with a slash, or the first executable of that name in PATH.
Result<std::string> find_program(const std::string& name) {
  const auto usable = [](const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return errno;
    if (S_ISDIR(status.st_mode)) return EISDIR;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (name.find('/') != std::string::npos) {
    if (const int error = usable(name)) return tl::unexpected(errno_error(error, name));
    return name;
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  int seen = ENOENT;
  for (;;) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    const std::string path = (folder.empty() ? std::string(".") : folder) + "/" + name;
    const int error = name.empty() ? ENOENT : usable(path);
    if (error == 0) return path;
    if (error == EACCES) seen = error;
    if (colon == std::string_view::npos) return tl::unexpected(errno_error(seen, name));
    rest.remove_prefix(colon + 1);
  }
}

/// A script sees the path that it is started by, so only what is told is made absolute.
std::string absolute(const std::string& path) {
  char folder[4096];
  if (path.starts_with('/') || ::getcwd(folder, sizeof folder) == nullptr) return path;
  return std::string(folder) + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

std::vector<std::string> environment_with(const AuditFiles& files) {
  std::vector<std::string> entries;
  std::string audit = files.library_path;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    // Somebody else's audit libraries stay, before ours.
    if (text.starts_with("LD_AUDIT=")) audit = std::string(text.substr(9)) + ":" + audit;
    if (!text.starts_with("LD_AUDIT=") && !text.starts_with("GPUVET_AUDIT=")) entries.emplace_back(text);
  }
  struct stat status {};
  ::fstat(files.record.get(), &status);
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "%llx:%llx:", static_cast<unsigned long long>(status.st_dev),
                static_cast<unsigned long long>(status.st_ino));
  entries.push_back("LD_AUDIT=" + audit);
  entries.push_back("GPUVET_AUDIT=" + std::string(numbers) + files.record_path);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Signals that gpuvet takes itself while the command runs.
sigset_t waited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

/// 0, or an errno value. The child gets the signal mask that gpuvet was started with; SIGPIPE, which gpuvet ignores, is as usual.
int spawn(const std::string& program, std::vector<std::string> command, std::vector<std::string> environment,
          const sigset_t& mask, pid_t& child) {
  const auto argv = pointers(command);
  const auto variables = pointers(environment);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(&child, program.c_str(), nullptr, &attributes, argv.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  return error;
}

/// Waits for the child. Signals that somebody sent to gpuvet alone are passed on; those of the terminal reach the child anyway.
int wait_and_forward(pid_t child, const sigset_t& signals) {
  for (;;) {
    int status = 0;
    const pid_t done = ::waitpid(child, &status, WNOHANG);
    if (done == child) return status;
    if (done < 0 && errno != EINTR) return 0;
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&signals, &info);
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) ::kill(child, signal);
  }
}

Result<std::string> read_records(const Fd& file, bool& full) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(errno_error(errno, "records"));
  full = status.st_size >= most_record_bytes;
  std::string text(static_cast<std::size_t>(std::min<std::int64_t>(status.st_size, most_record_bytes + (1 << 20))), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace

Result<TracedRun> run_traced(const std::vector<std::string>& command, std::string_view library) {
  if (command.empty()) return tl::unexpected(path_error(ErrorCode::NotFound, "", "no command"));
  const auto program = find_program(command.front());
  if (!program) return tl::unexpected(program.error());
  auto files = make_files(library);
  if (!files)
    return tl::unexpected(path_error(ErrorCode::NotAvailable, "audit library", "no place that a loader could map it from"));

  ::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, the kernel would forget the exit code
  const sigset_t signals = waited_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  TracedRun run;
  run.program = absolute(*program);
  run.folder = files->folder;
  pid_t child = -1;
  const int error = spawn(*program, command, environment_with(*files), before, child);
  if (error == 0) {
    const int status = wait_and_forward(child, signals);
    run.pid = child;
    run.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    run.exit_code = run.signal != 0 ? 128 + run.signal : WEXITSTATUS(status);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return tl::unexpected(errno_error(error, *program));
  auto records = read_records(files->record, run.full);
  if (!records) return tl::unexpected(records.error());
  run.records = std::move(*records);
  return run;
}

void die_by_signal(int signal) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
}

}  // namespace gpuvet
