// Toolkits in a text: an nvcc that is not found, and what the same text shows of where it is.

#include <algorithm>

#include "knowledge/gpu_targets.h"
#include "rules/evidence.h"
#include "rules/observed.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Context = RuleContext;
using Result = std::optional<Finding>;

const Observation* not_found(const Context& context) { return observed(context.machine, "nvcc-not-found"); }

/// The folder behind PATH's default, which no setting has to name.
bool is_default_folder(std::string_view folder) { return folder == "/usr/local/cuda" || folder == "/usr/local/cuda/"; }

/// /usr/local/cuda leads to a folder of which the text shows that it is not there.
Result broken_link(const Context& context) {
  for (const Observation* link : all_observed(context.machine, "cuda-link"))
    for (const Observation* absent : all_observed(context.machine, "toolkit-folder-missing"))
      if (value_of(*link, "target") == value_of(*absent, "path")) return text_finding(0.95, {link, absent, not_found(context)});
  // nvcc is not where the link leads, and the folders that a listing shows are others.
  const Observation* missing = observed(context.machine, "nvcc-not-found", {{"path", "/usr/local/cuda/bin/nvcc"}});
  const auto folders = all_observed(context.machine, "toolkit-folder");
  for (const Observation* link : all_observed(context.machine, "cuda-link")) {
    if (missing == nullptr || folders.empty()) break;
    const std::string_view target = value_of(*link, "target");
    const auto is_target = [&](const Observation* folder) {
      return target.ends_with("/" + std::string(value_of(*folder, "folder")));
    };
    if (std::ranges::none_of(folders, is_target)) return text_finding(0.85, {missing, link, folders.front()});
  }
  return std::nullopt;
}

/// nvcc was looked for below the folder that CUDA_HOME names, and is not there.
Result wrong_home(const Context& context) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"}) {
    const std::string_view folder = variable(context.machine, name);
    if (folder.size() < 2 || is_default_folder(folder)) continue;
    for (const Observation* missing : all_observed(context.machine, "nvcc-not-found")) {
      const std::string_view path = value_of(*missing, "path");
      if (!path.starts_with(folder) || path.size() == folder.size()) continue;
      Finding finding = text_finding(0.9, {missing});
      finding.evidence.push_back(quote_variable(context.machine, name));
      return finding;
    }
  }
  return std::nullopt;
}

/// The text shows the file that the shell does not find.
Result not_on_path(const Context& context) {
  const Observation* missing = not_found(context);
  const Observation* file = observed(context.machine, "nvcc-path");
  // A file was looked for, not a command; or the shell that shows it is another one.
  if (missing == nullptr || file == nullptr || !value_of(*missing, "path").empty() || missing->place != file->place)
    return std::nullopt;
  return text_finding(0.9, {missing, file});
}

/// CMake gets nothing out of nvcc by its name, and the text runs it by its path.
Result only_by_path(const Context& context) {
  const Observation* failed = observed(context.machine, "cmake-cuda-compiler-broken");
  const Observation* by_path = nullptr;
  for (const Observation* version : all_observed(context.machine, "nvcc-version")) {
    const std::string_view program = value_of(*version, "program");
    if (program == "nvcc") return std::nullopt;
    if (program.ends_with("/bin/nvcc") && program != "/usr/bin/nvcc") by_path = version;
  }
  if (failed == nullptr || by_path == nullptr || failed->place != by_path->place) return std::nullopt;
  return text_finding(0.7, {failed, by_path});
}

/// One shell runs nvcc, and a script that something else started does not find it.
Result other_shell(const Context& context) {
  const Observation* runs = observed(context.machine, "nvcc-version");
  const Observation* starter = observed(context.machine, "starts-without-login");
  const Observation* missing = not_found(context);
  if (runs == nullptr || missing == nullptr || starter == nullptr || !value_of(*missing, "path").empty() ||
      runs->place != missing->place)
    return std::nullopt;
  return text_finding(0.92, {missing, runs, starter});
}

