// Every signature against its own lines.

#include "text/signature_match.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

namespace gpuvet {
namespace {

class Signatures : public testing::Test {
 protected:
  static const SignatureMatcher& matcher() {
    static const Knowledge knowledge;
    static const SignatureMatcher made(knowledge);
    return made;
  }
  static bool finds(const Signature& signature, std::string_view line) {
    for (const Observation& o : matcher().match(line))
      if (o.signature == signature.id) return true;
    return false;
  }
};

TEST_F(Signatures, AreManyAndCompile) {
  EXPECT_GE(all_signatures().size(), 300u);
  for (const Signature& s : all_signatures()) {
    const RE2 pattern(std::string(s.pattern), RE2::Quiet);
    EXPECT_TRUE(pattern.ok()) << s.id << ": " << pattern.error();
  }
}

TEST_F(Signatures, MatchTheirLines) {
  for (const Signature& s : all_signatures())
    for (const std::string_view line : s.match) {
      EXPECT_TRUE(matcher().matches(s, line)) << s.id << ": " << line;
      EXPECT_TRUE(finds(s, line)) << s.id << ": " << line;
    }
}

TEST_F(Signatures, DoNotMatchTheirNearMisses) {
  for (const Signature& s : all_signatures())
    for (const std::string_view line : s.near_miss) {
      EXPECT_FALSE(matcher().matches(s, line)) << s.id << ": " << line;
      EXPECT_FALSE(finds(s, line)) << s.id << ": " << line;
    }
}

TEST_F(Signatures, HaveLinesAndAnIdOfTheirOwn) {
  std::set<std::string_view> ids;
  for (const Signature& s : all_signatures()) {
    EXPECT_TRUE(ids.insert(s.id).second) << s.id;
    EXPECT_FALSE(s.match.empty()) << s.id;
    EXPECT_FALSE(s.near_miss.empty()) << s.id;
    EXPECT_FALSE(s.source.empty()) << s.id;
  }
}

// The pattern is tried only where a literal is, so a literal that a line lacks, or that the search ignores, loses the line.
TEST_F(Signatures, LiteralsAreInTheirLines) {
  for (const Signature& s : all_signatures()) {
    EXPECT_FALSE(s.literals.empty()) << s.id;
    for (const std::string_view literal : s.literals)
      EXPECT_GE(literal.size(), LiteralSet::shortest_literal) << s.id << ": " << literal;
    for (const std::string_view line : s.match) {
      const auto is_in_line = [&](std::string_view literal) { return line.find(literal) != std::string_view::npos; };
      EXPECT_TRUE(std::ranges::any_of(s.literals, is_in_line)) << s.id << ": " << line;
      EXPECT_NE(matcher().literals().find(line, 0).position, std::string_view::npos) << s.id << ": " << line;
    }
  }
}

// Real lines come with a time before and words behind; ids and parameters must not change by it.
TEST_F(Signatures, MatchBehindOtherWords) {
  int lost = 0;
  for (const Signature& s : all_signatures())
    for (const std::string_view line : s.match)
      if (!s.pattern.starts_with('^') && s.pattern.find("(?:^") == std::string_view::npos &&
          s.pattern.find("(^") == std::string_view::npos && !finds(s, "2026-03-04 05:06:07,890 " + std::string(line))) {
        ++lost;
        ADD_FAILURE() << s.id << ": " << line;
      }
  EXPECT_EQ(lost, 0);
}

TEST_F(Signatures, PhrasesBrokenByATerminal) {
  const Knowledge knowledge;
  const PastedText text = make_pasted_text("text",
                                           "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward "
                                           "compatibility was attem\npted on non supported HW\n");
  bool found = false;
  for (const Observation& o : observe(text, matcher())) found |= o.signature == "cuda-error-804";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace gpuvet
