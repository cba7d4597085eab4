// Repairs that use what a text tells: releases, folders, packages, branches. The record's own steps stand where it tells nothing.

#include <algorithm>
#include <charconv>
#include <string>

#include "knowledge/cuda_libraries.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_repair.h"
#include "rules/hardware.h"
#include "rules/observed.h"
#include "rules/software.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

using Context = RuleContext;
using Steps = std::vector<Action>;

/// A value that every message with this meaning agrees on, or only one has; empty: none, or several.
std::string told(const Context& context, std::string_view meaning, std::string_view name) {
  std::string value;
  for (const Observation* o : all_observed(context.machine, meaning)) {
    const std::string_view one = value_of(*o, name);
    if (one.empty() || one == value) continue;
    if (!value.empty()) return {};
    value = one;
  }
  return value;
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? std::string() : std::string(path.substr(0, slash));
}

bool plain_number(std::string_view text) {
  return !text.empty() && text.size() <= 3 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

const PythonEnvironment* shown_environment(const Context& context) {
  const auto* list = context.machine.python.environments.get();
  return list == nullptr || list->size() != 1 ? nullptr : &list->front();
}

// ---- driver -----------------------------------------------------------------------------------------------------------

/// The CUDA release of the image or of the toolkit in it, as the text tells it.
std::optional<CudaVersion> cuda_of_image(const Context& context) {
  if (const auto cuda = CudaVersion::parse(told(context, "container-image", "cuda"))) return cuda;
  return std::nullopt;
}

Action driver_for(const Context& context, const CudaVersion& cuda) {
  const auto release = context.knowledge.cuda_release(cuda.text());
  if (!release || !release->driver_linux) return make_action("update-driver");
  return make_action("update-driver-to", {{"least", release->driver_linux->text}});
}

/// cudaDriverGetVersion's form: 11040 is 11.4.
std::optional<CudaVersion> cuda_of_number(std::string_view number) {
  int value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || value < 1000 || value > 99990) return std::nullopt;
  return CudaVersion::parse(std::to_string(value / 1000) + "." + std::to_string(value % 1000 / 10));
}

/// A compat libcuda is refused: a driver that serves the image by itself, or an image that this driver serves.
Steps driver_or_image(const Context& context, const Finding&) {
  const auto cuda = cuda_of_image(context);
  Steps steps = {cuda ? driver_for(context, *cuda) : make_action("update-driver")};
  if (context.loaded_driver) steps.push_back(or_action("use-older-cuda-image", {{"driver", context.loaded_driver->text}}));
  return steps;
}

/// The driver's CUDA is told, so is the framework: a newer driver, or a build that this driver runs.
Steps driver_or_build(const Context& context, const Finding& finding) {
  if (finding.repair.size() != 1 || finding.repair.front().type != "update-driver") return {};
  Steps steps = {make_action("update-driver")};
  auto native = CudaVersion::parse(told(context, "driver-cuda", "cuda"));
  if (!native) native = cuda_of_number(told(context, "driver-too-old", "found"));
  if (!native && context.loaded_driver) native = context.knowledge.native_cuda(*context.loaded_driver);
  if (native) steps.push_back(or_action("take-build-for-cuda-of-driver", {{"cuda", native->text()}}));
  return steps;
}

/// The last branch that serves the card, in the driver's own words or by the card's chip.
Steps last_branch(const Context& context, const Finding&) {
  std::string branch = told(context, "nvrm-legacy-gpu", "branch");
  if (branch.empty())
    for (const Observation& o : observations(context.machine))
      if (o.signature == "nvrm-legacy-gpu-whole-line" && branch.empty()) branch = value_of(o, "branch");
  if (branch.empty())
    for (const MachineGpu& gpu : context.gpus)
      if (gpu.identity.last_driver_branch) branch = std::to_string(*gpu.identity.last_driver_branch);
  if (!plain_number(branch)) return {};
  return {make_action("install-driver-branch", {{"branch", branch}, {"flavor", "proprietary"}}), make_action("reboot")};
}

// ---- toolkit and compiler ---------------------------------------------------------------------------------------------

/// "gcc versions later than 13 are not supported": gcc 13 beside the default one.
Steps accepted_compiler(const Context& context, const Finding&) {
  for (const Observation* o : all_observed(context.machine, "host-compiler-too-new")) {
    const std::string wanted(value_of(*o, "wanted"));
    if (o->signature != "nvcc-unsupported-gnu-version" || !plain_number(wanted)) continue;
    return {make_action("install-host-compiler", {{"major", wanted}}), or_action("use-newer-toolkit-release")};
  }
  return {};
}

