// The answer for a person at a terminal.

#include <algorithm>
#include <cmath>

#include "render/facts.h"
#include "render/host_words.h"
#include "render/messages.h"
#include "render/own_words.h"
#include "render/render.h"
#include "render/report.h"
#include "render/software.h"
#include "render/terminal_text.h"

namespace gpuvet {
namespace {

struct Mark {
  std::string_view unicode, ascii;
  Style style;
};

Mark mark_of(LinkState state) {
  switch (state) {
    case LinkState::Ok:
      return {"✓", "+", Style::Good};
    case LinkState::Warning:
      return {"!", "!", Style::Warning};
    case LinkState::Broken:
      return {"✗", "x", Style::Bad};
    case LinkState::Unknown:
      return {"?", "?", Style::Dim};
    case LinkState::NotNeeded:
      return {"–", "-", Style::Dim};
  }
  return {"?", "?", Style::Dim};
}

LinkState state_of(Severity severity) {
  return severity == Severity::Error     ? LinkState::Broken
         : severity == Severity::Warning ? LinkState::Warning
                                         : LinkState::NotNeeded;
}

class TextReport {
 public:
  TextReport(const Diagnosis& diagnosis, const Machine& machine, const RenderOptions& options)
      : diagnosis_(diagnosis),
        machine_(machine),
        options_(options),
        report_(make_report(diagnosis)),
        width_(std::clamp(options.width, 40, 120)) {}

  std::string render() {
    chain();
    if (report_.root != nullptr) root_cause(*report_.root);
    if (report_.root == nullptr && report_.healthy != nullptr) healthy(*report_.healthy);
    one_line_each(Message::Consequences, report_.consequences, false);
    if (diagnosis_.of_text)
      possibilities();
    else
      one_line_each(Message::OtherFindings, report_.others, true);
    red_herrings();
    loader_failures();
    contradictions();
    host();
    codes();
    not_seen();
    if (options_.verbosity > 0) out_ += render_software(machine_, options_);
    if (options_.verbosity > 0) facts();
    verdict();
    return std::move(out_);
  }

 private:
  std::string_view say(Message id) const { return message(id, options_.language); }
  /// Between two sentences or behind a colon: full-width punctuation brings its own space.
  std::string blank() const { return options_.language == Language::Chinese ? "" : " "; }
  std::string mark(LinkState state) const {
    const Mark m = mark_of(state);
    return styled(options_.ascii ? m.ascii : m.unicode, m.style, options_.color);
  }
  void add(std::string_view text, std::string_view first, std::string_view rest) { out_ += paragraph(text, first, rest, width_); }
  void heading(std::string_view text) {
    out_ += '\n';
    for (const std::string& line : wrap(text, width_)) out_ += styled(line, Style::Bold, options_.color) + '\n';
  }

  /// A line a link, more where it is long. The links behind the last one that was judged are summed up in one line.
  void chain() {
    std::size_t shown = diagnosis_.chain.size();
    while (shown > 0 && diagnosis_.chain[shown - 1].state == LinkState::NotNeeded) --shown;
    int name_width = 0;
    for (std::size_t i = 0; i < shown; ++i) {
      name_width = std::max(name_width, display_width(link_title(diagnosis_.chain[i].layer, diagnosis_, options_.language)));
    }
    for (std::size_t i = 0; i < shown; ++i) link(diagnosis_.chain[i], name_width);
    if (shown < diagnosis_.chain.size() && options_.verbosity > 0) {
      for (std::size_t i = shown; i < diagnosis_.chain.size(); ++i) link(diagnosis_.chain[i], name_width);
    }
  }

  void link(const ChainLink& link, int name_width) {
    const std::string_view name = link_title(link.layer, diagnosis_, options_.language);
    const int padding = std::max(0, name_width - display_width(name));
    const bool is_cause = report_.root != nullptr && report_.root->layer == link.layer && link.state == LinkState::Broken;
    out_ += "  " + mark(link.state) + " " + std::string(name) + std::string(static_cast<std::size_t>(padding), ' ') + "  ";
    // What does not fit goes on below, under its own beginning.
    const std::string indent(static_cast<std::size_t>(name_width) + 6, ' ');
    bool first = true;
    for (const std::string& line : wrap(link_text(link, diagnosis_, options_.language), width_ - name_width - 6)) {
      out_ += (first ? "" : indent) + styled(line, is_cause ? Style::Bold : Style::Plain, options_.color);
      while (out_.ends_with(' ')) out_.pop_back();
      out_ += '\n';
      first = false;
    }
  }

