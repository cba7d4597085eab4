// gpuvet scan for people: a block a file, a summary by library, one sentence a GPU.

#include <algorithm>

#include "render/messages.h"
#include "render/own_words.h"
#include "render/scan.h"
#include "render/terminal_text.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_problems = 10;

Style style_of(CodeVerdict verdict) {
  switch (verdict) {
    case CodeVerdict::Native:
    case CodeVerdict::Jit:
      return Style::Good;
    case CodeVerdict::Fails:
      return Style::Bad;
    case CodeVerdict::Lto:
    case CodeVerdict::Unknown:
      return Style::Warning;
    case CodeVerdict::None:
      break;
  }
  return Style::Dim;
}

std::string_view sign_of(CodeVerdict verdict, bool ascii) {
  constexpr std::string_view signs[] = {"✓", "✓", "~", "✗", "-", "?"}, plain[] = {"+", "+", "~", "x", "-", "?"};
  return (ascii ? plain : signs)[static_cast<std::size_t>(verdict)];
}

std::string count_text(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

class TextReport {
 public:
  TextReport(const ScanReport& report, const RenderOptions& options) : report_(report), options_(options) {}

  std::string write() {
    environment();
    for (const ScanReport::File& file : report_.files) block(file);
    summary();
    problems();
    end();
    return options_.ascii ? ascii_only(out_) : out_;
  }

 private:
  std::string say(Message id, const std::map<std::string, std::string>& values = {}) const {
    return message(id, options_.language, values);
  }
  void line(std::string_view text, std::string_view first, std::string_view rest, Style style = Style::Plain) {
    out_ += first;
    bool further = false;
    for (const std::string& part : wrap(text, std::max(20, options_.width - display_width(rest)))) {
      if (further) out_ += rest;
      out_ += styled(part, style, options_.color) + "\n";
      further = true;
    }
  }
  void heading(Message id) { out_ += "\n" + styled(message(id, options_.language), Style::Bold, options_.color) + "\n"; }

  std::string_view colon() const { return options_.language == Language::Chinese ? "：" : ": "; }

  void environment() {
    if (report_.context.force_ptx_jit) line(say(Message::ScanForcePtx), "", "", Style::Warning);
    if (report_.context.disable_ptx_jit) line(say(Message::ScanDisablePtx), "", "", Style::Warning);
  }

  /// Relative to the one folder that was named.
  std::string shown(std::string_view path) const {
    if (report_.roots.size() == 1) {
      const std::string& root = report_.roots.front();
      if (path.size() > root.size() + 1 && path.starts_with(root) && path[root.size()] == '/')
        path.remove_prefix(root.size() + 1);
    }
    return printable(path);
  }

  void block(const ScanReport::File& file) {
    line(shown(file.code.path), "", "  ", Style::Bold);
    if (!file.code.targets.empty()) line(scan_targets_text(file.code.targets, options_.ascii), "  ", "    ");
    if (options_.verbosity > 0 && !file.code.places.empty()) line(places(file.code), "  ", "    ", Style::Dim);
    if (report_.gpus.empty()) {
      no_gpu(file.code);
      return;
    }
    for (std::size_t i = 0; i < report_.gpus.size() && i < file.verdicts.size(); ++i) {
      const CodeJudgement& verdict = file.verdicts[i];
      const std::string sign(sign_of(verdict.verdict, options_.ascii));
      const ScanGpu& gpu = report_.gpus[i];
      line(sign + " " + printable(gpu.label) + std::string(colon()) + scan_verdict_text(file.code, verdict, gpu, options_), "  ",
           "    ", style_of(verdict.verdict));
    }
  }

  /// Without a GPU to judge for: only what would be misunderstood.
  void no_gpu(const GpuCodeFile& code) {
    if (!code.targets.empty() && code.state.empty()) return;
    CodeJudgement none;  // not read to its end
    if (code.state.empty()) {
      none.verdict = CodeVerdict::None;
      none.reason = !code.stub_targets.empty() ? CodeReason::OnlyStubs : CodeReason::NoCode;
    }
    line(scan_verdict_text(code, none, ScanGpu{}, options_), "  ", "    ", Style::Dim);
  }

  std::string places(const GpuCodeFile& code) const {
    std::string list;
    for (const CodeCount& place : code.places) {
      list += (list.empty() ? "" : ", ") + printable(place.name) + " " + count_text(static_cast<std::uint64_t>(place.count));
    }
    return say(Message::ScanContainers, {{"n", count_text(static_cast<std::uint64_t>(code.containers))}, {"places", list}});
  }

  void summary() {
    const std::vector<ScanGroup> groups = scan_groups(report_);
    if (groups.size() < 2) return;
    heading(Message::ScanSummary);
    for (const ScanGroup& group : groups) {
      std::string text;
      for (std::size_t i = 0; i < group.worst.size(); ++i) text += std::string(sign_of(group.worst[i], options_.ascii)) + " ";
      text += printable(group.name);
      if (group.files > 1) text += " (" + say(Message::ScanFileCount, {{"n", std::to_string(group.files)}}) + ")";
      text += std::string(colon()) + scan_targets_text(group.targets, options_.ascii);
      line(text, "  ", "      ");
    }
  }

  void problems() {
    if (report_.problems.empty()) return;
    heading(Message::ScanProblems);
    const std::size_t most = options_.verbosity > 0 ? report_.problems.size() : most_problems;
    for (std::size_t i = 0; i < report_.problems.size() && i < most; ++i) {
      const auto& [path, why] = report_.problems[i];
      // The reason of a failed open names the path already.
      const std::string reason = in_own_words(why, options_.language);
      line(why.starts_with(path) ? printable(why) : shown(path) + std::string(colon()) + reason, "  ", "    ");
    }
    if (report_.problems.size() > most)
      line(say(Message::ScanMoreProblems, {{"n", std::to_string(report_.problems.size() - most)}}), "  ", "    ");
  }

  void end() {
    const auto with_code = static_cast<std::uint64_t>(
        std::ranges::count_if(report_.files, [](const ScanReport::File& file) { return !file.code.targets.empty(); }));
    const std::string seen = count_text(report_.files_seen);
    if (!out_.empty()) out_ += "\n";
    if (report_.stopped) line(say(Message::ScanStopped), "", "", Style::Warning);
    if (with_code == 0) return line(say(Message::ScanNothing, {{"seen", seen}}), "", "");
    line(say(Message::ScanFound, {{"n", count_text(with_code)}, {"seen", seen}}), "", "");
    for (std::size_t i = 0; i < report_.gpus.size(); ++i) gpu_sentence(i, with_code);
  }

  void gpu_sentence(std::size_t gpu, std::uint64_t with_code) {
    std::uint64_t bad = 0, unknown = 0;
    for (const ScanReport::File& file : report_.files) {
      if (gpu >= file.verdicts.size() || file.code.targets.empty()) continue;
      bad += file.verdicts[gpu].verdict == CodeVerdict::Fails;
      unknown += file.verdicts[gpu].verdict == CodeVerdict::Unknown;
    }
    const Message id = bad > 0 ? Message::ScanSomeFail : unknown > 0 ? Message::ScanSomeUnknown : Message::ScanAllRun;
    const Style style = bad > 0 ? Style::Bad : unknown > 0 ? Style::Warning : Style::Good;
    line(say(id, {{"gpu", printable(report_.gpus[gpu].label)},
                  {"n", count_text(with_code)},
                  {"bad", count_text(bad > 0 ? bad : unknown)}}),
         "", "", style);
  }

  const ScanReport& report_;
  const RenderOptions& options_;
  std::string out_;
};

// ---- Markdown ----

/// A cell of a table: no pipes, no line ends; back-ticks and brackets of foreign names cannot start anything.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("|\\`*[]<>#~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string render_scan_text(const ScanReport& report, const Knowledge&, const RenderOptions& options) {
  return TextReport(report, options).write();
}

std::string render_scan_markdown(const ScanReport& report, const Knowledge&, const RenderOptions& options) {
  const auto say = [&](Message id) { return std::string(message(id, options.language)); };
  std::string out =
      "# " + say(Message::ScanHeading) + "\n\n| " + say(Message::ScanFiles) + " | " + say(Message::ScanTargets) + " |";
  std::string rule = "| --- | --- |";
  for (const ScanGpu& gpu : report.gpus) out += " " + cell(gpu.label) + " |", rule += " --- |";
  out += "\n" + rule + "\n";
  for (const ScanReport::File& file : report.files) {
    out += "| " + cell(file.code.path) + " | " + cell(scan_targets_text(file.code.targets, options.ascii)) + " |";
    for (std::size_t i = 0; i < report.gpus.size() && i < file.verdicts.size(); ++i)
      out += " " + cell(scan_verdict_text(file.code, file.verdicts[i], report.gpus[i], options)) + " |";
    out += "\n";
  }
  if (report.problems.empty()) return out;
  out += "\n## " + say(Message::ScanProblems) + "\n\n";
  for (const auto& [path, why] : report.problems) out += "- " + cell(why.starts_with(path) ? why : path + ": " + why) + "\n";
  return out;
}

}  // namespace gpuvet
