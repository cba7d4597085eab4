#pragma once
// Diagnosis → what a person or a program reads.

#include <string>
#include <string_view>

#include "knowledge/knowledge.h"
#include "model/finding.h"
#include "model/machine.h"

namespace gpuvet {

enum class Language : std::uint8_t { English, Chinese };

struct RenderOptions {
  Language language = Language::English;
  bool color = false;
  int width = 80;       ///< columns; text is wrapped to it, East Asian wide characters count two
  int verbosity = 0;    ///< 1: all facts
  bool ascii = false;   ///< the locale is not UTF-8: no characters beyond ASCII
  bool strict = false;  ///< a warning as root cause counts as broken (exit code 1)
  bool redact = true;   ///< JSON: the machine inside is redacted
};

/// The chain as a picture, the root cause with evidence and repair, consequences, the rest.
std::string render_text(const Diagnosis& diagnosis, const Machine& machine, const Knowledge& knowledge,
                        const RenderOptions& options);
/// The JSON document of docs/json.md; `machine` is redacted unless it already is.
std::string render_json(const Diagnosis& diagnosis, const Machine& machine, const Knowledge& knowledge,
                        const RenderOptions& options);
std::string render_markdown(const Diagnosis& diagnosis, const Machine& machine, const Knowledge& knowledge,
                            const RenderOptions& options);
/// The page of a rule (`gpuvet rule SLUG`); empty when there is no such rule.
std::string render_rule_page(std::string_view slug, const RenderOptions& options);

/// One of several ways to do the same step: with another installer of Python packages, or, where the distribution was not
/// seen, on each of them.
struct RenderedWay {
  std::string installer;      ///< "pip", "uv", "conda", …; empty for a way of a distribution
  std::string distributions;  ///< "Ubuntu, Debian"; empty for a way of an installer
  std::vector<std::string> commands;
};

/// One repair step, ready to print: what it does, and the commands for this machine's distribution.
struct RenderedAction {
  std::string text;                       ///< "Install the headers of the running kernel", "Or: …" for another way
  std::vector<std::string> commands;      ///< {"sudo apt install linux-headers-6.8.0-49-generic"}; may be empty (a BIOS setting)
  std::vector<RenderedWay> alternatives;  ///< instead of `commands`, not after them; ways of distributions stand alone
  std::string risk;                       ///< "variable", "file", "symlink", "package", "kernel", "firmware", "hardware", "none"
  bool reversible = true;
  bool reboot = false;
  std::string backup;  ///< how to save what the step cannot bring back; empty: nothing to save
};
RenderedAction render_action(const Action& action, const Machine& machine, Language language);

/// A list of all rules: slug, layer, severity, title (`gpuvet rule`).
std::string render_rule_list(const RenderOptions& options);
/// Both as JSON (docs/json.md); the first is empty when there is no such rule.
std::string render_rule_json(std::string_view slug, const RenderOptions& options);
std::string render_rule_list_json(const RenderOptions& options);
/// 0 holds, 1 broken, 3 not enough was seen (design: exit codes).
int exit_code(const Diagnosis& diagnosis, bool strict);

/// Columns that a UTF-8 text takes on a terminal (wide characters two, combining ones none).
int display_width(std::string_view utf8);
/// Text of foreign origin made safe to print: control characters and invalid UTF-8 become visible escapes.
std::string printable(std::string_view foreign);

}  // namespace gpuvet
