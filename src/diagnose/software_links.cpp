#include "diagnose/software_links.h"

#include <algorithm>

#include "diagnose/program_links.h"
#include "rules/cuda_needs.h"
#include "rules/framework_arch.h"
#include "rules/framework_contract.h"
#include "rules/framework_facts.h"
#include "rules/program_facts.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

std::string describe(const Toolkit& toolkit) {
  return "CUDA " + toolkit.version.value_or(toolkit.nvcc_version.value_or("?")) + " (" + toolkit.path + ")";
}

/// The one that a build would take, else the first complete one.
const Toolkit* toolkit_meant(const RuleContext& context) {
  if (const auto* toolkit = nvcc_on_path(context.machine).toolkit) return toolkit;
  if (const auto* toolkit = toolkit_of_extension_builder(context.machine).toolkit; toolkit != nullptr && toolkit->nvcc.is_known())
    return toolkit;
  const auto complete = toolkits_with_nvcc(context.machine, true);
  return complete.empty() ? nullptr : complete.front();
}

/// What is known of a build's code for the GPUs here.
enum class CodeSeen : std::uint8_t {
  Serves,    ///< it runs on all of them
  NotSeen,   ///< what can be told from files ends here: the GPU is not named (WSL2), or somebody built it for himself
  NotKnown,  ///< a release that no table has, or code that does not fit
};

/// conda's, NVIDIA's and Jetson's builds, and those of a working tree: no table lists their targets, only the files have them.
bool is_own_build(const RuleContext& context, const FrameworkInstall& install) {
  if (context.in(World::Jetson)) return true;
  if (install.package != nullptr && (install.package->manager == "conda" || install.package->manager == "distribution"))
    return true;
  if (!install.version) return false;
  return install.version->phase < 0 || (!install.version->local.empty() && !install.version->local.starts_with("cu"));
}

CodeSeen gpu_code_seen(const RuleContext& context, const FrameworkInstall& install) {
  if (!install.targets.known()) return is_own_build(context, install) ? CodeSeen::NotSeen : CodeSeen::NotKnown;
  const auto codes = gpu_code_of(context, install);
  if (codes.empty()) return gpu_here(context) == GpuHere::Yes ? CodeSeen::NotSeen : CodeSeen::NotKnown;
  if (std::ranges::all_of(codes, [](const GpuCodeOfInstall& one) { return runs(one.code); })) return CodeSeen::Serves;
  const bool unsure = std::ranges::any_of(codes, [](const GpuCodeOfInstall& one) { return one.code == GpuCode::Unknown; });
  return unsure ? CodeSeen::NotSeen : CodeSeen::NotKnown;
}

/// A release of CUDA that the driver's tables do not know is not called good.
bool driver_fits_build(const RuleContext& context, const FrameworkInstall& install) {
  const auto driver = running_driver(context);
  if (!driver) return context.in(World::Jetson);
  return install.cuda && fits(fit_of(context, *driver, *install.cuda));
}

bool speaks_for_itself(const RuleContext& context, const FrameworkInstall& install) {
  return install.flavour == "cuda" && driver_fits_build(context, install) &&
         gpu_code_seen(context, install) != CodeSeen::NotKnown;
}

/// Nothing on LD_LIBRARY_PATH that could come before the framework's own libraries.
bool own_libraries_come_first(const RuleContext& context) { return cuda_folders_on_library_path(context.machine).empty(); }

bool has_own_cuda_libraries(const RuleContext& context, const FrameworkInstall& install) {
  const PythonEnvironment& environment = *install.environment;
  if (install.package == nullptr) return false;
  const bool pins_libraries = std::ranges::any_of(install.package->requirements, [](const std::string& r) {
    return (r.starts_with("nvidia-") || r.starts_with("cuda-toolkit")) && r.find("extra") == std::string::npos;
  });
  if (pins_libraries) return missing_cuda_requirements(environment, *install.package).empty();
  if (install.framework == "torch") {
    // Older wheels and those of PyTorch's own index carry them in torch/lib; conda has packages for them.
    return install.build != nullptr && install.flavour == "cuda";
  }
  if (!install.cuda) return false;
  const std::string suffix = "-cu" + std::to_string(install.cuda->major);
  const bool wheels =
      find_package(environment, "nvidia-cublas" + suffix) != nullptr || find_package(environment, "nvidia-cublas") != nullptr;
  const bool system = loader_finds(context.machine, "libcublas.so." + std::to_string(install.cuda->major));
  return wheels || system;
}

