#pragma once
// Starts the user's own command as a shell would: found by PATH, with gpuvet's environment, working folder, open files, limits
// and the signals as gpuvet itself was given them. Only `run` and `trace --live` get here.

#include <sys/types.h>
#include <csignal>

#include <string>
#include <vector>

#include "system/system.h"

namespace gpuvet {

/// A reader that goes away is noticed when writing, not by a signal. Remembers what gpuvet was started with, for its command.
void ignore_broken_pipes();

/// The file that a command's name means, as a shell finds it: with a slash itself, else the first executable of that name in
/// PATH. NotFound, or Denied where there is one that may not be run.
Result<std::string> find_program_file(const std::string& name);

/// A relative path by the current folder. (A script sees the path that it is started by, so only what is told is made absolute.)
std::string absolute_path(const std::string& path);

struct ChildStart {
  std::string program;                   ///< file to start
  std::vector<std::string> command;      ///< its arguments, argv[0] first
  std::vector<std::string> environment;  ///< "NAME=value"; every one
  int output = -1, error = -1;           ///< in place of descriptors 1 and 2; −1: as gpuvet's own
  const sigset_t* blocked = nullptr;     ///< signals that it starts with blocked; null: as gpuvet has them now
};

/// gpuvet's own variables, and `changed` in the place of those of the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& changed);

/// The process, or the errno value with which it could not be started. Nothing ran then. Call before anything starts a thread.
tl::expected<pid_t, int> start_child(const ChildStart& start);

/// Ends gpuvet as its command ended: by the same signal (without a core file of its own). Returns when that is not possible.
void die_by_signal(int signal);

}  // namespace gpuvet
