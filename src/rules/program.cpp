#include "rules/program.h"

#include <algorithm>

#include "knowledge/cuda_libraries.h"
#include "loader/library_family.h"
#include "rules/evidence.h"
#include "rules/framework_arch.h"
#include "rules/framework_facts.h"
#include "rules/program_facts.h"
#include "rules/software.h"
#include "rules/toolkit.h"

namespace gpuvet::program {
namespace {

constexpr std::size_t most_evidence = 8;

Action build_for(const RuleContext& context, const std::string& program, const ComputeCapability& gpu);

// ---- libraries ---------------------------------------------------------------------------------------------------------

enum class Place : std::uint8_t { Copy, Other, Nowhere };

Place place_of(const LackedLibrary& lacked) {
  if (!lacked.copy.empty()) return Place::Copy;
  return lacked.other.empty() ? Place::Nowhere : Place::Other;
}

std::string names_of(const std::vector<LackedLibrary>& libraries) {
  std::vector<std::string> names;
  for (const LackedLibrary& library : libraries) names.push_back(library.soname);
  return join(names, ", ");
}

bool is_toolkit_folder(const RuleContext& context, const std::string& folder) {
  const auto* toolkits = context.machine.toolkits.found.get();
  return toolkits != nullptr && std::ranges::any_of(*toolkits, [&](const Toolkit& toolkit) {
           const bool own = toolkit.environment.empty() && toolkit.path.size() > 4;
           return own && (folder.starts_with(toolkit.path + "/") || folder.starts_with(toolkit.real_path + "/"));
         });
}

/// "ld.so.cache, /lib64 and 3 more": where the loader looked.
Origin quote_search(const RuleContext& context, const LackedLibrary& lacked) {
  std::vector<std::string> folders;
  for (const TriedPlace& place : lacked.missing->tried) {
    const std::string folder = place.path.find('/') == std::string::npos ? place.rule : folder_of(place.path);
    if (!folder.empty() && std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  const std::size_t all = folders.size();
  if (all > 6) folders.resize(6);
  std::string text = "the loader looked in " + (folders.empty() ? std::string("its own folders") : join(folders, ", "));
  if (all > folders.size()) text += " and " + std::to_string(all - folders.size()) + " more";
  if (variable(context.machine, "LD_LIBRARY_PATH").empty()) text += "; LD_LIBRARY_PATH is not set";
  return {lacked.soname, 0, text};
}

/// Libraries of the first program that lacks some at this place; `at_start` ones first, else those of a part that it opens later.
struct Lack {
  const ProcessView* view = nullptr;
  std::vector<LackedLibrary> libraries;
  bool at_start = true;
};

std::optional<Lack> lack_at(const RuleContext& context, Place place) {
  for (const ProcessView& view : context.processes) {
    if (!is_program(view)) continue;
    const auto lacked = lacked_libraries(context, view);
    for (const bool at_start : {true, false}) {
      Lack lack{&view, lacked, at_start};
      std::erase_if(lack.libraries, [&](const LackedLibrary& l) { return l.at_start != at_start || place_of(l) != place; });
      if (!lack.libraries.empty()) return lack;
    }
  }
  return std::nullopt;
}

/// "needs libcufft.so.11", and of which CUDA that is a part.
std::string need_in_words(const RuleContext& context, const std::string& soname) {
  const auto library = cuda_library(context.knowledge, soname);
  const std::string releases = library ? library->belongs_to() : "";
  return "needs " + soname + (releases.empty() ? "" : ", which belongs to " + releases);
}

Finding start(const RuleContext& context, const Lack& lack) {
  Finding finding;
  finding.variant = lack.at_start ? "program" : "part";
  finding.parameters = {{"program", lack.view->label()},
                        {"libraries", names_of(lack.libraries)},
                        {"part", std::string(base_name(lack.libraries.front().needed_by))}};
  for (const LackedLibrary& library : lack.libraries) {
    if (finding.evidence.size() + 1 >= most_evidence) break;
    finding.evidence.push_back({library.needed_by, 0, need_in_words(context, library.soname)});
  }
  finding.evidence.push_back(quote_search(context, lack.libraries.front()));
  return finding;
}

/// The libraries of the CUDA that the program was built with; empty where its release is not told.
std::vector<Action> install_cuda_of(const RuleContext& context, const ProcessView& view) {
  const std::uint32_t major = cuda_major_of(context, view);
  const std::string release = major == 0 ? std::string() : advised_release(context, major);
  if (release.empty()) return {};
  return {install_cuda_libraries(release)};
}

bool lacks_cuda(const Lack& lack) {
  return std::ranges::any_of(lack.libraries, [](const LackedLibrary& l) { return is_cuda_library(library_stem(l.soname)); });
}

std::vector<Action> install_lacked(const RuleContext& context, const Lack& lack) {
  std::vector<Action> steps;
  if (lacks_cuda(lack)) steps = install_cuda_of(context, *lack.view);
  if (!steps.empty()) return steps;
  for (const LackedLibrary& library : lack.libraries) {
    if (steps.size() >= 4) break;
    steps.push_back(make_action("install-package-of-library", {{"library", library.soname}}));
  }
  return steps;
}

/// Programs try names and go on without: worth a note, no more. Where nothing else leads to the GPU the link is unknown instead.
std::optional<Finding> opened_by_name(const RuleContext& context) {
  for (const ProcessView& view : context.processes) {
    const auto missing = is_program(view) && has_way_to_cuda(context, view) ? names_not_found(context, view)
                                                                            : std::vector<const MissingLibrary*>();
    if (missing.empty()) continue;
    Finding finding;
    finding.variant = "by-name";
    finding.severity = Severity::Note;
    std::vector<std::string> names;
    for (const MissingLibrary* library : missing) {
      if (names.size() >= most_evidence) break;
      names.push_back(library->name);
      const LoadStep& step = view.plan->steps[static_cast<std::size_t>(library->step)];
      if (finding.evidence.size() < most_evidence) finding.evidence.push_back({step.caller, 0, "has the name " + library->name});
    }
    finding.parameters = {{"program", view.label()}, {"libraries", join(names, ", ")}};
    finding.repair = {make_action("install-package-of-library", {{"library", names.front()}})};
    return finding;
  }
  return std::nullopt;
}

// ---- GPU code ------------------------------------------------------------------------------------------------------------

bool is_older_than_all(const GpuCodeFile& file, const ComputeCapability& gpu) {
  bool any = false;
  for (const GpuCodeTarget& target : file.targets) {
    const auto parsed = parse_gpu_arch(target.arch);
    if (!parsed) continue;
    any = true;
    if (!(gpu < parsed->capability)) return false;
  }
  return any;
}

/// CUDA releases that compile for a GPU; `last` is empty while the newest known one does.
struct Releases {
  std::string first, last;
};

Releases releases_for(const Knowledge& knowledge, const ComputeCapability& gpu) {
  std::optional<CudaVersion> first, last, newest;
  for (const CudaRelease& release : knowledge.cuda_releases()) {
    const auto version = CudaVersion::parse(release.version);
    const auto low = ComputeCapability::parse(release.supported_sm_min),
               high = ComputeCapability::parse(release.supported_sm_max);
    if (!version || !low || !high) continue;
    if (!newest || *version > *newest) newest = version;
    if (gpu < *low || *high < gpu) continue;
    if (!first || *version < *first) first = version;
    if (!last || *version > *last) last = version;
  }
  if (!first) return {};
  return {first->text(), *last == *newest ? std::string() : last->text()};
}

Action build_for(const RuleContext& context, const std::string& program, const ComputeCapability& gpu) {
  const auto [first, last] = releases_for(context.knowledge, gpu);
  std::map<std::string, std::string> how{{"program", program}, {"capability", gpu.text()}};
  if (first.empty()) return make_action("find-program-for-gpu", how);
  how["digits"] = std::to_string(gpu.major) + std::to_string(gpu.minor);
  how["first"] = first;
  if (last.empty()) return make_action("build-program-for-gpu", how);
  how["last"] = last;
  return make_action("build-program-for-old-gpu", how);
}

std::optional<Finding> judge_code(const RuleContext& context, bool dropped) {
  const ProcessView* view = nullptr;
  std::optional<UnservedFile> found;
  for (const ProcessView& process : context.processes) {
    if (found || !is_program(process)) continue;
    found = unserved_file(context, process, CodeReason::NoImage);
    view = &process;
  }
  if (!found) return std::nullopt;
  const ProgramCode& code = found->code;
  const ComputeCapability capability = *code.gpu->identity.compute_capability;
  if (is_older_than_all(*code.file, capability) != dropped) return std::nullopt;
  Finding finding;
  finding.variant = "program";
  if (found->another_serves) finding.severity = Severity::Warning;
  finding.parameters = {{"program", view->label()},
                        {"file", file_name_of(*code.file)},
                        {"gpu", code.gpu->identity.label()},
                        {"capability", capability.text()},
                        {"targets", target_text(*code.file)}};
  finding.evidence = {quote_capability(*code.gpu), {code.file->path, 0, "GPU code for " + target_text(*code.file)}};
  finding.repair = {build_for(context, view->label(), capability)};
  return finding;
}

/// The newest CUDA that compiles for a GPU; of a GPU that all compile for: the oldest one.
CudaVersion cuda_for(const Releases& releases) {
  return CudaVersion::parse(releases.last.empty() ? releases.first : releases.last).value_or(CudaVersion());
}

/// Libraries of another CUDA: under the same names where its major is that of these, else with another build of the program.
std::vector<Action> other_cuda_for(const RuleContext& context, const ProcessView& view, std::string_view library,
                                   const ComputeCapability& gpu) {
  const Releases releases = releases_for(context.knowledge, gpu);
  if (releases.first.empty())
    return {make_action("find-program-for-gpu", {{"program", view.label()}, {"capability", gpu.text()}})};
  const CudaVersion cuda = cuda_for(releases);
  const std::string major = std::to_string(cuda.major);
  const auto known = cuda_library(context.knowledge, library);
  const auto majors = known ? known->cuda_majors() : std::vector<std::uint32_t>();
  std::vector<Action> steps;
  const std::map<std::string, std::string> how{
      {"program", view.label()}, {"major", major}, {"cuda", cuda.text()}, {"capability", gpu.text()}};
  const LibraryFile* main = main_file_of(view);
  const bool asked_for_itself = main != nullptr && main->soname == library;
  if (!asked_for_itself && (majors.size() != 1 || majors.front() != cuda.major))
    steps.push_back(make_action(releases.last.empty() ? "take-program-of-newer-cuda" : "take-program-of-older-cuda", how));
  const std::string release = advised_release(context, cuda.major);
  const auto soname = cuda_soname(context.knowledge, library_stem(library), cuda);
  const bool there = !steps.empty() && soname && loader_finds(context.machine, *soname);
  if (!release.empty() && !there && view.plan->kind != "python") steps.push_back(install_cuda_libraries(release));
  return steps;
}

/// A framework whose own code is known has rules for it.
bool is_judged_by_its_build(const RuleContext& context, const ProcessView& view) {
  if (is_program(view)) return false;
  for (const JudgedEnvironment& judged : context.environments) {
    if (judged.environment->prefix != view.plan->prefix) continue;
    for (const FrameworkInstall& install : wanted_installs(context, *judged.environment))
      if (install.framework == framework_of_package(view.plan->framework) && !gpu_code_of(context, install).empty()) return true;
  }
  return false;
}

std::optional<Finding> judge_libraries(const RuleContext& context, bool dropped) {
  for (const ProcessView& view : context.processes) {
    const auto libraries = unserved_libraries(context, view);
    if (libraries.empty() || is_judged_by_its_build(context, view)) continue;
    const ProgramCode& first = libraries.front();
    const ComputeCapability capability = *first.gpu->identity.compute_capability;
    if (is_older_than_all(*first.file, capability) != dropped) continue;
    Finding finding;
    finding.variant = "library";
    const auto runs = [](const ProgramCode& code) { return code.judgement.verdict != CodeVerdict::Fails; };
    // What it does by kernels of its own goes on.
    if (std::ranges::any_of(program_code(context, view), runs)) finding.severity = Severity::Warning;
    std::vector<std::string> names;
    finding.evidence = {quote_capability(*first.gpu)};
    for (const ProgramCode& library : libraries) {
      names.push_back(file_name_of(*library.file));
      if (finding.evidence.size() < most_evidence)
        finding.evidence.push_back({library.file->path, 0, "GPU code for " + target_text(*library.file)});
    }
    finding.parameters = {{"program", view.label()},
                          {"libraries", join(names, ", ")},
                          {"gpu", first.gpu->identity.label()},
                          {"capability", capability.text()},
                          {"targets", target_text(*first.file)}};
    finding.repair = other_cuda_for(context, view, base_name(first.file->path), capability);
    return finding;
  }
  return std::nullopt;
}

/// The oldest GPU that CUDA's libraries of this name serve; nothing: no table tells, or they have no kernels.
std::optional<ComputeCapability> oldest_served(const RuleContext& context, std::string_view soname) {
  const auto library = chooses_among_containers(soname) ? cuda_library(context.knowledge, soname) : std::nullopt;
  return library ? oldest_gpu(context.knowledge, library->cuda_majors()) : std::nullopt;
}

/// A library that is not here, of a CUDA that serves no GPU here: to install it helps nobody.
void put_other_cuda(const RuleContext& context, const Lack& lack, Finding& finding) {
  const auto gpus = usable_gpus(context);
  for (const LackedLibrary& library : lack.libraries) {
    const auto oldest = oldest_served(context, library.soname);
    const auto is_older = [&](const MachineGpu* gpu) { return *gpu->identity.compute_capability < *oldest; };
    if (!oldest || gpus.empty() || !std::ranges::all_of(gpus, is_older)) continue;
    const auto& gpu = gpus.front()->identity;
    finding.evidence.push_back({"release tables", 0,
                                library.soname + " of any release serves compute capability " + oldest->text() + " and newer; " +
                                    gpu.label() + " has " + gpu.compute_capability->text()});
    finding.repair = other_cuda_for(context, *lack.view, library.soname, *gpu.compute_capability);
    return;
  }
}

/// What is missing is to be installed, but not where it would serve no GPU here.
void prefer_what_serves(const RuleContext& context, const Lack& lack, bool of_cuda, Finding& finding) {
  if (of_cuda) put_other_cuda(context, lack, finding);
  put_missing_code_first(context, *lack.view, of_cuda, finding);
}

/// The CUDA that a program was built with is newer than all that compile for this GPU.
bool has_dropped(const RuleContext& context, const ProcessView& view, const ComputeCapability& gpu) {
  const auto last = CudaVersion::parse(releases_for(context.knowledge, gpu).last);
  return last && cuda_major_of(context, view) > last->major;
}

std::optional<Finding> judge_all_code(const RuleContext& context, bool dropped) {
  auto finding = judge_code(context, dropped);
  return finding ? finding : judge_libraries(context, dropped);
}

}  // namespace

void put_missing_code_first(const RuleContext& context, const ProcessView& view, bool of_cuda, Finding& finding) {
  const auto own = unserved_file(context, view, CodeReason::NoImage);
  const auto libraries = own ? std::vector<ProgramCode>() : unserved_libraries(context, view);
  if (own ? own->another_serves : libraries.empty() || !of_cuda) return;
  const ProgramCode& code = own ? own->code : libraries.front();
  const MachineGpu& gpu = *code.gpu;
  const ComputeCapability& capability = *gpu.identity.compute_capability;
  finding.evidence.push_back(
      {code.file->path, 0, "GPU code for " + target_text(*code.file) + "; none of it for " + gpu.identity.label()});
  // Where CUDA has dropped the GPU it takes another CUDA: what this one wants helps nobody.
  if (of_cuda && has_dropped(context, view, capability)) finding.repair.clear();
  const std::vector<Action> steps = own ? std::vector<Action>{build_for(context, view.label(), capability)}
                                        : other_cuda_for(context, view, base_name(code.file->path), capability);
  finding.repair.insert(finding.repair.begin(), steps.begin(), steps.end());
}

std::optional<Finding> library_not_on_path(const RuleContext& context) {
  const auto lack = lack_at(context, Place::Copy);
  if (!lack) return std::nullopt;
  Finding finding = start(context, *lack);
  const std::string folder = folder_of(lack->libraries.front().copy);
  finding.parameters["folder"] = folder;
  for (const LackedLibrary& library : lack->libraries) {
    if (finding.evidence.size() >= most_evidence) break;
    finding.evidence.push_back({library.copy, 0, "is on this machine, where the loader does not look"});
  }
  // A folder of the program's own may hold more than CUDA: it is not to serve the whole system.
  finding.repair = {is_toolkit_folder(context, folder)
                        ? make_action("add-cuda-folder-to-loader", {{"folder", folder}})
                        : make_action("start-with-library-path", {{"folder", folder}, {"program", lack->view->label()}})};
  prefer_what_serves(context, *lack, lacks_cuda(*lack), finding);
  return finding;
}

std::optional<Finding> library_of_other_release(const RuleContext& context) {
  const auto lack = lack_at(context, Place::Other);
  if (!lack) return std::nullopt;
  Finding finding = start(context, *lack);
  std::vector<std::string> others;
  for (const LackedLibrary& library : lack->libraries) {
    const std::string name(base_name(library.other));
    if (std::ranges::find(others, name) == others.end()) others.push_back(name);
    if (finding.evidence.size() < most_evidence) finding.evidence.push_back({library.other, 0, name + ", not " + library.soname});
  }
  finding.parameters["found"] = join(others, ", ");
  finding.repair = install_lacked(context, *lack);
  prefer_what_serves(context, *lack, true, finding);
  return finding;
}

std::optional<Finding> library_missing(const RuleContext& context) {
  const auto lack = lack_at(context, Place::Nowhere);
  if (!lack) return opened_by_name(context);
  Finding finding = start(context, *lack);
  if (is_for_other_architecture(context, *lack->view)) {
    const std::string &made_for = main_file_of(*lack->view)->machine, here = *context.machine.os.architecture.get();
    finding.variant = "architecture";
    finding.parameters["made_for"] = made_for;
    finding.parameters["here"] = here;
    finding.evidence = {{lack->view->label(), 0, "ELF machine " + made_for},
                        quote(context.machine.os.architecture, "uname", here)};
    finding.repair = {make_action("take-build-for-architecture", {{"program", lack->view->label()}, {"architecture", here}})};
    return finding;
  }
  const LackedLibrary& first = lack->libraries.front();
  if (!first.blocked_by.empty()) {
    finding.variant = "damaged";
    finding.parameters["path"] = first.blocked_by;
    finding.parameters["error"] = first.error;
    finding.evidence = {{first.needed_by, 0, "needs " + first.soname}, {first.blocked_by, 0, first.error}};
    finding.repair = {make_action("install-package-of-library", {{"library", first.soname}})};
    return finding;
  }
  const bool of_cuda = lacks_cuda(*lack);
  if (!of_cuda) finding.variant = "other-library";
  finding.repair = install_lacked(context, *lack);
  prefer_what_serves(context, *lack, of_cuda, finding);
  return finding;
}

std::optional<Finding> arch_missing(const RuleContext& context) { return judge_all_code(context, false); }
std::optional<Finding> arch_dropped(const RuleContext& context) { return judge_all_code(context, true); }

}  // namespace gpuvet::program
