#include "commands/explained.h"

#include <algorithm>

#include "diagnose/diagnose.h"
#include "diagnose/host_facts.h"
#include "model/redact.h"

namespace gpuvet {
namespace {

/// A program without CUDA needs no GPU: what can be said of this machine is what is installed.
bool needs_no_gpu(const Diagnosis& diagnosis) {
  return std::ranges::any_of(diagnosis.not_seen, [](const NotSeen& entry) { return entry.what == "program-without-cuda"; });
}

}  // namespace

bool is_redacted(const Options& options) { return options.redact.value_or(options.format == "markdown"); }

void redact_with_purpose(Machine& machine, Purpose& purpose) {
  const auto is_asked = [&](const ProcessPlan& plan) { return purpose.name == "path" && plan.name == purpose.target; };
  const auto at = std::ranges::find_if(machine.loader.plans, is_asked) - machine.loader.plans.begin();
  machine = redact(machine);
  if (at < std::ssize(machine.loader.plans))
    purpose.target = purpose.text = machine.loader.plans[static_cast<std::size_t>(at)].name;
}

Explained explained(const Options& options, Machine text, const Knowledge& knowledge) {
  if (is_redacted(options)) text = redact(text);
  Diagnosis diagnosis = explain(text, knowledge);
  return {std::move(diagnosis), std::move(text)};
}

tl::expected<Explained, Failure> explained_here(const Options& options, Machine text, Purpose purpose, bool same_machine,
                                                const Knowledge& knowledge) {
  Options here = options;
  if (purpose.environment.starts_with('/')) here.python_environments.push_back(purpose.environment);
  auto host = load_machine(here, purpose, nullptr);
  if (!host) return tl::unexpected(host.error());
  if (is_redacted(options)) {
    redact_with_purpose(*host, purpose);
    text = redact(text);
  }
  Diagnosis judged = diagnose(*host, knowledge, purpose);
  if (needs_no_gpu(judged)) judged = diagnose(*host, knowledge, purpose = {});
  Diagnosis diagnosis =
      explain_on_host(text, {.machine = *host, .diagnosis = judged, .purpose = purpose, .same_machine = same_machine}, knowledge);
  Machine machine = diagnosis.host->used ? joined(text, *host) : std::move(text);
  return Explained{std::move(diagnosis), std::move(machine)};
}

std::string render_explained(const Options& options, const Explained& explained, const Knowledge& knowledge,
                             const RenderOptions& how) {
  if (options.format == "json") return render_json(explained.diagnosis, explained.machine, knowledge, how);
  if (options.format == "markdown") return render_markdown(explained.diagnosis, explained.machine, knowledge, how);
  return render_text(explained.diagnosis, explained.machine, knowledge, how);
}

}  // namespace gpuvet