/// NVIDIA's images "runtime" and "base" have no compiler.
Result image_without_compiler(const Context& context) {
  const Observation* missing = not_found(context);
  if (missing == nullptr) return std::nullopt;
  for (const Observation* image : all_observed(context.machine, "container-image")) {
    const std::string_view name = value_of(*image, "image");
    const bool of_nvidia = name.starts_with("nvidia/cuda:") || name.find("/nvidia/cuda:") != std::string_view::npos;
    const bool without = name.find("-runtime") != std::string_view::npos || name.find("-base") != std::string_view::npos;
    if (of_nvidia && without) return text_finding(0.93, {missing, image});
  }
  return std::nullopt;
}

/// The runtime of CUDA is there as a package of conda or pip, or nvcc was looked for in a folder of conda; neither brings nvcc.
Result packages_without_compiler(const Context& context) {
  const Observation* missing = not_found(context);
  if (missing == nullptr || observed(context.machine, "nvcc-path") != nullptr) return std::nullopt;
  for (const Observation* file : all_observed(context.machine, "nvcc-not-found")) {
    const std::string_view path = value_of(*file, "path");
    for (const char* folder : {"/pkgs/cudatoolkit-", "/envs/", "conda3/bin/", "mambaforge/bin/"})
      if (path.find(folder) != std::string_view::npos) return text_finding(0.8, {file});
  }
  constexpr auto is_runtime = [](const PythonPackage& package) {
    return package.name == "cudatoolkit" || package.name == "cuda-cudart" || package.name == "cuda-runtime" ||
           package.name.starts_with("nvidia-cuda-runtime") ||
           package.name.starts_with("nvidia-cuda-nvcc-cu1");  // of CUDA 11 and 12: ptxas alone
  };
  const auto* environments = context.machine.python.environments.get();
  if (environments == nullptr) return std::nullopt;
  for (const PythonEnvironment& environment : *environments) {
    const auto found = std::ranges::find_if(environment.packages, is_runtime);
    if (found == environment.packages.end()) continue;
    Finding finding = text_finding(0.85, {missing});
    finding.evidence.push_back(quote(*found));
    return finding;
  }
  return std::nullopt;
}

/// CMake took a folder for a toolkit, and got no compiler by its name.
Result found_without_compiler(const Context& context) {
  const Observation* toolkit = observed(context.machine, "cmake-toolkit-found");
  if (toolkit == nullptr) return std::nullopt;
  for (const Observation* missing : all_observed(context.machine, "nvcc-not-found"))
    if (missing->signature == "cmake-cuda-compiler-not-found" && missing->place == toolkit->place)
      return text_finding(0.7, {missing, toolkit});
  return std::nullopt;
}

/// The part of CUDA that CMake did not find: named in the lines before it says so.
const Observation* absent_target(const Context& context) {
  constexpr std::int64_t lines_between = 6;
  for (const Observation* absent : all_observed(context.machine, "cmake-target-absent"))
    for (const Observation* target : all_observed(context.machine, "cmake-cuda-target")) {
      const std::int64_t distance = absent->origin.line - target->origin.line;
      if (distance >= 0 && distance <= lines_between) return target;
    }
  return nullptr;
}

constexpr std::string_view old_nvtx = "nvToolsExt";

Result no_library_for_target(const Context& context) {
  const Observation* target = absent_target(context);
  if (target == nullptr || value_of(*target, "target") == old_nvtx) return std::nullopt;
  const std::string name(value_of(*target, "target"));
  Finding finding = text_finding(0.85, {target, observed(context.machine, "cmake-target-absent")});
  finding.variant = "cmake-target";
  finding.parameters = {{"target", name}, {"library", "lib" + name}};
  finding.confirm = "find /usr/local/cuda/ -name 'lib" + name + "*'";
  return finding;
}

/// NVTX 2, which newer toolkits do not have.
Result no_old_nvtx(const Context& context) {
  const Observation* missing = observed(context.machine, "nvtx2-missing");
  if (const Observation* target = absent_target(context); missing == nullptr && target != nullptr)
    if (value_of(*target, "target") == old_nvtx) missing = target;
  if (missing == nullptr) missing = observed(context.machine, "linker-library-missing", {{"library", old_nvtx}});
  if (missing == nullptr) return std::nullopt;
  Finding finding = text_finding(0.75, {missing});
  finding.variant = "nvtx";
  finding.repair = {make_action("take-source-for-toolkit")};
  finding.confirm = "nvcc --version | tail -2; find /usr/local/cuda/ -name '*nvToolsExt*'";
  return finding;
}

