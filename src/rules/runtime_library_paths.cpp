// A framework loads CUDA libraries by name: where the loader does not find them, the machine may still have them elsewhere, in
// another release, or not at all.

#include <algorithm>
#include <set>

#include "rules/cuda_needs.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/framework_packages.h"
#include "rules/framework_repair.h"
#include "rules/program.h"
#include "rules/runtime_library.h"
#include "rules/software.h"
#include "rules/toolkit.h"

namespace gpuvet {
namespace {

Finding start(const RuleContext& context, const PythonEnvironment& environment, const CudaNeeds& needs,
              const std::vector<LocatedLibrary>& libraries) {
  Finding finding;
  finding.parameters = {{"framework", needs.label},
                        {"libraries", list_sonames(libraries)},
                        {"cuda", needs.cuda},
                        {"environment", label_of(environment)}};
  finding.evidence = needs.evidence;
  // Without its libraries torch cannot even be imported; the others fall back to the CPU.
  if (needs.framework != "torch") finding.severity = by_purpose(context);
  if (another_framework_has_cuda(context, environment, needs.framework)) finding.severity = Severity::Note;
  return finding;
}

/// The loader's own words about where it looks: what LD_LIBRARY_PATH is, and that no configured folder has the library.
void quote_search(const Machine& machine, std::vector<Origin>& evidence) {
  if (!variable(machine, "LD_LIBRARY_PATH").empty()) {
    evidence.push_back(quote_variable(machine, "LD_LIBRARY_PATH"));
  } else {
    evidence.push_back({"environment", 0, "LD_LIBRARY_PATH is not set"});
  }
  if (machine.loader.cache.is_known()) evidence.push_back({"/etc/ld.so.cache", 0, "no entry for these libraries"});
}

/// Its CUDA's libraries, and the cuDNN that it names.
Action install_libraries_of(const CudaNeeds& needs) {
  Action action = install_cuda_libraries(needs.cuda);
  const auto cudnn = std::ranges::find(needs.libraries, "cudnn", &LibraryNeed::family);
  if (cudnn == needs.libraries.end()) return action;
  action.type = "install-cuda-libraries-and-cudnn";
  action.parameters["cudnn"] = std::to_string(cudnn->major);
  action.parameters["major"] = std::to_string(needs.cuda_major);
  return action;
}

bool brings_wheels(const CudaNeeds& needs) {
  const auto version = ReleaseVersion::parse(needs.package->version);
  return needs.framework == "tensorflow" && version && *version >= *ReleaseVersion::parse("2.14");
}

/// The same release with the libraries that its extra names; empty: this framework has no such extra.
std::vector<Action> install_own_libraries(const PythonEnvironment& environment, const CudaNeeds& needs) {
  const auto version = ReleaseVersion::parse(needs.package->version);
  if (!version) return {};
  const std::string suffix = needs.cuda_major >= 13 ? "" : "-cu" + std::to_string(needs.cuda_major);
  const std::string kept = "==" + version->public_text();
  if (brings_wheels(needs)) return {install_packages(environment, {"tensorflow[and-cuda]" + kept})};
  if (needs.framework == "onnxruntime" && needs.cuda_major == 12 && *version >= *ReleaseVersion::parse("1.21"))
    return {install_packages(environment, {"onnxruntime-gpu[cuda,cudnn]" + kept})};
  if (needs.framework == "jax" && needs.package->name.starts_with("jax-cuda"))
    return {install_packages(environment, {"jax[cuda" + std::to_string(needs.cuda_major) + "]" + kept})};
  if (!needs.requirements.empty()) return {install_packages(environment, needs.requirements)};
  // Up to 13 CuPy searches toolkits (CUDA_PATH, nvcc on PATH, /usr/local/cuda) and the loader, not NVIDIA's wheels.
  if (needs.framework == "cupy" && *version < *ReleaseVersion::parse("14")) return {};
  if (needs.framework == "torch" || needs.framework == "cupy") {
    std::vector<std::string> wheels;
    for (const LibraryNeed& need : needs.libraries) {
      const bool own_suffix = need.family == "cudnn" || need.family == "nccl";
      wheels.push_back("nvidia-" + need.family + (own_suffix ? "-cu" + std::to_string(needs.cuda_major) : suffix));
    }
    return {install_packages(environment, wheels)};
  }
  return {};
}

void append(std::vector<Action>& list, std::vector<Action> more) { std::ranges::move(more, std::back_inserter(list)); }

/// A toolkit of the CUDA major that CuPy's wheel is for, or the first CuPy that looks into NVIDIA's wheels.
std::vector<Action> serve_old_cupy(const RuleContext& context, const PythonEnvironment& environment, const CudaNeeds& needs) {
  const auto python = python_version(environment);
  const bool may_update = needs.cuda_major >= 12 && python && *python >= *ReleaseVersion::parse("3.10");
  const std::string release = advised_release(context, needs.cuda_major);
  if (!may_update && !release.empty()) return install_toolkit_actions(context, release);
  if (!may_update) return {};
  return {install_packages(environment, {"cupy-cuda" + std::to_string(needs.cuda_major) + "x[ctk]>=14"})};
}

/// The releases with the extra are for CUDA 12 and Python 3.9 on.
bool may_update_tensorflow(const RuleContext& context, const PythonEnvironment& environment) {
  const auto python = python_version(environment);
  const auto driver = running_driver(context);
  return python && *python >= *ReleaseVersion::parse("3.9") && driver && fits(fit_of(context, *driver, CudaVersion{12, 3}));
}

struct Judged {
  const PythonEnvironment* environment;
  CudaNeeds needs;
  std::vector<LocatedLibrary> missing;
};

/// Every framework here that lacks libraries.
std::vector<Judged> lacking(const RuleContext& context) {
  std::vector<Judged> all;
  if (!gpu_is_meant(context)) return all;
  for (const JudgedEnvironment& judged : context.environments) {
    for (CudaNeeds& needs : cuda_needs(context, *judged.environment)) {
      auto missing = missing_libraries(context, *judged.environment, needs);
      if (!missing.empty()) all.push_back({judged.environment, std::move(needs), std::move(missing)});
    }
  }
  return all;
}

}  // namespace

namespace runtime_library {

std::optional<Finding> not_on_path(const RuleContext& context) {
  if (!context.machine.environment_seen.value_or(false)) return std::nullopt;  // LD_LIBRARY_PATH may name the folder
  for (Judged& judged : lacking(context)) {
    auto off_path = judged.missing;
    std::erase_if(off_path, [](const LocatedLibrary& l) { return l.place != LibraryPlace::OffPath; });
    if (off_path.empty()) continue;
    Finding finding = start(context, *judged.environment, judged.needs, off_path);
    const std::string folder = library_folder(*off_path.front().toolkit);
    finding.parameters["folder"] = folder;
    for (const LocatedLibrary& library : off_path) finding.evidence.push_back({folder, 0, library.need.soname});
    quote_search(context.machine, finding.evidence);
    // One way, not a list of ways: the toolkit where it has everything, else the wheels where they do.
    const bool all_there = off_path.size() == judged.missing.size();
    if (!all_there) finding.repair = install_own_libraries(*judged.environment, judged.needs);
    if (!finding.repair.empty()) {
      finding.variant = "wheels";
      finding.parameters["missing"] = list_sonames(judged.missing);
      return finding;
    }
    finding.repair.push_back(make_action("add-cuda-folder-to-loader", {{"folder", folder}}));
    if (!all_there) finding.repair.push_back(install_libraries_of(judged.needs));
    return finding;
  }
  return program::library_not_on_path(context);
}

std::optional<Finding> other_release(const RuleContext& context) {
  for (Judged& judged : lacking(context)) {
    if (any_at(judged.missing, LibraryPlace::OffPath) || !any_at(judged.missing, LibraryPlace::OtherRelease)) continue;
    Finding finding = start(context, *judged.environment, judged.needs, judged.missing);
    std::set<std::string> others;
    for (const LocatedLibrary& library : judged.missing) {
      if (library.place != LibraryPlace::OtherRelease) continue;
      const std::string where = library.toolkit != nullptr ? library_folder(*library.toolkit) : "";
      finding.evidence.push_back({where.empty() ? library.other : where, 0, library.other + ", not " + library.need.soname});
      others.insert(library.other.substr(library.other.rfind('/') + 1));
    }
    finding.parameters["found"] = join(std::vector<std::string>(others.begin(), others.end()), ", ");
    append(finding.repair, install_own_libraries(*judged.environment, judged.needs));
    if (finding.repair.empty()) finding.repair.push_back(install_libraries_of(judged.needs));
    return finding;
  }
  return program::library_of_other_release(context);
}

std::optional<Finding> nowhere(const RuleContext& context) {
  for (Judged& judged : lacking(context)) {
    // TensorFlow has a kind of its own for this.
    if (judged.needs.framework == "tensorflow") continue;
    if (any_at(judged.missing, LibraryPlace::OffPath) || any_at(judged.missing, LibraryPlace::OtherRelease)) continue;
    Finding finding = start(context, *judged.environment, judged.needs, judged.missing);
    for (const LocatedLibrary& library : judged.missing)
      finding.evidence.push_back(
          {"loader search path", 0, library.need.soname + " is not there, in no toolkit, and no wheel brings it"});
    append(finding.repair, install_own_libraries(*judged.environment, judged.needs));
    if (!judged.needs.requirements.empty()) finding.variant = "requirements";
    if (finding.repair.empty() && judged.needs.framework == "cupy") {
      finding.variant = "cupy";
      append(finding.repair, serve_old_cupy(context, *judged.environment, judged.needs));
    }
    if (finding.repair.empty()) finding.repair.push_back(install_libraries_of(judged.needs));
    return finding;
  }
  return program::library_missing(context);
}

}  // namespace runtime_library

namespace framework {

std::optional<Finding> tensorflow_libraries_missing(const RuleContext& context) {
  for (Judged& judged : lacking(context)) {
    if (judged.needs.framework != "tensorflow") continue;
    if (any_at(judged.missing, LibraryPlace::OffPath) || any_at(judged.missing, LibraryPlace::OtherRelease)) continue;
    Finding finding = start(context, *judged.environment, judged.needs, judged.missing);
    for (const LocatedLibrary& library : judged.missing)
      finding.evidence.push_back({"loader search path", 0, library.need.soname + " is not there, and no wheel brings it"});
    finding.repair = install_own_libraries(*judged.environment, judged.needs);
    if (!finding.repair.empty()) return finding;
    // Before 2.14 there is no such extra: a newer release, or the system's libraries.
    finding.variant = "old-release";
    if (may_update_tensorflow(context, *judged.environment))
      finding.repair.push_back(install_packages(*judged.environment, {"tensorflow[and-cuda]>=2.14"}));
    finding.repair.push_back(install_libraries_of(judged.needs));
    return finding;
  }
  return std::nullopt;
}

}  // namespace framework
}  // namespace gpuvet
