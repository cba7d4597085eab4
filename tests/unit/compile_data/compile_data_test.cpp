#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compile_data/document.h"
#include "compile_data/generate.h"

namespace compile_data {
namespace {

namespace fs = std::filesystem;

constexpr const char* good_rule = R"(slug = "a-rule"
layer = "hardware"
severity = "error"
worlds = ["bare-metal", "vm"]
explains = ["b-rule", "layer:device-node"]
source = "a manual"
[decides]
en = "sure"
zh = "确定"
[text]
title_en = "No {kernel}"
title_zh = "没有 {kernel}"
explanation_en = "why"
explanation_zh = "为什么"
)";

constexpr const char* good_action = R"(risk = "package"
reversible = true
reboot = false
[text]
en = "Install {package}"
zh = "安装 {package}"
[commands]
debian = ["sudo apt install {package}"]
)";

/// A data folder of its own for each test.
class CompileData : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("compile_data_test." + std::to_string(getpid()));
    fs::remove_all(root_);
    for (const char* folder : {"facts", "rules", "actions"}) fs::create_directories(root_ / folder);
    write("catalogue.tsv",
          "slug\tlayer\tseverity\tmeaning\tevidence\na-rule\thardware\terror\tm\te\nb-rule\tuser-driver\twarning\tm\te\n");
    write("facts/xid.tsv", "code\tsource\n79\tbook\n");
    write("rules/a-rule.toml", good_rule);
    write("actions/do-it.toml", good_action);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  /// All problems, without the folder's name, a line each.
  std::string problems() {
    Problems problems;
    std::vector<CatalogueRow> catalogue;
    tables_ = generate_tables(root_.string(), catalogue, problems);
    rules_ = generate_rule_records(root_.string(), catalogue, problems);
    actions_ = generate_action_records(root_.string(), problems);
    return joined(problems);
  }
  std::string joined(const Problems& problems) const {
    std::string text;
    for (const std::string& line : problems.lines()) text += replaced(line, root_.string() + "/", "") + "\n";
    return text;
  }

  fs::path root_;
  std::string tables_, rules_, actions_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(CompileData, GoodDataBecomesSource) {
  EXPECT_EQ(problems(), "");
  EXPECT_TRUE(has(tables_, "{\"xid\", {table_xid"));
  EXPECT_TRUE(has(rules_, "\"a-rule\", Layer::Hardware, Severity::Error, 1 | 2"));
  EXPECT_TRUE(has(actions_, "sudo apt install {package}"));
}

TEST_F(CompileData, NoRecordsAtAllIsFine) {
  fs::remove_all(root_ / "rules");
  fs::remove_all(root_ / "actions");
  EXPECT_EQ(problems(), "");
  EXPECT_TRUE(has(rules_, "find_rule_record"));
}

TEST_F(CompileData, Tables) {
  write("facts/xid.tsv", "code\tsource\n79\n80\t\nx\tbook\n81\tbook\n81\tbook\n82\tbook\r\n");
  EXPECT_EQ(problems(),
            "facts/xid.tsv:2: 1 columns where the header has 2\n"
            "facts/xid.tsv:3: the source is empty\n"
            "facts/xid.tsv:7: has a carriage return\n"
            "facts/xid.tsv:4: code 'x' is no number\n"
            "facts/xid.tsv:6: repeats the key '81 ' of line 5\n");
}

TEST_F(CompileData, SourceColumnIsLast) {
  write("facts/own.tsv", "source\tcode\nbook\t1\n");
  EXPECT_EQ(problems(), "facts/own.tsv:1: the last column must be 'source'\n");
}

TEST_F(CompileData, Versions) {
  write("facts/driver_branches.tsv",
        "branch\tcuda_version\tcu_driver_get_version\tfirst_release\tlast_known_release\tsource\n"
        "535\t12.2\t12020\t535.43.02\t535.x\tbook\n550\t12.4\t12030\t550.40.07 (inferred)\t\tbook\n");
  EXPECT_EQ(problems(),
            "facts/driver_branches.tsv:2: last_known_release '535.x' is no driver version\n"
            "facts/driver_branches.tsv:3: cu_driver_get_version 12030 does not belong to CUDA 12.4\n");
}

TEST_F(CompileData, RuleNeedsBothLanguages) {
  write("rules/a-rule.toml", replaced(good_rule, "explanation_zh = \"为什么\"", "explanation_zh = \" \""));
  EXPECT_EQ(problems(), "rules/a-rule.toml:14: 'text.explanation_zh' is missing, empty or no text\n");
}

