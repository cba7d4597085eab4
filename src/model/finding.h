#pragma once
// What rules say (Finding), what can be done about it (Action), and the whole answer (Diagnosis).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fact.h"
#include "model/machine.h"

namespace gpuvet {

/// The links of the chain, in order, then the two worlds that are no links.
enum class Layer : std::uint8_t {
  Hardware,
  KernelModule,
  DeviceNode,
  UserDriver,
  Toolkit,
  RuntimeLibrary,
  Framework,
  Application,
  Container,
  Wsl
};
inline constexpr int chain_length = 8;  ///< Hardware … Application

enum class Severity : std::uint8_t { Note, Warning, Error };

/// Worlds a rule may apply in; a container in WSL2 is both.
enum class World : std::uint8_t { BareMetal = 1, Vm = 2, Container = 4, Wsl2 = 8, Wsl1 = 16, Jetson = 32 };
using Worlds = std::uint8_t;  ///< bits of World

enum class LinkState : std::uint8_t { Ok, Warning, Broken, Unknown, NotNeeded };
enum class Verdict : std::uint8_t { Holds, Broken, Unknown };

/// A repair step as data: `type` is a row of data/actions.toml, which has its texts and its commands per distribution.
/// How a repair step belongs to those before it.
enum class StepWhen {
  Always,       ///< it follows them
  Instead,      ///< it replaces them: another way
  IfNotEnough,  ///< it is for the case that they did not help
};

struct Action {
  std::string type;                               ///< "install-kernel-headers"
  std::map<std::string, std::string> parameters;  ///< for the texts and commands: {"kernel": "6.8.0-49-generic"}
  StepWhen when = StepWhen::Always;
  friend bool operator==(const Action&, const Action&) = default;
};

struct Finding {
  std::string kind;  ///< slug of the rule
  Layer layer = Layer::Hardware;
  Severity severity = Severity::Error;
  double rank = 1;                                ///< likelihood, 0 … 1
  std::map<std::string, std::string> parameters;  ///< fill the {placeholders} of the record's texts
  std::string variant;  ///< which of the record's texts (e.g. the story of a version mismatch); empty: the main one
  std::vector<Origin> evidence;
  std::vector<Action> repair;
  std::string confirm;                ///< of a text: the command that confirms it or rules it out; empty: the record's
  std::vector<std::string> explains;  ///< slugs of fired findings that are consequences of this one (filled by diagnose)
  friend bool operator==(const Finding&, const Finding&) = default;
};

struct ChainLink {
  Layer layer = Layer::Hardware;
  LinkState state = LinkState::Unknown;
  std::string detail;  ///< what was found there, in few words that need no translation: "RTX 4090 (8.9)", "535.183.01 open"
  friend bool operator==(const ChainLink&, const ChainLink&) = default;
};

/// Something that could not be seen. The renderers have a name and an advice for each `what`.
struct NotSeen {
  std::string what;  ///< "pci-bus", "kernel-modules", "module-files", "device-nodes", "driver-libraries", "kernel-log",
                     ///< "packages", "environment", "toolkits", "python-environments", "gpu-code", "framework-unknown",
                     ///< "interpreter", "library-path", "program-code", "program-code-unsure", "program-plan",
                     ///< "program-without-cuda", "windows-driver", "kernel-log-owner"
  std::string why;   ///< "permission denied", "no /dev in this root"
  friend bool operator==(const NotSeen&, const NotSeen&) = default;
};

/// A line of a text that people take for the problem and that is none.
struct RedHerring {
  Origin origin;
  std::string why_en, why_zh;
  friend bool operator==(const RedHerring&, const RedHerring&) = default;
};

/// Something that a text says and that this machine's own facts say otherwise.
struct Contradiction {
  std::string what;  ///< "driver", "gpu", "no-gpu", "gpu-not-seen", "kernel", "distribution", "architecture", "wsl", "module"
  std::string text_value, host_value;  ///< printable in both languages; empty: the title says it all
  Origin text, host;
  bool other_machine = false;  ///< the text is of another machine, or from before this one was changed
  friend bool operator==(const Contradiction&, const Contradiction&) = default;
};

/// What this machine's own facts add to a text.
struct HostSide {
  bool used = false;  ///< false: the text is not of this machine as it is now; its facts alone decided
  Verdict verdict = Verdict::Unknown;
  std::string purpose;                            ///< what was judged; empty: what is installed
  std::string root_cause;                         ///< kind; empty: none
  std::string variant;                            ///< of its texts
  std::map<std::string, std::string> parameters;  ///< of the root cause's texts
  std::string detail;                             ///< "RTX 4090 (8.9), 535.183.01 open"
  friend bool operator==(const HostSide&, const HostSide&) = default;
};

/// A command that `run` ran, and how it ended.
struct RunOutcome {
  std::vector<std::string> command;
  std::string program;  ///< file that was started
  int exit_code = 0, signal = 0;
  std::string output, error;            ///< "pipe", "terminal", "file", "not-heard"
  bool traced = false;                  ///< its loader was recorded
  std::vector<Origin> loader_failures;  ///< what its loader did not find: who asked, and the message
  friend bool operator==(const RunOutcome&, const RunOutcome&) = default;
};

/// A number in the kernel log that no finding speaks of, and what NVIDIA's lists say of it.
struct CodeMeaning {
  struct Words {
    std::string meaning, causes, advice;  ///< causes and advice may be empty
    friend bool operator==(const Words&, const Words&) = default;
  };
  Origin origin;
  std::string code, name;  ///< "Xid 62", "PMU_HALT_ERROR"
  Words en, zh;
  friend bool operator==(const CodeMeaning&, const CodeMeaning&) = default;
};

struct Diagnosis {
  Verdict verdict = Verdict::Unknown;
  std::string root_cause;         ///< kind of the root cause; empty: none
  std::vector<Finding> findings;  ///< in chain order; the root cause is the one of that kind
  std::vector<ChainLink> chain;
  std::vector<NotSeen> not_seen;
  std::vector<RedHerring> red_herrings;  ///< of a text
  std::vector<CodeMeaning> codes;        ///< in the order of the log
  std::optional<HostSide> host;          ///< of a text that was judged together with this machine
  std::vector<Contradiction> contradictions;
  std::optional<RunOutcome> run;
  bool of_text = false;  ///< findings are hypotheses about a text, in the order of likelihood
  std::string purpose;   ///< what was judged; empty: the driver
  friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

/// "hardware", "kernel-module", … as in the catalogue; and back (false when unknown).
std::string_view layer_name(Layer layer);
bool parse_layer(std::string_view name, Layer& out);
std::string_view severity_name(Severity severity);
bool parse_severity(std::string_view name, Severity& out);
std::string_view world_name(World world);
bool parse_world(std::string_view name, World& out);
std::string_view link_state_name(LinkState state);
std::string_view verdict_name(Verdict verdict);

/// The worlds that this machine is in, from its own facts. Never empty: bare metal when nothing else is known.
Worlds worlds_of(const Machine& machine);

}  // namespace gpuvet
