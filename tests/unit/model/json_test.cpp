#include "model/json.h"

#include <gtest/gtest.h>

#include <utility>

#include "fill.h"
#include "model/json_writer.h"
#include "model/utf8.h"

namespace gpuvet {
namespace {

// ---- fields.h lists every member -------------------------------------------------------------------------------------

struct AnyValue {
  template <class T>
  operator T() const;  // NOLINT: converts to whatever member is initialised
};

template <class T, std::size_t... I>
constexpr bool constructible_from(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyValue{})...}; };
}

/// Number of members of an aggregate: the longest list of initialisers that it takes.
template <class T, std::size_t N = 40>
constexpr std::size_t member_count() {
  if constexpr (N == 0 || constructible_from<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return member_count<T, N - 1>();
  }
}

template <class T>
void expect_all_fields(const char* name) {
  T object;
  std::size_t listed = 0;
  visit_fields(object, [&](const char*, auto&) { ++listed; });
  EXPECT_EQ(listed, member_count<T>()) << name << ": model/fields.h does not list every member";
}

#define EXPECT_ALL_FIELDS(T) expect_all_fields<T>(#T)

TEST(Fields, ListEveryMember) {
  EXPECT_ALL_FIELDS(Origin);
  EXPECT_ALL_FIELDS(UserGroup);
  EXPECT_ALL_FIELDS(User);
  EXPECT_ALL_FIELDS(OperatingSystem);
  EXPECT_ALL_FIELDS(PciBar);
  EXPECT_ALL_FIELDS(AerCounters);
  EXPECT_ALL_FIELDS(PciDevice);
  EXPECT_ALL_FIELDS(LoadedModule);
  EXPECT_ALL_FIELDS(ModuleFile);
  EXPECT_ALL_FIELDS(InstalledKernel);
  EXPECT_ALL_FIELDS(DkmsModule);
  EXPECT_ALL_FIELDS(ModprobeDirective);
  EXPECT_ALL_FIELDS(ProcGpu);
  EXPECT_ALL_FIELDS(FirmwareFolder);
  EXPECT_ALL_FIELDS(KernelDriver);
  EXPECT_ALL_FIELDS(DeviceNode);
  EXPECT_ALL_FIELDS(DeviceMajor);
  EXPECT_ALL_FIELDS(DeviceNodes);
  EXPECT_ALL_FIELDS(LibraryFile);
  EXPECT_ALL_FIELDS(SearchFolder);
  EXPECT_ALL_FIELDS(LoaderCacheEntry);
  EXPECT_ALL_FIELDS(LoaderView);
  EXPECT_ALL_FIELDS(DriverLibrary);
  EXPECT_ALL_FIELDS(UserDriver);
  EXPECT_ALL_FIELDS(LogEvent);
  EXPECT_ALL_FIELDS(KernelLog);
  EXPECT_ALL_FIELDS(Package);
  EXPECT_ALL_FIELDS(PackageChange);
  EXPECT_ALL_FIELDS(PackageTransaction);
  EXPECT_ALL_FIELDS(Packages);
  EXPECT_ALL_FIELDS(Service);
  EXPECT_ALL_FIELDS(Machine);
}

// ---- round trips -----------------------------------------------------------------------------------------------------

TEST(MachineJson, EmptyMachineComesBack) {
  const auto again = machine_from_json(machine_to_json(Machine()));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, Machine());
}

TEST(MachineJson, FullMachineComesBack) {
  Machine machine;
  FillEverything().fill(machine);
  machine.schema = Machine::current_schema;
  const auto again = machine_from_json(machine_to_json(machine));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, machine);
}

TEST(MachineJson, RandomMachinesComeBack) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    Machine machine;
    FillAtRandom(seed).fill(machine);
    machine.schema = Machine::current_schema;
    const std::string text = machine_to_json(machine);
    const auto again = machine_from_json(text);
    ASSERT_TRUE(again) << "seed " << seed << ": " << again.error();
    ASSERT_EQ(*again, machine) << "seed " << seed;
    ASSERT_EQ(machine_to_json(*again), text) << "seed " << seed;
  }
}

