#include "rules/observed.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "knowledge/signatures.h"
#include "rules/evidence.h"

namespace gpuvet {
namespace {

constexpr double most_likely = 0.97;
constexpr std::size_t most_evidence = 4;

bool has_placeholder(std::string_view text) { return text.find('{') != std::string_view::npos; }

/// Are all {names} of the text given? "?" stands for a value that was not told.
bool can_be_filled(std::string_view text, const std::map<std::string, std::string>& values) {
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return true;
    const auto value = values.find(std::string(text.substr(open + 1, close - open - 1)));
    if (value == values.end() || value->second.empty() || value->second == "?") return false;
  }
  return true;
}

/// One line may tell several facts.
void leave_out_repeated(std::vector<Origin>& evidence) {
  std::vector<Origin> once;
  for (Origin& origin : evidence)
    if (std::ranges::find(once, origin) == once.end()) once.push_back(std::move(origin));
  evidence = std::move(once);
}

bool has_values(const Observation& observation, std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  return std::ranges::all_of(values, [&](const auto& pair) { return value_of(observation, pair.first) == pair.second; });
}

}  // namespace

std::span<const Observation> observations(const Machine& machine) {
  const auto* list = machine.observations.get();
  return list == nullptr ? std::span<const Observation>() : std::span<const Observation>(*list);
}

const Observation* observed(const Machine& machine, std::string_view meaning,
                            std::initializer_list<std::pair<std::string_view, std::string_view>> with) {
  for (const Observation& observation : observations(machine)) {
    if (observation.meaning != meaning && observation.signature != meaning) continue;
    if (has_values(observation, with)) return &observation;
  }
  return nullptr;
}

std::vector<const Observation*> all_observed(const Machine& machine, std::string_view meaning) {
  std::vector<const Observation*> list;
  for (const Observation& observation : observations(machine))
    if (observation.meaning == meaning || observation.signature == meaning) list.push_back(&observation);
  return list;
}

const Observation* observed_error(const Machine& machine, int code) {
  return observed(machine, "cuda-error", {{"code", std::to_string(code)}});
}

std::string_view value_of(const Observation& observation, std::string_view name) {
  const auto found = observation.parameters.find(std::string(name));
  return found == observation.parameters.end() ? std::string_view() : std::string_view(found->second);
}

bool refuses_other_module_only(const Machine& machine) {
  const auto refused = all_observed(machine, "module-refused-by-name");
  const auto of_nvidia = [](const Observation* o) { return value_of(*o, "module").find("nvidia") != std::string_view::npos; };
  return !refused.empty() && std::ranges::none_of(refused, of_nvidia);
}

std::vector<Rule> observed_rules() {
  std::vector<Rule> all;
  for (const auto list : {observed_error_rules(), observed_library_rules(), observed_toolkit_rules(), observed_driver_rules(),
                          observed_world_rules()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

Finding text_finding(double rank, std::initializer_list<const Observation*> evidence) {
  Finding finding;
  finding.rank = rank;
  for (const Observation* observation : evidence)
    if (observation != nullptr) finding.evidence.push_back(observation->origin);
  return finding;
}

std::optional<Finding> finding_of_message(const Machine& machine, std::string_view meaning, double rank, std::string_view variant,
                                          std::string_view action, std::string_view confirm) {
  const Observation* message = observed(machine, meaning);
  if (message == nullptr) return std::nullopt;
  Finding finding = text_finding(rank, {message});
  finding.variant = variant;
  finding.repair = {make_action(std::string(action))};
  finding.confirm = confirm;
  return finding;
}

const Signature* signature_of(const Observation& observation) {
  const auto all = all_signatures();
  const auto found = std::ranges::find(all, std::string_view(observation.signature), &Signature::id);
  return found == all.end() ? nullptr : &*found;
}

std::vector<Finding> signature_findings(const Machine& machine) {
  std::vector<Finding> findings;
  std::map<std::string_view, std::map<std::pair<std::string_view, std::uint32_t>, double>> weights;  // by kind and line
  const auto support = [&](std::string_view kind, double weight, const Observation& observation) {
    auto& lines = weights[kind];
    if (lines.empty()) {
      findings.push_back({});
      findings.back().kind = kind;
    }
    auto& finding = *std::ranges::find(findings, kind, &Finding::kind);
    const auto [line, fresh] =
        lines.emplace(std::pair(std::string_view(observation.origin.source), observation.origin.line), weight);
    line->second = std::max(line->second, weight);
    if (fresh && finding.evidence.size() < most_evidence) finding.evidence.push_back(observation.origin);
    for (const auto& [name, value] : observation.parameters) finding.parameters.emplace(name, value);
  };
  for (const Observation& observation : observations(machine)) {
    const Signature* signature = signature_of(observation);
    if (signature == nullptr) continue;
    if (!signature->kind.empty()) support(signature->kind, signature->weight, observation);
    for (const SignatureKind& other : signature->also) support(other.kind, other.weight, observation);
  }
  for (Finding& finding : findings) {
    // Two lines of the same failure are no two independent proofs: all but the strongest count half.
    double strongest = 0, doubt = 1;
    for (const auto& [line, weight] : weights[finding.kind]) {
      doubt *= 1 - weight / 2;
      strongest = std::max(strongest, weight);
    }
    finding.rank = std::min(most_likely, 1 - doubt / (1 - strongest / 2) * (1 - strongest));
    complete_from_record(finding);
  }
  return findings;
}

void complete_from_record(Finding& finding) {
  const RuleRecord* record = find_rule_record(finding.kind);
  if (record == nullptr) return;
  leave_out_repeated(finding.evidence);
  finding.layer = record->layer;
  // What somebody's program printed on failing is more than a note.
  if (record->text_severity)
    finding.severity = *record->text_severity;
  else if (finding.severity == Severity::Error)
    finding.severity = std::max(record->severity, Severity::Warning);
  if (!record->texts.empty()) {
    const auto chosen = std::ranges::find(record->texts, std::string_view(finding.variant), &RuleText::variant);
    const RuleText& shown = chosen == record->texts.end() ? record->texts.front() : *chosen;
    const bool filled =
        can_be_filled(shown.title_en, finding.parameters) && can_be_filled(shown.explanation_en, finding.parameters);
    const bool other = std::ranges::any_of(record->texts, [](const RuleText& text) { return text.variant == "in-text"; });
    const bool says_nothing_more = finding.variant.empty() && !has_placeholder(shown.title_en);
    if ((!filled || says_nothing_more) && other) finding.variant = "in-text";
  }
  if (finding.repair.empty()) {
    for (const RecordAction& step : record->repair) {
      Action action = make_action(step.type);
      action.when = step.when;
      for (const RecordParameter& parameter : step.parameters)
        action.parameters.emplace(std::string(parameter.name), std::string(parameter.value));
      finding.repair.push_back(std::move(action));
    }
  }
}

}  // namespace gpuvet
