#include "render/report.h"

#include <algorithm>

#include "render/host_words.h"
#include "render/messages.h"
#include "render/own_words.h"
#include "rules/framework_facts.h"
#include "rules/rule.h"

namespace gpuvet {
namespace {

const RuleText* text_of_variant(const RuleRecord& record, std::string_view variant) {
  const RuleText* main_text = record.texts.empty() ? nullptr : &record.texts.front();
  for (const RuleText& text : record.texts) {
    if (text.variant == variant) return &text;
  }
  return main_text;
}

/// Values made safe to print; in Chinese a value NAME_zh stands for NAME where a rule gives both.
std::map<std::string, std::string> printable_values(const std::map<std::string, std::string>& values, bool chinese) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : values) {
    const auto translated = chinese ? values.find(name + "_zh") : values.end();
    if (value == unnamed_environment)
      out.emplace(name, message(Message::ThePythonEnvironment, chinese ? Language::Chinese : Language::English));
    else
      out.emplace(name, printable(translated == values.end() ? value : translated->second));
  }
  return out;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

FindingText finding_text(const Finding& finding, Language language) {
  const RuleRecord* record = find_rule_record(finding.kind);
  const RuleText* text = record == nullptr ? nullptr : text_of_variant(*record, finding.variant);
  if (text == nullptr) return {printable(finding.kind), ""};
  const bool chinese = language == Language::Chinese;
  const auto values = printable_values(finding.parameters, chinese);
  return {fill_placeholders(chinese ? text->title_zh : text->title_en, values),
          fill_placeholders(chinese ? text->explanation_zh : text->explanation_en, values)};
}

Report make_report(const Diagnosis& diagnosis) {
  Report report;
  for (const Finding& f : diagnosis.findings) {
    if (report.root == nullptr && !diagnosis.root_cause.empty() && f.kind == diagnosis.root_cause) report.root = &f;
    if (f.kind == "driver-healthy") report.healthy = &f;
  }
  for (const Finding& f : diagnosis.findings) {
    if (&f == report.root || &f == report.healthy) continue;
    const bool follows = report.root != nullptr && contains(report.root->explains, f.kind);
    (follows ? report.consequences : report.others).push_back(&f);
  }
  return report;
}

std::string link_text(const ChainLink& link, const Diagnosis& diagnosis, Language language) {
  const bool wrong = link.state == LinkState::Broken || link.state == LinkState::Warning;
  if (wrong) {
    // The root cause's own title when it sits here, else the first finding of the link that is as bad as its state.
    const Severity at_least = link.state == LinkState::Broken ? Severity::Error : Severity::Warning;
    const Finding* shown = nullptr;
    for (const Finding& f : diagnosis.findings) {
      if (f.layer != link.layer || f.severity < at_least) continue;
      if (shown == nullptr || f.kind == diagnosis.root_cause) shown = &f;
    }
    if (shown != nullptr) return finding_text(*shown, language).title;
  }
  if (!link.detail.empty()) return in_own_words(link.detail, language);
  if (link.state == LinkState::Unknown) {
    const bool behind_a_break = std::any_of(diagnosis.chain.begin(), diagnosis.chain.end(), [&](const ChainLink& l) {
      return l.layer < link.layer && l.state == LinkState::Broken;
    });
    return std::string(message(behind_a_break ? Message::BehindTheBreak : Message::NothingKnown, language));
  }
  if (link.state == LinkState::NotNeeded) return std::string(message(Message::NotAskedFor, language));
  return {};
}

std::string verdict_sentence(const Diagnosis& diagnosis, bool strict, Language language) {
  if (diagnosis.run) return run_verdict(diagnosis, language);
  if (diagnosis.of_text) {
    const Message id = diagnosis.verdict == Verdict::Broken  ? Message::ExplainedCause
                       : diagnosis.verdict == Verdict::Holds ? Message::ExplainedWarning
                       : !diagnosis.findings.empty()         ? Message::ExplainedUnknown
                       : diagnosis.codes.empty()             ? Message::ExplainedNothing
                                                             : Message::ExplainedCodes;
    return std::string(message(id, language));
  }
  if (diagnosis.verdict == Verdict::Unknown) return std::string(message(Message::VerdictUnknown, language));
  if (diagnosis.verdict == Verdict::Holds) {
    const bool warned = !diagnosis.root_cause.empty();
    const Message id = !warned ? Message::VerdictHolds : strict ? Message::VerdictHoldsStrict : Message::VerdictHoldsWarning;
    return std::string(message(id, language));
  }
  const Report report = make_report(diagnosis);
  const Layer layer = report.root != nullptr ? report.root->layer : Layer::Hardware;
  return message(Message::VerdictBroken, language, {{"link", std::string(link_title(layer, diagnosis, language))}});
}

std::vector<std::string> code_meaning_lines(const CodeMeaning& code, Language language) {
  const bool chinese = language == Language::Chinese;
  const CodeMeaning::Words& words = chinese ? code.zh : code.en;
  std::string first = code.code;
  if (!code.name.empty()) first += chinese ? "（" + code.name + "）" : " (" + code.name + ")";
  std::vector<std::string> lines{first + (chinese ? "：" : ": ") + words.meaning + (chinese ? "。" : ".")};
  if (!words.causes.empty()) lines.push_back(message(Message::CodeCauses, language, {{"causes", words.causes}}));
  std::string advice = words.advice;
  for (std::size_t at = 0; (at = advice.find(" | then:", at)) != std::string::npos;) advice.replace(at, 8, ", then");
  if (!advice.empty()) lines.push_back(message(Message::CodeAdvice, language, {{"advice", advice}}));
  return lines;
}

std::string_view confirming_command(const Finding& finding) {
  if (!finding.confirm.empty()) return finding.confirm;
  const RuleRecord* record = find_rule_record(finding.kind);
  return record == nullptr ? std::string_view() : record->confirm;
}

std::string way_heading(const RenderedWay& way, Language language) {
  if (!way.distributions.empty()) return message(Message::OnDistributions, language, {{"distributions", way.distributions}});
  return message(Message::OrWith, language, {{"installer", way.installer}});
}

std::string origin_place(const Origin& origin) {
  std::string out = printable(origin.source);
  if (origin.line != 0) out += ":" + std::to_string(origin.line);
  return out;
}

int exit_code(const Diagnosis& diagnosis, bool strict) {
  switch (diagnosis.verdict) {
    case Verdict::Broken:
      return 1;
    case Verdict::Unknown:
      return 3;
    case Verdict::Holds:
      return strict && !diagnosis.root_cause.empty() ? 1 : 0;
  }
  return 2;
}

}  // namespace gpuvet
