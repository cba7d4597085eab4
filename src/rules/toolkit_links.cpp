// Links and variables that should lead to a toolkit and do not.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

constexpr std::array<std::string_view, 2> home_variables{"CUDA_HOME", "CUDA_PATH"};

std::string without_slash(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

/// Does PATH, CUDA_HOME or CUDA_PATH of the judged process go through this link?
bool is_named(const Machine& machine, const std::string& link) {
  for (const std::string& folder : path_elements(variable(machine, "PATH")))
    if (folder == link + "/bin" || folder + "/nvcc" == link) return true;
  return std::ranges::any_of(home_variables,
                             [&](std::string_view name) { return without_slash(variable(machine, name)) == link; });
}

/// Everything looks for a toolkit here when nothing names one.
bool is_usual(const std::string& link) { return link == "/usr/local/cuda" || link == "/opt/cuda"; }

bool another_is_complete(const RuleContext& context, const ToolkitLink& link) {
  return std::ranges::any_of(toolkits_with_nvcc(context.machine, true), [&](const Toolkit* toolkit) {
    return toolkit->environment.empty() && toolkit->real_path != link.real_path;
  });
}

bool leads_to_no_nvcc(const RuleContext& context, const ToolkitLink& link) {
  if (link.state == "dangling") return true;
  if (link.path.ends_with("/nvcc") || !another_is_complete(context, link)) return false;
  if (link.state == "no-toolkit") return true;
  const auto* toolkit = toolkit_at(context.machine, link.path);
  return toolkit != nullptr && toolkit->nvcc.is_absent();
}

/// The link that the user named: of a chain /usr/local/cuda → /etc/alternatives/cuda the first.
const ToolkitLink* first_that(const RuleContext& context, auto&& condition) {
  const ToolkitLink* found = nullptr;
  for (const ToolkitLink& link : context.machine.toolkits.links)
    if (condition(link) && leads_to_no_nvcc(context, link) && (found == nullptr || link.path == "/usr/local/cuda")) found = &link;
  return found;
}

/// What the end of a chain of links is: "/usr/local/cuda-12.2".
std::string last_target(const Machine& machine, const ToolkitLink& link) {
  std::string target = link.target;
  for (int step = 0; step < 4; ++step) {
    const auto next = std::ranges::find_if(machine.toolkits.links, [&](const ToolkitLink& one) { return one.path == target; });
    if (next == machine.toolkits.links.end()) break;
    target = next->target;
  }
  return target.starts_with('/') ? target : link.path.substr(0, link.path.rfind('/') + 1) + target;
}

bool uses_alternatives(const ToolkitLink& link) { return link.target.starts_with("/etc/alternatives/"); }

/// Newest first, without those of Python environments.
const Toolkit* best_complete(const RuleContext& context) {
  const Toolkit* best = nullptr;
  for (const Toolkit* toolkit : toolkits_with_nvcc(context.machine, true)) {
    if (!toolkit->environment.empty() || toolkit->origin == "distribution") continue;
    if (best == nullptr || cuda_version_of(*toolkit) > cuda_version_of(*best)) best = toolkit;
  }
  return best;
}

void quote_names(const Machine& machine, const std::string& link, std::vector<Origin>& evidence) {
  for (const std::string& folder : path_elements(variable(machine, "PATH")))
    if (folder == link + "/bin") return evidence.push_back(quote_variable(machine, "PATH"));
  for (const std::string_view name : home_variables)
    if (without_slash(variable(machine, name)) == link) return evidence.push_back(quote_variable(machine, name));
}

Severity severity_of_link(const RuleContext& context, const ToolkitLink& link, bool relied_on) {
  if (!relied_on) return Severity::Note;
  const bool meant = is_named(context.machine, link.path) && !reachable_toolkits(context).empty();
  if (!wants_compiler(context)) return meant ? Severity::Warning : Severity::Note;
  return finds_compiler(context) ? Severity::Warning : Severity::Error;
}

// ---- CUDA_HOME -----------------------------------------------------------------------------------------------------------

bool is_debians_folder(const Machine& machine, const std::string& value) {
  const auto* found = machine.toolkits.found.get();
  if (value != "/usr" && value != "/usr/lib/cuda" && value != "/usr/lib/nvidia-cuda-toolkit") return false;
  return found != nullptr && std::ranges::any_of(*found, [](const Toolkit& t) { return t.origin == "distribution"; });
}

/// The toolkit that a part of it was named of: ".../bin/nvcc", ".../bin", ".../lib64", ".../include".
const Toolkit* toolkit_of_part(const Machine& machine, const std::string& value) {
  std::string path = value;
  for (int step = 0; step < 2; ++step) {
    path.resize(std::min(path.rfind('/'), path.size()));
    if (path.empty()) return nullptr;
    if (const auto* toolkit = toolkit_at(machine, path); toolkit != nullptr && toolkit->nvcc.is_known()) return toolkit;
  }
  return nullptr;
}

/// "", or how the value is wrong: the variant of the record's text, "missing" for the main one.
std::string fault_of_home(const RuleContext& context, std::string_view name) {
  const Machine& machine = context.machine;
  const std::string value = without_slash(variable(machine, name));
  if (value.empty() || !machine.toolkits.found.is_known()) return {};
  if (value.find(':') != std::string::npos) return "list";
  if (!value.starts_with('/')) return "not-absolute";
  if (is_debians_folder(machine, value)) return {};
  const auto* toolkit = toolkit_at(machine, value);
  if (toolkit == nullptr) return toolkit_of_part(machine, value) != nullptr ? "part" : "missing";
  const bool useless = toolkit->nvcc.is_absent() && !reachable_toolkits(context).empty();
  return useless ? "no-nvcc" : std::string();
}

Severity severity_of_home(const RuleContext& context, const std::string& fault) {
  // A name of something that is nowhere on this machine: nobody compiles here.
  if (!wants_compiler(context))
    return fault == "no-nvcc" || reachable_toolkits(context).empty() ? Severity::Note : Severity::Warning;
  // nvcc itself does not ask for the variable; what builds extensions does.
  const bool reached = reached_nvcc(context).toolkit != nullptr;
  return reached && context.purpose.name != "build" ? Severity::Warning : Severity::Error;
}

Action repair_of_home(const RuleContext& context, const std::string& name) {
  const Machine& machine = context.machine;
  const Toolkit* right = toolkit_of_part(machine, without_slash(variable(machine, name)));
  if (right == nullptr) right = nvcc_in_path(machine, variable(machine, "PATH")).toolkit;
  if (right == nullptr && !reachable_toolkits(context).empty()) right = reachable_toolkits(context).front();
  if (right == nullptr) return make_action("unset-variable", {{"variable", name}});
  return make_action("set-variable", {{"variable", name}, {"value", stable_name(*right)}});
}

/// Where a start-up file sets the variable.
void quote_setting(const Machine& machine, const std::string& name, std::vector<Origin>& evidence) {
  for (const Origin& line : machine.shells.cuda_lines)
    if (line.text.find(name) != std::string::npos && evidence.size() < 4) evidence.push_back(line);
}

}  // namespace

