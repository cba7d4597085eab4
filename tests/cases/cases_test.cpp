// Texts and their causes: every text of tests/cases must be answered rightly, of ../shared/cases at least 95 %. Prints both
// figures.
//
//   SLUG/fires-NAME.txt      the root cause is SLUG; NAME.json beside it may say {"also_ok": [...]}, and what is said of it:
//                            {"variant": "told", "steps": ["reboot", "branch=470"], "no_steps": [...], "absent": ["kind"]}
//   SLUG/near-miss-NAME.txt  the root cause is not SLUG; NAME.json may say {"kind": "what-it-is"}, "unknown": none may be named
//   unknown/NAME.txt         symptoms that do not decide: none may be named
//   innocent/NAME.txt        no sign of a problem: nothing above a note
//   open.txt                 texts that are answered wrongly for now

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "diagnose/explain.h"
#include "render/render.h"
#include "render/report.h"
#include "rules/observed.h"
#include "rules/rule.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

nlohmann::json beside(fs::path path) {
  path.replace_extension(".json");
  if (!fs::exists(path)) return nlohmann::json::object();
  return nlohmann::json::parse(contents(path));
}

struct Answer {
  Machine machine;
  Diagnosis diagnosis;
};

Answer whole_answer(const fs::path& path) {
  static const Knowledge knowledge;
  static const SignatureMatcher matcher(knowledge);
  Answer answer;
  answer.machine = machine_of_text(make_pasted_text(path.filename().string(), contents(path)), matcher, knowledge);
  answer.diagnosis = explain(answer.machine, knowledge);
  return answer;
}

Diagnosis answer(const fs::path& path) { return whole_answer(path).diagnosis; }

/// A {name} that nothing was put in for. "{{.Runtimes}}" and "${HOME}" belong to commands.
bool has_hole(std::string_view text) {
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", open + 1);
    const bool of_command = open > 0 && (text[open - 1] == '{' || text[open - 1] == '$');
    if (!of_command && end != std::string_view::npos && end > open + 1 && text[end] == '}') return true;
  }
  return false;
}

/// What is said of a finding, whole.
std::vector<std::string> words_of(const Finding& finding, const Machine& machine, Language language) {
  const FindingText text = finding_text(finding, language);
  std::vector<std::string> words{text.title, text.explanation, finding.confirm};
  for (const Action& action : finding.repair) {
    const RenderedAction rendered = render_action(action, machine, language);
    words.push_back(rendered.text);
    words.push_back(rendered.backup);
    words.insert(words.end(), rendered.commands.begin(), rendered.commands.end());
  }
  return words;
}

std::string layer_of(const std::string& kind) {
  const RuleRecord* record = find_rule_record(kind);
  return record == nullptr ? kind : std::string(layer_name(record->layer));
}

std::string named(const std::string& root) { return root.empty() ? "nothing" : root; }

bool accepts(const nlohmann::json& json, const std::string& wanted, const std::string& kind) {
  if (kind == wanted) return true;
  if (!json.contains("also_ok")) return false;
  for (const auto& other : json["also_ok"])
    if (other == kind) return true;
  return false;
}

struct Score {
  int right = 0, layer = 0, all = 0;
  void add(bool kind_is_right, bool layer_is_right) {
    ++all;
    right += kind_is_right;
    layer += layer_is_right;
  }
  void print(const char* name) const {
    std::cout << name << ": " << right << " of " << all << " by kind, " << layer << " of " << all << " by layer\n";
  }
};

/// Texts that are known to be answered wrongly: open.txt, one a line. One that is right has to leave the list.
std::set<std::string> known_wrong() {
  std::istringstream lines(contents(fs::path(GPUVET_SOURCE_DIR) / "tests/cases/open.txt"));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() != '#') names.insert(line);
  return names;
}

/// "type name=value …" of every step of the root cause.
std::string steps_of(const Diagnosis& diagnosis) {
  std::string all;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.kind != diagnosis.root_cause) continue;
    for (const Action& action : finding.repair) {
      all += action.type;
      for (const auto& [name, value] : action.parameters) all += " " + name + "=" + value;
      all += "\n";
    }
  }
  return all;
}

