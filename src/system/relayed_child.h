#pragma once
// Runs the user's own command and hears what it says, as if gpuvet were not between: input, terminal, working folder,
// environment, open files, signals and exit code are as without it. Output that goes to a pipe passes through a pipe, output to a
// terminal through a pseudo-terminal; a regular file is written by the command itself and read afterwards.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "system/system.h"

namespace gpuvet {

/// What a standard stream of the command is.
enum class StreamKind : std::uint8_t {
  Pipe,  ///< or a socket
  Terminal,
  File,   ///< read after the command has ended
  Other,  ///< /dev/null and other devices, closed, or a file that may not be read: passed by, not heard
};

struct RelayedRun {
  std::int64_t pid = 0;
  std::string program;        ///< absolute path of the file that was started
  int exit_code = 0;          ///< as a shell tells it: 128 + signal when one ended the command
  int signal = 0;             ///< that ended it; 0: none
  bool asked_to_end = false;  ///< INT, QUIT, TERM or HUP was sent by the terminal or by somebody
  bool reader_gone = false;   ///< nobody reads the command's output any more
  StreamKind output = StreamKind::Other, error = StreamKind::Other;
};

/// Pieces of the command's output (0) and error output (1), in the order in which they arrive. One stream where both are the
/// same.
using HearOutput = std::function<void(int stream, std::string_view bytes)>;

/// Looks `command.front()` up in PATH as a shell does; `variables` ("NAME=value") are set for it. NotFound or Denied when it
/// cannot be started (nothing ran then). Returns when the command has ended and what it wrote has been passed on; where processes
/// that it left behind still have its output open, a copy of gpuvet stays and passes that on until they end. `hear` empty:
/// nothing is put between the command and its output.
Result<RelayedRun> run_relayed(const std::vector<std::string>& command, const std::vector<std::string>& variables,
                               const HearOutput& hear);

}  // namespace gpuvet
