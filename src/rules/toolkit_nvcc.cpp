// Why nvcc is not found: no file, no PATH to it, or a PATH that only some shells have.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

bool path_seen(const Machine& machine) { return !variable(machine, "PATH").empty(); }

/// The environment in use, or one that the purpose is about.
bool is_meant(const RuleContext& context, const std::string& prefix) {
  const auto* active = active_environment(context.machine);
  return (active != nullptr && active->prefix == prefix) ||
         std::ranges::any_of(context.environments,
                             [&](const JudgedEnvironment& judged) { return judged.environment->prefix == prefix; });
}

/// A part of CUDA that programs run with and that compiles nothing.
std::vector<Origin> runtime_parts(const RuleContext& context) {
  std::vector<Origin> parts;
  for (const Toolkit& toolkit : *context.machine.toolkits.found.get())
    if (toolkit.has_runtime_library && !toolkit.nvcc.is_known() &&
        (toolkit.environment.empty() || is_meant(context, toolkit.environment)))
      parts.push_back({toolkit.path, 0, label(toolkit) + ": runtime libraries without nvcc in " + toolkit.path});
  const auto* environments = context.machine.python.environments.get();
  if (environments == nullptr) return parts;
  static constexpr std::array<std::string_view, 4> runtimes{"nvidia-cuda-runtime", "cudatoolkit", "cuda-cudart", "cuda-runtime"};
  for (const PythonEnvironment& environment : *environments)
    for (const PythonPackage& package : environment.packages)
      if (is_meant(context, environment.prefix) &&
          std::ranges::any_of(runtimes, [&](std::string_view name) { return package.name.starts_with(name); }))
        parts.push_back(quote(package));
  return parts;
}

/// An nvcc in an environment that is not the one in use.
const Toolkit* toolkit_of_other_environment(const RuleContext& context) {
  for (const Toolkit* toolkit : toolkits_with_nvcc(context.machine))
    if (!is_within_reach(context, *toolkit)) return toolkit;
  return nullptr;
}

bool found_nothing_unreadable(const Machine& machine) {
  return std::ranges::none_of(machine.toolkits.links, [](const ToolkitLink& link) { return link.state == "unreadable"; });
}

NvccStory story_without_toolkit(const RuleContext& context) {
  if (!found_nothing_unreadable(context.machine)) return NvccStory::Unknown;
  const auto& found = *context.machine.toolkits.found.get();
  if (std::ranges::any_of(found, [](const Toolkit& t) { return t.nvcc.is_not_seen(); })) return NvccStory::Unknown;
  if (toolkit_without_its_nvcc(context) != nullptr) return NvccStory::Incomplete;
  if (toolkit_of_other_environment(context) != nullptr)
    return path_seen(context.machine) ? NvccStory::NotOnPath : NvccStory::Unknown;
  return runtime_parts(context).empty() ? NvccStory::NotInstalled : NvccStory::RuntimeOnly;
}

/// A folder on PATH that is named like a toolkit's (…/cuda-11.8/bin) and holds no nvcc.
std::string stale_folder(const Machine& machine) {
  for (const std::string& folder : path_elements(variable(machine, "PATH"))) {
    if (!folder.ends_with("/bin")) continue;
    const std::string_view parent = std::string_view(folder).substr(0, folder.size() - 4);
    if (parent.substr(parent.rfind('/') + 1).starts_with("cuda")) return folder;
  }
  return {};
}

bool by_sudo(const Machine& machine) { return !variable(machine, "SUDO_USER").empty(); }

/// The toolkit to put on PATH: the one of /usr/local/cuda, else the newest complete one.
const Toolkit* toolkit_to_use(const RuleContext& context) {
  const Toolkit* best = nullptr;
  for (const Toolkit* toolkit : reachable_toolkits(context)) {
    if (stable_name(*toolkit) == "/usr/local/cuda") return toolkit;
    if (best == nullptr || (toolkit->missing.empty() && cuda_version_of(*toolkit) > cuda_version_of(*best))) best = toolkit;
  }
  return best;
}

