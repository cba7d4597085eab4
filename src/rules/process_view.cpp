#include "rules/process_view.h"

#include <algorithm>
#include <array>

#include "loader/library_family.h"
#include "loader/machine_rules.h"

namespace gpuvet {
namespace {

/// Symbols as the collector kept them: those that some copy of a library lacks (LibraryFile::wanted_symbols), and the files that
/// have them.
std::vector<ObjectSymbols> kept_symbols(const Forecast& forecast) {
  std::vector<ObjectSymbols> all(forecast.objects.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const LibraryFile* file = forecast.objects[i].file;
    if (file == nullptr) continue;
    all[i].seen = true;
    for (const std::string& text : file->wanted_symbols) {
      SymbolRecord record;
      const std::size_t at = text.find('@');
      record.name = std::string_view(text).substr(0, at);
      if (at != std::string::npos) record.version = std::string_view(text).substr(at + 1);
      all[i].symbols.push_back(record);
    }
    for (const std::string& text : file->symbols) {
      SymbolRecord record;
      record.name = std::string_view(text).substr(0, text.find('@'));
      record.defined = true;
      if (const auto at = text.find('@'); at != std::string::npos)
        record.version = std::string_view(text).substr(text.find_first_not_of('@', at));
      all[i].symbols.push_back(record);
    }
  }
  return all;
}

ProcessView view_of(const Machine& machine, const ProcessPlan& plan) {
  ProcessView view;
  view.plan = &plan;
  ViewSource source(machine.loader);
  const LibraryFile* program = source.open(main_path_of(plan));
  LoaderRules rules = machine_loader_rules(machine, program);
  view.now = forecast(source, rules, plan, machine.environment);
  auto plain = machine.environment;
  plain.erase("LD_LIBRARY_PATH");
  plain.erase("LD_PRELOAD");
  view.plain = plain.size() == machine.environment.size() ? view.now : forecast(source, rules, plan, plain);
  view.conflicts = find_conflicts(view.now, plan, rules.kind, kept_symbols(view.now)).conflicts;
  return view;
}

}  // namespace

std::string ProcessView::label() const {
  if (plan->kind != "python" || plan->framework.empty()) return plan->name.empty() ? plan->program : plan->name;
  return plan->prefix.empty() ? plan->framework : plan->framework + " (" + plan->prefix + ")";
}

std::vector<ProcessView> process_views(const Machine& machine) {
  std::vector<ProcessView> views;
  const bool sure = machine.environment_seen.value_or(false);
  for (const ProcessPlan& plan : machine.loader.plans) {
    if (plan.kind == extensions_kind || (!sure && plan.kind == "python")) continue;
    views.push_back(view_of(machine, plan));
    // LD_LIBRARY_PATH may bring copies that fit.
    if (!sure) views.back().conflicts.clear();
  }
  return views;
}

bool is_cuda_library(std::string_view stem) {
  static constexpr std::array<std::string_view, 18> names = {
      "libcudart",     "libcublas", "libcublasLt",  "libcufft",      "libcurand",         "libcusolver",
      "libcusparse",   "libnvrtc",  "libnvJitLink", "libnccl",       "libcupti",          "libcusparseLt",
      "libnvToolsExt", "libcufile", "libnvvm",      "libcusolverMg", "libnvrtc-builtins", "libnvshmem_host"};
  return std::ranges::find(names, stem) != names.end() || stem == "libcudnn" || stem.starts_with("libcudnn_");
}

const LoadedObject* object_at(const ProcessView& view, int index) {
  const auto at = static_cast<std::size_t>(index);
  return index < 0 || at >= view.now.objects.size() ? nullptr : &view.now.objects[at];
}

bool is_optional_part(const ProcessView& view, const LoadedObject& object) {
  const auto step = static_cast<std::size_t>(object.step);
  return object.step >= 0 && step < view.plan->steps.size() && view.plan->steps[step].optional;
}

bool loads(const ProcessView& view) {
  const bool missing = std::ranges::any_of(view.now.missing, [](const MissingLibrary& m) { return !m.optional; });
  const bool broken = std::ranges::any_of(view.conflicts, [](const SymbolConflict& c) { return !c.note; });
  const bool cut =
      std::ranges::any_of(view.now.objects, [](const LoadedObject& o) { return o.file != nullptr && o.file->whole_size != 0; });
  return !missing && !broken && !cut;
}

std::string_view stem_of(const LoadedObject& object) {
  if (object.file != nullptr && !object.file->soname.empty()) return library_stem(object.file->soname);
  return library_stem(object.path);
}

std::vector<const LoadedObject*> loaded_libraries(const Forecast& forecast, std::string_view stem) {
  std::vector<const LoadedObject*> found;
  for (const LoadedObject& object : forecast.objects)
    if (object.file != nullptr && stem_of(object) == stem) found.push_back(&object);
  return found;
}

const LoadedObject* loaded_library(const Forecast& forecast, std::string_view stem) {
  const auto found = loaded_libraries(forecast, stem);
  return found.empty() ? nullptr : found.front();
}

std::string asked_by(const ProcessView& view, const LoadedObject& object) {
  if (object.loader > 0 && static_cast<std::size_t>(object.loader) < view.now.objects.size())
    return std::string(base_name(view.now.objects[static_cast<std::size_t>(object.loader)].path));
  if (object.step >= 0 && static_cast<std::size_t>(object.step) < view.plan->steps.size()) {
    const LoadStep& step = view.plan->steps[static_cast<std::size_t>(object.step)];
    return step.why.empty() ? std::string(base_name(step.caller)) : step.why;
  }
  return std::string(base_name(view.plan->program));
}

Origin quote(const ProcessView& view, const LoadedObject& object) {
  std::string text = object.name;
  if (const auto slash = text.rfind('/'); slash != std::string::npos) text.erase(0, slash + 1);
  const std::string release = object.file != nullptr ? release_of(*object.file) : "";
  if (!release.empty()) text += " " + release;
  text += ", found by " + object.rule;
  if (const std::string by = asked_by(view, object); !by.empty()) text += "; asked for by " + by;
  return {object.path, 0, text};
}

std::string folder_of_object(const LoadedObject& object) { return folder_of(object.path); }

bool by_variable(const LoadedObject& object) { return object.rule == "LD_LIBRARY_PATH" || object.rule == "LD_PRELOAD"; }

}  // namespace gpuvet
