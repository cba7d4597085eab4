#pragma once
// What the rules of link 5 share: which toolkit is meant, by which way a process reaches nvcc, and what would bring one.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"
#include "rules/software.h"

namespace gpuvet {

// ---- toolkit.cpp: what is meant ------------------------------------------------------------------------------------------

/// Error where a compiler was asked for, a warning where this machine's user clearly means to compile, else a note.
Severity severity_if_meant(const RuleContext& context);

/// A toolkit in no Python environment, or in the one that is active or was asked for.
bool is_within_reach(const RuleContext& context, const Toolkit& toolkit);
/// Those with an nvcc that are within reach.
std::vector<const Toolkit*> reachable_toolkits(const RuleContext& context);

/// The first nvcc on a PATH; links to nvcc count.
ToolkitChoice nvcc_in_path(const Machine& machine, std::string_view path);
/// The nvcc that `nvcc` starts in the judged process; with --for NAME@ENV also that environment's.
ToolkitChoice reached_nvcc(const RuleContext& context);

/// The toolkit that is judged: the extension builder's for a build, else nvcc's on PATH, else the builder's, else the only one.
ToolkitChoice meant_toolkit(const RuleContext& context);

/// "CUDA 12.6"; the path when its release is not told.
std::string label(const Toolkit& toolkit);
/// "12.6" as far as told; empty: unknown.
std::string release_text(const Toolkit& toolkit);
bool same_release(const Toolkit& a, const Toolkit& b);

// ---- toolkit_repair.cpp: what helps --------------------------------------------------------------------------------------

/// Compute capabilities of the machine's NVIDIA GPUs, as far as known.
std::vector<ComputeCapability> gpu_capabilities(const RuleContext& context);
/// CUDA that the driver serves by itself; nothing: no driver seen, or an unknown branch.
std::optional<CudaVersion> driver_cuda(const RuleContext& context);
/// "12.8": the newest release that this driver and these GPUs take, `major` alone when given.
std::string advised_release(const RuleContext& context, std::optional<std::uint32_t> major = {});
/// Installs a toolkit: with conda where a conda environment is active, else with the distribution's packages.
std::vector<Action> install_toolkit_actions(const RuleContext& context, const std::string& release);
/// Installs the libraries of a release ("12.4") alone.
Action install_cuda_libraries(const std::string& release);
/// The start-up file of the judged user's shell for PATH lines.
std::string start_up_file(const Machine& machine);
Action add_to_path_action(const Machine& machine, const std::string& folder);
/// Its bin folder by the name that survives an upgrade: /usr/local/cuda/bin where that link leads there.
std::string bin_folder(const Toolkit& toolkit);
/// The name that survives an upgrade, without /bin.
std::string stable_name(const Toolkit& toolkit);

// ---- toolkit_nvcc.cpp: why nvcc is not found -----------------------------------------------------------------------------

/// Exactly one of these is the story of an nvcc that is not found.
enum class NvccStory { Unknown, Found, LinkBroken, HomeWrong, Incomplete, NotInstalled, RuntimeOnly, DependsOnShell, NotOnPath };
NvccStory nvcc_story(const RuleContext& context);
/// What asked for a compiler gets one: nvcc on PATH, for a build the extension builder's choice.
bool finds_compiler(const RuleContext& context);

std::optional<Finding> judge_cuda_link_broken(const RuleContext& context);
std::optional<Finding> judge_cuda_home_wrong(const RuleContext& context);
std::optional<Finding> judge_toolkit_not_installed(const RuleContext& context);
std::optional<Finding> judge_runtime_only(const RuleContext& context);
std::optional<Finding> judge_nvcc_not_on_path(const RuleContext& context);

// ---- toolkit_shells.cpp --------------------------------------------------------------------------------------------------

/// Some kind of shell would find an nvcc.
bool some_shell_sees_nvcc(const RuleContext& context);
std::optional<Finding> judge_shell_startup(const RuleContext& context);

// ---- toolkit_links.cpp: links and variables that lead to a toolkit ---------------------------------------------------------

/// A link that something relies on and that leads to no usable nvcc.
const ToolkitLink* broken_link(const RuleContext& context);
/// CUDA_HOME or CUDA_PATH that names no toolkit; empty: neither.
std::string wrong_home_variable(const RuleContext& context);

// ---- toolkit_files.cpp ---------------------------------------------------------------------------------------------------

/// A toolkit that has the compiler's parts but not nvcc itself; null: none.
const Toolkit* toolkit_without_its_nvcc(const RuleContext& context);
std::optional<Finding> judge_toolkit_incomplete(const RuleContext& context);
std::optional<Finding> judge_tool_library_missing(const RuleContext& context);
std::optional<Finding> judge_nvcc_shadowed(const RuleContext& context);
std::optional<Finding> judge_distro_toolkit_mixed(const RuleContext& context);
std::optional<Finding> judge_tool_renamed(const RuleContext& context);

// ---- toolkit_compiler.cpp ------------------------------------------------------------------------------------------------

/// The host compiler that this toolkit's nvcc takes in the judged process; null: not seen, or chosen by something not seen.
const HostCompiler* host_compiler_for(const RuleContext& context, const Toolkit& toolkit);
std::optional<Finding> judge_host_compiler(const RuleContext& context);
std::optional<Finding> judge_glibc_headers(const RuleContext& context);

// ---- toolkit_versions.cpp ------------------------------------------------------------------------------------------------

std::optional<Finding> judge_toolkit_newer_than_driver(const RuleContext& context);
std::optional<Finding> judge_torch_cuda_mismatch(const RuleContext& context);
std::optional<Finding> judge_nvcc_too_old(const RuleContext& context);
std::optional<Finding> judge_nvcc_dropped_arch(const RuleContext& context);

}  // namespace gpuvet