TEST_F(CompileData, RuleWords) {
  std::string rule = replaced(good_rule, "\"vm\"", "\"moon\"");
  rule = replaced(rule, "\"b-rule\"", "\"c-rule\"");
  rule = replaced(rule, "source =", "sauce =");
  EXPECT_TRUE(has((write("rules/a-rule.toml", rule), problems()), "rules/a-rule.toml:4: unknown world 'moon'"));
  EXPECT_TRUE(has(problems(), "rules/a-rule.toml:5: explains 'c-rule', which is no kind of the catalogue"));
  EXPECT_TRUE(has(problems(), "rules/a-rule.toml:6: unknown key 'sauce'"));
  EXPECT_TRUE(has(problems(), "'source' is missing"));
  write("rules/a-rule.toml", replaced(replaced(good_rule, "\"hardware\"", "\"software\""), "\"error\"", "\"fatal\""));
  EXPECT_TRUE(has(problems(), "rules/a-rule.toml:2: unknown layer 'software'"));
  EXPECT_TRUE(has(problems(), "rules/a-rule.toml:3: unknown severity 'fatal'"));
}

TEST_F(CompileData, DifferenceFromTheCatalogueNeedsAReason) {
  const std::string rule = replaced(good_rule, "\"error\"", "\"note\"");
  write("rules/a-rule.toml", rule);
  EXPECT_EQ(problems(), "rules/a-rule.toml:3: severity 'note' differs from the catalogue's 'error' without a severity_reason\n");
  write("rules/a-rule.toml", "severity_reason = \"because\"\n" + rule);
  EXPECT_EQ(problems(), "");
}

TEST_F(CompileData, PlaceholdersAreTheSameInBothLanguages) {
  write("rules/a-rule.toml", replaced(good_rule, "没有 {kernel}", "没有 {core}"));
  EXPECT_EQ(problems(),
            "rules/a-rule.toml:12: 'text.title_en' and 'text.title_zh' differ in their placeholders: {kernel} against {core}\n");
}

TEST_F(CompileData, VariantsAreChecked) {
  write("rules/a-rule.toml", std::string(good_rule) + "[variant.reboot]\ntitle_en = \"x\"\n");
  EXPECT_TRUE(has(problems(), "'variant.reboot.title_zh' is missing"));
}

TEST_F(CompileData, NoToml) {
  write("rules/a-rule.toml", "slug = \"a-rule\"\nlayer = \n");
  EXPECT_TRUE(has(problems(), "rules/a-rule.toml:2: "));
}

TEST_F(CompileData, RuleOutsideTheCatalogue) {
  fs::rename(root_ / "rules/a-rule.toml", root_ / "rules/z-rule.toml");
  EXPECT_TRUE(has(problems(), "'z-rule' is not in data/catalogue.tsv"));
  EXPECT_TRUE(has(problems(), "slug 'a-rule' differs from the file's name"));
}

TEST_F(CompileData, Actions) {
  std::string action = replaced(good_action, "debian =", "templeos =");
  action = replaced(action, "\"package\"", "\"awful\"");
  action = replaced(action, "reboot = false", "reboot = \"no\"");
  write("actions/do-it.toml", replaced(action, "zh = \"安装 {package}\"", ""));
  EXPECT_TRUE(has(problems(), "unknown family 'templeos'"));
  EXPECT_TRUE(has(problems(), "actions/do-it.toml:1: unknown risk 'awful'"));
  EXPECT_TRUE(has(problems(), "'reboot' must be true or false"));
  EXPECT_TRUE(has(problems(), "'text.zh' is missing"));
}

TEST_F(CompileData, Scenarios) {
  const auto check = [&] {
    Problems problems;
    check_scenarios(root_.string(), (root_ / "scenarios").string(), (root_ / "cases").string(), problems);
    return joined(problems);
  };
  write("scenarios/healthy/x.scenario", "");
  write("scenarios/stray/fires-x.scenario", "");
  EXPECT_TRUE(has(check(), "fires-*.scenario"));
  EXPECT_TRUE(has(check(), "near-miss-*.scenario"));
  EXPECT_TRUE(has(check(), "scenarios/stray:1: no rule record"));
  fs::remove_all(root_ / "scenarios/stray");
  write("scenarios/a-rule/fires-x.scenario", "");
  write("scenarios/a-rule/near-miss-x.scenario", "");
  EXPECT_EQ(check(), "");
  // A kind that only texts show.
  fs::remove_all(root_ / "scenarios/a-rule");
  write("cases/a-rule/fires-x.txt", "");
  EXPECT_TRUE(has(check(), "near-miss-*"));
  write("cases/a-rule/near-miss-x.txt", "");
  EXPECT_EQ(check(), "");
}

TEST(Placeholders, BracesOfShellsAreNone) {
  EXPECT_EQ(placeholders("{kernel} ${HOME} {} {A} {print $1} {driver_packages}"),
            (std::set<std::string>{"driver_packages", "kernel"}));
}

TEST(Literal, EscapesAndStartsALineForEachLine) { EXPECT_EQ(literal("a\"\\\t?\nb"), "\"a\\\"\\\\\\t\\?\\n\"\n  \"b\""); }

}  // namespace
}  // namespace compile_data
