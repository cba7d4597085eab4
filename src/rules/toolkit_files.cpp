// A toolkit's own files: what is missing of it, what its tools miss, and which of several toolkits comes first.

#include <algorithm>
#include <array>

#include "rules/evidence.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

constexpr std::array<std::string_view, 5> compiling_tools{"nvcc", "ptxas", "fatbinary", "cudafe++", "nvlink"};

bool is_damaged(const ToolkitComponent& component) {
  return !component.missing.empty() && static_cast<std::int64_t>(component.missing.size()) < component.checked;
}

/// Files of components that are there in part. One that is wholly absent was left out on purpose: packages are split, and the
/// runfile lets one choose.
std::vector<std::string> missing_of_components(const Toolkit& toolkit) {
  std::vector<std::string> missing;
  if (const auto* components = toolkit.components.get())
    for (const ToolkitComponent& component : *components)
      if (is_damaged(component)) missing.insert(missing.end(), component.missing.begin(), component.missing.end());
  return missing;
}

/// Programs of a compilation that are there by name only.
std::vector<std::string> useless_tools(const Toolkit& toolkit) {
  std::vector<std::string> found;
  for (const ToolkitTool& tool : toolkit.tools) {
    if (std::ranges::find(compiling_tools, tool.name) == compiling_tools.end()) continue;
    const bool no_program = tool.state == "empty" || tool.state == "dangling" || tool.state == "not-a-program";
    if (no_program || (tool.name == "nvcc" && tool.state == "not-executable")) found.push_back("bin/" + tool.name);
  }
  return found;
}

std::string few(std::vector<std::string> names) {
  const std::size_t count = names.size();
  names.resize(std::min<std::size_t>(count, 5));
  return join(names, ", ") + (count > names.size() ? ", …" : "");
}

std::vector<Action> repair_of_files(const RuleContext& context, const Toolkit& toolkit) {
  std::string release = release_text(toolkit);
  if (toolkit.origin == "runfile")
    return {make_action("run-cuda-runfile-again", {{"folder", toolkit.path}, {"release", release}})};
  if (toolkit.origin == "conda")
    return {make_action("install-conda-cuda-compiler", {{"release", release}, {"environment", toolkit.environment}})};
  if (release.empty() || toolkit.origin == "unknown") return install_toolkit_actions(context, advised_release(context));
  std::string dashed = release;
  std::ranges::replace(dashed, '.', '-');
  const bool own = toolkit.origin == "distribution" || toolkit.origin == "pacman";
  return {make_action(own ? "reinstall-distribution-toolkit" : "complete-cuda-packages",
                      {{"release", release}, {"package_release", dashed}})};
}

// ---- tools' own libraries --------------------------------------------------------------------------------------------------

struct BrokenTool {
  const ToolkitTool* tool = nullptr;
  bool compiles = false;
};

/// The first tool of a compilation that lacks a library, else the first of the others.
BrokenTool broken_tool(const Toolkit& toolkit) {
  BrokenTool found;
  for (const ToolkitTool& tool : toolkit.tools) {
    if (tool.missing_libraries.empty()) continue;
    const bool compiles = std::ranges::find(compiling_tools, tool.name) != compiling_tools.end();
    if (found.tool == nullptr || (compiles && !found.compiles)) found = {&tool, compiles};
  }
  return found;
}

Action library_action(const std::string& soname) {
  const bool ncurses =
      soname.starts_with("libtinfo.so.5") || soname.starts_with("libncurses.so.5") || soname.starts_with("libncursesw.so.5");
  return make_action(ncurses ? "install-ncurses5" : "install-package-of-library", {{"library", soname}});
}

// ---- several toolkits ------------------------------------------------------------------------------------------------------

bool is_usable(const Toolkit* toolkit) {
  return toolkit != nullptr && toolkit->nvcc.is_known() && cuda_version_of(*toolkit).has_value();
}

struct Shadowed {
  const Toolkit* toolkit = nullptr;
  std::string variant, named;
  Origin origin;
};

/// A toolkit that a variable names and that PATH does not lead to.
Shadowed named_by_variable(const Machine& machine, const Toolkit& first) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string_view value = variable(machine, name);
    if (value.empty()) continue;
    const auto* toolkit = toolkit_at(machine, value);
    if (!is_usable(toolkit) || same_release(*toolkit, first)) return {};
    return {toolkit, "", name, quote_variable(machine, name)};
  }
  return {};
}

Shadowed later_on_path(const Machine& machine, const Toolkit& first) {
  for (const std::string& folder : path_elements(variable(machine, "PATH"))) {
    const auto choice = nvcc_in_path(machine, folder);
    // A distribution's is in /usr/bin, which every PATH has: distro-toolkit-mixed speaks of it.
    if (is_usable(choice.toolkit) && choice.toolkit->origin == "distribution") continue;
    if (is_usable(choice.toolkit) && choice.toolkit != &first && !same_release(*choice.toolkit, first))
      return {choice.toolkit, "later-on-path", folder, quote_variable(machine, "PATH")};
  }
  return {};
}

