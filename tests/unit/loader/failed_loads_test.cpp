// Which searches of a recorded run can matter.

#include "loader/failed_loads.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

RecordedProcess process(bool started) {
  RecordedProcess p;
  p.program = "/opt/app";
  p.started = started;
  p.objects.push_back({.name = "", .path = "/opt/app"});
  return p;
}

RecordedFailure failure(const std::string& name, bool dlopen) {
  RecordedFailure f;
  f.name = name;
  f.requester = 0;
  f.dlopen = dlopen;
  return f;
}

std::vector<std::string> names(const LoadRecord& record, std::string_view named = "nothing") {
  std::vector<std::string> list;
  for (const FailedLoad& load : failed_loads(record, [&](std::string_view name) { return name == named; }, 3))
    list.push_back(load.name);
  return list;
}

using Names = std::vector<std::string>;

TEST(FailedLoads, ADeathInTheLoader) {
  LoadRecord record;
  record.processes = {process(false)};
  record.processes[0].failures = {failure("libanything.so.1", false)};
  const auto found = failed_loads(record, [](std::string_view) { return false; }, 3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].at_start);
  EXPECT_EQ(found[0].requested_by, "/opt/app");
}

TEST(FailedLoads, AtRunTimeOnlyWhatCanMatter) {
  LoadRecord record;
  record.processes = {process(true)};
  auto& failures = record.processes[0].failures;
  failures = {failure("libnss_foo.so.2", true), failure("libcurl.so.4", true), failure("libcudnn.so.9", true),
              failure("/a/libcudnn.so.9", true), failure("libplugin.so", true)};
  EXPECT_EQ(names(record), Names{"libcudnn.so.9"});
  EXPECT_EQ(names(record, "libplugin.so"), (Names{"libcudnn.so.9", "libplugin.so"}));
  // Found by another name or in another place afterwards.
  record.processes[0].objects.push_back({.name = "libcudnn.so.9", .path = "/b/libcudnn.so.9"});
  EXPECT_EQ(names(record), Names());
}

TEST(FailedLoads, AtMostSoMany) {
  LoadRecord record;
  record.processes = {process(false)};
  for (int i = 0; i < 10; ++i) record.processes[0].failures.push_back(failure("lib" + std::to_string(i) + ".so", false));
  EXPECT_EQ(names(record).size(), 3U);
}

}  // namespace
}  // namespace gpuvet
