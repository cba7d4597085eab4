// The answer for an issue report or a chat: Markdown, with foreign text where it cannot turn into markup.

#include <algorithm>
#include <cmath>

#include "render/host_words.h"
#include "render/messages.h"
#include "render/own_words.h"
#include "render/render.h"
#include "render/report.h"

namespace gpuvet {
namespace {

std::string_view symbol(LinkState state) {
  switch (state) {
    case LinkState::Ok:
      return "✅";
    case LinkState::Warning:
      return "⚠️";
    case LinkState::Broken:
      return "❌";
    case LinkState::Unknown:
      return "❔";
    case LinkState::NotNeeded:
      return "➖";
  }
  return "❔";
}

/// Characters that mean something to Markdown, or to HTML inside it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (std::string_view("\\`*_[]|#>~").find(c) != std::string_view::npos) {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

/// A code block whose fence is longer than any run of back-ticks inside.
std::string code_block(std::string_view text, std::string_view language, std::string_view indent = "") {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  std::string out = std::string(indent) + fence + std::string(language) + "\n" + std::string(indent);
  for (const char c : text) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out + "\n" + std::string(indent) + fence + "\n";
}

class MarkdownReport {
 public:
  MarkdownReport(const Diagnosis& diagnosis, const Machine& machine, const RenderOptions& options)
      : diagnosis_(diagnosis), machine_(machine), options_(options), report_(make_report(diagnosis)) {}

  std::string render() {
    const Finding* main = report_.root != nullptr ? report_.root : report_.healthy;
    if (main != nullptr) {
      const FindingText text = finding_text(*main, options_.language);
      out_ += "## " + escaped(text.title) + "\n\n";
      if (!text.explanation.empty()) out_ += escaped(text.explanation) + "\n\n";
    }
    if (diagnosis_.run) command(*diagnosis_.run);
    out_ += "**" + escaped(verdict_sentence(diagnosis_, options_.strict, options_.language)) + "**\n\n";
    if (!diagnosis_.of_text) chain();
    if (report_.root != nullptr) evidence_and_repair(*report_.root);
    list(Message::Consequences, report_.consequences);
    if (diagnosis_.of_text)
      possibilities();
    else
      list(Message::OtherFindings, report_.others);
    loader_failures();
    contradictions();
    if (diagnosis_.host) {
      heading(Message::ThisMachine);
      out_ += escaped(host_text(*diagnosis_.host, options_.language)) + "\n\n";
    }
    codes();
    not_seen();
    return std::move(out_);
  }

 private:
  std::string_view say(Message id) const { return message(id, options_.language); }
  void heading(Message id) { out_ += "### " + std::string(say(id)) + "\n\n"; }

  void chain() {
    const bool chinese = options_.language == Language::Chinese;
    out_ += chinese ? "| | 环节 | 所见 |\n|---|---|---|\n" : "| | link | found |\n|---|---|---|\n";
    for (const ChainLink& link : diagnosis_.chain) {
      out_ += "| " + std::string(symbol(link.state)) + " | " +
              std::string(link_title(link.layer, diagnosis_, options_.language)) + " | " +
              escaped(link_text(link, diagnosis_, options_.language)) + " |\n";
    }
    out_ += '\n';
  }

  void alternatives(const RenderedAction& action) {
    for (const RenderedWay& way : action.alternatives) {
      std::string commands;
      for (const std::string& command : way.commands) commands += (commands.empty() ? "" : "\n") + command;
      out_ += "   " + way_heading(way, options_.language) + "\n" + code_block(commands, "sh", "   ");
    }
  }

  void evidence_and_repair(const Finding& finding) {
    if (!finding.evidence.empty()) {
      heading(Message::Evidence);
      for (const Origin& origin : finding.evidence) {
        out_ += "- " + escaped(origin_place(origin)) + "\n";
        if (!origin.text.empty()) out_ += code_block(evidence_text(origin, options_.language), "", "  ");
      }
      out_ += '\n';
    }
    if (const std::string_view command = confirming_command(finding); diagnosis_.of_text && !command.empty()) {
      heading(Message::Confirm);
      out_ += code_block(command, "sh") + "\n";
    }
    heading(Message::Repair);
    if (finding.repair.empty()) out_ += std::string(say(Message::NoRepairKnown)) + "\n\n";
    bool reboot = false;
    for (std::size_t i = 0; i < finding.repair.size(); ++i) {
      const RenderedAction action = render_action(finding.repair[i], machine_, options_.language);
      out_ += std::to_string(i + 1) + ". " + escaped(action.text) + "\n";
      if (!action.backup.empty())
        out_ += "   " + std::string(say(Message::BackUpFirst)) + (options_.language == Language::Chinese ? "" : " ") +
                escaped(action.backup) + "\n";
      std::string commands;
      for (const std::string& command : action.commands) commands += (commands.empty() ? "" : "\n") + command;
      if (!commands.empty()) out_ += code_block(commands, "sh", "   ");
      alternatives(action);
      reboot = reboot || action.reboot;
    }
    out_ += reboot ? "\n" + std::string(say(Message::RebootNeeded)) + "\n\n" : "\n";
  }

