// kb cuda V, xid N, error N|NAME

#include "commands/kb_topics.h"

#include <algorithm>

namespace gpuvet::kb {
namespace {

std::string driver_text(const std::optional<DriverVersion>& driver) { return driver ? driver->text : ""; }

Answer release_answer(const CudaRelease& release, Language language) {
  Answer answer;
  answer.subject = "CUDA " + release.version + (release.label.empty() ? "" : " (" + release.label + ")");
  const auto add = [&](std::string key, std::string_view en, std::string_view zh, std::string value) {
    answer.add(std::move(key), say(language, en, zh), std::move(value), release.source);
  };
  add("min_driver", "least Linux driver for its runtime", "其运行时所需的最低 Linux 驱动", driver_text(release.min_driver_linux));
  add("driver", "corresponding driver of NVIDIA's table (no minimum)", "NVIDIA 表中对应的驱动（并非最低要求）",
      driver_text(release.driver_linux));
  add("runfile_driver", "driver inside the Linux installer", "Linux 安装包自带的驱动", driver_text(release.runfile_driver_linux));
  add("soname", "runtime library", "运行时库", release.libcudart_soname);
  add("sm_range", "GPU targets", "可编译的 GPU 目标",
      release.supported_sm_min.empty() ? "" : "sm_" + release.supported_sm_min + " – sm_" + release.supported_sm_max);
  add("sm_added", "targets added", "新增目标", release.sm_added);
  add("sm_removed", "targets removed", "移除目标", release.sm_removed);
  add("notes", "notes", "备注", release.notes);
  return answer;
}

/// A CUDA version without a toolkit (12.7): the branch that reports it.
std::vector<Answer> only_a_driver_reports(const Knowledge& knowledge, std::string_view version, Language language) {
  const auto wanted = CudaVersion::parse(version);
  if (!wanted) return {};
  for (const DriverBranch& branch : knowledge.driver_branches()) {
    if (!branch.cuda || branch.cuda->text() != version) continue;
    Answer answer;
    answer.subject = "CUDA " + std::string(version);
    answer.add("toolkit", say(language, "toolkit", "工具包"),
               say(language, "the tables know no public toolkit of this version", "知识表中没有这个版本的公开工具包"),
               branch.source);
    answer.add("branch", say(language, "reported by driver branch", "由以下驱动分支报告"), "R" + std::to_string(branch.branch),
               branch.source);
    answer.add("notes", say(language, "notes", "备注"), branch.notes, branch.source);
    return {answer};
  }
  return {};
}

}  // namespace

std::vector<Answer> cuda(const Knowledge& knowledge, std::string_view version, Language language) {
  std::vector<Answer> answers;
  const std::string prefix = std::string(version) + ".";
  if (version.find('.') == std::string_view::npos) return {};
  for (const CudaRelease& release : knowledge.cuda_releases()) {
    if (release.version == version || release.version.starts_with(prefix)) answers.push_back(release_answer(release, language));
  }
  return answers.empty() ? only_a_driver_reports(knowledge, version, language) : answers;
}

std::vector<Answer> xid(const Knowledge& knowledge, std::string_view code, Language language) {
  const auto wanted = number(code);
  const bool chinese = language == Language::Chinese;
  const auto meaning = !wanted ? std::nullopt : chinese ? knowledge.xid_in_chinese(*wanted) : knowledge.xid(*wanted);
  if (!meaning) return {};
  Answer answer;
  answer.subject = "Xid " + std::to_string(meaning->code) + (meaning->mnemonic.empty() ? "" : " " + meaning->mnemonic);
  answer.add("meaning", say(language, "meaning", "含义"), meaning->meaning, meaning->source);
  answer.add("likely_causes", say(language, "likely causes", "可能原因"), meaning->likely_causes, meaning->source);
  answer.add("recommended_action", say(language, "recommended action", "建议措施"), meaning->recommended_action, meaning->source);
  return {answer};
}

std::vector<Answer> error(const Knowledge& knowledge, std::string_view code_or_name, Language language) {
  const auto code = number(code_or_name);
  std::vector<Answer> answers;
  for (const CudaError& each : code ? knowledge.cuda_error(*code) : knowledge.cuda_error_named(code_or_name)) {
    Answer answer;
    answer.subject =
        each.name + " (" + std::to_string(each.code) + ", " + say(language, each.api + " API", each.api + " API") + ")";
    answer.add("meaning", say(language, "meaning", "含义"), each.meaning, each.source);
    answer.add("since", say(language, "since CUDA", "始于 CUDA"), each.since_cuda, each.source);
    answer.add("hint", say(language, "hint (our own inference)", "提示（我们自己的推断）"), each.hint, each.source);
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace gpuvet::kb
