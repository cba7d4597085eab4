#include "loader/record_comparison.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

RecordedObject object(const std::string& name, const std::string& path, int requester = 0, bool dlopen = false,
                      bool root = false) {
  RecordedObject out;
  out.name = name;
  out.path = path;
  out.rule = requester < 0 ? "program" : "ld.so.cache";
  out.requester = requester;
  out.dlopen = dlopen;
  out.root = root;
  out.file = {1, std::hash<std::string>()(path)};
  return out;
}

LoadedObject expected(const std::string& name, const std::string& path, const std::string& rule = "ld.so.cache", int step = -1) {
  LoadedObject out;
  out.name = name;
  out.path = path;
  out.rule = rule;
  out.step = step;
  return out;
}

RecordedProcess process_with(std::vector<RecordedObject> objects) {
  RecordedProcess process;
  process.program = "/bin/p";
  process.started = true;
  process.objects = std::move(objects);
  process.objects.insert(process.objects.begin(), object("", "/bin/p", -1));
  return process;
}

Forecast forecast_with(std::vector<LoadedObject> objects) {
  Forecast forecast;
  forecast.objects = std::move(objects);
  forecast.objects.insert(forecast.objects.begin(), expected("/bin/p", "/bin/p", "program"));
  return forecast;
}

TEST(RecordComparison, EqualRecordsHaveNoDifference) {
  const auto c = compare_record(process_with({object("a.so", "/l/a.so"), object("b.so", "/l/b.so", 1)}),
                                forecast_with({expected("a.so", "/l/a.so"), expected("b.so", "/l/b.so"),
                                               expected("ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2", "loader")}));
  EXPECT_TRUE(c.differences.empty());
  EXPECT_EQ(c.start_up, 2);
  EXPECT_EQ(c.start_up_equal, 2);
}

TEST(RecordComparison, NamesEachKindOfDifference) {
  const auto c = compare_record(process_with({object("a.so", "/x/a.so"), object("b.so", "/l/b.so")}),
                                forecast_with({expected("a.so", "/l/a.so"), expected("c.so", "/l/c.so")}));
  ASSERT_EQ(c.differences.size(), 3u);
  EXPECT_EQ(c.differences[0].kind, LoadDifference::Kind::OtherPath);
  EXPECT_EQ(c.differences[0].forecast, "/l/a.so");
  EXPECT_EQ(c.differences[1].kind, LoadDifference::Kind::OnlyRecorded);
  EXPECT_EQ(c.differences[1].why, LoadDifference::Why::NotKnown);
  EXPECT_EQ(c.differences[2].kind, LoadDifference::Kind::OnlyForecast);
}

TEST(RecordComparison, TellsTheOrder) {
  const auto c = compare_record(process_with({object("a.so", "/l/a.so"), object("b.so", "/l/b.so")}),
                                forecast_with({expected("b.so", "/l/b.so"), expected("a.so", "/l/a.so")}));
  ASSERT_EQ(c.differences.size(), 1u);
  EXPECT_EQ(c.differences[0].kind, LoadDifference::Kind::OtherOrder);
}

TEST(RecordComparison, AfterADeathInTheLoaderTheRestIsNotMapped) {
  RecordedProcess process = process_with({object("a.so", "/l/a.so")});
  process.started = false;
  const auto c = compare_record(process, forecast_with({expected("a.so", "/l/a.so"), expected("b.so", "/l/b.so")}));
  ASSERT_EQ(c.differences.size(), 1u);
  EXPECT_EQ(c.differences[0].why, LoadDifference::Why::ProgramEnded);
}

TEST(RecordComparison, FailuresAreComparedByName) {
  RecordedProcess process = process_with({});
  RecordedFailure failure;
  failure.name = "libnone.so";
  process.failures = {failure, failure};
  process.failures[1].name = "libthere.so";
  Forecast forecast = forecast_with({});
  forecast.missing.emplace_back();
  forecast.missing.back().name = "libnone.so";
  const auto c = compare_record(process, forecast);
  EXPECT_EQ(c.failures, 2);
  EXPECT_EQ(c.failures_equal, 1);
  EXPECT_EQ(c.failed_otherwise, std::vector<std::string>{"libthere.so"});
}

TEST(RecordComparison, ThePlanHasWhatWasHandedToDlopenInItsOrder) {
  RecordedProcess process = process_with({object("a.so", "/l/a.so"), object("/m/x.so", "/m/x.so", 1, true, true),
                                          object("y.so", "/l/y.so", 2, true), object("z.so", "/l/z.so", 0, true, true)});
  RecordedFailure failure;
  failure.name = "libnone.so";
  failure.root = failure.dlopen = true;
  failure.requester = 0;
  failure.after_objects = 4;
  process.failures = {failure};
  const ProcessPlan plan = plan_of(process);
  EXPECT_EQ(plan.program, "/bin/p");
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[0].names, std::vector<std::string>{"/m/x.so"});
  EXPECT_EQ(plan.steps[0].caller, "/l/a.so");
  EXPECT_EQ(plan.steps[1].names, std::vector<std::string>{"libnone.so"});
  EXPECT_TRUE(plan.steps[1].optional);
  EXPECT_EQ(plan.steps[2].names, std::vector<std::string>{"z.so"});
  EXPECT_EQ(plan.steps[2].caller, "");
}

TEST(RecordComparison, ReasonsOfDlopen) {
  RecordedProcess process =
      process_with({object("libc.so.6", "/lib/libc.so.6"), object("libpython3.11.so.1.0", "/p/libpython3.11.so.1.0")});
  const auto reason = [&](const std::string& path, int requester) {
    return dlopen_reason(object(path, path, requester, true, true), process);
  };
  EXPECT_EQ(reason("/lib/libnss_sss.so.2", 1), DlopenReason::NameService);
  EXPECT_EQ(reason("/lib/gconv/UTF-16.so", 1), DlopenReason::Conversion);
  EXPECT_EQ(reason("/lib/libgcc_s.so.1", 1), DlopenReason::Unwinder);
  EXPECT_EQ(reason("/p/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so", 2), DlopenReason::Python);
  EXPECT_EQ(reason("/lib/libcuda.so.1", 2), DlopenReason::Driver);
  EXPECT_EQ(reason("/l/anything.so", 0), DlopenReason::Program);
}

}  // namespace
}  // namespace gpuvet