void expect_answer(const nlohmann::json& json, const Diagnosis& diagnosis, const std::string& name) {
  for (const Finding& finding : diagnosis.findings)
    if (finding.kind == diagnosis.root_cause && json.contains("variant")) { EXPECT_EQ(finding.variant, json["variant"]) << name; }
  const std::string steps = steps_of(diagnosis);
  for (const auto& step : json.value("steps", nlohmann::json::array()))
    EXPECT_NE(steps.find(step.get<std::string>()), std::string::npos) << name << ": no step with " << step << " in\n" << steps;
  for (const auto& step : json.value("no_steps", nlohmann::json::array()))
    EXPECT_EQ(steps.find(step.get<std::string>()), std::string::npos) << name << ": a step with " << step << " in\n" << steps;
  for (const auto& kind : json.value("absent", nlohmann::json::array()))
    for (const Finding& finding : diagnosis.findings) EXPECT_NE(finding.kind, kind) << name << " speaks of it";
}

TEST(Cases, Own) {
  const std::set<std::string> open = known_wrong();
  Score score;
  for (const auto& folder : fs::directory_iterator(fs::path(GPUVET_SOURCE_DIR) / "tests/cases")) {
    if (!folder.is_directory()) continue;
    const std::string slug = folder.path().filename().string();
    for (const auto& file : fs::directory_iterator(folder.path())) {
      if (file.path().extension() != ".txt") continue;
      const std::string name = slug + "/" + file.path().filename().string();
      const Diagnosis diagnosis = answer(file.path());
      const nlohmann::json json = beside(file.path());
      const std::string& root = diagnosis.root_cause;
      bool right = false;
      std::string layer = layer_of(slug);
      if (slug == "unknown") {
        right = root.empty() && diagnosis.verdict == Verdict::Unknown;
      } else if (slug == "innocent") {
        right = root.empty();
        for (const Finding& finding : diagnosis.findings) right = right && finding.severity == Severity::Note;
      } else if (file.path().filename().string().starts_with("fires-")) {
        right = accepts(json, slug, root);
      } else {
        const std::string wanted = json.value("kind", "");
        layer = wanted == "unknown" ? "" : layer_of(wanted);
        right = root != slug && (wanted.empty() || (wanted == "unknown" ? root.empty() : accepts(json, wanted, root)));
      }
      score.add(right, right || layer_of(root) == layer);
      expect_answer(json, diagnosis, name);
      EXPECT_EQ(right, !open.contains(name)) << name << ": named " << named(root);
    }
  }
  score.print("tests/cases");
  EXPECT_GE(score.right * 100, score.all * 95);
}

TEST(Cases, NothingIsLeftBlank) {
  for (const char* root : {"tests/cases", "../shared/cases"}) {
    const fs::path folder = fs::path(GPUVET_SOURCE_DIR) / root;
    if (!fs::exists(folder)) continue;
    for (const auto& file : fs::recursive_directory_iterator(folder)) {
      if (file.path().extension() != ".txt" || file.path().filename() == "open.txt") continue;
      const Answer answer = whole_answer(file.path());
      for (const Finding& finding : answer.diagnosis.findings)
        for (const Language language : {Language::English, Language::Chinese})
          for (const std::string& words : words_of(finding, answer.machine, language))
            EXPECT_FALSE(has_hole(words)) << file.path() << ", " << finding.kind << ": " << words;
    }
  }
}

// What a record advises where only a text is known.
TEST(Cases, RepairsOfRecordsAreWhole) {
  for (const RuleRecord& record : all_rule_records()) {
    Finding finding;
    finding.kind = record.slug;
    finding.variant = "in-text";
    complete_from_record(finding);
    for (const Action& action : finding.repair)
      for (const Language language : {Language::English, Language::Chinese}) {
        const RenderedAction rendered = render_action(action, Machine(), language);
        EXPECT_FALSE(has_hole(rendered.text)) << record.slug << ", " << action.type << ": " << rendered.text;
      }
  }
}

TEST(Cases, Shared) {
  const fs::path folder = fs::path(GPUVET_SOURCE_DIR) / "../shared/cases";
  if (!fs::exists(folder)) GTEST_SKIP() << "no ../shared/cases";
  Score score;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".txt") continue;
    const nlohmann::json json = beside(file.path());
    const std::string root = answer(file.path()).root_cause;
    const bool right = accepts(json, json.value("kind", ""), root);
    score.add(right, right || layer_of(root) == json.value("layer", ""));
    if (!right)
      std::cout << file.path().filename().string() << ": named " << named(root) << ", is " << json.value("kind", "") << "\n";
  }
  score.print("../shared/cases");
  EXPECT_GT(score.all, 0);
  EXPECT_GE(score.right * 100, score.all * 95);
}

}  // namespace
}  // namespace gpuvet
