// One test a scenario, one a described machine. Tests are registered from the files found, so a new file is a new test.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "collect/binaries.h"
#include "described_machine.h"
#include "diagnose/diagnose.h"
#include "render/own_words.h"
#include "rules/rule.h"
#include "scenario.h"

namespace gpuvet::test {
namespace {

namespace fs = std::filesystem;

const Knowledge& knowledge() {
  static const Knowledge instance;
  return instance;
}

const Finding* find(const Diagnosis& diagnosis, const std::string& kind) {
  const auto it = std::ranges::find(diagnosis.findings, kind, &Finding::kind);
  return it == diagnosis.findings.end() ? nullptr : &*it;
}

std::string describe(const Diagnosis& diagnosis) {
  std::string text = "verdict " + std::string(verdict_name(diagnosis.verdict)) + ", root cause " + (diagnosis.root_cause.empty() ? "none" : diagnosis.root_cause) + "\n";
  for (const Finding& f : diagnosis.findings) {
    text += "  " + std::string(severity_name(f.severity)) + " " + f.kind + (f.variant.empty() ? "" : " [" + f.variant + "]") + "\n";
    for (const Origin& o : f.evidence) text += "      " + o.source + ":" + std::to_string(o.line) + ": " + o.text + "\n";
  }
  for (const ChainLink& link : diagnosis.chain) text += "  " + std::string(layer_name(link.layer)) + ": " + std::string(link_state_name(link.state)) + " " + link.detail + "\n";
  return text;
}

void expect_nothing_above_note(const Diagnosis& diagnosis) {
  for (const Finding& f : diagnosis.findings) EXPECT_EQ(f.severity, Severity::Note) << f.kind;
  EXPECT_EQ(diagnosis.root_cause, "");
}

void check_root(const Expectations& expect, const Diagnosis& diagnosis) {
  EXPECT_EQ(diagnosis.root_cause, expect.root);
  const Finding* root = find(diagnosis, expect.root);
  if (root == nullptr) return;
  if (!expect.variant.empty()) EXPECT_EQ(root->variant, expect.variant);
  EXPECT_FALSE(root->evidence.empty()) << "a root cause without evidence";
  EXPECT_FALSE(root->repair.empty()) << "a root cause without a repair";
  for (const auto& text : expect.evidence) {
    const bool quoted = std::ranges::any_of(root->evidence, [&](const Origin& o) { return (o.source + ":" + o.text).find(text) != std::string::npos; });
    EXPECT_TRUE(quoted) << "no evidence with: " << text;
  }
  const auto takes = [&](const std::string& text) {
    return std::ranges::any_of(root->repair, [&](const Action& step) {
      std::string all = step.type;
      for (const auto& [name, value] : step.parameters) all += " " + name + "=" + value;
      return all.find(text) != std::string::npos;
    });
  };
  for (const auto& kind : expect.no_consequences) {
    EXPECT_NE(find(diagnosis, kind), nullptr) << kind;
    EXPECT_EQ(std::ranges::find(root->explains, kind), root->explains.end()) << kind << " would not go away with the repair";
  }
  for (const auto& text : expect.no_steps) EXPECT_FALSE(takes(text)) << "a step with: " << text;
  for (const auto& text : expect.steps) {
    EXPECT_TRUE(takes(text)) << "no step with: " << text;
  }
}

void check(const Expectations& expect, const Diagnosis& diagnosis) {
  if (expect.healthy) {
    expect_nothing_above_note(diagnosis);
    EXPECT_EQ(verdict_name(diagnosis.verdict), "holds");
    EXPECT_NE(find(diagnosis, "driver-healthy"), nullptr);
  }
  if (!expect.root.empty()) check_root(expect, diagnosis);
  if (!expect.verdict.empty()) EXPECT_EQ(verdict_name(diagnosis.verdict), expect.verdict);
  for (const auto& kind : expect.findings) EXPECT_NE(find(diagnosis, kind), nullptr) << "missing " << kind;
  for (const auto& kind : expect.absent) EXPECT_EQ(find(diagnosis, kind), nullptr) << "must not be found: " << kind;
  for (const auto& kind : expect.notes) {
    const Finding* note = find(diagnosis, kind);
    ASSERT_NE(note, nullptr) << "missing note " << kind;
    EXPECT_EQ(note->severity, Severity::Note) << kind;
  }
}

/// Sentences that gpuvet words itself (evidence without a line, details of links) have their Chinese.
void expect_chinese(const Diagnosis& diagnosis) {
  const auto check_words = [](const std::string& text) {
    static const std::regex english("[a-z]{2,} [a-z]{2,}( [a-z]{2,}|$|,|;)");
    if (!std::regex_search(text, english)) return;
    EXPECT_NE(in_own_words(text, Language::Chinese), printable(text)) << "only in English: " << text;
  };
  for (const Finding& finding : diagnosis.findings)
    for (const Origin& origin : finding.evidence)
      if (origin.line == 0) check_words(origin.text);
  for (const ChainLink& link : diagnosis.chain) check_words(link.detail);
}

class ScenarioTest : public testing::Test {
 public:
  explicit ScenarioTest(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    auto scenario = load_scenario(path_);
    ASSERT_TRUE(scenario.has_value()) << scenario.error();
    if (!scenario->skip.empty()) GTEST_SKIP() << scenario->skip;
    const Expectations& e = scenario->expect;
    ASSERT_TRUE(e.healthy || !e.root.empty() || !e.findings.empty() || !e.absent.empty() || !e.notes.empty()) << path_ << " expects nothing";
    const auto system = make_recorded_system(std::move(scenario->tree));
    const Purpose purpose = parse_purpose(scenario->purpose).value();
    Machine machine = collect(*system, scenario->options);
    EXPECT_TRUE(collect_binaries(*system, machine, purpose).has_value()) << path_;
    const Diagnosis diagnosis = diagnose(machine, knowledge(), purpose);
    check(e, diagnosis);
    if (purpose.name == "path") expect_chinese(diagnosis);
    if (HasFailure()) std::cout << path_ << ":1:\n" << describe(diagnosis);
  }

