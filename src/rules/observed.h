#pragma once
// What a text says, for rules: observations by meaning, and the rules that weigh them against each other and against facts.
// They run only where a text was given; the rules of the other files see the facts that the text's readers found.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/signatures.h"
#include "rules/rule.h"

namespace gpuvet {

/// Observations of the text; empty: none was given.
std::span<const Observation> observations(const Machine& machine);
/// The first with this meaning, and these values where given; null: none.
const Observation* observed(const Machine& machine, std::string_view meaning,
                            std::initializer_list<std::pair<std::string_view, std::string_view>> with = {});
std::vector<const Observation*> all_observed(const Machine& machine, std::string_view meaning);
/// The CUDA error of this number.
const Observation* observed_error(const Machine& machine, int code);
/// A value of an observation; empty: it has none of that name.
std::string_view value_of(const Observation& observation, std::string_view name);

/// The text names modules whose signature was refused, and none of them is NVIDIA's: lines without a name speak of those.
bool refuses_other_module_only(const Machine& machine);

/// The record of the message that was found; null: a reader's observation, which has none.
const Signature* signature_of(const Observation& observation);

/// A finding with its likelihood, from a text: `evidence` are the lines that speak for it, `rank` 0 … 1.
Finding text_finding(double rank, std::initializer_list<const Observation*> evidence);

/// A finding that one message decides, with a variant and a repair of its own; `confirm` empty: the record's command. Nothing:
/// the text has no such message.
std::optional<Finding> finding_of_message(const Machine& machine, std::string_view meaning, double rank, std::string_view variant,
                                          std::string_view action, std::string_view confirm = {});

/// Rules that weigh observations. Each gives the likelihood in `rank`; texts and repair are those of the kind's record
/// ([explain]) unless the rule fills them.
std::vector<Rule> observed_rules();
std::span<const Rule> observed_error_rules();    ///< observed_errors.cpp: CUDA errors by number
std::span<const Rule> observed_library_rules();  ///< observed_libraries.cpp: libraries that are not found, builds that do not fit
std::span<const Rule> observed_toolkit_rules();  ///< observed_toolkits.cpp: nvcc that is not found
std::span<const Rule> observed_driver_rules();   ///< observed_driver.cpp: the card, the bus, the module, device numbers
std::span<const Rule> observed_world_rules();    ///< observed_worlds.cpp: nodes, modules, containers, WSL, other GPUs

/// Hypotheses of single signatures: for each kind that a line speaks for the likelihood, with the lines as evidence.
std::vector<Finding> signature_findings(const Machine& machine);

/// Does another line of the text rule this kind out? Asked of guesses only: what a rule is sure of stands.
bool contradicted_by_text(const RuleContext& context, std::string_view kind);

/// Where the finding has the steps of its record and the text tells more (a release, a folder, a package): steps that use it.
void fit_repair_to_text(const RuleContext& context, Finding& finding);

/// Fills the texts' variant, severity, layer and repair of a finding of a text from its kind's record.
void complete_from_record(Finding& finding);

}  // namespace gpuvet