bool any_variable_names_toolkit(const Machine& machine) {
  return !variable(machine, "CUDA_HOME").empty() || !variable(machine, "CUDA_PATH").empty();
}

Shadowed shadowed_by(const Machine& machine, const Toolkit& first) {
  if (any_variable_names_toolkit(machine)) return named_by_variable(machine, first);
  // Whoever activated an environment wants its nvcc.
  return first.environment.empty() ? later_on_path(machine, first) : Shadowed{};
}

/// LD_LIBRARY_PATH names its library folder.
bool loads_libraries_of(const Machine& machine, const Toolkit& toolkit) {
  return std::ranges::any_of(cuda_folders_on_library_path(machine), [&](const SearchFolder* folder) {
    return folder->path.starts_with(toolkit.path + "/") || folder->path.starts_with(stable_name(toolkit) + "/");
  });
}

}  // namespace

const Toolkit* toolkit_without_its_nvcc(const RuleContext& context) {
  const auto* found = context.machine.toolkits.found.get();
  if (found == nullptr) return nullptr;
  for (const Toolkit& toolkit : *found) {
    const auto* components = toolkit.components.get();
    if (!toolkit.nvcc.is_absent() || components == nullptr) continue;
    const auto is_damaged_compiler = [](const ToolkitComponent& c) { return c.name == "cuda_nvcc" && is_damaged(c); };
    if (std::ranges::any_of(*components, is_damaged_compiler)) return &toolkit;
  }
  return nullptr;
}

std::optional<Finding> judge_toolkit_incomplete(const RuleContext& context) {
  const Toolkit* toolkit = meant_toolkit(context).toolkit;
  const bool lacks_nvcc = toolkit == nullptr && nvcc_story(context) == NvccStory::Incomplete;
  if (lacks_nvcc) toolkit = toolkit_without_its_nvcc(context);
  if (toolkit == nullptr) return std::nullopt;
  std::vector<std::string> missing = toolkit->missing;
  for (std::string& tool : useless_tools(*toolkit)) missing.push_back(std::move(tool));
  const bool compiles_nothing = !missing.empty() || lacks_nvcc;
  for (const std::string& file : missing_of_components(*toolkit))
    if (std::ranges::find(missing, file) == missing.end()) missing.push_back(file);
  if (missing.empty()) return std::nullopt;
  Finding finding;
  const Severity meant = severity_if_meant(context);
  finding.severity = compiles_nothing ? meant : wants_compiler(context) ? Severity::Warning : Severity::Note;
  finding.variant = compiles_nothing ? "" : "parts";
  finding.parameters = {{"folder", toolkit->path}, {"toolkit", label(*toolkit)}, {"files", few(missing)}};
  for (std::size_t i = 0; i < missing.size() && i < 6; ++i)
    finding.evidence.push_back({toolkit->path + "/" + missing[i], 0, "not there, or no program"});
  finding.evidence.push_back(quote(*toolkit));
  finding.repair = repair_of_files(context, *toolkit);
  return finding;
}

std::optional<Finding> judge_tool_library_missing(const RuleContext& context) {
  const Toolkit* toolkit = meant_toolkit(context).toolkit;
  if (toolkit == nullptr) return std::nullopt;
  const auto broken = broken_tool(*toolkit);
  if (broken.tool == nullptr) return std::nullopt;
  Finding finding;
  finding.variant = broken.compiles ? "" : "other-tool";
  finding.severity = broken.compiles ? severity_if_meant(context) : std::min(severity_if_meant(context), Severity::Warning);
  finding.parameters = {
      {"tool", broken.tool->name}, {"path", broken.tool->path}, {"libraries", join(broken.tool->missing_libraries, ", ")}};
  for (const ToolkitTool& tool : toolkit->tools)
    if (!tool.missing_libraries.empty() && finding.evidence.size() < 6)
      finding.evidence.push_back({tool.path, 0, "needs " + join(tool.missing_libraries, ", ")});
  std::vector<std::string> done;
  for (const std::string& library : broken.tool->missing_libraries) {
    Action action = library_action(library);
    if (std::ranges::find(done, action.type) != done.end() && action.type == "install-ncurses5") continue;
    done.push_back(action.type);
    finding.repair.push_back(std::move(action));
  }
  return finding;
}

