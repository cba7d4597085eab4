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

const LoadedObject* object_at(const ProcessView& view, int index) {
  return index < 0 || static_cast<std::size_t>(index) >= view.now.objects.size()
             ? nullptr
             : &view.now.objects[static_cast<std::size_t>(index)];
}

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
  for (const ProcessView& view : context.processes) {
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

/// Loaded parts of cuDNN that tell their release.
std::vector<const LoadedObject*> cudnn_parts(const ProcessView& view) {
  std::vector<const LoadedObject*> parts;
  for (const LoadedObject& object : view.now.objects) {
    const std::string_view stem = stem_of(object);
    const bool cudnn = stem == "libcudnn" || stem.starts_with("libcudnn_");
    if (cudnn && object.file != nullptr && object.file->library_version.is_known()) parts.push_back(&object);
  }
  return parts;
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

const LoadedObject* first_by_variable(const std::vector<const LoadedObject*>& parts) {
  const auto found = std::ranges::find_if(parts, [](const LoadedObject* o) { return by_variable(*o); });
  return found == parts.end() ? nullptr : *found;
}

}  // namespace

namespace runtime_library {

std::optional<Finding> nvjitlink_mismatch(const RuleContext& context) {
  return judge_proof(context, "libnvJitLink", "nvjitlink");
}

std::optional<Finding> cublaslt_mismatch(const RuleContext& context) { return judge_proof(context, "libcublasLt", "cublas"); }

std::optional<Finding> nccl_mismatch(const RuleContext& context) { return judge_proof(context, "libnccl", "nccl"); }

std::optional<Finding> mixed_cudnn(const RuleContext& context) {
  for (const ProcessView& view : context.processes) {
    const auto parts = cudnn_parts(view);
    std::set<std::string> releases;
    for (const LoadedObject* object : parts)
      if (object->file->soname.ends_with(parts.front()->file->soname.substr(parts.front()->file->soname.find(".so"))))
        releases.insert(*object->file->library_version.get());
    if (releases.size() < 2) continue;
    Finding finding;
    finding.parameters = {{"process", view.label()},
                          {"releases", join(std::vector<std::string>(releases.begin(), releases.end()), ", ")}};
    for (const LoadedObject* object : parts) finding.evidence.push_back(gpuvet::quote(view, *object));
    if (finding.evidence.size() > 9) finding.evidence.resize(9);
    const LoadedObject* stray = first_by_variable(parts);
    if (stray != nullptr) finding.evidence.push_back(quote_variable(context.machine, stray->rule));
    finding.parameters["folder"] = folder_of_object(stray != nullptr ? *stray : *parts.back());
    finding.variant = stray != nullptr ? "" : "other";
    finding.repair = use_right_copy(context, view, stray != nullptr ? *stray : *parts.back(), "cudnn");
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> wrong_cudnn(const RuleContext& context) {
  for (const ProcessView& view : context.processes) {
    const auto built_with = cudnn_built_with(context, view);
    const auto parts = cudnn_parts(view);
    if (!built_with || parts.empty()) continue;
    const auto loaded = ReleaseVersion::parse(*parts.front()->file->library_version.get());
    if (!loaded || serves(*loaded, *built_with)) continue;
    Finding finding;
    finding.parameters = {{"process", view.label()},
                          {"version", loaded->text},
                          {"built_with", built_with->text},
                          {"path", parts.front()->path},
                          {"rule", parts.front()->rule}};
    finding.evidence = {gpuvet::quote(view, *parts.front()), {view.label(), 0, "built with cuDNN " + built_with->text}};
    if (by_variable(*parts.front())) finding.evidence.push_back(quote_variable(context.machine, parts.front()->rule));
    finding.variant = by_variable(*parts.front()) ? "" : "other";
    finding.repair = use_right_copy(context, view, *parts.front(), "cudnn");
    return finding;
  }
  return std::nullopt;
}

}  // namespace runtime_library
}  // namespace gpuvet
