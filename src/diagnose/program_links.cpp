#include "diagnose/program_links.h"

#include <algorithm>

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

void add(std::string& text, std::string part) {
  if (!part.empty()) text += (text.empty() ? "" : ", ") + std::move(part);
}

}  // namespace

LinkView view_program_libraries(const RuleContext& context) {
  LinkView view{!context.processes.empty(), ""};
  for (const ProcessView& process : context.processes) {
    view.seen_good = view.seen_good && loads(process) && !process.now.objects.empty();
    add(view.detail, cuda_libraries_of(process));
  }
  return view;
}

bool program_has_code(const RuleContext& context) {
  return std::ranges::any_of(context.processes, [&](const ProcessView& view) { return !code_files_of(context, view).empty(); });
}

LinkView view_program_code(const RuleContext& context) {
  LinkView view{program_has_code(context), ""};
  for (const ProcessView& process : context.processes) {
    view.seen_good = view.seen_good && code_serves(context, process);
    for (const GpuCodeFile* file : code_files_of(context, process))
      add(view.detail, file_name_of(*file) + " (" + target_text(*file) + ")");
  }
  return view;
}

LinkView view_program(const RuleContext& context) {
  LinkView view{!context.processes.empty(), ""};
  for (const ProcessView& process : context.processes) {
    view.seen_good = view.seen_good && uses_cuda(context, process) && process.plan->problems.empty();
    add(view.detail, process.label());
  }
  return view;
}

std::vector<NotSeen> unseen_of_program(const RuleContext& context) {
  std::vector<NotSeen> list;
  for (const ProcessView& process : context.processes) {
    for (const Origin& problem : process.plan->problems) list.push_back({"program-plan", problem.source + ": " + problem.text});
    if (!uses_cuda(context, process)) list.push_back({"program-without-cuda", process.label()});
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
