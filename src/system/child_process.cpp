#include "system/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "system/fd.h"
#include "system/path.h"
#include "system/tree_walk.h"

extern char** environ;

namespace gpuvet {
namespace {

/// How gpuvet was started: what it changes for itself is given back to its command.
bool broken_pipes_were_ignored = false;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

int usable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// Everything that the child needs, made before it exists: behind fork nothing may be allocated.
struct Prepared {
  explicit Prepared(const ChildStart& start)
      : program(start.program), arguments(start.command), variables(start.environment), shell_arguments(start.command) {
    shell_arguments.front() = program;
    shell_arguments.insert(shell_arguments.begin(), "/bin/sh");
    argv = pointers(arguments);
    shell_argv = pointers(shell_arguments);
    envp = pointers(variables);
  }
  std::string program;
  std::vector<std::string> arguments, variables, shell_arguments;
  std::vector<char*> argv, shell_argv, envp;
};

[[noreturn]] void become(const Prepared& prepared, const ChildStart& start, bool children_ignored, int report) {
  if (start.output >= 0) ::dup2(start.output, STDOUT_FILENO);
  if (start.error >= 0) ::dup2(start.error, STDERR_FILENO);
  ::signal(SIGPIPE, broken_pipes_were_ignored ? SIG_IGN : SIG_DFL);
  if (children_ignored) ::signal(SIGCHLD, SIG_IGN);
  if (start.blocked != nullptr) ::sigprocmask(SIG_SETMASK, start.blocked, nullptr);
  ::execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  int error = errno;
  // A script without "#!" is the shell's, as for every shell.
  if (error == ENOEXEC) {
    ::execve("/bin/sh", prepared.shell_argv.data(), prepared.envp.data());
    error = ENOEXEC;
  }
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

void ignore_broken_pipes() { broken_pipes_were_ignored = ::signal(SIGPIPE, SIG_IGN) == SIG_IGN; }

Result<std::string> find_program_file(const std::string& name) {
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

std::string absolute_path(const std::string& path) {
  char folder[4096];
  if (path.starts_with('/') || ::getcwd(folder, sizeof folder) == nullptr) return path;
  return std::string(folder) + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

std::vector<std::string> environment_with(const std::vector<std::string>& changed) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const auto same = [&](const std::string& other) { return name_of(other) == name_of(*entry); };
    if (std::ranges::none_of(changed, same)) entries.emplace_back(*entry);
  }
  entries.insert(entries.end(), changed.begin(), changed.end());
  return entries;
}

tl::expected<pid_t, int> start_child(const ChildStart& start) {
  const Prepared prepared(start);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(errno);
  Fd reading = above_standard(ends[0]), writing = above_standard(ends[1]);
  // Inherited as ignored, the kernel would forget the exit code.
  const bool children_ignored = ::signal(SIGCHLD, SIG_DFL) == SIG_IGN;
  const pid_t child = ::fork();
  if (child < 0) return tl::unexpected(errno);
  if (child == 0) become(prepared, start, children_ignored, writing.get());
  writing.reset();
  int error = 0;
  ssize_t count = 0;
  do count = ::read(reading.get(), &error, sizeof error);
  while (count < 0 && errno == EINTR);
  if (count == sizeof error) return tl::unexpected(error);
  return child;
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