const ToolkitLink* broken_link(const RuleContext& context) {
  if (const auto* named = first_that(context, [&](const ToolkitLink& link) { return is_named(context.machine, link.path); }))
    return named;
  if (finds_compiler(context)) return nullptr;
  return first_that(context, [](const ToolkitLink& link) { return is_usual(link.path); });
}

std::optional<Finding> judge_cuda_link_broken(const RuleContext& context) {
  const Machine& machine = context.machine;
  const ToolkitLink* link = broken_link(context);
  const bool relied_on = link != nullptr;
  if (link == nullptr)
    link = first_that(context, [](const ToolkitLink& one) { return is_usual(one.path) && one.state == "dangling"; });
  if (link == nullptr) return std::nullopt;
  Finding finding;
  finding.severity = severity_of_link(context, *link, relied_on);
  finding.variant = link->state == "dangling" ? "" : "no-nvcc";
  finding.parameters = {{"link", link->path}, {"target", last_target(machine, *link)}};
  finding.evidence.push_back({link->path, 0, link->path + " -> " + link->target});
  for (const ToolkitLink& one : machine.toolkits.links)
    if (one.path == link->target) finding.evidence.push_back({one.path, 0, one.path + " -> " + one.target});
  quote_names(machine, link->path, finding.evidence);
  if (const Toolkit* good = best_complete(context)) {
    finding.evidence.push_back({good->path, 0, label(*good) + " is complete in " + good->path});
    const std::map<std::string, std::string> parameters{{"link", link->path}, {"folder", good->path}};
    finding.repair.push_back(make_action(uses_alternatives(*link) ? "choose-cuda-alternative" : "point-cuda-link", parameters));
  } else {
    finding.repair = install_toolkit_actions(context, advised_release(context));
  }
  return finding;
}

std::string wrong_home_variable(const RuleContext& context) {
  for (const std::string_view name : home_variables)
    if (!fault_of_home(context, name).empty()) return std::string(name);
  return {};
}

std::optional<Finding> judge_cuda_home_wrong(const RuleContext& context) {
  const std::string name = wrong_home_variable(context);
  if (name.empty()) return std::nullopt;
  if (const auto* link = broken_link(context); link != nullptr && without_slash(variable(context.machine, name)) == link->path)
    return std::nullopt;
  const std::string fault = fault_of_home(context, name);
  Finding finding;
  finding.severity = severity_of_home(context, fault);
  // Where CUDA_HOME is right, builders do not get as far as CUDA_PATH.
  if (name == "CUDA_PATH" && !variable(context.machine, "CUDA_HOME").empty() && finding.severity == Severity::Error)
    finding.severity = Severity::Warning;
  finding.variant = fault == "missing" ? "" : fault;
  finding.parameters = {{"variable", name}, {"value", std::string(variable(context.machine, name).substr(0, 300))}};
  finding.evidence.push_back(quote_variable(context.machine, name));
  quote_setting(context.machine, name, finding.evidence);
  finding.repair.push_back(repair_of_home(context, name));
  return finding;
}

}  // namespace gpuvet
