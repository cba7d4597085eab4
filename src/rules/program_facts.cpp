#include "rules/program_facts.h"

#include <algorithm>

#include "knowledge/cuda_libraries.h"
#include "loader/library_family.h"
#include "rules/cuda_needs.h"
#include "rules/evidence.h"
#include "rules/framework_facts.h"

namespace gpuvet {
namespace {

bool is_of_driver(std::string_view name) {
  static constexpr std::string_view names[] = {"libcuda", "libnvidia-ml", "libnvcuvid", "libnvidia-encode", "libnvoptix"};
  const std::string_view stem = library_stem(name);
  return std::ranges::find(names, stem) != std::end(names);
}

bool is_of_cuda(std::string_view name) { return is_of_driver(name) || is_cuda_library(library_stem(name)); }

/// "libcudart.so.12" → "libcudart.so."; empty: the name has no number.
std::string_view numbered_stem(std::string_view soname) {
  const std::size_t at = soname.find(".so.");
  return at == std::string_view::npos ? std::string_view() : soname.substr(0, at + 4);
}

/// A usable copy somewhere on this machine, as the collector found it.
std::string copy_of(const Machine& machine, std::string_view soname, const LibraryFile& like) {
  for (const LibraryFile& file : machine.loader.files) {
    const bool usable = file.state == "elf" && !file.stub && file.elf_class == like.elf_class && file.machine == like.machine;
    if (usable && base_name(file.path) == soname) return file.path;
  }
  return {};
}

/// The same library under another number, in a toolkit or in a folder of the loader.
std::string other_number_of(const Machine& machine, std::string_view soname) {
  const std::string_view stem = numbered_stem(soname);
  if (stem.empty()) return {};
  const auto is_other = [&](const std::string& name) {
    return name.starts_with(stem) && name != soname && !name.starts_with(std::string(soname) + ".");
  };
  for (const SearchFolder& folder : machine.loader.folders)
    for (const std::string& name : folder.cuda_libraries)
      if (is_other(name)) return folder.path + "/" + name;
  const auto* toolkits = machine.toolkits.found.get();
  if (toolkits == nullptr) return {};
  for (const Toolkit& toolkit : *toolkits)
    for (const std::string& name : toolkit.libraries)
      if (toolkit.environment.empty() && is_other(name)) return library_folder(toolkit) + "/" + name;
  return {};
}

std::string needed_by(const ProcessView& view, const MissingLibrary& missing) {
  if (!missing.needed_by_path.empty()) return missing.needed_by_path;
  if (missing.needed_by < 0 || static_cast<std::size_t>(missing.needed_by) >= view.now.objects.size()) return {};
  return view.now.objects[static_cast<std::size_t>(missing.needed_by)].path;
}

/// Of a part that may be absent only CUDA's libraries matter; a plug-in for TensorRT may lack TensorRT.
bool is_lacked(const MissingLibrary& missing, const std::string& by) {
  const std::string_view name = base_name(missing.name);
  const bool is_loader = name.starts_with("ld-linux") || name.starts_with("ld-musl");
  if (is_of_driver(missing.name) || is_loader || by.empty()) return false;
  return !missing.optional || is_cuda_library(library_stem(missing.name));
}

bool is_file_of(const LoadedObject& object, const GpuCodeFile& code) {
  return object.file != nullptr && (object.file->path == code.path || object.file->real_path == code.real_path);
}

/// Files with GPU code that a process loads: its own, or CUDA's libraries.
std::vector<const GpuCodeFile*> files_with_code(const RuleContext& context, const ProcessView& view, bool libraries) {
  std::vector<const GpuCodeFile*> found;
  const auto* files = context.machine.gpu_code.get();
  if (files == nullptr) return found;
  for (const GpuCodeFile& file : *files) {
    if (file.targets.empty() || chooses_among_containers(file.path) != libraries) continue;
    if (std::ranges::any_of(view.now.objects, [&](const LoadedObject& o) { return is_file_of(o, file); })) found.push_back(&file);
  }
  return found;
}

std::vector<ProgramCode> code_of(const RuleContext& context, const std::vector<const GpuCodeFile*>& files) {
  std::vector<ProgramCode> all;
  CodeContext how;
  if (const auto driver = running_driver(context); driver && !driver->from_windows) how.driver = driver->version;
  read_jit_variables(context.machine.environment, how);
  const auto gpus = usable_gpus(context);
  for (const GpuCodeFile* file : files)
    for (const MachineGpu* gpu : gpus)
      all.push_back({file, gpu, judge_gpu_code(*file, *gpu->identity.compute_capability, how, context.knowledge)});
  return all;
}

/// Not one of those that CUDA's libraries open by themselves, whose absence is no loss (NCCL's plug-ins).
bool is_name_in_bytes(const LoadStep& step) { return step.why.starts_with("a name in "); }

/// The process has the same library of another release too, which it may work with.
bool has_other_release(const ProcessView& view, const GpuCodeFile& library) {
  const auto object = std::ranges::find_if(view.now.objects, [&](const LoadedObject& o) { return is_file_of(o, library); });
  if (object == view.now.objects.end()) return false;
  return std::ranges::any_of(loaded_libraries(view.now, stem_of(*object)),
                             [&](const LoadedObject* other) { return !is_file_of(*other, library); });
}

bool has_no_image(const ProgramCode& code) {
  return code.judgement.verdict == CodeVerdict::Fails && code.judgement.reason == CodeReason::NoImage;
}

template <typename Visit>
void for_each_name(const ProcessView& view, Visit visit) {
  for (const LoadedObject& object : view.now.objects)
    visit(std::string_view(base_name(object.name.empty() ? object.path : object.name)));
  for (const MissingLibrary& missing : view.now.missing) visit(std::string_view(base_name(missing.name)));
}

}  // namespace

std::vector<const GpuCodeFile*> code_files_of(const RuleContext& context, const ProcessView& view) {
  return files_with_code(context, view, false);
}

std::vector<ProgramCode> program_code(const RuleContext& context, const ProcessView& view) {
  return code_of(context, code_files_of(context, view));
}

std::string target_text(const GpuCodeFile& file) {
  std::string text;
  for (const GpuCodeTarget& target : file.targets) text += (text.empty() ? "" : " ") + target.arch;
  return text;
}

std::optional<UnservedFile> unserved_file(const RuleContext& context, const ProcessView& view, CodeReason reason) {
  const auto codes = program_code(context, view);
  const auto fails = [](const ProgramCode& c) { return c.judgement.verdict == CodeVerdict::Fails; };
  for (const ProgramCode& code : codes) {
    const auto is_other = [&](const ProgramCode& c) { return c.file != code.file; };
    const bool none = std::ranges::all_of(
        codes, [&](const ProgramCode& c) { return is_other(c) || (fails(c) && c.judgement.reason == reason); });
    if (!none) continue;
    return UnservedFile{code, std::ranges::any_of(codes, [&](const ProgramCode& c) { return is_other(c) && !fails(c); })};
  }
  return std::nullopt;
}

std::vector<ProgramCode> unserved_libraries(const RuleContext& context, const ProcessView& view) {
  std::vector<ProgramCode> found;
  const auto codes = code_of(context, files_with_code(context, view, true));
  for (const ProgramCode& code : codes) {
    if (!found.empty() && found.back().file == code.file) continue;
    if (std::ranges::all_of(codes, [&](const ProgramCode& c) { return c.file != code.file || has_no_image(c); }))
      found.push_back(code);
  }
  std::erase_if(found, [&](const ProgramCode& code) { return has_other_release(view, *code.file); });
  return found;
}

std::string libraries_with_code(const ProcessView& view) {
  std::string text;
  for (const LoadedObject& object : view.now.objects) {
    const bool counts = object.file != nullptr && is_cuda_library(stem_of(object)) && stem_of(object) != "libcupti" &&
                        chooses_among_containers(object.file->soname);
    if (!counts) continue;
    if (text.size() > 100) return text + ", …";
    text += (text.empty() ? "" : ", ") + std::string(base_name(object.name));
  }
  return text;
}

std::vector<const MissingLibrary*> names_not_found(const RuleContext& context, const ProcessView& view) {
  std::vector<const MissingLibrary*> found;
  if (!context.machine.environment_seen.value_or(false)) return found;
  for (const MissingLibrary& missing : view.now.missing) {
    const auto step = static_cast<std::size_t>(missing.step);
    if (missing.step < 0 || step >= view.plan->steps.size() || !is_name_in_bytes(view.plan->steps[step])) continue;
    // Of several numbers of one library that it knows, one is enough; the driver's libraries have rules of their own.
    const std::string_view stem = library_stem(missing.name);
    if (missing.needed_by_path.empty() && is_cuda_library(stem) && loaded_library(view.now, stem) == nullptr)
      found.push_back(&missing);
  }
  return found;
}

std::string missing_symbols(const ProcessView& view) {
  std::vector<std::string> texts;
  for (const SymbolConflict& conflict : view.conflicts) {
    const LoadedObject* wanted_by = object_at(view, conflict.wanted_by);
    if (conflict.note || wanted_by == nullptr || texts.size() >= 3) continue;
    const std::string what = conflict.symbols.empty() ? conflict.version : conflict.symbols.front();
    if (what.empty()) continue;
    const std::string of = conflict.expected_name.empty() ? "" : " (" + conflict.expected_name + ")";
    texts.push_back(std::string(base_name(wanted_by->path)) + ": " + what + of);
  }
  return join(texts, ", ");
}

bool has_way_to_cuda(const RuleContext& context, const ProcessView& view) {
  if (!code_files_of(context, view).empty()) return true;
  return std::ranges::any_of(view.now.objects, [](const LoadedObject& object) {
    if (object.file == nullptr) return false;
    const std::string_view stem = stem_of(object);
    return object.file->runtime_inside.is_known() || stem == "libcuda" || is_cuda_library(stem);
  });
}

std::string file_name_of(const GpuCodeFile& file) { return std::string(base_name(file.path)); }

std::string cuda_libraries_of(const ProcessView& view) {
  std::string text;
  for (const LoadedObject& object : view.now.objects) {
    if (object.file == nullptr || !is_cuda_library(stem_of(object))) continue;
    if (text.size() > 100) return text + ", …";
    const std::string release = release_of(*object.file);
    text += (text.empty() ? "" : ", ") + std::string(base_name(object.name)) + (release.empty() ? "" : " " + release);
  }
  return text;
}

bool uses_cuda(const RuleContext& context, const ProcessView& view) {
  if (!code_files_of(context, view).empty()) return true;
  bool uses = false;
  for_each_name(view, [&](std::string_view name) { uses = uses || is_of_cuda(name); });
  return uses;
}

bool nothing_uses_cuda(const RuleContext& context) {
  if (context.purpose.name != "path" || context.processes.empty()) return false;
  return std::ranges::none_of(context.processes,
                              [&](const ProcessView& view) { return uses_cuda(context, view) || !view.plan->problems.empty(); });
}

std::vector<LackedLibrary> lacked_libraries(const RuleContext& context, const ProcessView& view) {
  std::vector<LackedLibrary> all;
  const LibraryFile* like = main_file_of(view);
  if (like == nullptr) return all;
  // LD_LIBRARY_PATH may name a folder that has it; no folder helps a program of another architecture.
  if (!context.machine.environment_seen.value_or(false) && !is_for_other_architecture(context, view)) return all;
  for (const MissingLibrary& missing : view.now.missing) {
    LackedLibrary lacked;
    lacked.needed_by = needed_by(view, missing);
    const bool known = std::ranges::any_of(all, [&](const LackedLibrary& l) { return l.soname == missing.name; });
    if (known || !is_lacked(missing, lacked.needed_by)) continue;
    lacked.soname = missing.name;
    lacked.at_start = !missing.optional;
    lacked.blocked_by = missing.blocked_by, lacked.error = missing.error;
    lacked.missing = &missing;
    if (missing.blocked_by.empty()) {
      lacked.copy = copy_of(context.machine, missing.name, *like);
      if (lacked.copy.empty()) lacked.other = other_number_of(context.machine, missing.name);
    }
    all.push_back(std::move(lacked));
  }
  return all;
}

const LibraryFile* main_file_of(const ProcessView& view) {
  for (const LoadedObject& object : view.now.objects)
    if (object.file != nullptr) return object.file;
  return nullptr;
}

bool is_for_other_architecture(const RuleContext& context, const ProcessView& view) {
  const LibraryFile* main = main_file_of(view);
  const std::string made_for = main != nullptr ? main->machine : "", here = context.machine.os.architecture.value_or("");
  return !here.empty() && !made_for.empty() && made_for != here && made_for != "i386";
}

std::uint32_t cuda_major_of(const RuleContext& context, const ProcessView& view) {
  std::optional<std::vector<std::uint32_t>> majors;
  for_each_name(view, [&](std::string_view name) {
    const auto library = cuda_library(context.knowledge, name);
    const auto these = library ? library->cuda_majors() : std::vector<std::uint32_t>();
    if (these.empty()) return;
    if (!majors) majors = these;
    std::erase_if(*majors, [&](std::uint32_t major) { return std::ranges::find(these, major) == these.end(); });
  });
  return majors && majors->size() == 1 ? majors->front() : 0;
}

}  // namespace gpuvet
