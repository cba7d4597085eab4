// Pairs of CUDA libraries that do not work together, as the loader would put them into one process: proven by a symbol that the
// chosen copy lacks, or by cuDNN's own demand that all its parts are of one release.

#include <algorithm>
#include <set>

#include "loader/library_family.h"
#include "rules/evidence.h"
#include "rules/process_repair.h"
#include "rules/runtime_library.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Kind = SymbolConflict::Kind;

/// The first proof that something in the process wants of this library what the chosen copy does not have.
const SymbolConflict* proof(const ProcessView& view, std::string_view stem) {
  for (const SymbolConflict& conflict : view.conflicts) {
    if (conflict.note || (conflict.kind != Kind::SymbolMissing && conflict.kind != Kind::VersionMissing)) continue;
    const LoadedObject* owner = object_at(view, conflict.expected_in);
    if (owner == nullptr || object_at(view, conflict.wanted_by) == nullptr) continue;
    if (stem_of(*owner) == stem) return &conflict;
  }
  return nullptr;
}

std::string what_is_missing(const SymbolConflict& conflict) {
  return conflict.symbols.empty() ? "version " + conflict.version : conflict.symbols.front();
}

/// The copy that the same process would get without the variables, where it is another file.
const LoadedObject* plain_copy(const ProcessView& view, const LoadedObject& chosen) {
  for (const LoadedObject* other : loaded_libraries(view.plain, stem_of(chosen)))
    if (other->file->soname == chosen.file->soname && other->file->real_path != chosen.file->real_path) return other;
  return nullptr;
}

std::optional<Finding> judge_proof(const RuleContext& context, std::string_view stem, std::string_view family) {
  for (const ProcessView& view : sure_forecasts(context)) {
    const SymbolConflict* conflict = proof(view, stem);
    if (conflict == nullptr) continue;
    const LoadedObject& owner = *object_at(view, conflict->expected_in);
    const LoadedObject& wanter = *object_at(view, conflict->wanted_by);
    Finding finding;
    finding.parameters = {{"process", view.label()},
                          {"library", std::string(base_name(owner.path))},
                          {"path", owner.path},
                          {"version", words_of_release(owner)},
                          {"wanted_by", std::string(base_name(wanter.path))},
                          {"symbol", what_is_missing(*conflict)},
                          {"rule", owner.rule}};
    finding.evidence = {gpuvet::quote(view, owner),
                        gpuvet::quote(view, wanter),
                        {wanter.path, 0, "wants " + what_is_missing(*conflict) + ", which " + owner.path + " does not have"}};
    if (by_variable(owner)) finding.evidence.push_back(quote_variable(context.machine, owner.rule));
    if (const LoadedObject* other = plain_copy(view, owner))
      finding.evidence.push_back(
          {other->path, 0, "the copy that the process gets without the variable: " + words_of_release(*other)});
    finding.variant = by_variable(owner) ? "" : "other";
    finding.repair = use_right_copy(context, view, owner, family);
    return finding;
  }
  return std::nullopt;
}

// ---- cuDNN -------------------------------------------------------------------------------------------------------------

struct CudnnPart {
  const LoadedObject* object = nullptr;
  std::string release;
};

/// The parts of cuDNN whose release is known, of the major of the first. The front library (libcudnn.so.9) only hands calls on:
/// one of another release works with any whole set of parts (cudnnOpsVersionCheck and its like, cuDNN 9.1, 9.10, 9.19, 9.28).
std::vector<CudnnPart> cudnn_parts(const ProcessView& view) {
  std::vector<CudnnPart> parts;
  std::string suffix;
  for (const LoadedObject& object : view.now.objects) {
    if (object.file == nullptr || !stem_of(object).starts_with("libcudnn_")) continue;
    const std::string& soname = object.file->soname;
    const std::string own = soname.substr(std::min(soname.find(".so"), soname.size()));
    if (suffix.empty()) suffix = own;
    const std::string* release = object.file->library_version.get();
    if (release != nullptr && own == suffix) parts.push_back({&object, *release});
  }
  return parts;
}

/// The one that answers cudnnGetVersion: libcudnn_graph from cuDNN 9 on, libcudnn itself before.
std::optional<CudnnPart> cudnn_that_answers(const ProcessView& view) {
  for (const char* stem : {"libcudnn_graph", "libcudnn"}) {
    const LoadedObject* object = loaded_library(view.now, stem);
    if (object == nullptr || (stem == std::string_view("libcudnn") && object->file->soname != "libcudnn.so.8")) continue;
    if (const std::string* release = object->file->library_version.get()) return CudnnPart{object, *release};
  }
  return std::nullopt;
}

Origin quote_part(const ProcessView& view, const CudnnPart& part) {
  Origin origin = gpuvet::quote(view, *part.object);
  if (origin.text.find(part.release) == std::string::npos) origin.text = "release " + part.release + ": " + origin.text;
  return origin;
}

/// cuDNN that a framework was built with: what its metadata asks for, "9.1.0.70".
std::optional<ReleaseVersion> cudnn_built_with(const RuleContext& context, const ProcessView& view) {
  const std::string pin = pinned_release(context, view, "cudnn");
  return pin.empty() ? std::nullopt : ReleaseVersion::parse(pin);
}