  void root_cause(const Finding& finding) {
    const FindingText text = finding_text(finding, options_.language);
    out_ += '\n';
    const Mark m = mark_of(state_of(finding.severity));
    bool first = true;
    for (const std::string& line : wrap(text.title, width_ - 2)) {
      out_ += (first ? mark(state_of(finding.severity)) + " " : "  ") +
              styled(line, m.style == Style::Bad ? Style::Bad : Style::Bold, options_.color) + "\n";
      first = false;
    }
    out_ += "  " + styled(finding.kind, Style::Dim, options_.color) + "\n";
    if (!text.explanation.empty()) {
      out_ += '\n';
      add(text.explanation, "  ", "  ");
    }
    evidence(finding);
    if (diagnosis_.of_text) confirm(finding);
    repair(finding);
  }

  void healthy(const Finding& finding) {
    const FindingText text = finding_text(finding, options_.language);
    out_ += '\n';
    add(text.title, options_.ascii ? "+ " : "✓ ", "  ");
    if (!text.explanation.empty()) add(text.explanation, "  ", "  ");
  }

  void evidence(const Finding& finding) {
    if (finding.evidence.empty()) return;
    heading(say(Message::Evidence));
    for (const Origin& origin : finding.evidence) {
      out_ += "  " + styled(origin_place(origin), Style::Dim, options_.color) + "\n";
      if (!origin.text.empty()) add(evidence_text(origin, options_.language), "      ", "      ");
    }
  }

  void repair(const Finding& finding) {
    heading(say(Message::Repair));
    if (finding.repair.empty()) return add(say(Message::NoRepairKnown), "  ", "  ");
    bool reboot = false, changes = false;
    for (std::size_t i = 0; i < finding.repair.size(); ++i) {
      const RenderedAction action = render_action(finding.repair[i], machine_, options_.language);
      step(action, i + 1, finding.repair.size() > 1);
      reboot = reboot || action.reboot;
      changes = changes || action.risk != "none";
    }
    if (reboot) add(say(Message::RebootNeeded), "  ", "  ");
    if (!reboot && changes) add(say(Message::NoRebootNeeded), "  ", "  ");
  }

  void step(const RenderedAction& action, std::size_t number, bool numbered) {
    const std::string first = numbered ? "  " + std::to_string(number) + ". " : "  ";
    add(action.text, first, numbered ? "     " : "  ");
    if (!action.backup.empty()) add(std::string(say(Message::BackUpFirst)) + blank() + action.backup, "     ", "     ");
    // Commands are never wrapped: they are there to be copied.
    for (const std::string& command : action.commands) out_ += "       " + styled(command, Style::Command, options_.color) + "\n";
    for (const RenderedWay& way : action.alternatives) {
      add(way_heading(way, options_.language), "     ", "     ");
      for (const std::string& command : way.commands) out_ += "       " + styled(command, Style::Command, options_.color) + "\n";
    }
    if (!action.reversible && action.backup.empty() && action.risk != "none") add(say(Message::CannotBeUndone), "     ", "     ");
  }

  void one_line_each(Message title, const std::vector<const Finding*>& findings, bool with_first_evidence) {
    if (findings.empty()) return;
    heading(say(title));
    for (const Finding* finding : findings) {
      const std::string text = finding_text(*finding, options_.language).title + " [" + finding->kind + "]";
      bool first = true;
      for (const std::string& line : wrap(text, width_ - 4)) {
        out_ += (first ? "  " + mark(state_of(finding->severity)) + " " : "    ") + line + "\n";
        first = false;
      }
      if (with_first_evidence && !finding->evidence.empty()) {
        first = true;
        const Origin& origin = finding->evidence.front();
        const std::string quoted = origin.text.empty() ? "" : ": " + evidence_text(origin, options_.language);
        for (const std::string& line : wrap(origin_place(origin) + quoted, width_ - 8)) {
          out_ += (first ? "      " : "        ") + styled(line, Style::Dim, options_.color) + "\n";
          first = false;
        }
      }
    }
  }

  void confirm(const Finding& finding) {
    const std::string_view command = confirming_command(finding);
    if (command.empty()) return;
    heading(say(Message::Confirm));
    out_ += "  " + styled(command, Style::Command, options_.color) + "\n";
  }