std::optional<Finding> judge_nvcc_shadowed(const RuleContext& context) {
  const Machine& machine = context.machine;
  const auto first = nvcc_in_path(machine, variable(machine, "PATH"));
  if (!is_usable(first.toolkit)) return std::nullopt;
  const Shadowed other = shadowed_by(machine, *first.toolkit);
  if (other.toolkit == nullptr) return std::nullopt;
  Finding finding;
  finding.variant = other.variant;
  // Two folders on PATH may be meant so; a variable that says something else is not, nor a distribution's nvcc before them.
  const bool surely = other.variant.empty() || first.toolkit->origin == "distribution" || wants_compiler(context);
  finding.severity = surely ? Severity::Warning : Severity::Note;
  finding.parameters = {{"first", label(*first.toolkit)},
                        {"first_nvcc", first.named},
                        {"other", label(*other.toolkit)},
                        {"other_folder", other.toolkit->path},
                        {"named", other.named}};
  finding.evidence = {{first.named, 0, label(*first.toolkit)}, {other.toolkit->nvcc.value_or(""), 0, label(*other.toolkit)}};
  finding.evidence.push_back(quote_variable(machine, "PATH"));
  if (other.origin.source == "environment" && !other.variant.starts_with("later")) finding.evidence.push_back(other.origin);
  for (const Origin& line : machine.shells.cuda_lines)
    if (finding.evidence.size() < 6) finding.evidence.push_back(line);
  if (other.variant.empty())
    finding.repair.push_back(make_action("set-variable", {{"variable", other.named}, {"value", stable_name(*first.toolkit)}}));
  finding.repair.push_back(make_action("put-folder-first-on-path", {{"folder", bin_folder(*other.toolkit)}}));
  return finding;
}

std::optional<Finding> judge_distro_toolkit_mixed(const RuleContext& context) {
  const Machine& machine = context.machine;
  const Toolkit *distribution = nullptr, *nvidia = nullptr;
  for (const Toolkit* toolkit : toolkits_with_nvcc(machine)) {
    if (!toolkit->environment.empty() || !cuda_version_of(*toolkit)) continue;
    if (toolkit->origin == "distribution")
      distribution = toolkit;
    else if (nvidia == nullptr || stable_name(*toolkit) == "/usr/local/cuda")
      nvidia = toolkit;
  }
  if (distribution == nullptr || nvidia == nullptr || same_release(*distribution, *nvidia)) return std::nullopt;
  const auto compiler = nvcc_in_path(machine, variable(machine, "PATH"));
  auto linker = toolkit_of_linker(machine);
  if (compiler.toolkit == distribution && loads_libraries_of(machine, *nvidia)) linker = {nvidia, nvidia->path, {}};
  const bool differ =
      is_usable(compiler.toolkit) && is_usable(linker.toolkit) && !same_release(*compiler.toolkit, *linker.toolkit);
  Finding finding;
  finding.severity = differ ? Severity::Warning : Severity::Note;
  finding.variant = differ ? "" : "beside";
  finding.parameters = {{"distribution", label(*distribution)}, {"nvidia", label(*nvidia)}, {"folder", nvidia->path}};
  finding.evidence = {quote(*distribution), quote(*nvidia)};
  if (differ) {
    finding.evidence.push_back({compiler.named, 0, "nvcc on PATH: " + label(*compiler.toolkit)});
    finding.evidence.push_back(
        {linker.named, 0, "libraries on the path of the linker and the loader: " + label(*linker.toolkit)});
  }
  finding.repair.push_back(make_action("remove-distribution-toolkit"));
  return finding;
}

std::optional<Finding> judge_tool_renamed(const RuleContext& context) {
  struct Gone {
    std::string_view tool, successor;
    std::uint32_t major;
  };
  static constexpr std::array gone{Gone{"cuda-memcheck", "compute-sanitizer", 12}, Gone{"nvprof", "nsys, ncu", 13}};
  const Toolkit* used = meant_toolkit(context).toolkit;
  const auto version = used != nullptr ? cuda_version_of(*used) : std::nullopt;
  if (!version) return std::nullopt;
  const auto tool_of = [](const Toolkit& toolkit, std::string_view name) {
    const auto found = std::ranges::find_if(toolkit.tools, [&](const ToolkitTool& tool) { return tool.name == name; });
    return found != toolkit.tools.end() ? &*found : nullptr;
  };
  for (const Gone& one : gone) {
    if (version->major < one.major || tool_of(*used, one.tool) != nullptr) continue;
    for (const Toolkit* older : toolkits_with_nvcc(context.machine)) {
      const auto* tool = tool_of(*older, one.tool);
      if (tool == nullptr || !older->environment.empty()) continue;
      Finding finding;
      finding.severity = Severity::Note;
      finding.parameters = {{"tool", std::string(one.tool)},
                            {"successor", std::string(one.successor)},
                            {"used", label(*used)},
                            {"older", label(*older)}};
      finding.evidence = {{tool->path, 0, label(*older)}, quote(*used)};
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace gpuvet