std::uint32_t part(const ReleaseVersion& version, std::size_t index) {
  return index < version.release.size() ? version.release[index] : 0;
}

/// The same major, and at least the minor release: what frameworks check themselves when they start to use cuDNN.
bool serves(const ReleaseVersion& loaded, const ReleaseVersion& built_with) {
  return part(loaded, 0) == part(built_with, 0) && part(loaded, 1) >= part(built_with, 1);
}

/// Sure to be refused. Metadata may ask for more than the framework was compiled with: torch 2.8.0 asks for 9.10.2 and takes 9.8.
bool is_refused(const ReleaseVersion& loaded, const ReleaseVersion& asked) {
  constexpr std::uint32_t margin = 2;
  return part(loaded, 0) != part(asked, 0) || part(loaded, 1) + margin < part(asked, 1);
}

/// A part that a variable brought, or a part of another release than the first.
const LoadedObject& stray_part(const std::vector<CudnnPart>& parts) {
  for (const CudnnPart& part : parts)
    if (by_variable(*part.object)) return *part.object;
  for (const CudnnPart& part : parts)
    if (part.release != parts.front().release) return *part.object;
  return *parts.front().object;
}

/// The builtins lie beside this NVRTC: whether they are found depends on who opened it and what was loaded before.
bool lies_beside(const RuleContext& context, const LoadedObject& nvrtc, const std::string& name) {
  const std::string path = folder_of_object(nvrtc) + "/" + name;
  return std::ranges::any_of(context.machine.loader.files,
                             [&](const LibraryFile& file) { return file.state == "elf" && file.path == path; });
}

}  // namespace

namespace runtime_library {

std::optional<Finding> nvjitlink_mismatch(const RuleContext& context) {
  return judge_proof(context, "libnvJitLink", "nvjitlink");
}

std::optional<Finding> cublaslt_mismatch(const RuleContext& context) { return judge_proof(context, "libcublasLt", "cublas"); }

std::optional<Finding> nccl_mismatch(const RuleContext& context) { return judge_proof(context, "libnccl", "nccl"); }

std::optional<Finding> mixed_cudnn(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    const auto parts = cudnn_parts(view);
    std::set<std::string> releases;
    for (const CudnnPart& part : parts) releases.insert(part.release);
    if (releases.size() < 2) continue;
    const LoadedObject& stray = stray_part(parts);
    Finding finding;
    finding.parameters = {{"process", view.label()},
                          {"releases", join(std::vector<std::string>(releases.begin(), releases.end()), ", ")},
                          {"folder", folder_of_object(stray)}};
    for (const CudnnPart& part : parts)
      if (finding.evidence.size() < 9) finding.evidence.push_back(quote_part(view, part));
    if (by_variable(stray)) finding.evidence.push_back(quote_variable(context.machine, stray.rule));
    finding.variant = by_variable(stray) ? "" : "other";
    finding.repair = use_right_copy(context, view, stray, "cudnn");
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> wrong_cudnn(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    const auto built_with = cudnn_built_with(context, view);
    const auto answers = cudnn_that_answers(view);
    if (!built_with || !answers) continue;
    const CudnnPart& first = *answers;
    const auto loaded = ReleaseVersion::parse(first.release);
    if (!loaded || serves(*loaded, *built_with)) continue;
    const bool stray = by_variable(*first.object);
    Finding finding;
    finding.parameters = {{"process", view.label()},
                          {"version", loaded->text},
                          {"built_with", built_with->text},
                          {"path", first.object->path},
                          {"rule", first.object->rule}};
    finding.evidence = {quote_part(view, first), {view.label(), 0, "asks for cuDNN " + built_with->text}};
    if (stray) finding.evidence.push_back(quote_variable(context.machine, first.object->rule));
    finding.variant = stray ? "" : "other";
    if (!is_refused(*loaded, *built_with)) {
      finding.variant = "little-older";
      finding.severity = Severity::Note;
    }
    finding.repair = use_right_copy(context, view, *first.object, "cudnn");
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> nvrtc_builtins(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    for (std::size_t i = 0; i < view.plan->steps.size() && i < view.now.steps.size(); ++i) {
      const LoadStep& step = view.plan->steps[i];
      if (view.now.steps[i].loaded || step.names.empty() || !step.names.front().starts_with("libnvrtc-builtins")) continue;
      const LoadedObject* nvrtc = loaded_library(view.now, "libnvrtc");
      if (nvrtc == nullptr || nvrtc->path != step.caller) continue;
      if (lies_beside(context, *nvrtc, step.names.front())) continue;
      Finding finding;
      finding.severity = view.plan->framework.starts_with("cupy") ? Severity::Error : Severity::Warning;
      finding.parameters = {{"process", view.label()},
                            {"path", nvrtc->path},
                            {"version", words_of_release(*nvrtc)},
                            {"builtins", step.names.front()}};
      finding.evidence = {gpuvet::quote(view, *nvrtc), {step.names.front(), 0, "not found for " + nvrtc->path}};
      if (by_variable(*nvrtc)) finding.evidence.push_back(quote_variable(context.machine, nvrtc->rule));
      finding.repair = use_right_copy(context, view, *nvrtc, "cuda-nvrtc");
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace runtime_library
}  // namespace gpuvet
