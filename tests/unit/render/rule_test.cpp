// Pages and list of the rules, as text and as JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "render/render.h"
#include "rules/rule.h"
#include "sample.h"

namespace gpuvet {
namespace {

using nlohmann::json;

TEST(RuleJson, HasTheDocumentedShape) {
  const json d = json::parse(render_rule_json("dkms-headers-missing", {}));
  EXPECT_EQ(d["schema"], 1);
  EXPECT_EQ(d["document"], "rule");
  EXPECT_EQ(d["slug"], "dkms-headers-missing");
  EXPECT_EQ(d["layer"], "kernel-module");
  EXPECT_EQ(d["severity"], "error");
  for (const char* field : {"title", "explanation", "decides", "source"}) EXPECT_FALSE(d[field].get<std::string>().empty()) << field;
  for (const char* field : {"worlds", "explains", "variants"}) EXPECT_TRUE(d[field].is_array()) << field;
  EXPECT_EQ(d["worlds"][0], "bare-metal");
  EXPECT_EQ(render_rule_json("no-such-rule", {}), "");
}

TEST(RuleJson, ListHasEveryRuleInBothLanguages) {
  RenderOptions chinese;
  chinese.language = Language::Chinese;
  const json english = json::parse(render_rule_list_json({})), translated = json::parse(render_rule_list_json(chinese));
  EXPECT_EQ(english["document"], "rules");
  EXPECT_EQ(english["schema"], 1);
  EXPECT_EQ(english["rules"].size(), all_rule_records().size());
  EXPECT_EQ(translated["rules"].size(), english["rules"].size());
  EXPECT_NE(translated["rules"][0]["title"], english["rules"][0]["title"]);
}

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n') out += c == '{' ? '<' : c == '}' ? '>' : c;
  }
  return out;
}

TEST(RuleList, TitlesAreWrappedNeverCut) {
  for (const int width : {40, 60, 80, 120, 100000}) {
    RenderOptions options;
    options.width = width;
    const std::string list = render_rule_list(options);
    const std::string folded = without_blanks(list);
    for (const RuleRecord& record : all_rule_records()) {
      EXPECT_NE(folded.find(without_blanks(record.texts.front().title_en)), std::string::npos) << record.slug << " at " << width;
    }
    EXPECT_EQ(list.find("…"), std::string::npos);
  }
}

TEST(RulePage, SeverityIsTheWorstThatTheRuleSays) {
  EXPECT_NE(render_rule_page("dkms-headers-missing", {}).find("at most error"), std::string::npos);
  EXPECT_NE(render_rule_page("multiple-libcuda", {}).find("note"), std::string::npos);
}

TEST(RenderText, DetailOfALinkIsWrappedUnderItself) {
  Diagnosis d = healthy_diagnosis();
  d.chain = {{Layer::Hardware, LinkState::Ok, "2 x RTX 3090 (GA102), RTX 4060 Ti (AD106), GTX 1080 (GP104)"}};
  RenderOptions options;
  options.width = 40;
  const std::string text = render_text(d, sample_machine(), Knowledge(), options);
  EXPECT_EQ(text.find("…"), std::string::npos);
  EXPECT_NE(text.find("  ✓ GPU on the bus  2 x RTX 3090\n                    (GA102), RTX 4060 Ti\n"), std::string::npos) << text;
  EXPECT_NE(without_blanks(text).find(without_blanks(d.chain[0].detail)), std::string::npos);
}

TEST(RenderText, WhatCouldNotBeCheckedHasItsWords) {
  Diagnosis d = healthy_diagnosis();
  d.not_seen = {{"windows-driver", ""}, {"kernel-log-owner", "0000:03:00"}};
  for (const Language language : {Language::English, Language::Chinese}) {
    RenderOptions options;
    options.language = language;
    const std::string text = render_text(d, sample_machine(), Knowledge(), options);
    EXPECT_NE(text.find("Windows"), std::string::npos);
    EXPECT_NE(text.find("0000:03:00"), std::string::npos);
    EXPECT_NE(text.find("--snapshot"), std::string::npos);
    EXPECT_EQ(text.find("windows-driver"), std::string::npos);
  }
}

}  // namespace
}  // namespace gpuvet