  void list(Message title, const std::vector<const Finding*>& findings) {
    if (findings.empty()) return;
    heading(title);
    for (const Finding* f : findings) {
      out_ += "- " + std::string(severity_title(f->severity, options_.language)) + ": " +
              escaped(finding_text(*f, options_.language).title) + " (`" + printable(f->kind) + "`)\n";
    }
    out_ += '\n';
  }

  void possibilities() {
    if (!report_.others.empty()) heading(Message::OtherPossibilities);
    for (const Finding* f : report_.others) {
      out_ += "- " + std::to_string(std::lround(f->rank * 100)) + " % " + escaped(finding_text(*f, options_.language).title) +
              " (`" + printable(f->kind) + "`)\n";
      const std::string_view command = confirming_command(*f);
      if (!command.empty()) out_ += code_block(command, "sh", "  ");
    }
    if (!report_.others.empty()) out_ += '\n';
    if (!diagnosis_.red_herrings.empty()) heading(Message::NotTheProblem);
    for (const RedHerring& herring : diagnosis_.red_herrings) {
      out_ += "- " + escaped(options_.language == Language::Chinese ? herring.why_zh : herring.why_en) + "\n";
      if (!herring.origin.text.empty()) out_ += code_block(printable(herring.origin.text), "", "  ");
    }
    if (!diagnosis_.red_herrings.empty()) out_ += '\n';
  }

  void command(const RunOutcome& run) {
    std::string line;
    for (const std::string& word : run.command) line += (line.empty() ? "" : " ") + printable(word);
    out_ += std::string(say(Message::Command)) + ":\n\n" + code_block(line, "") + "\n";
  }

  void loader_failures() {
    if (!diagnosis_.run || diagnosis_.run->loader_failures.empty()) return;
    heading(Message::LoaderDidNotFind);
    for (const Origin& origin : diagnosis_.run->loader_failures)
      out_ += "- " + escaped(loader_failure_text(origin, options_.language)) + "\n";
    out_ += '\n';
  }

  void contradictions() {
    if (diagnosis_.contradictions.empty()) return;
    heading(Message::Contradictions);
    for (const Contradiction& contradiction : diagnosis_.contradictions) {
      out_ += "- " + escaped(contradiction_text(contradiction, options_.language)) + "\n";
      for (const Origin& origin : {contradiction.text, contradiction.host}) {
        if (origin.source.empty()) continue;
        out_ += "  - " + escaped(origin_place(origin)) + "\n";
        if (!origin.text.empty()) out_ += code_block(evidence_text(origin, options_.language), "", "    ");
      }
    }
    out_ += '\n';
  }

  void codes() {
    if (diagnosis_.codes.empty()) return;
    heading(Message::CodesInLog);
    for (const CodeMeaning& code : diagnosis_.codes) {
      std::string text;
      for (const std::string& line : code_meaning_lines(code, options_.language)) text += (text.empty() ? "" : " ") + line;
      out_ += "- " + escaped(text) + "\n" + code_block(printable(code.origin.text), "", "  ");
    }
    out_ += '\n';
  }

  void not_seen() {
    if (diagnosis_.not_seen.empty()) return;
    heading(Message::NotSeen);
    for (const NotSeen& entry : diagnosis_.not_seen) {
      out_ += "- " + escaped(not_seen_title(entry.what, options_.language));
      if (!entry.why.empty()) out_ += ": " + escaped(printable(entry.why));
      const std::string advice = not_seen_advice(entry, machine_, options_.language);
      out_ += advice.empty() ? "\n" : ". " + escaped(advice) + "\n";
    }
    out_ += '\n';
  }

  const Diagnosis& diagnosis_;
  const Machine& machine_;
  const RenderOptions& options_;
  Report report_;
  std::string out_;
};

}  // namespace

std::string render_markdown(const Diagnosis& diagnosis, const Machine& machine, const Knowledge&, const RenderOptions& options) {
  return MarkdownReport(diagnosis, machine, options).render();
}

}  // namespace gpuvet