 private:
  std::string path_;
};

/// Kinds that files alone can show; what the program itself does wrong is known from its text only.
bool judged_layer(const std::string& layer) {
  return layer != "application";
}

bool contains(const std::vector<std::string>& list, const std::string& text) { return std::ranges::find(list, text) != list.end(); }

void check_machine(const DescribedMachine& machine, const Diagnosis& diagnosis) {
  const Finding* root = find(diagnosis, diagnosis.root_cause);
  for (const auto& kind : machine.must_not) {
    const bool consequence = root != nullptr && contains(root->explains, kind);
    if (const Finding* f = find(diagnosis, kind); f != nullptr && !consequence) ADD_FAILURE() << "false statement: " << kind;
  }
  if (machine.kind == "driver-healthy") {
    expect_nothing_above_note(diagnosis);
    EXPECT_EQ(verdict_name(diagnosis.verdict), "holds");
  } else if (judged_layer(machine.layer) && find_rule_record(machine.kind) != nullptr) {
    // Some hardware kinds are decided from a Python environment (a ROCm build on an NVIDIA card): a machine with a purpose beyond
    // the driver may stay unexplained until those links are read, but nothing else may be blamed.
    if (!machine.purpose.empty() && diagnosis.root_cause.empty()) return;
    EXPECT_TRUE(diagnosis.root_cause == machine.kind || contains(machine.also_ok, diagnosis.root_cause)) << "root cause is " << diagnosis.root_cause;
  } else if (!contains(machine.also_ok, diagnosis.root_cause)) {
    expect_nothing_above_note(diagnosis);  // its cause lies in a link that is not judged yet: nothing else may be blamed
  }
}

class DescribedMachineTest : public testing::Test {
 public:
  explicit DescribedMachineTest(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    auto machine = load_described_machine(path_);
    ASSERT_TRUE(machine.has_value()) << machine.error();
    if (!machine->skip.empty()) GTEST_SKIP() << machine->skip;
    const auto system = make_recorded_system(std::move(machine->tree));
    const Purpose purpose = parse_purpose(machine->purpose).value();
    Machine facts = collect(*system, machine->options);
    EXPECT_TRUE(collect_binaries(*system, facts, purpose).has_value());
    const Diagnosis diagnosis = diagnose(facts, knowledge(), purpose);
    check_machine(*machine, diagnosis);
    if (HasFailure()) std::cout << path_ << ":1: " << machine->title << ", expected " << machine->kind << "\n" << describe(diagnosis);
  }

 private:
  std::string path_;
};

std::vector<fs::path> files_below(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension && entry.path().parent_path().filename() != "bases") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string test_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

void register_all() {
  const fs::path source = GPUVET_SOURCE_DIR;
  for (const auto& file : files_below(source / "tests" / "scenarios", ".scenario")) {
    const std::string path = file.string();
    testing::RegisterTest(("scenario_" + test_name(file.parent_path().filename().string())).c_str(), test_name(file.stem().string()).c_str(), nullptr, nullptr,
                          path.c_str(), 1, [path]() -> testing::Test* { return new ScenarioTest(path); });
  }
  const char* given = std::getenv("GPUVET_MACHINES");
  const fs::path machines = given != nullptr ? fs::path(given) : source / ".." / "shared" / "machines";
  for (const auto& file : files_below(machines, ".json")) {
    const std::string path = file.string();
    testing::RegisterTest("machine", test_name(file.stem().string()).c_str(), nullptr, nullptr, path.c_str(), 1,
                          [path]() -> testing::Test* { return new DescribedMachineTest(path); });
  }
}

}  // namespace
}  // namespace gpuvet::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gpuvet::test::register_all();
  return RUN_ALL_TESTS();
}
