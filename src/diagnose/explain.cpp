#include "diagnose/explain.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "diagnose/code_meanings.h"
#include "rules/evidence.h"
#include "rules/observed.h"
#include "rules/rule.h"

namespace gpuvet {
namespace {

constexpr double by_facts = 0.93;     // a rule that decides from facts of the text
constexpr double out_of_world = 0.4;  // a kind that does not occur where the text seems to come from
constexpr std::size_t most_evidence = 6;
constexpr double not_worth_a_line = 0.12;  // less likely ones are not shown

bool applies(const RuleRecord& record, Worlds worlds) { return (worlds & ~record.worlds) == 0; }

/// A text that says nothing of where it comes from may come from anywhere.
bool may_apply(const RuleRecord& record, Worlds worlds) {
  return worlds == static_cast<Worlds>(World::BareMetal) || (worlds & record.worlds) != 0;
}

/// Evidence of both, none twice.
void add_evidence(Finding& to, const Finding& from) {
  for (const Origin& origin : from.evidence) {
    const bool known = std::ranges::any_of(to.evidence, [&](const Origin& o) {
      return o.source == origin.source && o.line == origin.line && o.text == origin.text;
    });
    if (!known && to.evidence.size() < most_evidence) to.evidence.push_back(origin);
  }
}

void merge(std::vector<Finding>& findings, Finding finding) {
  const auto same = std::ranges::find_if(findings, [&](const Finding& f) { return f.kind == finding.kind; });
  if (same == findings.end()) return findings.push_back(std::move(finding));
  // The likelier one has the better story; a rule's own words and repair are worth more than the record's.
  const bool better = finding.rank > same->rank && (!finding.repair.empty() || same->repair.empty());
  if (better) std::swap(*same, finding);
  same->rank = std::max(same->rank, finding.rank);
  add_evidence(*same, finding);
}

std::vector<Finding> hypotheses(const RuleContext& context) {
  std::vector<Finding> findings;
  const auto run = [&](std::span<const Rule> rules, bool facts) {
    for (const Rule& rule : rules) {
      const RuleRecord* record = find_rule_record(rule.slug);
      if (record == nullptr || (facts && !applies(*record, context.worlds))) continue;
      auto finding = rule.judge(context);
      if (!finding) continue;
      finding->kind = rule.slug;
      if (facts) finding->rank = finding->severity == Severity::Error ? by_facts : 0.45;
      complete_from_record(*finding);
      if (facts) finding->severity = std::min(finding->severity, record->severity);
      merge(findings, std::move(*finding));
    }
  };
  const std::vector<Rule> rules = all_rules();
  run(rules, true);
  const std::vector<Rule> of_text = observed_rules();
  run(of_text, false);
  for (Finding& finding : signature_findings(context.machine)) {
    const RuleRecord* record = find_rule_record(finding.kind);
    if (record == nullptr) continue;
    if (!may_apply(*record, context.worlds)) finding.rank *= out_of_world;
    merge(findings, std::move(finding));
  }
  return findings;
}

bool names_as_consequence(const Finding& cause, const Finding& effect) {
  const RuleRecord* record = find_rule_record(cause.kind);
  if (record == nullptr || cause.kind == effect.kind) return false;
  const std::string whole_layer = "layer:" + std::string(layer_name(effect.layer));
  return std::ranges::any_of(record->explains, [&](std::string_view kind) { return kind == effect.kind || kind == whole_layer; });
}

/// A likely finding whose record says that this one follows from it.
bool is_explained(const std::vector<Finding>& findings, const Finding& effect) {
  return std::ranges::any_of(findings, [&](const Finding& cause) {
    // A cause that is much less likely than what it would explain explains nothing.
    return cause.rank >= sure_enough && cause.rank > effect.rank - 0.2 && cause.severity >= effect.severity &&
           names_as_consequence(cause, effect) && !(names_as_consequence(effect, cause) && effect.rank > cause.rank);
  });
}

double weight_of(const Finding& finding) {
  return finding.rank * (finding.severity == Severity::Error ? 1.0 : finding.severity == Severity::Warning ? 0.85 : 0.2);
}

std::vector<RedHerring> red_herrings(const Machine& machine) {
  std::vector<RedHerring> found;
  for (const Observation& observation : observations(machine)) {
    const Signature* signature = signature_of(observation);
    if (signature == nullptr || signature->harmless_en.empty()) continue;
    found.push_back({observation.origin, std::string(signature->harmless_en), std::string(signature->harmless_zh)});
  }
  return found;
}

/// A library's name from the text, as far as it may go into a command: "libcudnn_ops_infer.so", "cublas64_12.dll".
std::string named_library(const Machine& machine, const Finding& finding) {
  for (const Origin& line : finding.evidence) {
    for (const Observation& observation : observations(machine)) {
      if (observation.origin.line != line.line || observation.origin.source != line.source) continue;
      std::string name(value_of(observation, "library"));
      if (const std::size_t end = name.find(".so"); end != std::string::npos) name.resize(end + 3);
      const bool plain = name.size() <= 60 && std::ranges::all_of(name, [](unsigned char c) {
                           return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '+';
                         });
      if (plain && (name.ends_with(".so") || name.ends_with(".dll"))) return name;
    }
  }
  return {};
}

/// The command that decides, for this text: with the library that it names, and for the system that it comes from.
std::string confirming(const RuleContext& context, const RuleRecord& record, const Finding& finding, bool windows) {
  const std::string library =
      record.confirm_library.empty() && record.confirm_windows.empty() ? std::string() : named_library(context.machine, finding);
  if (library.ends_with(".dll")) return "where " + library;
  if (windows) return std::string(record.confirm_windows);
  if (library.empty()) return {};
  std::string command(record.confirm_library);
  constexpr std::string_view name = "{library}";
  for (std::size_t at = command.find(name); at != std::string::npos; at = command.find(name, at + library.size()))
    command.replace(at, name.size(), library);
  return command;
}

/// Linux' package managers are no help on Windows.
void fit_to_windows(Finding& finding) {
  for (Action& action : finding.repair) {
    if (action.type == "update-driver") action = make_action("update-driver-of-windows");
    if (action.type == "find-library-and-add-folder") action = make_action("let-python-find-dlls");
    if (action.type == "set-variable" && finding.kind == "cuda-home-wrong") action = make_action("set-cuda-path-on-windows");
    if (action.type == "install-any-cuda-toolkit") action = make_action("install-cuda-toolkit-on-windows");
  }
}

void fit_to_system(const RuleContext& context, std::vector<Finding>& findings) {
  const bool windows = observed(context.machine, "windows") != nullptr && !context.in(World::Wsl2) && !context.in(World::Wsl1);
  for (Finding& finding : findings) {
    if (const RuleRecord* record = find_rule_record(finding.kind); record != nullptr && finding.confirm.empty())
      finding.confirm = confirming(context, *record, finding, windows);
    if (windows) fit_to_windows(finding);
  }
}

}  // namespace

Diagnosis explain(const Machine& machine, const Knowledge& knowledge) {
  const RuleContext context = make_rule_context(machine, knowledge, {});
  Diagnosis diagnosis;
  diagnosis.of_text = true;
  diagnosis.findings = hypotheses(context);
  auto& findings = diagnosis.findings;
  fit_to_system(context, findings);
  std::vector<bool> explained;
  for (const Finding& finding : findings) explained.push_back(is_explained(findings, finding));
  const Finding* root = nullptr;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    if (explained[i] || finding.severity == Severity::Note || finding.rank < sure_enough) continue;
    // Of equals the earlier link of the chain.
    if (root == nullptr || weight_of(finding) > weight_of(*root) + 0.02 ||
        (weight_of(finding) > weight_of(*root) - 0.02 && finding.layer < root->layer))
      root = &finding;
  }
  if (root != nullptr) diagnosis.root_cause = root->kind;
  for (Finding& cause : findings)
    for (const Finding& effect : findings)
      if (cause.rank >= sure_enough && names_as_consequence(cause, effect)) cause.explains.push_back(effect.kind);
  const std::string root_kind = diagnosis.root_cause;
  std::ranges::stable_sort(findings, [&](const Finding& a, const Finding& b) {
    if ((a.kind == root_kind) != (b.kind == root_kind)) return a.kind == root_kind;
    return weight_of(a) > weight_of(b);
  });
  std::erase_if(findings, [&](const Finding& f) { return f.kind != root_kind && (f.rank < not_worth_a_line); });
  diagnosis.red_herrings = red_herrings(machine);
  std::vector<Finding> likely;
  std::ranges::copy_if(findings, std::back_inserter(likely), [](const Finding& f) { return f.rank >= sure_enough; });
  diagnosis.codes = meanings_of_xids(machine, knowledge, likely, true);
  const bool broken = root != nullptr && std::ranges::any_of(findings, [&](const Finding& f) {
                        return f.kind == root_kind && f.severity == Severity::Error;
                      });
  // A text never shows a whole machine: where it names nothing, nothing is known.
  diagnosis.verdict = broken ? Verdict::Broken : root_kind.empty() ? Verdict::Unknown : Verdict::Holds;
  return diagnosis;
}

}  // namespace gpuvet
