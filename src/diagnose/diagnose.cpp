#include "diagnose/diagnose.h"

#include <algorithm>
#include <set>
#include <utility>

#include "diagnose/chain.h"
#include "diagnose/code_meanings.h"
#include "diagnose/software_links.h"
#include "rules/rule.h"

namespace gpuvet {
namespace {

/// A rule speaks in a machine only when it knows every world that the machine is in: a rule for containers stays silent in a
/// container of WSL2 unless it names both.
bool applies(const RuleRecord& record, Worlds worlds) { return (worlds & ~record.worlds) == 0; }

/// A link that the purpose does not need is never broken; and where nobody asked for a compiler, a toolkit's fault is a warning.
Severity worst_severity_of(const RuleContext& context, Layer layer) {
  if (layer > Layer::Application) return Severity::Error;
  // Frameworks that decide no purpose by themselves (a release that no table knows) may still be proven broken.
  const bool software = layer == Layer::RuntimeLibrary || layer == Layer::Framework;
  if (software && !context.purpose.asked()) return context.environments.empty() ? Severity::Note : Severity::Error;
  if (layer == Layer::Toolkit && !context.purpose.asked()) return Severity::Warning;
  return purpose_needs(context, layer) ? Severity::Error : Severity::Note;
}

std::vector<Finding> run_rules(const RuleContext& context) {
  std::vector<Finding> findings;
  for (const Rule& rule : all_rules()) {
    const RuleRecord* record = find_rule_record(rule.slug);
    if (record == nullptr || !applies(*record, context.worlds)) continue;
    auto finding = rule.judge(context);
    if (!finding) continue;
    finding->kind = rule.slug;
    finding->layer = record->layer;
    finding->severity = std::min({finding->severity, record->severity, worst_severity_of(context, record->layer)});
    findings.push_back(std::move(*finding));
  }
  return findings;
}

/// What a file has no code for stays so, whatever is repaired before it on the chain: only a record that names it explains it.
bool outlives_repairs(const Finding& finding) {
  static constexpr std::string_view kinds[] = {"gpu-arch-dropped-by-framework", "no-kernel-image-arch-missing",
                                               "extension-arch-missing"};
  return std::ranges::find(kinds, finding.kind) != std::end(kinds);
}

/// Does the record of `cause` say that `effect` follows from it?
bool names_as_consequence(const Finding& cause, const Finding& effect) {
  const RuleRecord* record = find_rule_record(cause.kind);
  if (record == nullptr || cause.kind == effect.kind || cause.severity < effect.severity) return false;
  const std::string whole_layer = "layer:" + std::string(layer_name(effect.layer));
  const bool alone = outlives_repairs(effect);
  return std::ranges::any_of(record->explains,
                             [&](std::string_view kind) { return kind == effect.kind || (kind == whole_layer && !alone); });
}

/// Everything that follows from findings[cause], also through other findings; indices in order.
std::vector<std::size_t> consequences(const std::vector<Finding>& findings, std::size_t cause) {
  std::set<std::size_t> reached;
  std::vector<std::size_t> open = {cause};
  while (!open.empty()) {
    const std::size_t current = open.back();
    open.pop_back();
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (i == cause || reached.contains(i) || !names_as_consequence(findings[current], findings[i])) continue;
      reached.insert(i);
      open.push_back(i);
    }
  }
  return {reached.begin(), reached.end()};
}

/// Explained by another finding; of two that explain each other the earlier stays a cause.
bool is_consequence(const std::vector<Finding>& findings, std::size_t index) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!names_as_consequence(findings[i], findings[index])) continue;
    const bool mutual = names_as_consequence(findings[index], findings[i]);
    if (!mutual || i < index) return true;
  }
  return false;
}

/// The first unexplained finding of the worst severity above note; findings.size() when there is none.
std::size_t find_root_cause(const std::vector<Finding>& findings) {
  for (const Severity severity : {Severity::Error, Severity::Warning}) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (findings[i].severity == severity && !is_consequence(findings, i)) return i;
    }
  }
  return findings.size();
}

Verdict judge_verdict(const std::vector<Finding>& findings, const std::vector<ChainLink>& chain) {
  const bool broken = std::ranges::any_of(findings, [](const Finding& f) { return f.severity == Severity::Error; });
  if (broken) return Verdict::Broken;
  const bool unknown = std::ranges::any_of(chain, [](const ChainLink& link) { return link.state == LinkState::Unknown; });
  return unknown ? Verdict::Unknown : Verdict::Holds;
}

Finding healthy_finding(const std::vector<ChainLink>& chain) {
  Finding finding;
  finding.kind = "driver-healthy";
  finding.layer = Layer::UserDriver;
  finding.severity = Severity::Note;
  for (const ChainLink& link : chain) {
    if (link.state != LinkState::Ok || link.detail.empty()) continue;
    finding.evidence.push_back({std::string(layer_name(link.layer)), 0, link.detail});
    // The last link that was judged is what people asked about.
    const bool toolkit_alone = link.layer == Layer::Toolkit && chain.front().state == LinkState::NotNeeded;
    if (link.layer == Layer::Framework) finding.variant = "framework";
    if (toolkit_alone) finding.variant = "toolkit";
    if (link.layer == Layer::Application) finding.variant = "program";
    const bool asked_about = link.layer == Layer::Framework || link.layer == Layer::Application || toolkit_alone;
    if (asked_about) finding.parameters["what"] = link.detail;
  }
  return finding;
}

}  // namespace

Diagnosis diagnose(const Machine& machine, const Knowledge& knowledge, const Purpose& purpose) {
  const RuleContext context = make_rule_context(machine, knowledge, purpose);
  Diagnosis diagnosis;
  diagnosis.purpose = purpose.text;
  diagnosis.findings = run_rules(context);
  auto& findings = diagnosis.findings;

  const std::size_t root = find_root_cause(findings);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (const std::size_t consequence : consequences(findings, i)) findings[i].explains.push_back(findings[consequence].kind);
  }
  if (root < findings.size()) diagnosis.root_cause = findings[root].kind;

  diagnosis.chain = judge_chain(context, findings);
  diagnosis.not_seen = list_not_seen(context);
  diagnosis.codes = meanings_of_xids(machine, knowledge, findings, false);
  diagnosis.verdict = judge_verdict(findings, diagnosis.chain);
  // Told where no finding names them.
  if (diagnosis.verdict == Verdict::Broken)
    std::erase_if(diagnosis.not_seen, [](const NotSeen& entry) { return entry.what == "program-symbols"; });
  if (diagnosis.verdict == Verdict::Holds && diagnosis.root_cause.empty()) findings.push_back(healthy_finding(diagnosis.chain));
  return diagnosis;
}

}  // namespace gpuvet