/// Both releases stand in the builder's message.
Steps toolkit_of_torch(const Context& context, const Finding&) {
  const std::string torch = told(context, "nvcc-torch-mismatch", "wanted"), nvcc = told(context, "nvcc-torch-mismatch", "found");
  const auto wanted = CudaVersion::parse(torch), found = CudaVersion::parse(nvcc);
  if (!wanted || !found || observed(context.machine, "windows") != nullptr) return {};
  Steps steps = install_toolkit_actions(context, wanted->text());
  steps.push_back(make_action("point-build-at-toolkit", {{"release", wanted->text()}}));
  steps.push_back(or_action("take-torch-for-toolkit", {{"major", std::to_string(found->major)}, {"release", found->text()}}));
  return steps;
}

/// The release that the wanted name belongs to: "libcublasLt.so.11" is any CUDA 11, "libcudart.so.10.1" one alone.
Steps release_of_library(const Context& context, const Finding& finding) {
  for (const char* meaning : {"shared-library-not-found", "tensorflow-dynamic-library-not-loaded"}) {
    for (const Observation* o : all_observed(context.machine, meaning)) {
      const std::string library(value_of(*o, "library"));
      const bool of_finding = std::ranges::any_of(
          finding.evidence, [&](const Origin& e) { return e.line == o->origin.line && e.source == o->origin.source; });
      const auto known = cuda_library(context.knowledge, library);
      if (!of_finding || !known || known->cuda.empty()) continue;
      return {make_action("install-cuda-of-library", {{"library", library}, {"release", known->cuda}}),
              or_action("take-program-for-installed-cuda")};
    }
  }
  return {};
}

/// sudo has a PATH of its own.
Steps path_through_sudo(const Context&, const Finding& finding) {
  const bool sudo =
      std::ranges::any_of(finding.evidence, [](const Origin& e) { return e.text.find("sudo ") != std::string::npos; });
  return sudo ? Steps{make_action("pass-path-through-sudo")} : Steps();
}

// ---- libraries ---------------------------------------------------------------------------------------------------------

/// The folder in which the text shows the file.
Steps folder_of_library(const Context& context, const Finding& finding) {
  if (finding.variant == "in-wheel" || finding.variant == "linker" || finding.variant == "opened-by-name") return {};
  for (const Observation* seen : all_observed(context.machine, "library-seen")) {
    const bool of_finding = std::ranges::any_of(
        finding.evidence, [&](const Origin& e) { return e.line == seen->origin.line && e.source == seen->origin.source; });
    const std::string folder = folder_of(value_of(*seen, "path"));
    if (!of_finding || folder.empty()) continue;
    // An environment's folder has more in it than CUDA: searched by every program it would break others.
    if (folder.starts_with("/home/") || folder.starts_with("/root/") || folder.find("/envs/") != std::string::npos ||
        folder.find("-packages/") != std::string::npos || folder.find("conda") != std::string::npos)
      return {make_action("start-with-library-folder", {{"folder", folder}})};
    return {make_action("let-loader-search-cuda-folder", {{"folder", folder}}),
            or_action("start-with-library-folder", {{"folder", folder}})};
  }
  return {};
}

Steps folder_of_dll(const Context& context, const Finding& finding) {
  for (const Observation* seen : all_observed(context.machine, "library-seen")) {
    const std::string path(value_of(*seen, "path"));
    const std::size_t end = path.rfind('\\');
    const bool of_finding = std::ranges::any_of(
        finding.evidence, [&](const Origin& e) { return e.line == seen->origin.line && e.source == seen->origin.source; });
    if (of_finding && end != std::string::npos)
      return {make_action("let-python-search-dll-folder", {{"folder", path.substr(0, end)}})};
  }
  return {};
}

/// The stubs folders of LD_LIBRARY_PATH, each by its name.
Steps without_stubs(const Context& context, const Finding&) {
  Steps steps;
  std::string_view rest = variable(context.machine, "LD_LIBRARY_PATH");
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (folder.find("/stubs") != std::string_view::npos && steps.size() < 4)
      steps.push_back(make_action("remove-from-ld-library-path", {{"folder", std::string(folder)}}));
  }
  return steps;
}

/// "version `GLIBC_2.34' not found": the newest that is asked for.
Steps system_with_glibc(const Context& context, const Finding&) {
  std::optional<ReleaseVersion> most;
  for (const Observation* o : all_observed(context.machine, "symbol-version-not-found")) {
    std::string_view version = value_of(*o, "version");
    if (!version.starts_with("GLIBC_")) continue;
    version.remove_prefix(6);
    const auto one = ReleaseVersion::parse(version);
    if (one && (!most || *most < *one)) most = one;
  }
  if (!most) return {};
  return {make_action("use-newer-base-system", {{"glibc", most->text}}), or_action("take-older-release-of-package")};
}

// ---- Python ---------------------------------------------------------------------------------------------------------------

