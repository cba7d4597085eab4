#include <chrono>
#include <cstdio>

#include "commands/input.h"
#include "commands/output_file.h"
#include "diagnose/diagnose.h"
#include "model/redact.h"

namespace gpuvet {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void print_times(const std::vector<CollectorTime>& times) {
  double total = 0;
  std::string text;
  const auto line = [&](const std::string& name, double milliseconds) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%8.2f ms  ", milliseconds);
    text += buffer + name + "\n";
  };
  for (const CollectorTime& time : times) line(time.name, time.milliseconds), total += time.milliseconds;
  line("total", total);
  print_error(text);
}

std::string render(const Options& options, const Diagnosis& diagnosis, const Machine& machine, const Knowledge& knowledge) {
  const RenderOptions how = render_options(options);
  if (options.format == "json") return render_json(diagnosis, machine, knowledge, how);
  if (options.format == "markdown") return render_markdown(diagnosis, machine, knowledge, how);
  return render_text(diagnosis, machine, knowledge, how);
}

}  // namespace

int run_check(const Options& options) {
  const auto knowledge = load_knowledge(options);
  if (!knowledge) return fail(knowledge.error());
  std::vector<CollectorTime> times;
  auto machine = load_machine(options, &times);
  if (!machine) return fail(machine.error());
  // Asked for redaction, the answer quotes nothing that is not redacted either.
  if (options.redact.value_or(false)) *machine = redact(*machine);

  auto start = std::chrono::steady_clock::now();
  const Diagnosis diagnosis = diagnose(*machine, *knowledge, options.purpose);
  times.push_back({"rules", milliseconds_since(start)});
  start = std::chrono::steady_clock::now();
  const std::string text = render(options, diagnosis, *machine, *knowledge);
  times.push_back({"render", milliseconds_since(start)});

  const int printed = print(text);
  if (options.timing) print_times(times);
  return printed != 0 ? printed : exit_code(diagnosis, options.strict);
}

}  // namespace gpuvet
