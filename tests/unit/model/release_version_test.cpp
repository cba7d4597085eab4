#include "model/release_version.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gpuvet {
namespace {

ReleaseVersion version(std::string_view text) { return ReleaseVersion::parse(text).value(); }

TEST(ReleaseVersion, KeepsReleaseLocalPartAndText) {
  const auto v = version("2.5.1+cu124");
  EXPECT_EQ(v.release, (std::vector<std::uint32_t>{2, 5, 1}));
  EXPECT_EQ(v.local, "cu124");
  EXPECT_EQ(v.minor_text(), "2.5");
  EXPECT_EQ(v.public_text(), "2.5.1");
  EXPECT_EQ(v.text, "2.5.1+cu124");
}

TEST(ReleaseVersion, OrdersAsPep440Does) {
  // Ascending, each strictly below the next.
  const char* ordered[] = {"0.0.1.dev5", "0.0.1", "1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.0.1", "1.9", "1.10", "2.6.0a0+ecf3bae40a.nv25.01", "2.6.0", "2.10", "2024.10", "1!0.1"};
  for (std::size_t i = 0; i + 1 < std::size(ordered); ++i) EXPECT_LT(version(ordered[i]), version(ordered[i + 1])) << ordered[i];
}

TEST(ReleaseVersion, ZerosAtTheEndAndLocalPartsDoNotCount) {
  EXPECT_EQ(version("2.5"), version("2.5.0"));
  EXPECT_EQ(version("2.5.1+cu124"), version("2.5.1"));
  EXPECT_EQ(version("v1.2"), version("1.2"));
}

TEST(ReleaseVersion, RefusesWhatIsNone) {
  for (const char* text : {"", "abc", "+cu124", ".5", "latest"}) EXPECT_FALSE(ReleaseVersion::parse(text)) << text;
  EXPECT_TRUE(ReleaseVersion::parse("99999999999999999999.1"));  // saturates
}

TEST(Specifier, SelectsVersions) {
  const auto v = version("2.5.1+cu124");
  for (const char* yes : {"", ">=2.5", ">=2.5,<2.7", "==2.5.1", "==2.5.*", "~=2.5", "~=2.5.0", "!=2.6", "==2.5.1+cu124", "<= 2.5.1", ">2.5", "===2.5.1"})
    EXPECT_EQ(satisfies(v, yes), true) << yes;
  for (const char* no : {">2.5.1", "<2.5", "==2.4.*", "==2.5.1+cu121", "!=2.5.*", "~=2.4.0", ">=2.5,<2.5.1"}) EXPECT_EQ(satisfies(v, no), false) << no;
  for (const char* none : {"2.5", "=>2.5", ">=", "~abc", ">=2.*"}) EXPECT_EQ(satisfies(v, none), std::nullopt) << none;
}

TEST(DistributionName, IsNormalised) {
  EXPECT_EQ(normalised_distribution_name("Nvidia_Cublas.cu12"), "nvidia-cublas-cu12");
  EXPECT_EQ(normalised_distribution_name("flash__attn"), "flash-attn");
  EXPECT_EQ(normalised_distribution_name(""), "");
}

}  // namespace
}  // namespace gpuvet
