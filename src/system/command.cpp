#include "system/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "system/fd.h"
#include "system/path.h"
#include "system/tree_walk.h"

namespace gpuvet {
namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 3600 * 1000));
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// 0, or an errno value.
int spawn(const std::string& program, const std::vector<std::string>& arguments, const std::vector<std::string>& more, int output,
          pid_t& child) {
  std::vector<std::string> argv_text{program};
  argv_text.insert(argv_text.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environ_text{"PATH=/usr/bin:/bin", "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0"};
  environ_text.insert(environ_text.end(), more.begin(), more.end());
  const auto argv = pointers(argv_text);
  const auto environment = pointers(environ_text);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

enum class ReadEnd { EndOfFile, Limit, Deadline };

ReadEnd read_output(int fd, Clock::time_point deadline, std::size_t limit, std::string& output) {
  std::string chunk(std::size_t{64} << 10, '\0');
  for (;;) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return ReadEnd::Deadline;
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return ReadEnd::EndOfFile;
    const std::size_t room = limit - output.size();
    output.append(chunk, 0, std::min<std::size_t>(room, static_cast<std::size_t>(count)));
    if (static_cast<std::size_t>(count) > room) return ReadEnd::Limit;
  }
}

/// Waits until the deadline; false when the child still runs then.
bool wait_for(pid_t child, Clock::time_point deadline, int& status) {
  for (;;) {
    const pid_t done = ::waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR)) return true;
    if (milliseconds_until(deadline) == 0) return false;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

Result<CommandOutput> run_command(const std::string& program, const std::vector<std::string>& arguments, int timeout_ms,
                                  std::size_t limit, const std::vector<std::string>& more) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(errno_error(errno, program));
  Fd from(ends[0]), to(ends[1]);
  pid_t child = -1;
  if (const int error = spawn(program, arguments, more, to.get(), child)) return tl::unexpected(errno_error(error, program));
  to.reset();

  CommandOutput result;
  const ReadEnd end = read_output(from.get(), deadline, limit, result.output);
  int status = 0;
  const bool ended = end == ReadEnd::EndOfFile && wait_for(child, deadline, status);
  if (!ended) {
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  result.truncated = end == ReadEnd::Limit;
  if (!ended && !result.truncated) return tl::unexpected(path_error(ErrorCode::TimedOut, program, "no answer in time"));
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return result;
}

}  // namespace gpuvet