  /// The other hypotheses about a text, each with its likelihood and the command that would decide.
  void possibilities() {
    if (report_.others.empty()) return;
    heading(say(Message::OtherPossibilities));
    for (const Finding* finding : report_.others) {
      const std::string share = std::to_string(std::lround(finding->rank * 100)) + " %  ";
      const std::string title = finding_text(*finding, options_.language).title + " [" + finding->kind + "]";
      add(title, "  " + std::string(share.size() < 6 ? 6 - share.size() : 0, ' ') + share, "        ");
      const std::string_view command = confirming_command(*finding);
      if (!command.empty())
        out_ += "        " +
                styled(message(Message::WouldDecide, options_.language, {{"command", std::string(command)}}), Style::Dim,
                       options_.color) +
                "\n";
    }
  }

  void red_herrings() {
    if (diagnosis_.red_herrings.empty()) return;
    heading(say(Message::NotTheProblem));
    for (const RedHerring& herring : diagnosis_.red_herrings) {
      add(options_.language == Language::Chinese ? herring.why_zh : herring.why_en, options_.ascii ? "  - " : "  – ", "    ");
      const std::string quoted = herring.origin.text.empty() ? "" : ": " + printable(herring.origin.text);
      for (const std::string& line : wrap(origin_place(herring.origin) + quoted, width_ - 6))
        out_ += "      " + styled(line, Style::Dim, options_.color) + "\n";
    }
  }

  void loader_failures() {
    if (!diagnosis_.run || diagnosis_.run->loader_failures.empty()) return;
    heading(say(Message::LoaderDidNotFind));
    for (const Origin& origin : diagnosis_.run->loader_failures)
      add(loader_failure_text(origin, options_.language), options_.ascii ? "  - " : "  – ", "    ");
  }

  /// Both sides, each with its line.
  void contradictions() {
    if (diagnosis_.contradictions.empty()) return;
    heading(say(Message::Contradictions));
    for (const Contradiction& contradiction : diagnosis_.contradictions) {
      add(contradiction_text(contradiction, options_.language), options_.ascii ? "  - " : "  – ", "    ");
      for (const Origin& origin : {contradiction.text, contradiction.host}) {
        if (origin.source.empty()) continue;
        const std::string quoted = origin.text.empty() ? "" : ": " + evidence_text(origin, options_.language);
        for (const std::string& line : wrap(origin_place(origin) + quoted, width_ - 6))
          out_ += "      " + styled(line, Style::Dim, options_.color) + "\n";
      }
    }
  }

  void host() {
    if (!diagnosis_.host) return;
    heading(say(Message::ThisMachine));
    add(host_text(*diagnosis_.host, options_.language), "  ", "  ");
  }

  void codes() {
    if (diagnosis_.codes.empty()) return;
    heading(say(Message::CodesInLog));
    for (const CodeMeaning& code : diagnosis_.codes) {
      const std::vector<std::string> lines = code_meaning_lines(code, options_.language);
      add(lines.front(), options_.ascii ? "  - " : "  – ", "    ");
      for (std::size_t i = 1; i < lines.size(); ++i) add(lines[i], "    ", "    ");
      for (const std::string& line : wrap(origin_place(code.origin) + ": " + printable(code.origin.text), width_ - 6))
        out_ += "      " + styled(line, Style::Dim, options_.color) + "\n";
    }
  }

  void not_seen() {
    if (diagnosis_.not_seen.empty()) return;
    heading(say(Message::NotSeen));
    const std::string_view colon = options_.language == Language::Chinese ? "：" : ": ";
    for (const NotSeen& entry : diagnosis_.not_seen) {
      std::string text = not_seen_title(entry.what, options_.language);
      if (!entry.why.empty()) text.append(colon).append(printable(entry.why));
      add(text, "  ? ", "    ");
      const std::string advice = not_seen_advice(entry, machine_, options_.language);
      if (!advice.empty()) add(advice, "    ", "    ");
    }
  }

  void facts() {
    heading(say(Message::Facts));
    out_ += render_facts(machine_, options_);
  }

  void verdict() {
    out_ += '\n';
    const std::string text = verdict_sentence(diagnosis_, options_.strict, options_.language);
    for (const std::string& line : wrap(text, width_)) out_ += styled(line, Style::Bold, options_.color) + "\n";
  }

  const Diagnosis& diagnosis_;
  const Machine& machine_;
  const RenderOptions& options_;
  Report report_;
  int width_;
  std::string out_;
};

}  // namespace

std::string render_text(const Diagnosis& diagnosis, const Machine& machine, const Knowledge&, const RenderOptions& options) {
  std::string text = TextReport(diagnosis, machine, options).render();
  return options.ascii ? ascii_only(text) : text;
}

}  // namespace gpuvet
