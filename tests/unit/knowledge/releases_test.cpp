#include <gtest/gtest.h>

#include "knowledge/knowledge.h"
#include "knowledge/table.h"

namespace gpuvet {
namespace {

const Knowledge& knowledge() {
  static const Knowledge shared;
  return shared;
}

DriverVersion driver(std::string_view text) { return DriverVersion::parse(text).value(); }

std::string least(std::string_view cuda) {
  const auto version = knowledge().least_driver_for_runtime(CudaVersion::parse(cuda).value());
  return version ? version->text : "unknown";
}

TEST(NativeCuda, PerBranch) {
  const std::pair<std::string_view, std::string_view> pairs[] = {
      {"390.157", "9.1"},    {"418.39", "10.1"},     {"440.33", "10.2"},    {"450.80.02", "11.0"}, {"470.256.02", "11.4"},
      {"525.60.13", "12.0"}, {"535.129.03", "12.2"}, {"545.23.08", "12.3"}, {"550.54.14", "12.4"}, {"565.77", "12.7"},
      {"570.86.15", "12.8"}, {"580.65.06", "13.0"},  {"610.43.02", "13.3"}};
  for (const auto& [version, cuda] : pairs) {
    ASSERT_TRUE(knowledge().native_cuda(driver(version))) << version;
    EXPECT_EQ(knowledge().native_cuda(driver(version))->text(), cuda) << version;
  }
  EXPECT_FALSE(knowledge().native_cuda(driver("999.1")));
  EXPECT_FALSE(knowledge().native_cuda(driver("536.25")));  // a Windows branch
}

// design §5: the minimum of a major release, not the driver of the toolkit's table.
TEST(LeastDriver, MinorVersionCompatibility) {
  EXPECT_EQ(least("12.0"), "525.60.13");
  EXPECT_EQ(least("12.4"), "525.60.13");
  EXPECT_EQ(least("12.4.1"), "525.60.13");
  EXPECT_EQ(least("12.9"), "525.60.13");
  EXPECT_EQ(least("11.1"), "450.80.02");
  EXPECT_EQ(least("11.8"), "450.80.02");
  EXPECT_EQ(least("13.0"), "580.65.06");
  EXPECT_EQ(least("13.5"), "580.65.06");
}

TEST(LeastDriver, ElevenZeroHasItsOwnMinimum) { EXPECT_EQ(least("11.0"), "450.36.06"); }

TEST(LeastDriver, BeforeElevenTheToolkitsOwnDriver) {
  EXPECT_EQ(least("10.2"), "440.33");
  EXPECT_EQ(least("10.1"), "418.39");
  EXPECT_EQ(least("10.0"), "410.48");
  EXPECT_EQ(least("9.0"), "384.81");
  EXPECT_EQ(least("9.1"), "387.26");  // the runfile's, lower than the later table says
  EXPECT_EQ(least("8.0"), "367.48");
}

TEST(LeastDriver, UnknownReleaseIsUnknown) {
  EXPECT_EQ(least("12.7"), "unknown");  // there is no public 12.7 toolkit
  EXPECT_EQ(least("14.0"), "unknown");
}

TEST(CudaReleases, FirstReleaseOfAMinor) {
  EXPECT_EQ(knowledge().cuda_release("12.4")->version, "12.4.0");
  EXPECT_EQ(knowledge().cuda_release("12.4.1")->driver_linux->text, "550.54.15");
  EXPECT_EQ(knowledge().cuda_release("11.0")->version, "11.0.2");  // 11.0.1 is a release candidate
  EXPECT_EQ(knowledge().cuda_release("13.4")->version, "13.4.1");  // 13.4.0 is a developer preview
  EXPECT_FALSE(knowledge().cuda_release("12.7"));
  EXPECT_FALSE(knowledge().cuda_release("12"));
  EXPECT_FALSE(knowledge().cuda_release(""));
}

TEST(CudaReleases, Sonames) {
  EXPECT_EQ(knowledge().cuda_release("10.1")->libcudart_soname, "libcudart.so.10.1");
  EXPECT_EQ(knowledge().cuda_release("11.8")->libcudart_soname, "libcudart.so.11.0");
  EXPECT_EQ(knowledge().cuda_release("12.9")->libcudart_soname, "libcudart.so.12");
  EXPECT_EQ(knowledge().cuda_release("13.0")->libcudart_soname, "libcudart.so.13");
}

TEST(CudaReleases, TableRunfileAndMinimumDiffer) {
  const auto release = knowledge().cuda_release("12.2.1");
  EXPECT_EQ(release->driver_linux->text, "535.86.09");
  EXPECT_EQ(release->runfile_driver_linux->text, "535.86.10");
  EXPECT_EQ(release->min_driver_linux->text, "525.60.13");
}

TEST(DriverBranches, Types) {
  EXPECT_TRUE(knowledge().driver_branch(535)->type.find("LTSB") != std::string::npos);
  EXPECT_FALSE(knowledge().driver_branch(536));
  EXPECT_EQ(knowledge().driver_branches().front().branch, 390u);
}

TEST(Errors, ByNumberAndName) {
  EXPECT_EQ(knowledge().xid(79)->code, 79);
  EXPECT_FALSE(knowledge().xid(99999));
  bool runtime = false, cuda_driver = false;
  for (const CudaError& error : knowledge().cuda_error(804)) {
    runtime |= error.api == "runtime";
    cuda_driver |= error.api == "driver";
    EXPECT_FALSE(error.source.empty());
  }
  EXPECT_TRUE(runtime && cuda_driver);
  ASSERT_EQ(knowledge().cuda_error_named("cuda_error_no_device").size(), 1u);
  EXPECT_EQ(knowledge().cuda_error_named("CUDA_ERROR_NO_DEVICE")[0].code, 100);
  EXPECT_TRUE(knowledge().cuda_error_named("NO_SUCH_ERROR").empty());
}

TEST(DriverDefects, AreOrderedRangesWithSource) {
  ASSERT_FALSE(knowledge().driver_defects().empty());
  for (const DriverDefect& defect : knowledge().driver_defects()) {
    EXPECT_TRUE(defect.first <= defect.last) << defect.first.text;
    EXPECT_TRUE(defect.rule == "driver-regression" || defect.rule == "open-module-bug-old-release") << defect.rule;
    EXPECT_FALSE(defect.defect_en.empty() || defect.defect_zh.empty() || defect.source.empty() || defect.condition.empty());
  }
}

}  // namespace
}  // namespace gpuvet
