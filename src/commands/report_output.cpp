#include "commands/report_output.h"

#include "commands/output_file.h"
#include "render/messages.h"

namespace gpuvet {

bool report_to_error_output(const Options& options) { return options.output.empty() || options.output == "-"; }

int put_report(const Options& options, const std::string& text) {
  if (report_to_error_output(options)) {
    print_error(text);
    return 0;
  }
  const WriteError error = write_file_atomically(options.output, text, "");
  if (error.kind == WriteError::Kind::None) return 0;
  return fail(
      message(Message::CannotWrite, options.language, {{"path", printable(options.output)}, {"why", printable(error.why)}}));
}

}  // namespace gpuvet