/// The framework that says of itself that it has no CUDA.
Steps gpu_build(const Context& context, const Finding& finding) {
  const PythonEnvironment* environment = shown_environment(context);
  std::string framework;
  if (environment != nullptr)
    for (const char* name : {"torch", "jax", "tensorflow"})
      if (framework.empty() && find_package(*environment, name) != nullptr) framework = name;
  const auto says = [&](std::string_view word) {
    return std::ranges::any_of(finding.evidence, [&](const Origin& e) { return e.text.find(word) != std::string::npos; });
  };
  if (framework.empty() && says("Torch not compiled with CUDA")) framework = "torch";
  if (framework.empty() && says("jaxlib")) framework = "jax";
  if (framework.empty() && says("tensorflow")) framework = "tensorflow";
  if (framework == "jax") return {make_action("install-jax-with-cuda")};
  if (observed(context.machine, "windows") != nullptr && framework == "torch") {
    PythonEnvironment own = environment == nullptr ? PythonEnvironment() : *environment;
    own.machine = "AMD64";
    Steps steps = reinstall_framework(context, own, framework);
    if (steps.empty()) steps = {make_action("install-torch-of-cuda-index")};
    return steps;
  }
  if (framework == "torch" && environment == nullptr && !context.in(World::Jetson))
    return {make_action("install-torch-of-cuda-index")};
  if (framework.empty() || environment == nullptr || context.in(World::Jetson)) return {};
  Steps steps = reinstall_framework(context, *environment, framework);
  if (steps.empty())
    steps = {framework == "torch" ? make_action("install-torch-of-cuda-index") : make_action("install-tensorflow-with-cuda")};
  return steps;
}

/// Wheels of two CUDA majors: all of the library go, and the framework brings back the one that it asks for.
Steps one_of_two_wheels(const Context& context, const Finding&) {
  const PythonEnvironment* environment = shown_environment(context);
  if (environment == nullptr) return {};
  std::vector<std::string> twice;
  for (const PythonPackage& package : environment->packages) {
    const std::size_t tail = package.name.rfind("-cu");
    if (!package.name.starts_with("nvidia-") || tail == std::string::npos) continue;
    const std::string stem = package.name.substr(0, tail + 3);
    const auto same = std::ranges::count_if(environment->packages, [&](const PythonPackage& other) {
      return other.name.starts_with(stem) && plain_number(std::string_view(other.name).substr(stem.size()));
    });
    if (same > 1) twice.push_back(package.name);
  }
  if (twice.empty() || twice.size() > 20) return {};
  const PythonPackage* torch = find_package(*environment, "torch");
  return {uninstall_packages(*environment, twice),
          torch != nullptr ? reinstall_package(*environment, *torch) : make_action("reinstall-cuda-wheels-of-framework")};
}

// ---- containers ---------------------------------------------------------------------------------------------------------

Steps uvm_into_container(const Context& context, const Finding&) {
  Steps steps = {make_action("load-nvidia-uvm"), make_action("load-nvidia-uvm-at-boot"), make_action("pass-uvm-into-container")};
  // Nodes look the same on a host and in a system container, and a text rarely tells which it is.
  if (!context.in(World::Container) && observed(context.machine, "container-command") == nullptr)
    steps.back() = or_action("pass-uvm-when-in-container");
  return steps;
}

struct Refinement {
  std::string_view kind;
  Steps (*steps)(const Context&, const Finding&);
};

constexpr Refinement refinements[] = {
    {"forward-compat-on-unsupported-gpu", driver_or_image},
    {"driver-too-old-for-wheel", driver_or_build},
    {"gpu-dropped-by-driver-branch", last_branch},
    {"gcc-too-new-for-nvcc", accepted_compiler},
    {"nvcc-vs-torch-cuda-mismatch", toolkit_of_torch},
    {"shell-startup-inconsistent", path_through_sudo},
    {"toolkit-version-not-what-framework-wants", release_of_library},
    {"cuda-runtime-lib-not-on-path", folder_of_library},
    {"windows-dll-search-path", folder_of_dll},
    {"stub-libcuda-loaded", without_stubs},
    {"glibc-too-old-for-wheel", system_with_glibc},
    {"cpu-only-framework", gpu_build},
    {"duplicate-nvidia-pip-libs", one_of_two_wheels},
    {"nvidia-uvm-device-missing", uvm_into_container},
};

/// Are these the steps of the record, which no rule chose?
bool is_of_record(const std::vector<Action>& repair, const RuleRecord& record) {
  return std::ranges::equal(
      repair, record.repair, {}, [](const Action& action) { return std::string_view(action.type); },
      [](const RecordAction& action) { return action.type; });
}

}  // namespace

void fit_repair_to_text(const RuleContext& context, Finding& finding) {
  const RuleRecord* record = find_rule_record(finding.kind);
  const auto* const refinement = std::ranges::find(refinements, std::string_view(finding.kind), &Refinement::kind);
  if (record == nullptr || refinement == std::end(refinements) || !is_of_record(finding.repair, *record)) return;
  Steps steps = refinement->steps(context, finding);
  if (!steps.empty()) finding.repair = std::move(steps);
}

}  // namespace gpuvet
