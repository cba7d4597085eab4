#include "system/relayed_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>

#include "system/child_process.h"
#include "system/fd.h"
#include "system/output_terminal.h"
#include "system/path.h"
#include "system/tree_walk.h"

namespace gpuvet {
namespace {

constexpr std::size_t piece_size = 256 << 10;
constexpr int pipe_size = 1 << 20;
constexpr std::int64_t most_of_a_file = std::int64_t{1} << 30;   // from its beginning; the same from its end
constexpr auto quiet_after_end = std::chrono::milliseconds(60);  // of output that others still have open
constexpr auto most_after_end = std::chrono::milliseconds(400);

using Clock = std::chrono::steady_clock;

// ---- signals -------------------------------------------------------------------------------------------------------------
// A handler passes a signal on at once, also while gpuvet waits for a reader; what is more than that is told by flags and a byte
// in a pipe that wakes the loop.

std::atomic<pid_t> the_child{0};
std::atomic<int> wake_up{-1};
std::atomic<bool> asked_to_end{false}, size_changed{false}, stop_seen{false};

bool asks_to_end(int signal) { return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP; }

void on_signal(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const pid_t child = the_child;
  // What the terminal sends reaches the whole foreground group, the command with it; what somebody sends to gpuvet does not.
  const bool to_gpuvet_alone = info->si_code <= 0;
  if (signal == SIGWINCH) size_changed = true;
  if (signal == SIGTSTP) stop_seen = true;
  if (asks_to_end(signal)) asked_to_end = true;
  if (signal != SIGCHLD && signal != SIGWINCH && to_gpuvet_alone && child > 0) ::kill(child, signal);
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(wake_up, &byte, 1);
  errno = error;
}

constexpr std::array handled_signals = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

/// Handlers while the command runs. A signal that gpuvet was started with as ignored (nohup) stays so, for both.
class Handlers {
 public:
  Handlers() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) reading_ = above_standard(ends[0]), writing_ = above_standard(ends[1]);
    sigemptyset(&set_);
    for (const int signal : handled_signals) sigaddset(&set_, signal);
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  /// The child is there; from now on signals go to it.
  void install(pid_t child) {
    the_child = child;
    wake_up = writing_.get();
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    action.sa_mask = set_;
    for (std::size_t i = 0; i < handled_signals.size(); ++i) {
      ::sigaction(handled_signals[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_IGN || handled_signals[i] == SIGCHLD) ::sigaction(handled_signals[i], &action, nullptr);
    }
    installed_ = true;
    sigset_t open = before_;
    sigdelset(&open, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &open, nullptr);
  }
  ~Handlers() {
    ::sigprocmask(SIG_BLOCK, &set_, nullptr);
    the_child = 0;
    wake_up = -1;
    for (std::size_t i = 0; installed_ && i < handled_signals.size(); ++i) ::sigaction(handled_signals[i], &old_[i], nullptr);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

  const sigset_t& before() const { return before_; }
  int waking() const { return reading_.get(); }
  void drain() const {
    char bytes[64];
    while (::read(reading_.get(), bytes, sizeof bytes) > 0) {
    }
  }

 private:
  Fd reading_, writing_;
  sigset_t set_{}, before_{};
  std::array<struct sigaction, handled_signals.size()> old_{};
  bool installed_ = false;
};

// ---- streams -------------------------------------------------------------------------------------------------------------

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

/// One of the command's standard streams, or two that are the same.
struct Stream {
  int number = 0;  ///< 0 output, 1 error output
  int target = -1;
  StreamKind kind = StreamKind::Other;
  Identity identity;
  off_t begin = 0;                         ///< File: where the command's own output starts
  Fd reading, writing;                     ///< Pipe
  std::optional<OutputTerminal> terminal;  ///< Terminal

  int read_end() const { return terminal ? terminal->reading() : reading.get(); }
  int write_end() const { return terminal ? terminal->writing() : writing.get(); }
  void close_write_end() {
    writing.reset();
    if (terminal) terminal->close_writing();
  }
  void close_read_end() {
    reading.reset();
    terminal.reset();
  }
};

void open_pipe(Stream& stream) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    stream.kind = StreamKind::Other;
    return;
  }
  stream.reading = above_standard(ends[0]);
  stream.writing = above_standard(ends[1]);
  ::fcntl(stream.writing.get(), F_SETPIPE_SZ, pipe_size);
}

Stream look_at(int number, int target) {
  Stream stream;
  stream.number = number;
  stream.target = target;
  struct stat status {};
  if (::fstat(target, &status) != 0) return stream;
  stream.identity = {status.st_dev, status.st_ino};
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) stream.kind = StreamKind::Pipe;
  if (::isatty(target) == 1) stream.kind = StreamKind::Terminal;
  if (S_ISREG(status.st_mode)) {
    stream.kind = StreamKind::File;
    const int flags = ::fcntl(target, F_GETFL);
    stream.begin = (flags & O_APPEND) != 0 ? status.st_size : std::max<off_t>(0, ::lseek(target, 0, SEEK_CUR));
  }
  return stream;
}

