// Which log is read: by what is there, what is readable, and which boot it is of.
#include <gtest/gtest.h>

#include "collect/collect.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

Machine collect(RecordedTree tree, Machine machine = {}, const CollectOptions& options = {}) {
  auto system = make_recorded_system(std::move(tree));
  collect_kernel_log(*system, options, machine);
  return machine;
}

constexpr const char* boot = "May 27 09:10:00 box kernel: Linux version 6.8.0-49-generic (builder@build)\n";
constexpr const char* nvrm = "May 27 09:10:01 box kernel: NVRM: No NVIDIA devices probed.\n";

TEST(KernelLogFiles, KernLogWinsAndSyslogAddsPrograms) {
  RecordedTree tree;
  tree.add_file("/var/log/kern.log", std::string(boot) + nvrm);
  tree.add_file("/var/log/syslog",
                std::string(boot) + nvrm + "May 27 09:11:00 box nvidia-gridd[812]: Valid GRID license not found.\n");
  const Machine machine = collect(std::move(tree));
  ASSERT_TRUE(machine.kernel_log.events.is_known());
  EXPECT_EQ(machine.kernel_log.sources, (std::vector<std::string>{"/var/log/kern.log", "/var/log/syslog"}));
  const auto& events = *machine.kernel_log.events.get();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1].origin.source, "/var/log/kern.log");
  EXPECT_EQ(events[2].kind, "user");
}

TEST(KernelLogFiles, ARotatedFileBringsTheBeginningOfTheBoot) {
  RecordedTree tree;
  tree.add_file("/var/log/kern.log.1",
                std::string("May 26 09:10:00 box kernel: NVRM: Xid (PCI:0000:01:00): 79, x\n") + boot + nvrm);
  tree.add_file("/var/log/kern.log", "May 27 12:00:00 box kernel: NVRM: Xid (PCI:0000:01:00): 31, x\n");
  const auto machine = collect(std::move(tree));
  const auto& events = *machine.kernel_log.events.get();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].boot, -1);
  EXPECT_EQ(events[1].boot, 0);
  EXPECT_EQ(events[3].boot, 0);
  EXPECT_EQ(events[3].origin.source, "/var/log/kern.log");
}

TEST(KernelLogFiles, OfTwoFilesTheOneOfThisBoot) {
  RecordedTree tree;
  tree.add_file("/var/log/kern.log", "2024-01-01T09:10:00+00:00 box kernel: NVRM: Xid (PCI:0000:01:00): 79, x\n");
  tree.add_file("/var/log/dmesg", "[    1.0] NVRM: No NVIDIA devices probed.\n");
  Machine machine;
  machine.os.boot_time = Fact<std::int64_t>::known(1748340000);
  machine = collect(std::move(tree), std::move(machine));
  EXPECT_EQ(machine.kernel_log.sources.front(), "/var/log/dmesg");
}

TEST(KernelLogFiles, AskedForTextComesFirst) {
  RecordedTree tree;
  tree.add_file("/var/log/kern.log", nvrm);
  CollectOptions options;
  options.has_kernel_log = true;
  options.kernel_log_name = "pasted";
  options.kernel_log_text = "NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n";
  options.kernel_log_truncated = true;
  const auto machine = collect(std::move(tree), {}, options);
  const auto& events = *machine.kernel_log.events.get();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].code, 79);
  EXPECT_EQ(events[0].origin.line, 0U);
  EXPECT_TRUE(machine.kernel_log.truncated);
}

TEST(KernelLogFiles, NoLogIsNotAnEmptyLog) {
  EXPECT_TRUE(collect({}).kernel_log.events.is_not_seen());
  RecordedTree journal;
  journal.add_file("/var/log/journal/0123/system.journal", "LPKSHHRH");
  EXPECT_NE(collect(std::move(journal)).kernel_log.events.why().find("journal"), std::string::npos);
  RecordedTree denied;
  denied.add_file("/var/log/kern.log", nvrm, 0640);
  denied.nodes["/var/log/kern.log"].unreadable = true;
  EXPECT_NE(collect(std::move(denied)).kernel_log.events.why().find("/var/log/kern.log"), std::string::npos);
  RecordedTree quiet;
  quiet.add_file("/var/log/kern.log", "May 27 09:10:01 box kernel: usb 1-1: new device\n");
  const Machine machine = collect(std::move(quiet));
  ASSERT_TRUE(machine.kernel_log.events.is_known());
  EXPECT_TRUE(machine.kernel_log.events.get()->empty());
}

TEST(KernelLogFiles, BusErrorsOfOtherDevicesAreDropped) {
  RecordedTree tree;
  tree.add_file("/var/log/dmesg",
                "[   1.0] pcieport 0000:00:1c.0: AER: Corrected error received: 0000:03:00.0\n"
                "[   2.0] pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0\n"
                "[   3.0] pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n");
  Machine machine;
  PciDevice gpu;
  gpu.address = "0000:01:00.0";
  gpu.vendor = 0x10de;
  gpu.parent = "0000:00:01.0";
  machine.pci = Fact<std::vector<PciDevice>>::known({gpu});
  machine = collect(std::move(tree), std::move(machine));
  EXPECT_EQ(machine.kernel_log.events.get()->size(), 2U);
}

}  // namespace
}  // namespace gpuvet
