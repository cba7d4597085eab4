// Rules of link 5: which toolkit is meant, and the list of the rules.

#include "rules/toolkit.h"

#include <algorithm>
#include <array>

#include "rules/evidence.h"

namespace gpuvet {
namespace {

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

bool has_name(const Toolkit& toolkit, std::string_view path) {
  return toolkit.path == path || toolkit.real_path == path || std::ranges::find(toolkit.names, path) != toolkit.names.end();
}

/// The toolkit whose nvcc a file FOLDER/nvcc is, itself or by a link.
const Toolkit* toolkit_with_nvcc_in(const Machine& machine, const std::string& folder) {
  for (const Toolkit* toolkit : toolkits_with_nvcc(machine)) {
    if (folder_of(*toolkit->nvcc.get()) == folder) return toolkit;
    if (folder.ends_with("/bin") && has_name(*toolkit, std::string_view(folder).substr(0, folder.size() - 4))) return toolkit;
    if (has_name(*toolkit, folder + "/nvcc")) return toolkit;
  }
  return nullptr;
}

}  // namespace

Severity severity_if_meant(const RuleContext& context) {
  if (wants_compiler(context)) return Severity::Error;
  return means_to_compile(context.machine) ? Severity::Warning : Severity::Note;
}

bool is_within_reach(const RuleContext& context, const Toolkit& toolkit) {
  if (toolkit.environment.empty()) return true;
  const auto* active = active_environment(context.machine);
  if (active != nullptr && active->prefix == toolkit.environment) return true;
  if (variable(context.machine, "CONDA_PREFIX") == toolkit.environment) return true;
  return std::ranges::any_of(context.environments, [&](const JudgedEnvironment& judged) {
    return judged.why == JudgedEnvironment::Why::Asked && judged.environment->prefix == toolkit.environment;
  });
}

std::vector<const Toolkit*> reachable_toolkits(const RuleContext& context) {
  auto found = toolkits_with_nvcc(context.machine);
  std::erase_if(found, [&](const Toolkit* toolkit) { return !is_within_reach(context, *toolkit); });
  return found;
}

ToolkitChoice nvcc_in_path(const Machine& machine, std::string_view path) {
  for (const std::string& folder : path_elements(path))
    if (const auto* toolkit = toolkit_with_nvcc_in(machine, folder)) return {toolkit, folder + "/nvcc", {}};
  return {};
}

ToolkitChoice reached_nvcc(const RuleContext& context) {
  ToolkitChoice choice = nvcc_in_path(context.machine, variable(context.machine, "PATH"));
  choice.origin = quote_variable(context.machine, "PATH");
  for (const JudgedEnvironment& judged : context.environments) {
    if (judged.why != JudgedEnvironment::Why::Asked || judged.environment->active) continue;
    for (const Toolkit* toolkit : toolkits_with_nvcc(context.machine))
      if (toolkit->environment == judged.environment->prefix && toolkit->origin == "conda")
        return {toolkit, *toolkit->nvcc.get(), quote(*toolkit)};
  }
  return choice;
}

ToolkitChoice meant_toolkit(const RuleContext& context) {
  const auto builder = toolkit_of_extension_builder(context.machine);
  const bool builder_has_nvcc = builder.toolkit != nullptr && builder.toolkit->nvcc.is_known();
  if (context.purpose.name == "build" && builder_has_nvcc) return builder;
  if (auto reached = reached_nvcc(context); reached.toolkit != nullptr) return reached;
  if (builder_has_nvcc) return builder;
  const auto all = reachable_toolkits(context);
  if (all.size() == 1) return {all.front(), *all.front()->nvcc.get(), quote(*all.front())};
  return {};
}

std::string release_text(const Toolkit& toolkit) {
  const auto version = cuda_version_of(toolkit);
  return version ? version->text() : std::string();
}

std::string label(const Toolkit& toolkit) {
  const std::string release = release_text(toolkit);
  return release.empty() ? toolkit.path : "CUDA " + release;
}

bool same_release(const Toolkit& a, const Toolkit& b) {
  const auto one = cuda_version_of(a), two = cuda_version_of(b);
  return one && two && one->major == two->major && one->minor == two->minor;
}

std::span<const Rule> toolkit_rules() {
  // The most specific reason why nvcc is not found comes first; then what stops a compilation, then what differs.
  static constexpr std::array rules{Rule{"cuda-symlink-broken", judge_cuda_link_broken},
                                    Rule{"cuda-home-wrong", judge_cuda_home_wrong},
                                    Rule{"toolkit-not-installed", judge_toolkit_not_installed},
                                    Rule{"nvcc-missing-runtime-only", judge_runtime_only},
                                    Rule{"shell-startup-inconsistent", judge_shell_startup},
                                    Rule{"nvcc-not-on-path", judge_nvcc_not_on_path},
                                    Rule{"toolkit-incomplete", judge_toolkit_incomplete},
                                    Rule{"tool-own-library-missing", judge_tool_library_missing},
                                    Rule{"gcc-too-new-for-nvcc", judge_host_compiler},
                                    Rule{"nvcc-vs-torch-cuda-mismatch", judge_torch_cuda_mismatch},
                                    Rule{"nvcc-dropped-gpu-arch", judge_nvcc_dropped_arch},
                                    Rule{"nvcc-too-old-for-gpu-arch", judge_nvcc_too_old},
                                    Rule{"glibc-header-clash-with-nvcc", judge_glibc_headers},
                                    Rule{"nvcc-shadowed-by-other-toolkit", judge_nvcc_shadowed},
                                    Rule{"toolkit-newer-than-driver", judge_toolkit_newer_than_driver},
                                    Rule{"distro-toolkit-mixed", judge_distro_toolkit_mixed},
                                    Rule{"tool-removed-or-renamed", judge_tool_renamed}};
  return rules;
}

}  // namespace gpuvet
