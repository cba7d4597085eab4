#include "system/output_terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gpuvet {
namespace {

/// The other end of a pseudo-terminal, without its name: /dev/pts may be another one's.
int open_other_end(int master) {
  int unlock = 0;
  if (::ioctl(master, TIOCSPTLCK, &unlock) != 0) return -1;
#ifdef TIOCGPTPEER
  const int peer = ::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (peer >= 0) return peer;
#endif
  char name[64];
  if (::ptsname_r(master, name, sizeof name) != 0) return -1;
  return ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

tcflag_t changed(tcflag_t now, tcflag_t from, tcflag_t to) { return (now & ~(from ^ to)) | (to & (from ^ to)); }

}  // namespace

std::optional<OutputTerminal> OutputTerminal::make(int real) {
  OutputTerminal terminal;
  terminal.real_ = real;
  terminal.master_ = above_standard(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.master_) return std::nullopt;
  terminal.slave_ = above_standard(open_other_end(terminal.master_.get()));
  if (!terminal.slave_ || ::tcgetattr(real, &terminal.modes_) != 0) return std::nullopt;
  if (::tcsetattr(terminal.slave_.get(), TCSANOW, &terminal.modes_) != 0) return std::nullopt;
  terminal.copy_size();
  return terminal;
}

void OutputTerminal::copy_size() {
  winsize size{};
  if (::ioctl(real_, TIOCGWINSZ, &size) == 0) ::ioctl(master_.get(), TIOCSWINSZ, &size);
}

void OutputTerminal::pass_modes_on() {
  termios now{}, real{};
  if (::tcgetattr(master_.get(), &now) != 0) return;
  const bool same = now.c_iflag == modes_.c_iflag && now.c_oflag == modes_.c_oflag && now.c_lflag == modes_.c_lflag;
  if (same || ::tcgetattr(real_, &real) != 0) return;
  real.c_iflag = changed(real.c_iflag, modes_.c_iflag, now.c_iflag);
  real.c_oflag = changed(real.c_oflag, modes_.c_oflag, now.c_oflag);
  real.c_lflag = changed(real.c_lflag, modes_.c_lflag, now.c_lflag);
  if ((now.c_lflag & ICANON) == 0) {
    real.c_cc[VMIN] = now.c_cc[VMIN];
    real.c_cc[VTIME] = now.c_cc[VTIME];
  }
  ::tcsetattr(real_, TCSADRAIN, &real);
  modes_ = now;
}

std::string OutputTerminal::as_written(std::string_view bytes) {
  std::string out = kept();
  out += bytes;
  if ((modes_.c_oflag & OPOST) == 0 || (modes_.c_oflag & ONLCR) == 0) return out;
  std::size_t to = 0;
  for (std::size_t from = 0; from < out.size(); ++from)
    if (out[from] != '\r' || from + 1 == out.size() || out[from + 1] != '\n') out[to++] = out[from];
  out.resize(to);
  return_kept_ = out.ends_with('\r');
  if (return_kept_) out.pop_back();
  return out;
}

std::string OutputTerminal::kept() { return std::exchange(return_kept_, false) ? "\r" : ""; }

}  // namespace gpuvet
