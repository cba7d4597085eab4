#include "render/host_words.h"

#include <array>
#include <cstring>

#include "render/messages.h"
#include "render/own_words.h"
#include "render/report.h"

namespace gpuvet {
namespace {

struct Words {
  std::string_view what, en, zh;
};

/// {text} and {host} are the values.
constexpr std::array<Words, 12> contradiction_words = {{
    {"driver", "the text shows driver {text}; driver {host} is loaded here", "文本中是驱动 {text}，本机加载的是 {host}"},
    {"no-driver", "the text shows driver {text}; no NVIDIA driver is loaded here",
     "文本中是驱动 {text}，本机没有加载 NVIDIA 驱动"},
    {"gpu", "the text shows {text}; this machine has {host}", "文本中是 {text}，本机是 {host}"},
    {"no-gpu", "the text shows {text}; this machine has no NVIDIA GPU on its bus", "文本中有 {text}，本机总线上没有 NVIDIA GPU"},
    {"no-gpu-at-work", "the text is of a program that had a GPU; this machine has no NVIDIA GPU on its bus",
     "文本来自一个用上了 GPU 的程序，而本机总线上没有 NVIDIA GPU"},
    {"gpu-not-seen", "the text's program saw no GPU; this machine has one and its driver is loaded: {host}",
     "文本中的程序没有看到 GPU，而本机有 GPU 且驱动已加载：{host}"},
    {"kernel", "the text shows kernel {text}; {host} is running here", "文本中的内核是 {text}，本机运行的是 {host}"},
    {"architecture", "the text is of {text}; this machine is {host}", "文本来自 {text}，本机是 {host}"},
    {"distribution", "the text is of {text}; this is {host}", "文本来自 {text}，本机是 {host}"},
    {"wsl", "the text is of {text}; this is no WSL", "文本来自 {text}，本机不是 WSL"},
    {"framework", "the text shows {text}; the environment in use here has {host}",
     "文本中是 {text}，本机正在使用的环境中是 {host}"},
    {"in-order", "what the text says of this link is not so here now: {host}", "文本所说的这一环问题目前在本机并不存在：{host}"},
}};

std::string pick(Language language, const char* english, const char* chinese) {
  return language == Language::Chinese ? chinese : english;
}

std::string root_title(const HostSide& host, Language language) {
  Finding finding;
  finding.kind = host.root_cause;
  finding.variant = host.variant;
  finding.parameters = host.parameters;
  return finding_text(finding, language).title + " [" + host.root_cause + "]";
}

std::string purpose_of(const HostSide& host, Language language) {
  return host.purpose.empty() ? "" : pick(language, " for ", "（对象：") + printable(host.purpose) + pick(language, "", "）");
}

/// What this machine says, in one sentence.
std::string state_text(const HostSide& host, Language language) {
  const std::string purpose = purpose_of(host, language);
  const bool chinese = language == Language::Chinese;
  if (host.verdict == Verdict::Broken)
    return chinese ? "本机的 GPU 链路断开" + purpose + "：" + root_title(host, language)
                   : "this machine's GPU stack is broken" + purpose + ": " + root_title(host, language);
  if (host.verdict == Verdict::Unknown)
    return chinese ? "本机看到的信息不足，无法判断 GPU 链路是否完好" + purpose
                   : "not enough of this machine was seen to say whether its GPU stack holds" + purpose;
  const std::string detail = host.detail.empty() ? "" : " (" + in_own_words(host.detail, language) + ")";
  return chinese ? "本机的 GPU 链路完好" + purpose + detail : "this machine's GPU stack holds" + purpose + detail;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace

std::string contradiction_text(const Contradiction& contradiction, Language language) {
  for (const Words& words : contradiction_words)
    if (words.what == contradiction.what)
      return capital(fill_placeholders(language == Language::Chinese ? words.zh : words.en,
                                       {{"text", printable(contradiction.text_value)},
                                        {"host", in_own_words(printable(contradiction.host_value), language)}}));
  return printable(contradiction.what);
}

std::string host_text(const HostSide& host, Language language) {
  std::string text = capital(state_text(host, language)) + pick(language, ".", "。");
  if (!host.used)
    text += pick(language, " The text is of another machine, or from before this one was changed: its own facts decided.",
                 "文本来自另一台机器，或来自本机变更之前：判断只依据文本。");
  return text;
}

std::string loader_failure_text(const Origin& failure, Language language) {
  const std::string name = printable(failure.text), by = printable(failure.source);
  if (by.empty()) return name;
  return language == Language::Chinese ? name + "（请求者：" + by + "）" : name + ", asked for by " + by;
}

std::string run_end(const RunOutcome& run, Language language) {
  if (run.signal == 0) return pick(language, "exit code ", "退出码 ") + std::to_string(run.exit_code);
  const char* name = ::strsignal(run.signal);
  return pick(language, "signal ", "信号 ") + std::to_string(run.signal) +
         (name == nullptr ? "" : " (" + std::string(name) + ")");
}

std::string run_verdict(const Diagnosis& diagnosis, Language language) {
  const bool chinese = language == Language::Chinese;
  const std::string end = run_end(*diagnosis.run, language);
  const std::string start = chinese ? "命令以" + end + "结束；" : "The command ended with " + end + "; ";
  if (diagnosis.verdict == Verdict::Broken)
    return start + pick(language, "its output points to this cause.", "从其输出看，原因就是它。");
  if (diagnosis.verdict == Verdict::Holds)
    return start + pick(language, "its output shows a warning, no failure of the GPU stack.",
                        "其输出里只有警告，没有 GPU 软件栈的故障。");
  if (diagnosis.findings.empty())
    return start + pick(language, "its output has no known sign of a GPU problem.", "其输出里没有已知的 GPU 故障迹象。");
  return start + pick(language, "its output does not tell the cause for sure.", "仅凭其输出无法确定原因。");
}

std::string run_line(const Diagnosis& diagnosis, Language language) {
  const bool chinese = language == Language::Chinese;
  const Report report = make_report(diagnosis);
  if (diagnosis.run->exit_code == 0 && report.root != nullptr) {
    const std::string title = finding_text(*report.root, language).title + " [" + report.root->kind + "]";
    const std::string where = report.root->evidence.empty() ? "" : ", " + origin_place(report.root->evidence.front());
    return chinese
               ? "命令成功结束，但其输出中有已知的报错：" + title + where + "（--report always 显示全文）"
               : "the command succeeded, but its output has a known message: " + title + where + " (--report always shows all)";
  }
  const std::string nothing = chinese ? "输出中没有已知的报错（" + run_end(*diagnosis.run, language) + "）"
                                      : "nothing known in its output (" + run_end(*diagnosis.run, language) + ")";
  if (!diagnosis.host) return nothing;
  return nothing + (chinese ? "；" : "; ") + state_text(*diagnosis.host, language);
}

}  // namespace gpuvet