/// Puts something between where that can be done.
void put_between(Stream& stream) {
  if (stream.kind == StreamKind::Terminal) {
    stream.terminal = OutputTerminal::make(stream.target);
    if (!stream.terminal) stream.kind = StreamKind::Other;
  }
  if (stream.kind == StreamKind::Pipe) open_pipe(stream);
}

bool reads_on(const Stream& stream) { return stream.read_end() >= 0; }

/// Has the command ended, waited for or not?
bool has_ended() {
  const pid_t child = the_child;
  if (child == 0) return true;
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0;
}

/// False: nobody reads there any more, or it cannot be written.
bool write_to(int fd, std::string_view bytes, bool& given_up) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EINTR) {
      if (asked_to_end && has_ended()) {  // and its reader does not read: nothing is waited for
        given_up = true;
        return true;
      }
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, 1000);
    } else {
      return false;
    }
  }
  return true;
}

class Relay {
 public:
  explicit Relay(const HearOutput& hear) : hear_(hear), hears_(hear != nullptr), buffer_(piece_size, '\0') {}

  /// Puts gpuvet between the command and its output.
  void prepare(RelayedRun& run) {
    Stream output = look_at(0, STDOUT_FILENO), error = look_at(1, STDERR_FILENO);
    const bool same = output.kind != StreamKind::Other && output.kind == error.kind && output.identity == error.identity;
    put_between(output);
    streams_.push_back(std::move(output));
    if (!same) {
      put_between(error);
      streams_.push_back(std::move(error));
    }
    run.output = streams_.front().kind;
    run.error = streams_.back().kind;
  }
  int output() const { return streams_.empty() ? -1 : streams_.front().write_end(); }
  int error() const { return streams_.empty() ? -1 : streams_.back().write_end(); }
  void started() {
    for (Stream& stream : streams_) stream.close_write_end();
  }
  bool reader_gone() const { return reader_gone_; }
  bool given_up() const { return given_up_; }
  bool open() const { return std::ranges::any_of(streams_, reads_on); }

  /// Waits for output or a signal and passes on what is there. `wait` < 0: as long as it takes. False: nothing came.
  bool step(int waking, int wait) {
    std::array<pollfd, 3> polled{};
    std::array<Stream*, 3> of{};
    nfds_t count = 0;
    for (Stream& stream : streams_) {
      if (!reads_on(stream)) continue;
      of[count] = &stream;
      polled[count++] = {stream.read_end(), POLLIN, 0};
    }
    polled[count++] = {waking, POLLIN, 0};
    if (::poll(polled.data(), count, wait) <= 0) return false;
    bool came = false;
    for (nfds_t i = 0; i + 1 < count; ++i)
      if (polled[i].revents != 0) came |= pass(*of[i]);
    return came;
  }

  void copy_sizes() {
    for (Stream& stream : streams_)
      if (stream.terminal) stream.terminal->copy_size();
  }
  /// A program may leave its terminal in other modes.
  void pass_modes_on() {
    for (Stream& stream : streams_)
      if (stream.terminal) stream.terminal->pass_modes_on();
  }
  bool has_terminal() const {
    return std::ranges::any_of(streams_, [](const Stream& stream) { return stream.terminal.has_value(); });
  }

  /// What the command wrote to files by itself.
  void read_files(RelayedRun& run) {
    for (const Stream& stream : streams_)
      if (stream.kind == StreamKind::File && !read_file(stream))
        (stream.number == 0 && streams_.size() == 2 ? run.output : run.error) = StreamKind::Other;
    if (streams_.size() == 1) run.output = run.error;
  }