/// Then a CUDA folder on LD_LIBRARY_PATH does not stand in front of its libraries: it is where they are.
bool takes_system_libraries(const RuleContext& context, const FrameworkInstall& install) {
  if (install.framework == "torch" || !install.cuda) return false;
  const PythonEnvironment& environment = *install.environment;
  const std::string major = std::to_string(install.cuda->major);
  return find_package(environment, "nvidia-cublas-cu" + major) == nullptr &&
         find_package(environment, "nvidia-cublas") == nullptr && loader_finds(context.machine, "libcublas.so." + major);
}

/// The forecast of a framework's process in an environment, or null: none was made.
const ProcessView* process_of(const RuleContext& context, const PythonEnvironment& environment, std::string_view framework) {
  for (const ProcessView& view : context.processes)
    if (view.plan->kind == "python" && view.plan->prefix == environment.prefix &&
        framework_of_package(view.plan->framework) == framework)
      return &view;
  return nullptr;
}

/// LD_LIBRARY_PATH leads nowhere, or the forecast shows that all is found and fits with it too.
bool right_libraries_are_taken(const RuleContext& context, const FrameworkInstall& install) {
  if (own_libraries_come_first(context) || takes_system_libraries(context, install)) return true;
  const ProcessView* view = process_of(context, *install.environment, install.framework);
  return view != nullptr && loads(*view) && view->plan->problems.empty();
}

/// Of CuPy, ONNX Runtime and the like: which libraries they take from outside is known, how their code serves a GPU is not asked.
std::vector<CudaNeeds> other_needs(const RuleContext& context, const PythonEnvironment& environment) {
  auto all = cuda_needs(context, environment);
  std::erase_if(all,
                [](const CudaNeeds& n) { return n.framework == "torch" || n.framework == "tensorflow" || n.framework == "jax"; });
  return all;
}

bool driver_runs(const RuleContext& context, const CudaNeeds& needs) {
  const auto driver = running_driver(context);
  return driver && driver->native && driver->native->major >= needs.cuda_major && !usable_gpus(context).empty();
}

const JudgedEnvironment* first_judged(const RuleContext& context) {
  return context.environments.empty() ? nullptr : &context.environments.front();
}

bool has_wanted_install(const RuleContext& context) {
  return std::ranges::any_of(context.environments,
                             [&](const JudgedEnvironment& e) { return !wanted_installs(context, *e.environment).empty(); });
}

/// Without a purpose only what is known to be complete is a purpose: a release that no table knows is left alone.
bool judged_by_default(const RuleContext& context) {
  const auto* judged = first_judged(context);
  if (judged == nullptr) return false;
  const auto installs = wanted_installs(context, *judged->environment);
  return !installs.empty() &&
         std::ranges::all_of(installs, [](const FrameworkInstall& i) { return i.flavour == "cuda" && i.targets.known(); });
}

}  // namespace

LinkView view_toolkit(const RuleContext& context) {
  const Toolkit* toolkit = toolkit_meant(context);
  if (toolkit == nullptr) return {};
  return {toolkit->nvcc.is_known() && toolkit->missing.empty(), describe(*toolkit)};
}

