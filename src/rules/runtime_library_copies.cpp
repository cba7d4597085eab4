// Copies of CUDA libraries that stand before or beside those that a process was made for, and a C or C++ library that is older
// than a file needs.

#include <algorithm>
#include <array>

#include "loader/library_family.h"
#include "model/release_version.h"
#include "rules/evidence.h"
#include "rules/process_repair.h"
#include "rules/runtime_library.h"
#include "rules/software.h"

namespace gpuvet {
namespace {

using Kind = SymbolConflict::Kind;

struct Shadow {
  const LoadedObject* chosen = nullptr;
  const LoadedObject* own = nullptr;  ///< that the process would get without the variables
  bool older = false;
  bool at_use = false;  ///< opened only by a feature that may never be used
};

std::optional<ReleaseVersion> release(const LoadedObject& object) {
  return object.file == nullptr ? std::nullopt : ReleaseVersion::parse(release_of(*object.file));
}

/// Two names of one file, or two files with the same content.
bool same_library(const LibraryFile& a, const LibraryFile& b) {
  return a.real_path == b.real_path || (!a.build_id.empty() && a.build_id == b.build_id);
}

std::vector<Shadow> shadows_of(const ProcessView& view, std::string_view variable) {
  std::vector<Shadow> found;
  for (const LoadedObject& object : view.now.objects) {
    if (object.rule != variable || object.file == nullptr || !is_cuda_library(stem_of(object))) continue;
    for (const LoadedObject* own : loaded_libraries(view.plain, stem_of(object))) {
      if (own->file->soname != object.file->soname || same_library(*own->file, *object.file)) continue;
      const auto chosen = release(object), before = release(*own);
      // The same release from another place is no fault at all; of one that is not told nothing can be said.
      if (!chosen || !before || (!(*chosen < *before) && !(*before < *chosen))) continue;
      found.push_back({&object, own, *chosen < *before, is_optional_part(view, object)});
      break;
    }
  }
  return found;
}

/// Libraries of the C and C++ run time: their versions are a matter of the distribution.
bool is_system_library(std::string_view name) {
  static constexpr std::array<std::string_view, 8> names = {"libc.so.6",  "libm.so.6",      "libpthread.so.0", "libdl.so.2",
                                                            "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1",   "libgomp.so.1"};
  return std::ranges::find(names, name) != names.end();
}

Finding describe_shadow(const RuleContext& context, const ProcessView& view, const std::vector<Shadow>& shadows) {
  const auto rank = [](const Shadow& shadow) { return shadow.older ? (shadow.at_use ? 1 : 2) : 0; };
  const Shadow& first = *std::ranges::max_element(shadows, {}, rank);
  Finding finding;
  finding.severity = rank(first) == 2 ? Severity::Warning : Severity::Note;
  finding.parameters = {{"process", view.label()},
                        {"library", std::string(base_name(first.chosen->path))},
                        {"folder", folder_of_object(*first.chosen)},
                        {"version", words_of_release(*first.chosen)},
                        {"own", first.own->path},
                        {"own_version", words_of_release(*first.own)},
                        {"variable", first.chosen->rule}};
  finding.variant = rank(first) == 2 ? "" : rank(first) == 1 ? "at-use" : "no-older";
  for (const Shadow& shadow : shadows) {
    if (finding.evidence.size() >= 8) break;
    finding.evidence.push_back(quote(view, *shadow.chosen));
    finding.evidence.push_back({shadow.own->path, 0, "its own copy, " + words_of_release(*shadow.own) + ", is not reached"});
  }
  finding.evidence.push_back(quote_variable(context.machine, first.chosen->rule));
  finding.repair = use_right_copy(context, view, *first.chosen, "");
  return finding;
}

}  // namespace

namespace runtime_library {

std::optional<Finding> shadowed_by_library_path(const RuleContext& context) {
  std::optional<Finding> best;
  for (const ProcessView& view : sure_forecasts(context)) {
    const auto shadows = shadows_of(view, "LD_LIBRARY_PATH");
    if (shadows.empty()) continue;
    Finding finding = describe_shadow(context, view, shadows);
    if (!best || finding.severity > best->severity) best = std::move(finding);
  }
  return best;
}

std::optional<Finding> preload_breaks(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    for (const LoadedObject& object : view.now.objects) {
      const bool preloaded = object.rule == "LD_PRELOAD" || object.rule == "ld.so.preload";
      if (!preloaded || object.file == nullptr || !object.file->stub) continue;
      Finding finding;
      finding.severity = Severity::Error;
      finding.variant = "stub";
      finding.parameters = {{"process", view.label()}, {"path", object.path}, {"rule", object.rule}};
      finding.evidence = {quote(view, object)};
      if (object.rule == "LD_PRELOAD") finding.evidence.push_back(quote_variable(context.machine, "LD_PRELOAD"));
      finding.repair = object.rule == "LD_PRELOAD"
                           ? std::vector<Action>{make_action("unset-variable", {{"variable", "LD_PRELOAD"}})}
                           : std::vector<Action>{make_action("remove-from-ld-so-preload", {{"path", object.path}})};
      return finding;
    }
    const auto shadows = shadows_of(view, "LD_PRELOAD");
    if (shadows.empty()) continue;
    Finding finding = describe_shadow(context, view, shadows);
    finding.parameters["path"] = shadows.front().chosen->path;
    finding.parameters["rule"] = "LD_PRELOAD";
    finding.variant = "";
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> multiple_cudart(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    const auto copies = loaded_libraries(view.now, "libcudart");
    if (copies.size() < 2) continue;
    const auto first = release(*copies[0]), second = release(*copies[1]);
    const bool same_name = copies[0]->file->soname == copies[1]->file->soname;
    if (same_name && same_library(*copies[0]->file, *copies[1]->file)) continue;
    Finding finding;
    // Under two names (two majors, a copy that auditwheel renamed) each caller has its own; two files of one name share symbols.
    finding.severity =
        same_name && first && second && (*first < *second || *second < *first) ? Severity::Warning : Severity::Note;
    finding.variant = same_name ? "" : "names";
    finding.parameters = {{"process", view.label()},
                          {"first", copies[0]->path},
                          {"first_version", words_of_release(*copies[0])},
                          {"second", copies[1]->path},
                          {"second_version", words_of_release(*copies[1])}};
    for (const LoadedObject* copy : copies) finding.evidence.push_back(quote(view, *copy));
    const LoadedObject& stray = by_variable(*copies[0]) ? *copies[0] : *copies[1];
    if (by_variable(stray)) finding.evidence.push_back(quote_variable(context.machine, stray.rule));
    finding.repair = use_right_copy(context, view, stray, "cuda-runtime");
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> system_library_too_old(const RuleContext& context) {
  for (const ProcessView& view : sure_forecasts(context)) {
    for (const SymbolConflict& conflict : view.conflicts) {
      if (conflict.note || conflict.kind != Kind::VersionMissing || !is_system_library(conflict.expected_name)) continue;
      const LoadedObject& wanter = view.now.objects[static_cast<std::size_t>(conflict.wanted_by)];
      const LoadedObject& owner = view.now.objects[static_cast<std::size_t>(conflict.expected_in)];
      const bool glibc = conflict.version.starts_with("GLIBC_");
      Finding finding;
      finding.variant = "files";
      finding.parameters = {{"package", std::string(base_name(wanter.path))},
                            {"needed", conflict.version},
                            {"here", conflict.newest.empty() ? "an older one" : conflict.newest},
                            {"library", owner.path},
                            {"environment", view.label()}};
      finding.evidence = {{wanter.path, 0, "needs version " + conflict.version + " of " + conflict.expected_name},
                          {owner.path, 0, "defines versions up to " + finding.parameters["here"] + ", found by " + owner.rule}};
      if (by_variable(owner)) finding.evidence.push_back(quote_variable(context.machine, owner.rule));
      if (by_variable(owner))
        finding.repair = use_right_copy(context, view, owner, "");
      else if (glibc)
        finding.repair = {make_action("use-newer-base-system", {{"glibc", conflict.version.substr(6)}})};
      else
        finding.repair = {make_action("install-newer-libstdcxx", {{"library", owner.path}, {"version", conflict.version}})};
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace runtime_library
}  // namespace gpuvet
