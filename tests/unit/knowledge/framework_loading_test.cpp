#include "knowledge/framework_loading.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

const LoadingRow* find_row(const FrameworkLoading& loading, int step, bool on_failure) {
  for (const LoadingRow& row : loading.rows)
    if (row.step == step && row.on_failure == on_failure) return &row;
  return nullptr;
}

FrameworkLoading torch(const char* version) { return framework_loading(Knowledge(), "torch", ReleaseVersion::parse(version)); }

TEST(FrameworkLoading, PreloadsOfTorchByRelease) {
  // 2.5 preloads only when its own search failed; 2.6 always takes NVRTC and nvJitLink; 2.10 the whole list; 2.11 cuBLASLt first.
  EXPECT_EQ(find_row(torch("2.5.1+cu124"), 22, false), nullptr);
  ASSERT_NE(find_row(torch("2.6.0"), 22, false), nullptr);
  EXPECT_EQ(find_row(torch("2.6.0"), 22, false)->names.size(), 2U);
  EXPECT_EQ(find_row(torch("2.9.1"), 22, false)->names.size(), 3U);
  ASSERT_NE(find_row(torch("2.10.0"), 22, false), nullptr);
  EXPECT_EQ(find_row(torch("2.10.0"), 22, false)->names.size(), 15U);
  EXPECT_TRUE(find_row(torch("2.11.0"), 22, false)->names.front().starts_with("@nvidia/cublas/lib/libcublasLt"));
  EXPECT_TRUE(find_row(torch("2.11.0"), 22, false)->in_order);
  EXPECT_FALSE(find_row(torch("2.15.0"), 22, false)->in_order);
  EXPECT_EQ(find_row(torch("2.1.2"), 21, true)->names.size(), 11U);
}

TEST(FrameworkLoading, ANewerOrUnknownReleaseTakesTheNewestRows) {
  const FrameworkLoading newer = torch("99.1");
  EXPECT_FALSE(newer.release_known);
  EXPECT_EQ(newer.rows.size(), torch(newer.checked_up_to.c_str()).rows.size());
  EXPECT_FALSE(framework_loading(Knowledge(), "torch", std::nullopt).release_known);
  EXPECT_TRUE(framework_loading(Knowledge(), "no-such-framework", std::nullopt).rows.empty());
}

TEST(FrameworkLoading, AnOverlayRowIsEnoughForANewRelease) {
  Knowledge knowledge;
  const std::string text =
      "framework\tsince\tbefore\tstep\tnames\tcaller\tmode\tcondition\twhy\tsource\n"
      "newthing\t\t\t20\tmodule:newthing._C\t\t\t\timport newthing\there\n";
  ASSERT_TRUE(knowledge.add_overlay_table("framework_loading.add.tsv", text));
  EXPECT_EQ(framework_loading(knowledge, "newthing", ReleaseVersion::parse("1.0")).rows.size(), 1U);
}

TEST(FrameworkLoading, EveryRowHasNamesThatMeanSomething) {
  const Knowledge knowledge;
  for (const std::string& framework : frameworks_with_loading(knowledge)) {
    for (const LoadingRow& row : framework_loading(knowledge, framework, std::nullopt).rows) {
      EXPECT_FALSE(row.names.empty()) << framework;
      EXPECT_FALSE(row.why.empty()) << framework;
      EXPECT_FALSE(row.source.empty()) << framework;
      for (const std::string& name : row.names) EXPECT_EQ(name.find("{{"), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace gpuvet
