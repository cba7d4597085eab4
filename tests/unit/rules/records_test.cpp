#include <gtest/gtest.h>

#include <set>

#include "knowledge/signatures.h"
#include "rules/observed.h"
#include "rules/rule.h"

namespace gpuvet {
namespace {

// A rule without a record has no texts; a record without a rule can never be shown. `driver-healthy` is found by diagnose.
TEST(RuleRecords, AndRulesAreTheSameSet) {
  std::set<std::string> rules = {"driver-healthy"}, records;
  for (const Rule& rule : all_rules()) EXPECT_TRUE(rules.emplace(rule.slug).second) << rule.slug << " is listed twice";
  for (const RuleRecord& record : all_rule_records()) records.emplace(record.slug);
  for (const std::string& slug : rules) EXPECT_TRUE(records.contains(slug)) << "no record data/rules/" << slug << ".toml";
  // Kinds that only a program's text shows have rules of observations, or a signature that names them.
  for (const Rule& rule : observed_rules()) rules.emplace(rule.slug);
  for (const Signature& signature : all_signatures()) {
    if (!signature.kind.empty()) rules.emplace(signature.kind);
    for (const SignatureKind& also : signature.also) rules.emplace(also.kind);
  }
  for (const std::string& slug : records) EXPECT_TRUE(rules.contains(slug)) << "nothing names " << slug;
  for (const std::string& slug : rules) EXPECT_TRUE(records.contains(slug)) << "no record data/rules/" << slug << ".toml";
}

TEST(RuleRecords, AreFoundBySlug) {
  for (const RuleRecord& record : all_rule_records()) EXPECT_EQ(find_rule_record(record.slug), &record);
  EXPECT_EQ(find_rule_record("no-such-rule"), nullptr);
}

}  // namespace
}  // namespace gpuvet
