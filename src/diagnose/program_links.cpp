#include "diagnose/program_links.h"

#include <algorithm>
#include <utility>

#include "rules/evidence.h"
#include "rules/framework_facts.h"
#include "rules/program_facts.h"

namespace gpuvet {
namespace {

bool runs(const CodeJudgement& judgement) {
  return judgement.verdict == CodeVerdict::Native || judgement.verdict == CodeVerdict::Jit;
}

/// Every file with code serves some GPU here.
bool code_serves(const RuleContext& context, const ProcessView& view) {
  const auto codes = program_code(context, view);
  for (const GpuCodeFile* file : code_files_of(context, view))
    if (std::ranges::none_of(codes, [&](const ProgramCode& code) { return code.file == file && runs(code.judgement); }))
      return false;
  return true;
}

/// "CUDA 13.0, linked in": a runtime that a file of the program has inside.
std::string runtime_inside(const ProcessView& view) {
  for (const LoadedObject& object : view.now.objects)
    if (const std::string* release = object.file != nullptr ? object.file->runtime_inside.get() : nullptr)
      return "CUDA " + *release + ", linked in";
  return {};
}

/// Libraries that it cannot do without, of which only the environment tells whether it finds them.
std::string libraries_in_doubt(const RuleContext& context, const ProcessView& view) {
  std::vector<std::string> names;
  if (context.machine.environment_seen.value_or(false)) return {};
  for (const MissingLibrary& missing : view.now.missing)
    if (!missing.optional && std::ranges::find(names, missing.name) == names.end()) names.push_back(missing.name);
  return join(names, ", ");
}

/// CUDA libraries that it opens by name and that are not there, where nothing else in it leads to the GPU.
std::string only_ways_in(const RuleContext& context, const ProcessView& view) {
  std::vector<std::string> names;
  if (has_way_to_cuda(context, view)) return {};
  for (const MissingLibrary* missing : names_not_found(context, view)) names.push_back(missing->name);
  return join(names, ", ");
}

/// A script's interpreter uses no CUDA by itself, and a program may leave that to parts that it opens or starts.
void tell_use_of_cuda(const RuleContext& context, const ProcessView& view, std::vector<NotSeen>& list) {
  bool told = false;
  const bool without = !uses_cuda(context, view);
  for (const Origin& problem : view.plan->problems) {
    if (is_part_with_cuda(problem)) {
      if (without) list.push_back({"program-part", problem.source}), told = true;
    } else if (!std::exchange(told, true)) {
      // A script for a script (pyenv's python): the one that was asked for is told.
      list.push_back({"program-plan", problem.source + ": " + problem.text});
    }
  }
  if (without && !told) list.push_back({"program-without-cuda", view.label()});
}

void add(std::string& text, std::string part) {
  if (!part.empty()) text += (text.empty() ? "" : ", ") + std::move(part);
}

}  // namespace

LinkView view_program_libraries(const RuleContext& context) {
  LinkView view{!context.processes.empty(), ""};
  for (const ProcessView& process : context.processes) {
    view.seen_good = view.seen_good && loads(process) && !process.now.objects.empty() && only_ways_in(context, process).empty();
    add(view.detail, cuda_libraries_of(process));
    add(view.detail, runtime_inside(process));
  }
  if (view.detail.empty() && view.seen_good) view.detail = "no CUDA library";
  return view;
}

bool program_has_code(const RuleContext& context) {
  return std::ranges::any_of(context.processes, [&](const ProcessView& view) {
    return !code_files_of(context, view).empty() || !unserved_libraries(context, view).empty();
  });
}

std::string work_of_libraries(const RuleContext& context) {
  std::string names;
  for (const ProcessView& process : context.processes) {
    const LibraryFile* main = main_file_of(process);
    // A library of CUDA that was asked for itself has code, which the release tables speak for.
    if (main != nullptr && chooses_among_containers(main->soname)) return {};
    add(names, libraries_with_code(process));
  }
  return names.empty() ? "none in the program itself" : "none in the program itself; it works through " + names;
}

LinkView view_program_code(const RuleContext& context) {
  LinkView view{program_has_code(context), ""};
  for (const ProcessView& process : context.processes) {
    view.seen_good = view.seen_good && code_serves(context, process);
    for (const GpuCodeFile* file : code_files_of(context, process))
      add(view.detail, file_name_of(*file) + " (" + target_text(*file) + ")");
  }
  if (view.detail.empty() && context.machine.gpu_code.is_known() && !context.processes.empty())
    view.detail = work_of_libraries(context);
  return view;
}

LinkView view_program(const RuleContext& context) {
  LinkView view{!context.processes.empty(), ""};
  for (const ProcessView& process : context.processes) {
    view.seen_good =
        view.seen_good && uses_cuda(context, process) && std::ranges::all_of(process.plan->problems, is_part_with_cuda);
    add(view.detail, process.label());
  }
  return view;
}

std::vector<NotSeen> unseen_of_program(const RuleContext& context) {
  std::vector<NotSeen> list;
  for (const ProcessView& process : context.processes) {
    tell_use_of_cuda(context, process, list);
    if (std::string names = libraries_in_doubt(context, process); !names.empty()) list.push_back({"program-libraries", names});
    if (std::string names = only_ways_in(context, process); !names.empty()) list.push_back({"program-opens", names});
    if (std::string symbols = missing_symbols(process); !symbols.empty()) list.push_back({"program-symbols", symbols});
    const bool nobody_to_ask = usable_gpus(context).empty() && gpu_here(context) == GpuHere::Yes;
    const auto codes = program_code(context, process);
    for (const GpuCodeFile* file : code_files_of(context, process)) {
      const bool unsure = std::ranges::any_of(
          codes, [&](const ProgramCode& code) { return code.file == file && code.judgement.verdict == CodeVerdict::Unknown; });
      if (nobody_to_ask) list.push_back({"program-code", file->path + ": " + target_text(*file)});
      if (unsure) list.push_back({"program-code-unsure", file->path + ": " + target_text(*file)});
    }
  }
  return list;
}

}  // namespace gpuvet