LinkView view_runtime_libraries(const RuleContext& context) {
  if (context.purpose.name == "path") return view_program_libraries(context);
  const auto* judged = first_judged(context);
  if (judged == nullptr) return {};
  const auto installs = wanted_installs(context, *judged->environment);
  const auto others = other_needs(context, *judged->environment);
  if (installs.empty() && others.empty()) return {};
  LinkView view{true, ""};
  for (const CudaNeeds& needs : others) {
    view.seen_good = view.seen_good && all_libraries_found(context, *judged->environment, needs);
    view.detail += (view.detail.empty() ? "CUDA " : ", CUDA ") + needs.cuda + " (" + needs.framework + ")";
  }
  for (const FrameworkInstall& install : installs) {
    view.seen_good = view.seen_good && has_own_cuda_libraries(context, install) && right_libraries_are_taken(context, install);
    if (install.cuda)
      view.detail += (view.detail.empty() ? "CUDA " : ", CUDA ") + install.cuda->text() + " (" + install.framework + ")";
  }
  return view;
}

LinkView view_framework(const RuleContext& context) {
  if (context.purpose.name == "path") return view_program_code(context);
  const auto* judged = first_judged(context);
  if (judged == nullptr) return {};
  const auto installs = wanted_installs(context, *judged->environment);
  const auto others = other_needs(context, *judged->environment);
  if (installs.empty() && others.empty()) return {};
  // Its base Python was removed, or never was on this disk: nothing in it can be started.
  LinkView view{!judged->environment->interpreter.is_absent(), ""};
  for (const CudaNeeds& needs : others) {
    view.seen_good = view.seen_good && driver_runs(context, needs);
    view.detail += (view.detail.empty() ? "" : ", ") + needs.label;
  }
  for (const FrameworkInstall& install : installs) {
    view.seen_good = view.seen_good && speaks_for_itself(context, install);
    view.detail += (view.detail.empty() ? "" : ", ") + install.framework + " " + (install.version ? install.version->text : "?");
    if (install.cuda && install.version && install.version->local.empty()) view.detail += " (CUDA " + install.cuda->text() + ")";
  }
  view.detail += " (" + judged->environment->prefix + ")";
  return view;
}

std::vector<NotSeen> unseen_of_software(const RuleContext& context) {
  if (context.purpose.name == "path") return unseen_of_program(context);
  std::vector<NotSeen> list;
  if (!purpose_needs(context, Layer::Framework)) return list;
  const auto* judged = first_judged(context);
  if (context.purpose.needs_framework() && context.purpose.name != "build" && !is_known_framework(context.purpose.name))
    list.push_back({"framework-unknown", context.purpose.name});
  if (judged == nullptr) return list;
  if (judged->environment->interpreter.is_absent()) list.push_back({"interpreter", judged->environment->prefix});
  if (wanted_installs(context, *judged->environment).empty()) return list;
  for (const SearchFolder* folder : cuda_folders_on_library_path(context.machine)) {
    if (!view_runtime_libraries(context).seen_good) list.push_back({"library-path", folder->path});
    break;
  }
  return list;
}

std::vector<std::string> builds_with_unseen_code(const RuleContext& context) {
  std::vector<std::string> names;
  const auto* judged = first_judged(context);
  if (judged == nullptr || !purpose_needs(context, Layer::Framework)) return names;
  for (const FrameworkInstall& install : wanted_installs(context, *judged->environment))
    if (speaks_for_itself(context, install) && gpu_code_seen(context, install) == CodeSeen::NotSeen)
      names.push_back(label_of(install));
  return names;
}

bool purpose_needs(const RuleContext& context, Layer layer) {
  const Purpose& purpose = context.purpose;
  switch (layer) {
    case Layer::Toolkit:
      if (purpose.asked()) return purpose.needs_toolkit();
      return !toolkits_with_nvcc(context.machine, true).empty();
    case Layer::RuntimeLibrary:
    case Layer::Framework:
      if (purpose.name == "build")
        return layer == Layer::Framework && (has_wanted_install(context) || !framework_of_purpose(purpose).empty());
      if (purpose.name == "path") return layer == Layer::RuntimeLibrary || context.processes.empty() || program_has_code(context);
      if (purpose.asked()) return purpose.needs_framework();
      return judged_by_default(context);
    case Layer::Application:
      return purpose.name == "path";
    default:
      // Compiling needs neither a GPU nor a driver, and so does a program without CUDA.
      return !purpose.needs_toolkit() && !nothing_uses_cuda(context);
  }
}

}  // namespace gpuvet
