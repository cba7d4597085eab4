#include "diagnose/code_meanings.h"

#include <algorithm>
#include <array>

#include "rules/evidence.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_meanings = 4;
// Faults of a program and what follows from them; messages of tests.
constexpr std::array everyday = {13, 31, 43, 45, 106, 107};

bool is_quoted(const std::vector<Finding>& findings, const LogEvent& event) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return std::ranges::any_of(finding.evidence, [&](const Origin& origin) {
      return origin.source == event.origin.source && origin.line == event.origin.line && origin.line != 0;
    });
  });
}

}  // namespace

std::vector<CodeMeaning> meanings_of_xids(const Machine& machine, const Knowledge& knowledge,
                                          const std::vector<Finding>& findings, bool of_text) {
  std::vector<CodeMeaning> meanings;
  for (const LogEvent* event : xids_since_load(machine)) {
    if (is_quoted(findings, *event) || meanings.size() >= most_meanings) break;
    const int code = static_cast<int>(event->code);
    if (!of_text && std::ranges::find(everyday, code) != everyday.end()) continue;
    const std::string label = "Xid " + std::to_string(code);
    if (std::ranges::any_of(meanings, [&](const CodeMeaning& known) { return known.code == label; })) continue;
    const auto english = knowledge.xid(code), chinese = knowledge.xid_in_chinese(code);
    if (!english || !chinese) continue;
    meanings.push_back({quote(*event),
                        label,
                        english->mnemonic,
                        {english->meaning, english->likely_causes, english->recommended_action},
                        {chinese->meaning, chinese->likely_causes, chinese->recommended_action}});
  }
  return meanings;
}

}  // namespace gpuvet
