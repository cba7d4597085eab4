// Many literals searched for at once, against a search for each.

#include "text/literal_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace gpuvet {
namespace {

using Literals = std::vector<std::pair<std::string, std::uint32_t>>;

TEST(LiteralSet, FindsTheFirstAndAll) {
  const LiteralSet set({{"abcdef", 1}, {"cdefgh", 2}, {"cdefghij", 3}, {"tiny", 4}});
  const auto hit = set.find("xxabcdefghijxx", 0);
  EXPECT_EQ(hit.position, 2u);
  EXPECT_EQ(hit.length, 6u);
  EXPECT_EQ(hit.number, 1u);
  EXPECT_EQ(set.find("xxabcdefghijxx", 3).number, 3u);  // the longest at one place
  EXPECT_EQ(set.find("tiny things", 0).position, std::string_view::npos);
  std::vector<std::uint32_t> numbers{99};
  set.all_in("abcdefghij", numbers);
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 3}));
  set.all_in("abcde", numbers);
  EXPECT_TRUE(numbers.empty());
}

TEST(LiteralSet, AtBothEndsAndBeyond) {
  const LiteralSet set({{"needle", 7}});
  EXPECT_EQ(set.find("needle", 0).position, 0u);
  EXPECT_EQ(set.find("a needle", 0).position, 2u);
  EXPECT_EQ(set.find("a needl", 0).position, std::string_view::npos);
  EXPECT_EQ(set.find("needle", 1).position, std::string_view::npos);
  EXPECT_EQ(set.find("needle", 400).position, std::string_view::npos);
  EXPECT_EQ(set.find("", 0).position, std::string_view::npos);
}

TEST(LiteralSet, EmptyOnesAndShortOnesFindNothing) {
  for (const Literals& literals : {Literals{}, Literals{{"", 0}, {"abc", 1}, {"abcd", 2}}}) {
    const LiteralSet set(literals);
    EXPECT_TRUE(set.empty());
    std::vector<std::uint32_t> numbers;
    set.all_in("abcdabcdabcd", numbers);
    EXPECT_TRUE(numbers.empty());
    EXPECT_EQ(set.find("abcdabcdabcd", 0).position, std::string_view::npos);
  }
}

TEST(LiteralSet, SeveralLiteralsShareANumber) {
  const LiteralSet set({{"firstly", 5}, {"second", 5}, {"thirdly", 6}});
  std::vector<std::uint32_t> numbers;
  set.all_in("the second, the firstly, the second", numbers);
  EXPECT_EQ(numbers, std::vector<std::uint32_t>{5});
}

TEST(LiteralSet, BytesOfAnyValue) {
  const LiteralSet set({{std::string("\0\0\0\0\0\0", 6), 1}, {"\xff\xfe\xff\xfe\xff\xfe", 2}});
  const std::string text("ab\0\0\0\0\0\0\xff\xfe\xff\xfe\xff\xfe", 14);
  EXPECT_EQ(set.find(text, 0).position, 2u);
  EXPECT_EQ(set.find(text, 3).position, 8u);
}

TEST(LiteralSet, LiteralsLongerThanTheWindowCanBe) {
  const std::string longest(1000, 'y');
  const LiteralSet set({{longest, 1}, {longest.substr(0, 400), 2}});
  EXPECT_EQ(set.find("x" + longest, 0).number, 1u);
  EXPECT_EQ(set.find("x" + longest.substr(1), 0).number, 2u);
  EXPECT_EQ(set.find(longest.substr(0, 399), 0).position, std::string_view::npos);
}

// Few letters make many near misses and overlaps.
TEST(LiteralSet, AgreesWithASearchForEach) {
  std::mt19937 random(20261202);
  const auto word = [&](std::size_t size, int letters) {
    std::string s(size, 'a');
    for (char& c : s) c = static_cast<char>('a' + random() % static_cast<unsigned>(letters));
    return s;
  };
  for (int round = 0; round < 300; ++round) {
    const int letters = 2 + round % 3;
    Literals literals;
    for (std::uint32_t i = 0; i < 1 + random() % 40; ++i) literals.emplace_back(word(6 + random() % 12, letters), i);
    const LiteralSet set(literals);
    const std::string text = word(random() % 600, letters);

    std::set<std::uint32_t> wanted;
    std::size_t first = std::string::npos;
    for (const auto& [literal, number] : literals) {
      const std::size_t at = text.find(literal);
      if (at == std::string::npos) continue;
      wanted.insert(number);
      first = std::min(first, at);
    }
    std::vector<std::uint32_t> numbers;
    set.all_in(text, numbers);
    ASSERT_EQ(numbers, std::vector<std::uint32_t>(wanted.begin(), wanted.end())) << text;
    const auto hit = set.find(text, 0);
    ASSERT_EQ(hit.position, first) << text;
    if (first == std::string::npos) continue;
    std::size_t longest = 0;
    for (const auto& [literal, number] : literals)
      if (text.compare(first, literal.size(), literal) == 0) longest = std::max(longest, literal.size());
    ASSERT_EQ(hit.length, longest) << text;
  }
}

}  // namespace
}  // namespace gpuvet
