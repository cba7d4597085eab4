#include "model/version.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace gpuvet {
namespace {

TEST(DriverVersion, ComparesByNumberAndKeepsItsText) {
  EXPECT_LT(*DriverVersion::parse("535.54.03"), *DriverVersion::parse("535.129.03"));
  EXPECT_EQ(*DriverVersion::parse("550.120"), *DriverVersion::parse("550.120.00"));
  EXPECT_EQ(DriverVersion::parse("535.54.03")->text, "535.54.03");
  for (const char* bad : {"", "535", "535.", "535.54.", "535.54.03.1", "535.54-1", "v535.54", "-1.2", " 535.54", "99999999999.1"})
    EXPECT_FALSE(DriverVersion::parse(bad)) << bad;
}

TEST(DriverVersion, IsTakenOutOfPackageVersions) {
  const auto in = [](const char* text) {
    auto v = driver_version_in_package_version(text);
    return v ? v->text : std::string();
  };
  EXPECT_EQ(in("550.120-0ubuntu0.22.04.1"), "550.120");
  EXPECT_EQ(in("3:550.127.05-1.el9"), "550.127.05");
  EXPECT_EQ(in("570.144_k6.4.0_150600.21-150600.3.50"), "570.144");
  EXPECT_EQ(in("535.216.01-1~deb12u1"), "535.216.01");
  EXPECT_EQ(in("12.4.1-1"), "");
  EXPECT_EQ(in("1.17.4-1"), "");
  EXPECT_EQ(in("0.8.17-2"), "");
}

TEST(CudaVersion, Reads) {
  EXPECT_EQ(CudaVersion::from_driver_api(12020), (CudaVersion{12, 2, 0}));
  EXPECT_EQ(CudaVersion::from_driver_api(11080), (CudaVersion{11, 8, 0}));
  EXPECT_LT(*CudaVersion::parse("9.2"), *CudaVersion::parse("12.10"));
  EXPECT_EQ(CudaVersion::parse("12.4.1")->update, 1U);
  EXPECT_FALSE(CudaVersion::parse("12"));
  EXPECT_FALSE(CudaVersion::parse("12.4x"));
}

TEST(ComputeCapability, Reads) {
  for (const char* text : {"8.9", "89", "sm_89", "compute_89"})
    EXPECT_EQ(*ComputeCapability::parse(text), (ComputeCapability{8, 9})) << text;
  EXPECT_EQ(*ComputeCapability::parse("120"), (ComputeCapability{12, 0}));
  for (const char* text : {"", "8", "sm_", "8.", "8.9a", "1000"}) EXPECT_FALSE(ComputeCapability::parse(text)) << text;
}

TEST(KernelVersion, Orders) {
  EXPECT_LT(*KernelVersion::parse("6.8.0-49-generic"), *KernelVersion::parse("6.8.0-60-generic"));
  EXPECT_LT(*KernelVersion::parse("5.14.0-503.22.1.el9_5.x86_64"), *KernelVersion::parse("6.1.0-32-amd64"));
  EXPECT_EQ(KernelVersion::parse("6.13.8-arch1-1")->patch, 8U);
}

int sign(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

/// Version texts with everything that the two schemes treat specially.
std::vector<std::string> random_versions(int count, const std::string& letters) {
  std::mt19937 random(20240527);
  std::vector<std::string> versions;
  for (int i = 0; i < count; ++i) {
    std::string text = random() % 4 == 0 ? std::to_string(random() % 3) + ":" : "";
    text += std::to_string(random() % 12);
    for (int part = static_cast<int>(random() % 7); part > 0; --part) text += letters[random() % letters.size()];
    if (random() % 2 == 0) text += "-" + std::to_string(random() % 3) + (random() % 2 == 0 ? "ubuntu1" : "");
    versions.push_back(text);
  }
  return versions;
}

bool has_tool(const char* name) { return std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0; }

TEST(PackageVersions, DpkgAgrees) {
  if (!has_tool("dpkg")) GTEST_SKIP() << "no dpkg on this machine";
  const auto versions = random_versions(240, "0123456789aZ.+~.0~");
  std::string script;
  for (std::size_t i = 0; i + 1 < versions.size(); i += 2) {
    script += "if dpkg --compare-versions '" + versions[i] + "' lt '" + versions[i + 1] +
              "'; then echo -1; elif dpkg --compare-versions '" + versions[i] + "' gt '" + versions[i + 1] +
              "'; then echo 1; else echo 0; fi\n";
  }
  FILE* pipe = popen(("sh -c \"" + script + "\" 2>/dev/null").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  for (std::size_t i = 0; i + 1 < versions.size(); i += 2) {
    int truth = 9;
    ASSERT_EQ(fscanf(pipe, "%d", &truth), 1);
    EXPECT_EQ(sign(compare_dpkg_versions(versions[i], versions[i + 1])), truth) << versions[i] << " " << versions[i + 1];
  }
  pclose(pipe);
}

TEST(PackageVersions, RpmAgrees) {
  if (!has_tool("rpm")) GTEST_SKIP() << "no rpm on this machine";
  const auto versions = random_versions(400, "0123456789aZ._~^.0");
  std::string lua;
  for (std::size_t i = 0; i + 1 < versions.size(); i += 2)
    lua += "print(rpm.vercmp([[" + versions[i] + "]],[[" + versions[i + 1] + "]])..[[ ]])";
  FILE* pipe = popen(("rpm --eval '%{lua:" + lua + "}' 2>/dev/null").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  for (std::size_t i = 0; i + 1 < versions.size(); i += 2) {
    int truth = 9;
    ASSERT_EQ(fscanf(pipe, "%d", &truth), 1);
    EXPECT_EQ(sign(compare_rpm_versions(versions[i], versions[i + 1])), truth) << versions[i] << " " << versions[i + 1];
  }
  pclose(pipe);
}

TEST(PackageVersions, KnownOrders) {
  EXPECT_EQ(sign(compare_dpkg_versions("1.0~rc1", "1.0")), -1);
  EXPECT_EQ(sign(compare_dpkg_versions("1:0.1", "9.9")), 1);
  EXPECT_EQ(sign(compare_rpm_versions("1.0~rc1", "1.0")), -1);
  EXPECT_EQ(sign(compare_rpm_versions("1.0^git1", "1.0")), 1);
  EXPECT_EQ(sign(compare_rpm_versions("1.0^git1", "1.0.1")), -1);
}

}  // namespace
}  // namespace gpuvet
