#include "commands/input.h"
#include "commands/output_file.h"
#include "model/json.h"
#include "model/redact.h"
#include "render/messages.h"

namespace gpuvet {
namespace {

std::string explain(const WriteError& error, const Options& options) {
  const std::map<std::string, std::string> values{{"path", printable(options.output)}, {"why", printable(error.why)}};
  switch (error.kind) {
    case WriteError::Kind::Link:
      return message(Message::OutputIsLink, options.language, values);
    case WriteError::Kind::NotRegular:
      return message(Message::OutputNotRegular, options.language, values);
    case WriteError::Kind::InsideRoot:
      return message(Message::OutputExists, options.language, values);
    default:
      return message(Message::CannotWrite, options.language, values);
  }
}

}  // namespace

int run_snapshot(const Options& options) {
  auto purpose = parse_purpose(options.purpose);
  if (!purpose) return fail(message(Message::BadPurpose, options.language, {{"why", printable(purpose.error())}}));
  auto machine = load_machine(options, *purpose, nullptr);
  if (!machine) return fail(machine.error().text, machine.error().exit_code);
  if (options.redact.value_or(true)) *machine = redact(*machine);
  const std::string text = machine_to_json(*machine);
  if (options.output == "-") return print(text);
  const WriteError error = write_file_atomically(options.output, text, options.root);
  if (error.kind != WriteError::Kind::None) return fail(explain(error, options));
  print_error("gpuvet: " + message(Message::SnapshotWritten, options.language, {{"path", printable(options.output)}}) + "\n");
  return 0;
}

}  // namespace gpuvet
