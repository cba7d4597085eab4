#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "system/command.h"
#include "system/system.h"

namespace gpuvet {
namespace {

TEST(Live, ReadsItsOwnProc) {
  auto system = make_live_system();
  EXPECT_TRUE(system->is_live());
  const auto status = system->read_file("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_NE(status->find("Uid:"), std::string::npos);
  EXPECT_EQ(system->identity()->uid, ::geteuid());
  ::setenv("GPUVET_LIVE_TEST", "1", 1);
  const auto environment = system->environment();
  ASSERT_TRUE(environment);
  EXPECT_NE(std::find(environment->begin(), environment->end(), "GPUVET_LIVE_TEST=1"), environment->end());
}

TEST(Live, OpensOnlyNodesOfTheDriver) {
  auto system = make_live_system();
  EXPECT_EQ(system->may_open("/dev/null").error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(system->may_open("/dev/nvidia-caps/../null").error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(system->may_open("/dev/nvidia-no-such-node").error().code, ErrorCode::NotFound);
}

TEST(Live, RunsOnlyWhatIsAllowed) {
  auto system = make_live_system();
  EXPECT_EQ(system->run({"sh", "-c", "true"}, 1000, 100).error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(system->run({"/tmp/journalctl"}, 1000, 100).error().code, ErrorCode::NotAvailable);
  EXPECT_EQ(system->run({}, 1000, 100).error().code, ErrorCode::NotAvailable);
}

TEST(Command, OutputExitCodeAndEnvironment) {
  ::setenv("GPUVET_LIVE_TEST", "leaked", 1);
  const auto out = run_command("/bin/sh", {"-c", "echo \"$GPUVET_LIVE_TEST/$LC_ALL\"; cat; echo no >&2; exit 3"}, 5000, 1000);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->output, "/C\n");
  EXPECT_EQ(out->exit_code, 3);
  EXPECT_FALSE(out->truncated);
}

TEST(Command, DeadlineEndsTheWholeGroup) {
  const auto start = std::chrono::steady_clock::now();
  const auto out = run_command("/bin/sh", {"-c", "trap '' TERM; sleep 60 & sleep 60"}, 200, 1000);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::TimedOut);
  // Its output closed, it still must end.
  EXPECT_EQ(run_command("/bin/sh", {"-c", "exec >&-; sleep 60"}, 200, 1000).error().code, ErrorCode::TimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Command, EndlessOutputIsCut) {
  const auto out = run_command("/bin/sh", {"-c", "while :; do echo 0123456789; done"}, 10000, 5000);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->truncated);
  EXPECT_EQ(out->output.size(), 5000u);
}

TEST(Command, MissingProgram) { EXPECT_EQ(run_command("/no/such/program", {}, 1000, 10).error().code, ErrorCode::NotFound); }

}  // namespace
}  // namespace gpuvet
