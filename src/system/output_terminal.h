#pragma once
// A pseudo-terminal in the place of the terminal that a command's output would go to: the command still writes to a terminal, and
// gpuvet reads what it writes. Its input, its controlling terminal, session and process group stay the real ones.

#include <termios.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "system/fd.h"

namespace gpuvet {

class OutputTerminal {
 public:
  /// `real` is the descriptor of the terminal. Nothing where the system gives no pseudo-terminal.
  static std::optional<OutputTerminal> make(int real);

  /// What the command writes is read here; EIO once nobody has it open any more.
  int reading() const { return master_.get(); }
  /// For the command.
  int writing() const { return slave_.get(); }
  void close_writing() { slave_.reset(); }

  /// The real terminal's size.
  void copy_size();
  /// A program that sets the modes of its output (no echo, single keys) means the terminal that its user types at.
  void pass_modes_on();
  /// What the command wrote: line ends become those of the real terminal there, so what this one made of them is taken back.
  std::string as_written(std::string_view bytes);
  /// A carriage return that was kept because a line end could have followed.
  std::string kept();

 private:
  Fd master_, slave_;
  int real_ = -1;
  termios modes_{};  ///< as they were passed on last
  bool return_kept_ = false;
};

}  // namespace gpuvet
