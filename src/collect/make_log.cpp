// make.log of DKMS (and the log of a failed akmods build): which line ended the build.
#include <algorithm>
#include <array>

#include "collect/kernel_driver_parts.h"
#include "collect/lines.h"
#include "text/printable.h"

namespace gpuvet {

namespace {

constexpr std::size_t max_error_lines = 8;

/// Words of lines that say what went wrong, in the words of the compiler, of modpost, of DKMS and of NVIDIA's own checks.
constexpr std::array<std::string_view, 27> causes = {
    ": error: ",
    ": fatal error: ",
    "implicit declaration of function",
    "GPL-incompatible module",
    "ERROR: modpost:",
    "FATAL: modpost:",
    "cc: not found",
    "gcc: not found",
    "gcc: command not found",
    "make: not found",
    "unrecognized command-line option",
    "unrecognized command line option",
    "unknown argument:",
    "internal compiler error",
    "kernel headers for kernel",
    "kernel source for this kernel does not seem to be installed",
    "Unable to find the kernel source tree",
    "Compiler version check failed",
    "does not match the compiler",
    "gcc version mismatch",
    "version mismatch, this could cause",
    "Cannot generate ORC metadata",
    "No space left on device",
    "No rule to make target",
    "cannot find -l",
    "undefined reference to",
    "Bad exit status",
};

/// Lines that only say that something before them failed.
bool is_follow_up(std::string_view line) {
  return line.find(": *** [") != std::string_view::npos || line.starts_with("make: *** ");
}

bool is_cause(std::string_view line) {
  // conftest.sh compiles small programs that are meant to fail; a warning is none of our business.
  if (line.find("conftest") != std::string_view::npos || line.find("warning: ") != std::string_view::npos) return false;
  if (line.find(": *** ") != std::string_view::npos && !is_follow_up(line)) return true;  // $(error …) of a makefile
  if (line.starts_with("Error! ") || line.starts_with("ERROR: Kernel configuration is invalid")) return true;
  return std::any_of(causes.begin(), causes.end(),
                     [&](std::string_view cause) { return line.find(cause) != std::string_view::npos; });
}

/// "DKMS make.log for nvidia-550.120 for kernel 6.8.0-49-generic (x86_64)", "DKMS (dkms-3.1.0) make.log for nvidia/560.35.03 for
/// kernel …".
void parse_title(std::string_view line, MakeLog& log) {
  if (!line.starts_with("DKMS") || line.find("make.log for") == std::string_view::npos) return;
  constexpr std::string_view mark = " for kernel ";
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return;
  const auto fields = words(line.substr(at + mark.size()));
  if (fields.empty()) return;
  log.kernel = printable(fields[0], 128);
  if (fields.size() < 2 || !fields[1].starts_with('(')) return;
  log.architecture = printable(fields[1].substr(1, fields[1].find(')') - 1), 32);  // a date may follow without a blank
}

}  // namespace

MakeLog parse_make_log(std::string_view path, std::string_view text, bool line_numbers) {
  MakeLog log;
  Origin last_follow_up;
  std::uint32_t repeats = 0;
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (number == 1) parse_title(line, log);
    line = trim(line.substr(0, 4096));
    const bool follow_up = is_follow_up(line);
    if (!follow_up && !is_cause(line)) return true;
    const Origin origin{std::string(path), line_numbers ? number : 0, printable(line)};
    if (follow_up)
      last_follow_up = origin;
    else if (log.error_lines.size() < max_error_lines)
      log.error_lines.push_back(origin);
    return ++repeats < 10000;
  });
  if (!log.error_lines.empty()) {
    log.error = log.error_lines.front().text;
  } else if (!last_follow_up.text.empty()) {
    log.error = last_follow_up.text;
    log.error_lines.push_back(last_follow_up);
  }
  return log;
}

}  // namespace gpuvet