void quote_environment(const Machine& machine, std::vector<Origin>& evidence) {
  if (path_seen(machine)) evidence.push_back(quote_variable(machine, "PATH"));
}

Finding not_on_path(const RuleContext& context, const Toolkit& toolkit) {
  const Machine& machine = context.machine;
  Finding finding;
  const std::string nvcc = toolkit.nvcc.value_or(toolkit.path), folder = bin_folder(toolkit);
  finding.parameters = {{"nvcc", nvcc}, {"folder", folder}, {"toolkit", label(toolkit)}};
  finding.evidence.push_back({nvcc, 0, label(toolkit)});
  quote_environment(machine, finding.evidence);
  if (const std::string stale = stale_folder(machine); !stale.empty()) {
    finding.variant = "stale-folder";
    finding.parameters["stale"] = stale;
    for (const Origin& line : machine.shells.cuda_lines)
      if (line.text.find(stale) != std::string::npos) finding.evidence.push_back(line);
    finding.repair.push_back(add_to_path_action(machine, folder));
    return finding;
  }
  // A line that does not take effect where it stands: in a file that no shell reads, or behind something that was not followed.
  for (const Origin& line : machine.shells.cuda_lines)
    if (line.text.find(folder) != std::string::npos && finding.evidence.size() < 5) finding.evidence.push_back(line);
  if (by_sudo(machine)) {
    finding.variant = "sudo";
    finding.repair.push_back(make_action("run-by-full-path", {{"program", nvcc}}));
    return finding;
  }
  if (!variable(machine, "MODULEPATH").empty() && toolkit.origin != "deb" && toolkit.origin != "rpm")
    finding.repair.push_back(make_action("load-environment-module", {{"folder", toolkit.path}}));
  finding.repair.push_back(add_to_path_action(machine, folder));
  return finding;
}

Finding in_other_environment(const RuleContext& context, const Toolkit& toolkit) {
  Finding finding;
  finding.variant = "environment";
  const std::string nvcc = toolkit.nvcc.value_or(toolkit.path);
  finding.parameters = {{"nvcc", nvcc}, {"environment", toolkit.environment}, {"toolkit", label(toolkit)}};
  finding.evidence.push_back({nvcc, 0, label(toolkit)});
  quote_environment(context.machine, finding.evidence);
  if (toolkit.origin == "conda")
    finding.repair.push_back(make_action("activate-conda-environment", {{"environment", toolkit.environment}}));
  for (Action& action : install_toolkit_actions(context, advised_release(context))) finding.repair.push_back(std::move(action));
  return finding;
}

}  // namespace

bool finds_compiler(const RuleContext& context) {
  if (reached_nvcc(context).toolkit != nullptr) return true;
  if (context.purpose.name != "build") return false;
  const auto builder = toolkit_of_extension_builder(context.machine);
  return builder.toolkit != nullptr && builder.toolkit->nvcc.is_known();
}

NvccStory nvcc_story(const RuleContext& context) {
  if (!context.machine.toolkits.found.is_known()) return NvccStory::Unknown;
  if (finds_compiler(context)) return NvccStory::Found;
  if (broken_link(context) != nullptr) return NvccStory::LinkBroken;
  if (!wrong_home_variable(context).empty()) return NvccStory::HomeWrong;
  if (reachable_toolkits(context).empty()) return story_without_toolkit(context);
  if (!path_seen(context.machine)) return NvccStory::Unknown;
  return some_shell_sees_nvcc(context) ? NvccStory::DependsOnShell : NvccStory::NotOnPath;
}

