#include "diagnose/explain.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "diagnose/code_meanings.h"
#include "diagnose/host_facts.h"
#include "rules/evidence.h"
#include "rules/observed.h"
#include "rules/rule.h"

namespace gpuvet {
namespace {

constexpr double by_facts = 0.93;      // a rule that decides from facts of the text
constexpr double by_both = 0.97;       // … and the text names the same kind
constexpr double by_host_alone = 0.2;  // the machine is broken there, but the text shows nothing that would follow from it
constexpr double ruled_out = 0.4;      // the machine's own facts speak for that link
constexpr double worth_explaining = 0.3;
constexpr double out_of_world = 0.3;  // a kind that does not occur where the text seems to come from
constexpr std::size_t most_evidence = 6;
constexpr double by_one_message = 0.7;       // what another line can still rule out
constexpr double not_worth_a_line = 0.12;    // less likely ones are not shown
constexpr double beside_a_sure_cause = 0.3;  // … where the cause is as good as certain
constexpr double as_good_as_certain = 0.9;

bool applies(const RuleRecord& record, Worlds worlds) { return (worlds & ~record.worlds) == 0; }

/// A text that says nothing of where it comes from may come from anywhere.
bool may_apply(const RuleRecord& record, Worlds worlds) {
  return worlds == static_cast<Worlds>(World::BareMetal) || (worlds & record.worlds) != 0;
}

/// Evidence of both, none twice.
void add_evidence(Finding& to, const Finding& from) {
  for (const Origin& origin : from.evidence) {
    const bool known = std::ranges::find(to.evidence, origin) != to.evidence.end();
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

Finding judged_finding(const Rule& rule, const RuleRecord& record, Finding finding, bool facts) {
  finding.kind = rule.slug;
  if (facts) finding.rank = finding.severity == Severity::Error ? by_facts : 0.45;
  complete_from_record(finding);
  if (facts) finding.severity = std::min(finding.severity, record.severity);
  return finding;
}

/// What facts prove.
std::vector<Finding> findings_of_facts(const RuleContext& context) {
  std::vector<Finding> findings;
  for (const Rule& rule : all_rules()) {
    const RuleRecord* record = find_rule_record(rule.slug);
    if (record == nullptr || !applies(*record, context.worlds)) continue;
    if (auto finding = rule.judge(context)) merge(findings, judged_finding(rule, *record, std::move(*finding), true));
  }
  return findings;
}

/// What the text's messages speak for.
void add_observed(const RuleContext& context, std::vector<Finding>& findings) {
  for (const Rule& rule : observed_rules()) {
    const RuleRecord* record = find_rule_record(rule.slug);
    if (record == nullptr) continue;
    if (auto finding = rule.judge(context)) merge(findings, judged_finding(rule, *record, std::move(*finding), false));
  }
  for (Finding& finding : signature_findings(context.machine)) {
    const RuleRecord* record = find_rule_record(finding.kind);
    if (record == nullptr) continue;
    if (!may_apply(*record, context.worlds)) finding.rank *= out_of_world;
    merge(findings, std::move(finding));
  }
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
    fit_repair_to_text(context, finding);
    if (windows) fit_to_windows(finding);
  }
}

/// Order, root cause and verdict; `text` is the context of the text alone.
Diagnosis concluded(std::vector<Finding> hypotheses, const RuleContext& text) {
  const Machine& machine = text.machine;
  Diagnosis diagnosis;
  diagnosis.of_text = true;
  diagnosis.findings = std::move(hypotheses);
  auto& findings = diagnosis.findings;
  std::erase_if(findings, [&](const Finding& f) { return f.rank < by_one_message && contradicted_by_text(text, f.kind); });
  fit_to_system(text, findings);
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
  const double root_rank = root != nullptr ? root->rank : 0;
  for (Finding& cause : findings)
    for (const Finding& effect : findings)
      if (cause.rank >= sure_enough && effect.rank >= sure_enough && names_as_consequence(cause, effect))
        cause.explains.push_back(effect.kind);
  const std::string root_kind = diagnosis.root_cause;
  // What would follow from the cause, and was a guess before it was known, is neither a consequence nor another possibility.
  if (root != nullptr) {
    const Finding cause = *root;
    std::erase_if(findings, [&](const Finding& f) { return f.rank < sure_enough && names_as_consequence(cause, f); });
  }
  std::ranges::stable_sort(findings, [&](const Finding& a, const Finding& b) {
    if ((a.kind == root_kind) != (b.kind == root_kind)) return a.kind == root_kind;
    return weight_of(a) > weight_of(b);
  });
  const double least = root_rank >= as_good_as_certain ? beside_a_sure_cause : not_worth_a_line;
  std::erase_if(findings, [&](const Finding& f) { return f.kind != root_kind && f.rank < least; });
  diagnosis.red_herrings = red_herrings(machine);
  std::vector<Finding> likely;
  std::ranges::copy_if(findings, std::back_inserter(likely), [](const Finding& f) { return f.rank >= sure_enough; });
  diagnosis.codes = meanings_of_xids(machine, text.knowledge, likely, true);
  const bool broken = !root_kind.empty() && std::ranges::any_of(findings, [&](const Finding& f) {
    return f.kind == root_kind && f.severity == Severity::Error;
  });
  // A text never shows a whole machine: where it names nothing, nothing is known.
  diagnosis.verdict = broken ? Verdict::Broken : root_kind.empty() ? Verdict::Unknown : Verdict::Holds;
  return diagnosis;
}

const Finding* of_kind(const std::vector<Finding>& findings, std::string_view kind) {
  const auto found = std::ranges::find(findings, kind, &Finding::kind);
  return found == findings.end() ? nullptr : &*found;
}

/// Would what this finding says show itself as one of the likely ones?
bool explains_some(const Finding& cause, const std::vector<Finding>& hypotheses) {
  return cause.severity == Severity::Error && std::ranges::any_of(hypotheses, [&](const Finding& effect) {
           return effect.rank >= worth_explaining && names_as_consequence(cause, effect);
         });
}

/// A line of the text that looks as if this link were broken; null: none.
const Observation* sign_of(const Finding& finding, const Machine& text) {
  if (finding.severity != Severity::Error) return nullptr;
  const auto list = observations(text);
  const auto sign =
      std::ranges::find_if(list, [&](const Observation& observation) { return shows_break_of(observation, finding.layer); });
  return sign == list.end() ? nullptr : &*sign;
}

/// Module and nodes are as they were when the text was made, or the text is of another time or place; a GPU may have failed
/// since.
void doubt_what_host_rules_out(std::vector<Finding>& hypotheses, const Diagnosis& host, std::vector<Contradiction>& found) {
  for (Finding& finding : hypotheses) {
    const bool lasting = finding.layer == Layer::KernelModule || finding.layer == Layer::DeviceNode;
    const auto link = std::ranges::find(host.chain, finding.layer, &ChainLink::layer);
    const bool in_order = link != host.chain.end() && link->state == LinkState::Ok;
    if (!lasting || !in_order || finding.rank >= by_facts || of_kind(host.findings, finding.kind) != nullptr) continue;
    if (finding.rank >= sure_enough && !finding.evidence.empty())
      found.push_back(
          {"in-order", "", link->detail, finding.evidence.front(), {std::string(layer_name(link->layer)), 0, ""}, false});
    finding.rank *= ruled_out;
  }
}

/// A finding of this machine among the text's hypotheses; one that stands alone only where nothing contradicts it.
void add_of_machine(const Machine& text, std::vector<Finding>& hypotheses, Finding finding, bool contradicted) {
  if (finding.severity == Severity::Note) return;
  const bool both = of_kind(hypotheses, finding.kind) != nullptr;
  const Observation* sign = sign_of(finding, text);
  if (sign != nullptr) finding.evidence.insert(finding.evidence.begin(), sign->origin);
  if (both && finding.severity == Severity::Error)
    finding.rank = by_both;
  else if (explains_some(finding, hypotheses) || sign != nullptr)
    finding.rank = by_facts;
  else if (finding.severity == Severity::Error && !contradicted)
    finding.rank = by_host_alone;
  else if (!both)
    return;
  finding.explains.clear();
  merge(hypotheses, std::move(finding));
}

HostSide host_side(const HostFacts& host, bool used) {
  HostSide side;
  side.used = used;
  side.verdict = host.diagnosis.verdict;
  side.purpose = host.diagnosis.purpose;
  side.root_cause = host.diagnosis.root_cause;
  if (const Finding* root = of_kind(host.diagnosis.findings, side.root_cause)) {
    side.variant = root->variant;
    side.parameters = root->parameters;
  }
  for (const ChainLink& link : host.diagnosis.chain)
    if (link.state == LinkState::Ok && !link.detail.empty()) side.detail += (side.detail.empty() ? "" : ", ") + link.detail;
  return side;
}

std::vector<Finding> hypotheses_on_host(const RuleContext& text, const Machine& both, const HostFacts& host,
                                        std::vector<Contradiction>& found) {
  std::vector<Finding> hypotheses = findings_of_facts(text);
  const RuleContext context = make_rule_context(both, text.knowledge, host.purpose);
  add_observed(context, hypotheses);
  doubt_what_host_rules_out(hypotheses, host.diagnosis, found);
  // Neither alone: a release in the text and a driver here. Only where a message of the text points the same way.
  const std::vector<Finding> of_text = hypotheses;
  for (Finding& finding : findings_of_facts(context)) {
    const bool of_host = of_kind(host.diagnosis.findings, finding.kind) != nullptr;
    if (!of_host && (of_kind(of_text, finding.kind) != nullptr || explains_some(finding, of_text)))
      merge(hypotheses, std::move(finding));
  }
  const bool contradicted = std::ranges::any_of(found, &Contradiction::other_machine);
  for (const Finding& finding : host.diagnosis.findings)
    if (finding.kind != "driver-healthy") add_of_machine(text.machine, hypotheses, finding, contradicted);
  return hypotheses;
}

}  // namespace

Diagnosis explain(const Machine& machine, const Knowledge& knowledge) {
  const RuleContext context = make_rule_context(machine, knowledge, {});
  std::vector<Finding> hypotheses = findings_of_facts(context);
  add_observed(context, hypotheses);
  return concluded(std::move(hypotheses), context);
}

Diagnosis explain_on_host(const Machine& text, const HostFacts& host, const Knowledge& knowledge) {
  std::vector<Contradiction> found = contradictions(text, host.machine, knowledge);
  const bool used = host.same_machine || std::ranges::none_of(found, &Contradiction::other_machine);
  Diagnosis diagnosis;
  if (used) {
    const RuleContext context = make_rule_context(text, knowledge, {});
    diagnosis = concluded(hypotheses_on_host(context, joined(text, host.machine), host, found), context);
  } else {
    diagnosis = explain(text, knowledge);
  }
  diagnosis.contradictions = std::move(found);
  diagnosis.host = host_side(host, used);
  return diagnosis;
}

}  // namespace gpuvet