/// Is nvcc of this release known to have the architecture?
bool compiles_for(const Knowledge& knowledge, const CudaVersion& release, const ComputeCapability& wanted) {
  const auto known = knowledge.cuda_release(release.text());
  if (!known) return false;
  const auto least = ComputeCapability::parse(known->supported_sm_min),
             greatest = ComputeCapability::parse(known->supported_sm_max);
  return least && greatest && !(wanted < *least) && !(*greatest < wanted);
}

/// nvcc does not know the architecture, and the text shows a newer one that does.
Result newer_nvcc_there(const Context& context) {
  const Observation* refused = observed(context.machine, "arch-unknown-to-compiler");
  if (refused == nullptr) return std::nullopt;
  std::string_view name = value_of(*refused, "arch");
  if (name.empty()) name = value_of(*refused, "value");
  const auto wanted = parse_gpu_arch(name);
  if (!wanted) return std::nullopt;
  const Observation* newest = nullptr;
  std::optional<CudaVersion> newest_release;
  bool older = false;
  for (const Observation* nvcc : all_observed(context.machine, "nvcc-version")) {
    const auto release = CudaVersion::parse(value_of(*nvcc, "release"));
    if (!release || nvcc->place != refused->place) continue;
    const bool by_path =
        value_of(*nvcc, "program").ends_with("/bin/nvcc") && compiles_for(context.knowledge, *release, wanted->capability);
    if (!by_path)
      older = true;
    else if (!newest_release || *newest_release < *release)
      newest = nvcc, newest_release = release;
  }
  if (newest == nullptr || !older) return std::nullopt;
  std::string folder(value_of(*newest, "program"));
  folder.resize(folder.rfind('/'));
  Finding finding = text_finding(0.95, {refused, newest});
  finding.variant = "newer-there";
  finding.parameters = {{"folder", folder}, {"cuda", newest_release->text()}};
  finding.repair = {make_action("put-folder-first-on-path", {{"folder", folder}}), make_action("build-again-from-scratch")};
  return finding;
}

/// The source is older than the toolkit: it uses what a release removed.
Result removed_from_cuda(const Context& context) {
  const Observation* removed = observed(context.machine, "cuda-api-removed");
  if (removed == nullptr) return std::nullopt;
  Finding finding = text_finding(0.9, {removed});
  finding.variant = "api-removed";
  std::string name = "texture";
  for (const auto& [key, value] : removed->parameters)
    if (key != "since" && !value.empty()) name = value;
  finding.parameters = {{"name", name}, {"since", std::string(value_of(*removed, "since"))}};
  finding.repair = {make_action("take-source-for-toolkit")};
  finding.confirm = "nvcc --version | tail -2";
  return finding;
}

/// cudarc names the toolkit by CUDA_VERSION: 11040 is 11.4.
Result crate_for_other_cuda(const Context& context) {
  const Observation* found = observed(context.machine, "crate-does-not-know-toolkit");
  if (found == nullptr) return std::nullopt;
  const std::string digits(value_of(*found, "found"));
  if (digits.size() < 4 || digits.size() > 5) return std::nullopt;
  const int number = std::stoi(digits);
  Finding finding = text_finding(0.85, {found});
  finding.variant = "crate";
  finding.parameters = {{"found", std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10)}};
  finding.repair = {make_action("take-source-for-toolkit")};
  finding.confirm = "nvcc --version | tail -2; cargo tree -i cudarc";
  return finding;
}

/// A build refuses the release of its nvcc.
Result nvcc_below_minimum(const Context& context) {
  const Observation* refused = observed(context.machine, "nvcc-below-minimum");
  if (refused == nullptr) return std::nullopt;
  Finding finding = text_finding(0.85, {refused});
  finding.variant = "minimum";
  finding.parameters = {{"program", std::string(value_of(*refused, "program"))},
                        {"wanted", std::string(value_of(*refused, "wanted"))}};
  finding.confirm = "echo \"[$CUDA_HOME]\"; which -a nvcc; nvcc -V | tail -2";
  return finding;
}