TEST(MachineJson, LargestNumbersAreExact) {
  Machine machine;
  PciDevice device;
  device.bars = Fact<std::vector<PciBar>>::known({{1, 0xffffffffffffffff, 0x8000000000000001, 0x14220c}});
  machine.pci = Fact<std::vector<PciDevice>>::known({device});
  machine.os.boot_time = Fact<std::int64_t>::known(INT64_MIN);
  machine.os.uptime = Fact<std::int64_t>::known(INT64_MAX);
  const auto again = machine_from_json(machine_to_json(machine));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, machine);
}

TEST(MachineJson, CheckDocumentIsASnapshotToo) {
  Machine machine;
  machine.source = "root";
  const std::string text = R"({"schema": 1, "document": "check", "verdict": "holds", "machine": )" + machine_to_json(machine) + "}";
  const auto again = machine_from_json(text);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, machine);
}

// ---- strings that are not UTF-8 --------------------------------------------------------------------------------------

TEST(JsonString, BytesThatAreNotUtf8AreVisibleEscapes) {
  std::string out;
  append_json_string(out, "caf\xe9");
  EXPECT_EQ(out, R"("caf\udbff\udfe9")");
  out.clear();
  append_json_string(out, "caf\xc3\xa9 \"\\\t\x7f");
  EXPECT_EQ(out, "\"caf\xc3\xa9 \\\"\\\\\\t\\u007f\"");
}

TEST(Utf8, RefusesWhatIsNotWellFormed) {
  for (const std::string_view bad : {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                                     "\xf5\x80\x80\x80", "\x80", "\xff", "\xe2\x82", "\xf0\x9f\x98"}) {
    EXPECT_FALSE(utf8_at(bad, 0).valid);
    EXPECT_EQ(utf8_at(bad, 0).length, 1);
  }
  EXPECT_EQ(utf8_at("\xe2\x82\xac", 0).code, 0x20acU);
  EXPECT_EQ(utf8_at("\xf4\x8f\xbf\xbf", 0).code, 0x10ffffU);
  EXPECT_EQ(utf8_at("", 0).length, 0);
}

// ---- errors ----------------------------------------------------------------------------------------------------------

std::string error_of(std::string_view text) {
  const auto machine = machine_from_json(text);
  return machine ? "accepted" : machine.error();
}

TEST(MachineJson, ErrorsNameThePlace) {
  EXPECT_EQ(error_of(R"({"schema": 1, "pci": {"known": [{}, {}, {"vendor": "x"}]}})"), "machine.pci.known[2].vendor: not a whole number");
  EXPECT_EQ(error_of(R"({"schema": 1, "os": {"id": 3}})"), "machine.os.id: not an object with known, absent or not_seen");
  EXPECT_EQ(error_of(R"({"schema": 1, "os": {"id": {}}})"), "machine.os.id: wants exactly one of known, absent and not_seen");
  EXPECT_EQ(error_of(R"({"schema": 1, "os": {"wsl": {"known": 9223372036854775808}}})"), "machine.os.wsl.known: number out of range");
  EXPECT_EQ(error_of(R"({"schema": 1, "environment": {"PATH": 1}})"), "machine.environment.PATH: not a string");
  EXPECT_EQ(error_of("{\"schema\": 1,\n  \"os\": }"), "line 2, column 9: not valid JSON");
  EXPECT_EQ(error_of(""), "line 1, column 1: not valid JSON");
  EXPECT_EQ(error_of("[]"), "machine: not an object");
  EXPECT_EQ(error_of("{}"), "machine: no schema; this is no gpuvet snapshot");
  EXPECT_EQ(error_of(R"({"schema": 2, "os": "anything"})"), "machine.schema: 2 is newer than this gpuvet reads (1)");
}

TEST(MachineJson, UnknownFieldsAreIgnored) {
  EXPECT_EQ(error_of(R"({"schema": 1, "colour": "red", "os": {"smell": [1, {"a": null}]}})"), "accepted");
}

TEST(MachineJson, DepthAndSizeAreBounded) {
  EXPECT_EQ(error_of(std::string(100000, '[')), "nested too deeply");
  EXPECT_EQ(error_of(R"({"schema": 1, "x": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})"), "accepted");
  std::string many = R"({"schema": 1, "pci": {"known": [{})";
  for (int i = 0; i < 300000; ++i) many += ",{}";
  EXPECT_EQ(error_of(many + "]}}"), "machine.pci.known: too many items");
  EXPECT_EQ(error_of(std::string((std::size_t{64} << 20) + 1, ' ')), "larger than 64 MiB");
}

}  // namespace
}  // namespace gpuvet