  /// For processes that the command left behind: a copy of this process passes their output on.
  void leave_behind() {
    if (!open() || ::fork() != 0) return;
    ::prctl(PR_SET_NAME, "gpuvet-relay");
    for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP}) ::signal(signal, SIG_IGN);
    hears_ = false;
    while (open()) step(-1, -1);
    ::_exit(0);
  }

 private:
  /// One piece. False: there was none, and none will come.
  bool pass(Stream& stream) {
    const ssize_t count = ::read(stream.read_end(), buffer_.data(), buffer_.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    if (stream.terminal) stream.terminal->pass_modes_on();
    if (count <= 0) {
      flush(stream);
      stream.close_read_end();
      return false;
    }
    std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
    std::string of_terminal;
    if (stream.terminal) bytes = of_terminal = stream.terminal->as_written(bytes);
    const bool taken = write_to(stream.target, bytes, given_up_);
    if (hears_) hear_(stream.number, bytes);
    if (!taken) {
      reader_gone_ = true;
      stream.close_read_end();  // the command gets SIGPIPE or EPIPE at its next write, as without gpuvet
    }
    return true;
  }

  void flush(Stream& stream) {
    if (stream.terminal) write_to(stream.target, stream.terminal->kept(), given_up_);
  }

  bool read_file(const Stream& stream) {
    const std::string path = "/proc/self/fd/" + std::to_string(stream.target);
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return false;
    off_t at = std::min<off_t>(stream.begin, status.st_size);
    while (at < status.st_size) {
      // Of more than anybody writes the middle is left out.
      if (at - stream.begin >= most_of_a_file && status.st_size - at > most_of_a_file) at = status.st_size - most_of_a_file;
      const std::size_t wanted = std::min<std::size_t>(buffer_.size(), static_cast<std::size_t>(status.st_size - at));
      const ssize_t count = ::pread(file.get(), buffer_.data(), wanted, at);
      if (count <= 0) break;
      hear_(stream.number, {buffer_.data(), static_cast<std::size_t>(count)});
      at += count;
    }
    return true;
  }

  const HearOutput& hear_;
  bool hears_;
  std::string buffer_;
  std::vector<Stream> streams_;  ///< of two that are the same the first
  bool reader_gone_ = false, given_up_ = false;
};

// ---- the child -----------------------------------------------------------------------------------------------------------

/// Somebody at a terminal would see that the command has stopped; a supervisor that stops the command alone wants just that.
bool in_foreground_of_terminal() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (const pid_t group = ::tcgetpgrp(fd); group > 0) return group == ::getpgrp();
  return false;
}

/// A stop of the command is a stop of gpuvet: the shell sees it, and its `fg` wakes both.
void stop_too(Relay& relay, int waking, int signal) {
  if (!stop_seen && !in_foreground_of_terminal()) return;
  stop_seen = false;
  while (relay.step(waking, 0)) {
  }
  struct sigaction as_usual {
  }, ours{};
  as_usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &as_usual, &ours);  // SIGSTOP has no other
  ::raise(signal);
  ::sigaction(signal, &ours, nullptr);
  size_changed = true;
}

void watch_size(Relay& relay, pid_t child) {
  if (!size_changed.exchange(false)) return;
  relay.copy_sizes();
  // The terminal's own signal may have come before the size was right.
  if (relay.has_terminal()) ::kill(child, SIGWINCH);
}

/// The wait status.
int relay_until_end(Relay& relay, const Handlers& handlers, pid_t child) {
  for (;;) {
    handlers.drain();
    int status = 0;
    const pid_t done = ::waitpid(child, &status, WNOHANG | WUNTRACED);
    if (done == child && WIFSTOPPED(status)) {
      stop_too(relay, handlers.waking(), WSTOPSIG(status));
      continue;
    }
    if (done == child) return status;
    if (done < 0 && errno != EINTR) return 0;
    watch_size(relay, child);
    relay.step(handlers.waking(), -1);
  }
}

/// What the command wrote before it ended; others may still hold its output open.
void relay_the_rest(Relay& relay) {
  relay.pass_modes_on();
  const auto last = Clock::now() + most_after_end;
  auto quiet_until = Clock::now() + quiet_after_end;
  while (relay.open() && !relay.given_up()) {
    const auto now = Clock::now();
    if (now >= quiet_until || now >= last) break;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(quiet_until - now).count();
    if (relay.step(-1, static_cast<int>(left) + 1)) quiet_until = Clock::now() + quiet_after_end;
  }
}

}  // namespace

Result<RelayedRun> run_relayed(const std::vector<std::string>& command, const std::vector<std::string>& variables,
                               const HearOutput& hear) {
  if (command.empty()) return tl::unexpected(path_error(ErrorCode::NotFound, "", "no command"));
  const auto program = find_program_file(command.front());
  if (!program) return tl::unexpected(program.error());
  RelayedRun run;
  run.program = absolute_path(*program);
  Relay relay(hear);
  if (hear) relay.prepare(run);
  asked_to_end = size_changed = stop_seen = false;
  {
    Handlers handlers;
    const auto child = start_child({.program = *program,
                                    .command = command,
                                    .environment = environment_with(variables),
                                    .output = relay.output(),
                                    .error = relay.error(),
                                    .blocked = &handlers.before()});
    if (!child) return tl::unexpected(errno_error(child.error(), *program));
    relay.started();
    handlers.install(*child);
    const int status = relay_until_end(relay, handlers, *child);
    the_child = 0;
    relay_the_rest(relay);
    run.pid = *child;
    run.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    run.exit_code = run.signal != 0 ? 128 + run.signal : WEXITSTATUS(status);
  }
  run.asked_to_end = asked_to_end;
  run.reader_gone = relay.reader_gone();
  if (!relay.given_up()) relay.leave_behind();
  if (hear) relay.read_files(run);
  return run;
}

}  // namespace gpuvet
