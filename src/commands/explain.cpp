// explain: a text → its cause.

#include "commands/explained.h"
#include "commands/input.h"
#include "commands/output_file.h"
#include "commands/terminal.h"
#include "render/messages.h"
#include "system/user_file.h"
#include "text/paste_collector.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

std::string name_of(const std::string& path, Language language) {
  if (path != "-") return path;
  return language == Language::Chinese ? "标准输入" : "text";
}

int show(const Options& options, const Explained& explained, const Knowledge& knowledge) {
  const int printed = print(render_explained(options, explained, knowledge, render_options(options)));
  return printed != 0 ? printed : exit_code(explained.diagnosis, options.strict);
}

}  // namespace

int run_explain(const Options& options) {
  const auto knowledge = load_knowledge(options);
  if (!knowledge) return fail(knowledge.error());
  const SignatureMatcher matcher(*knowledge);
  const std::vector<std::string> paths = options.texts.empty() ? std::vector<std::string>{"-"} : options.texts;
  PasteCollector collector(matcher.literals());
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) {
    if (path == "-" && input_is_terminal()) print_error(std::string(message(Message::PasteAndEnd, options.language)) + "\n");
    const auto read = stream_user_file(path, [&](std::string_view piece) {
      bytes += piece.size();
      collector.feed(piece);
    });
    if (!read)
      return fail(
          message(Message::CannotRead, options.language, {{"path", printable(path)}, {"why", printable(read.error().message)}}));
    collector.end_of_text();
  }
  const std::string name = paths.size() == 1 ? name_of(paths.front(), options.language) : "text";
  if (bytes == 0) return fail(message(Message::NoTextGiven, options.language, {{"name", printable(name)}}));
  const PastedText text = collector.finish(name);
  const Machine machine = machine_of_text(text, matcher, *knowledge);
  if (!options.with_host) return show(options, explained(options, machine, *knowledge), *knowledge);
  auto purpose = parse_purpose(options.purpose);
  if (!purpose) return fail(message(Message::BadPurpose, options.language, {{"why", printable(purpose.error())}}));
  const auto both = explained_here(options, machine, std::move(*purpose), false, *knowledge);
  return both ? show(options, *both, *knowledge) : fail(both.error().text, both.error().exit_code);
}

}  // namespace gpuvet