/// The first CUDA whose nvcc takes the standard.
Result nvcc_without_standard(const Context& context) {
  const Observation* refused = observed(context.machine, "nvcc-standard-not-known");
  if (refused == nullptr) return std::nullopt;
  const std::string standard(value_of(*refused, "standard"));
  Finding finding = text_finding(0.85, {refused});
  finding.variant = "standard";
  finding.parameters = {{"standard", standard}, {"cuda", standard == "14" ? "9.0" : standard == "17" ? "11.0" : "12.0"}};
  finding.repair = {make_action("use-newer-toolkit-release")};
  finding.confirm = "which -a nvcc; nvcc --version | tail -2; echo \"[$CUDA_HOME]\"";
  return finding;
}

Result clang_without_toolkit(const Context& context) {
  return finding_of_message(context.machine, "clang-finds-no-cuda", 0.55, "clang", "install-any-cuda-toolkit");
}

/// numba needs no nvcc, but libNVVM.
Result no_nvvm(const Context& context) {
  return finding_of_message(context.machine, "nvvm-missing", 0.6, "nvvm", "install-nvvm-for-numba");
}

/// NVRTC needs no toolkit, but the runtime's headers.
Result no_headers(const Context& context) {
  const Observation* missing = observed(context.machine, "cuda-headers-missing");
  if (missing == nullptr) return std::nullopt;
  Finding finding = text_finding(0.75, {missing});
  finding.variant = "headers";
  finding.parameters = {{"header", std::string(value_of(*missing, "header"))}};
  finding.repair = {make_action("install-cuda-headers-for-cupy")};
  finding.confirm = "python3 -c \"import cupy; cupy.show_config()\"   # CUDA Root";
  return finding;
}

/// `which -a nvcc`: several, and CUDA_HOME names another one than the first.
Result other_nvcc_first(const Context& context) {
  const auto files = all_observed(context.machine, "nvcc-path");
  if (files.size() < 2 || value_of(*files[0], "all") != "yes" || value_of(*files[1], "all") != "yes") return std::nullopt;
  const std::string_view home = variable(context.machine, "CUDA_HOME"), first = value_of(*files[0], "path");
  const bool names_later = std::any_of(files.begin() + 1, files.end(), [&](const Observation* file) {
    return !home.empty() && value_of(*file, "path").starts_with(home) && value_of(*file, "all") == "yes";
  });
  if (names_later && first.starts_with(home)) return std::nullopt;
  // The distribution's toolkit, and NVIDIA's behind it.
  const bool distribution = first == "/usr/bin/nvcc" && std::any_of(files.begin() + 1, files.end(), [](const Observation* file) {
                              return value_of(*file, "path").starts_with("/usr/local/cuda") && value_of(*file, "all") == "yes";
                            });
  if (!names_later) return distribution ? Result(text_finding(0.75, {files[0], files[1]})) : std::nullopt;
  Finding finding = text_finding(0.85, {files[0], files[1]});
  finding.evidence.push_back(quote_variable(context.machine, "CUDA_HOME"));
  return finding;
}

constexpr Rule rules[] = {
    {"cuda-symlink-broken", broken_link},
    {"cuda-home-wrong", wrong_home},
    {"nvcc-too-old-for-gpu-arch", newer_nvcc_there},
    {"nvcc-not-on-path", not_on_path},
    {"nvcc-not-on-path", only_by_path},
    {"shell-startup-inconsistent", other_shell},
    {"nvcc-not-on-path", found_without_compiler},
    {"toolkit-not-installed", no_nvvm},
    {"toolkit-not-installed", clang_without_toolkit},
    {"toolkit-incomplete", no_library_for_target},
    {"toolkit-version-not-what-framework-wants", no_old_nvtx},
    {"toolkit-version-not-what-framework-wants", removed_from_cuda},
    {"toolkit-version-not-what-framework-wants", crate_for_other_cuda},
    {"toolkit-version-not-what-framework-wants", nvcc_without_standard},
    {"nvcc-vs-torch-cuda-mismatch", nvcc_below_minimum},
    {"toolkit-not-installed", no_headers},
    {"nvcc-missing-runtime-only", image_without_compiler},
    {"nvcc-missing-runtime-only", packages_without_compiler},
    {"nvcc-shadowed-by-other-toolkit", other_nvcc_first},
};

}  // namespace

std::span<const Rule> observed_toolkit_rules() { return rules; }

}  // namespace gpuvet
