#pragma once
// A rule is a pure function from what was seen to at most one finding. Its record (texts in both languages, layer, severity,
// worlds, what it explains) is data/rules/SLUG.toml. A rule is a value in the list of its layer's file; nothing registers itself.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/knowledge.h"
#include "model/finding.h"
#include "model/machine.h"
#include "model/purpose.h"
#include "rules/process_view.h"

namespace gpuvet {

/// A Python environment that is judged, and why it is this one.
struct JudgedEnvironment {
  enum class Why : std::uint8_t {
    Asked,    ///< --for NAME@ENV
    Active,   ///< what a plain `python` uses
    HasIt,    ///< asked for a framework that the active one lacks and this one has
    OnlyOne,  ///< nothing asked, the active one has no framework, and no other environment has one
  };
  const PythonEnvironment* environment = nullptr;
  Why why = Why::Active;
};

/// What every rule gets: the facts, the tables, and what both say together (computed once).
struct RuleContext {
  const Machine& machine;
  const Knowledge& knowledge;
  Worlds worlds = 0;
  std::vector<MachineGpu> gpus;                   ///< NVIDIA GPUs on the bus
  std::optional<DriverVersion> loaded_driver;     ///< of the loaded kernel module
  std::optional<DriverVersion> installed_driver;  ///< best knowledge of the driver on disk: module file for the running kernel,
                                                  ///< else packages, else libraries
  const DriverLibrary* libcuda = nullptr;         ///< the copy that wins for a new 64-bit process; null: none or not seen
  const DriverLibrary* libnvml = nullptr;
  Purpose purpose;                              ///< what was asked for; nothing: what is installed decides
  std::vector<JudgedEnvironment> environments;  ///< Python environments whose frameworks are judged
  std::vector<ProcessView> processes;           ///< forecasts of the judged processes; none: no plan was collected

  bool in(World world) const { return (worlds & static_cast<Worlds>(world)) != 0; }
};

RuleContext make_rule_context(const Machine& machine, const Knowledge& knowledge, const Purpose& purpose = {});

/// What a rule function fills: evidence, parameters, repair, variant, and severity when it differs from the record's.
/// kind, layer and severity are set by the engine from the record.
using RuleFunction = std::optional<Finding> (*)(const RuleContext&);

struct Rule {
  std::string_view slug;
  RuleFunction judge;
};

std::span<const Rule> hardware_rules();
std::span<const Rule> kernel_module_rules();
std::span<const Rule> device_node_rules();
std::span<const Rule> user_driver_rules();
std::span<const Rule> toolkit_rules();
std::span<const Rule> runtime_library_rules();
std::span<const Rule> framework_rules();
std::span<const Rule> container_rules();
std::span<const Rule> wsl_rules();
/// All of them, along the chain. Inside a layer the more specific comes first: that order decides between equals.
std::vector<Rule> all_rules();

/// The compiled-in record of a rule (from data/rules/SLUG.toml).
struct RuleText {
  std::string_view variant;  ///< empty: the main text
  std::string_view title_en, title_zh;
  std::string_view explanation_en, explanation_zh;
};
struct RecordParameter {
  std::string_view name, value;
};
struct RecordAction {
  std::string_view type;
  StepWhen when;
  std::span<const RecordParameter> parameters;
};
struct RuleRecord {
  std::string_view slug;
  Layer layer;
  Severity severity;
  Worlds worlds;  ///< where the rule may fire
  std::span<const std::string_view>
      explains;                     ///< kinds that are consequences when both fire; "layer:user-driver" for all of a layer
  std::span<const RuleText> texts;  ///< the main one first
  std::string_view decides_en, decides_zh;  ///< page of the rule: what it is sure of, from which facts
  std::string_view source;                  ///< where the knowledge comes from
  std::string_view confirm;                 ///< [explain]: the command that confirms it or rules it out; empty: none is needed
  std::string_view confirm_library;         ///< the same where the text names the {library}; empty: `confirm`
  std::string_view confirm_windows;         ///< the same on Windows; empty: `confirm`
  std::span<const RecordAction> repair;     ///< [explain]: steps where only a text is known
  std::optional<Severity> text_severity;    ///< [explain]: where what a text shows is worse (or less) than the kind as such
};
const RuleRecord* find_rule_record(std::string_view slug);
std::span<const RuleRecord> all_rule_records();

}  // namespace gpuvet
