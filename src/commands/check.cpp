#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "commands/explained.h"
#include "commands/input.h"
#include "commands/output_file.h"
#include "diagnose/diagnose.h"
#include "model/purpose.h"
#include "render/messages.h"
#include "render/terminal_text.h"

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

/// Devices that the driver's own lines of the log name and that this machine's bus does not have; comma-separated.
std::string devices_elsewhere(const Machine& machine) {
  const auto* events = machine.kernel_log.events.get();
  const auto* bus = machine.pci.get();
  if (events == nullptr || bus == nullptr) return {};
  std::set<std::string> missing;
  for (const LogEvent& event : *events) {
    const bool of_driver = event.kind == "xid" || event.kind == "sxid" || event.kind == "nvrm";
    if (!of_driver || event.pci.empty() || missing.size() == 4) continue;
    const bool here = std::ranges::any_of(*bus, [&](const PciDevice& device) { return device.address.starts_with(event.pci); });
    if (!here) missing.insert(event.pci);
  }
  std::string text;
  for (const std::string& address : missing) text += (text.empty() ? "" : ", ") + address;
  return text;
}

/// A log that was handed over may be of another machine: the bus tells. The verdict stays what it is.
void doubt_given_log(const Options& options, const Machine& machine, Diagnosis& diagnosis) {
  if (options.kernel_log.empty()) return;
  if (const std::string devices = devices_elsewhere(machine); !devices.empty())
    diagnosis.not_seen.push_back({"kernel-log-owner", devices});
}

std::string render(const Options& options, const Diagnosis& diagnosis, const Machine& machine, const Knowledge& knowledge) {
  const RenderOptions how = render_options(options);
  if (options.format == "json") return render_json(diagnosis, machine, knowledge, how);
  if (options.format == "markdown") return render_markdown(diagnosis, machine, knowledge, how);
  return render_text(diagnosis, machine, knowledge, how);
}

}  // namespace

int run_check(const Options& options) {
  auto purpose = parse_purpose(options.purpose);
  if (!purpose) return fail(message(Message::BadPurpose, options.language, {{"why", printable(purpose.error())}}));
  const auto knowledge = load_knowledge(options);
  if (!knowledge) return fail(knowledge.error());
  std::vector<CollectorTime> times;
  // A folder behind @ is looked at wherever it lies.
  Options with_environment = options;
  if (purpose->environment.starts_with('/')) with_environment.python_environments.push_back(purpose->environment);
  auto machine = load_machine(with_environment, *purpose, &times);
  if (!machine) return fail(machine.error().text, machine.error().exit_code);
  // Asked for redaction, the answer quotes nothing that is not redacted either.
  if (options.redact.value_or(false)) redact_with_purpose(*machine, *purpose);

  auto start = std::chrono::steady_clock::now();
  Diagnosis diagnosis = diagnose(*machine, *knowledge, *purpose);
  doubt_given_log(options, *machine, diagnosis);
  times.push_back({"rules", milliseconds_since(start)});
  start = std::chrono::steady_clock::now();
  const std::string text = render(options, diagnosis, *machine, *knowledge);
  times.push_back({"render", milliseconds_since(start)});

  const int printed = print(text);
  if (options.timing) print_times(times);
  return printed != 0 ? printed : exit_code(diagnosis, options.strict);
}

}  // namespace gpuvet