namespace {

/// Is this toolkit of the release that `nvcc>=12.8` asks for? Two numbers are compared with two, three with all that is told.
std::optional<bool> fits_specifier(const Toolkit& toolkit, const std::string& specifier) {
  const bool exact = std::ranges::count(specifier, '.') > 1 + std::ranges::count(specifier, ',');
  const auto release = ReleaseVersion::parse(exact ? toolkit.version.value_or("") : release_text(toolkit));
  return release ? satisfies(*release, specifier) : std::nullopt;
}

/// nvcc is found, but not of the release that was asked for.
std::optional<Finding> other_release_asked(const RuleContext& context) {
  const std::string& specifier = context.purpose.specifier;
  const Toolkit* reached = reached_nvcc(context).toolkit;
  if (specifier.empty() || reached == nullptr || fits_specifier(*reached, specifier) != false) return std::nullopt;
  Finding finding;
  finding.variant = "version";
  finding.parameters = {{"wanted", "nvcc" + specifier}, {"toolkit", label(*reached)}, {"path", reached->path}};
  finding.evidence = {quote(*reached)};
  quote_environment(context.machine, finding.evidence);
  for (const Toolkit* other : reachable_toolkits(context)) {
    if (fits_specifier(*other, specifier) != true) continue;
    finding.evidence.push_back(quote(*other));
    finding.repair.push_back(add_to_path_action(context.machine, other->path + "/bin"));
    return finding;
  }
  const std::string advised = advised_release(context);
  const auto release = ReleaseVersion::parse(advised);
  finding.repair = install_toolkit_actions(context, release && satisfies(*release, specifier) == true ? advised : "");
  return finding;
}

}  // namespace

std::optional<Finding> judge_toolkit_not_installed(const RuleContext& context) {
  if (context.purpose.name == "nvcc" && nvcc_story(context) == NvccStory::Found) return other_release_asked(context);
  if (!wants_compiler(context) || nvcc_story(context) != NvccStory::NotInstalled) return std::nullopt;
  Finding finding;
  finding.evidence.push_back({"/usr/local", 0, "no toolkit in /usr/local/cuda*, /opt, the packages, PATH or CUDA_HOME"});
  quote_environment(context.machine, finding.evidence);
  const std::string release = advised_release(context);
  finding.repair = install_toolkit_actions(context, release);
  return finding;
}

std::optional<Finding> judge_runtime_only(const RuleContext& context) {
  if (!wants_compiler(context) || nvcc_story(context) != NvccStory::RuntimeOnly) return std::nullopt;
  Finding finding;
  auto parts = runtime_parts(context);
  finding.parameters = {{"where", parts.front().source}};
  parts.resize(std::min<std::size_t>(parts.size(), 4));
  finding.evidence = std::move(parts);
  quote_environment(context.machine, finding.evidence);
  if (context.in(World::Container)) {
    finding.variant = "image";
    finding.repair.push_back(make_action("use-devel-image"));
    return finding;
  }
  // The release that is there already, so that both parts fit.
  std::string release;
  for (const Toolkit& toolkit : *context.machine.toolkits.found.get())
    if (toolkit.has_runtime_library && toolkit.environment.empty() && toolkit.origin != "distribution")
      release = release_text(toolkit);
  finding.repair = install_toolkit_actions(context, release.empty() ? advised_release(context) : release);
  return finding;
}

std::optional<Finding> judge_nvcc_not_on_path(const RuleContext& context) {
  if (nvcc_story(context) != NvccStory::NotOnPath) return std::nullopt;
  const Toolkit* toolkit = toolkit_to_use(context);
  const bool elsewhere = toolkit == nullptr;
  if (elsewhere && !wants_compiler(context)) return std::nullopt;
  Finding finding =
      elsewhere ? in_other_environment(context, *toolkit_of_other_environment(context)) : not_on_path(context, *toolkit);
  // A toolkit that nobody compiles with need not be on PATH.
  finding.severity = wants_compiler(context) ? Severity::Error : Severity::Note;
  return finding;
}

}  // namespace gpuvet
