// Logs as real machines write them → events: kinds, joined messages, repetitions, boots.
#include "text/kernel_log_text.h"

#include <gtest/gtest.h>

#include "text/log_scan.h"

namespace gpuvet {
namespace {

std::vector<LogEvent> parse(std::string_view text, const KernelLogOptions& options = {}) {
  return parse_kernel_log("log", text, options);
}

std::string kinds(const std::vector<LogEvent>& events) {
  std::string out;
  for (const auto& event : events) out += (out.empty() ? "" : " ") + event.kind;
  return out;
}

TEST(KernelLog, JoinsApiMismatchOverFourLines) {
  const auto events = parse(
      "2025-05-27T09:25:07.409999+00:00 box kernel: [  907.410000] NVRM: API mismatch: the client has the version 550.120, but\n"
      "2025-05-27T09:25:07.409999+00:00 box kernel: [  907.410000] NVRM: this kernel module has the version 535.183.01.  Please\n"
      "2025-05-27T09:25:07.409999+00:00 box kernel: [  907.410000] NVRM: make sure that this kernel module and all NVIDIA "
      "driver\n"
      "2025-05-27T09:25:07.409999+00:00 box kernel: [  907.410000] NVRM: components have the same version.\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "nvrm");
  EXPECT_EQ(events[0].text,
            "NVRM: API mismatch: the client has the version 550.120, but this kernel module has the version 535.183.01.  Please "
            "make sure that this kernel module and all NVIDIA driver components have the same version.");
  EXPECT_EQ(events[0].origin.line, 1U);
  EXPECT_NEAR(events[0].seconds, 907.41, 1e-6);
}

TEST(KernelLog, JoinsLinesOfDmesgWithoutTheirOwnTime) {
  const auto events = parse(
      "[ 1157.046099] NVRM: The NVIDIA GPU 0000:af:00.0 (PCI ID: 10de:1db5)\n"
      "               NVRM: installed in this system is not supported by open\n"
      "               NVRM: nvidia.ko because it does not include the required GPU\n"
      "               NVRM: System Processor (GSP).\n"
      "[ 1157.060000] NVRM: GPU 0000:af:00.0: RmInitAdapter failed! (0x22:0x56:884)\n"
      "[ 1157.060100] NVRM: GPU 0000:af:00.0: rm_init_adapter failed, device minor number 0\n");
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].text,
            "NVRM: The NVIDIA GPU 0000:af:00.0 (PCI ID: 10de:1db5) installed in this system is not supported by open nvidia.ko "
            "because it does not include the required GPU System Processor (GSP).");
  EXPECT_EQ(events[0].pci, "0000:af:00");
  EXPECT_EQ(events[1].text, "NVRM: GPU 0000:af:00.0: RmInitAdapter failed! (0x22:0x56:884)");
}

TEST(KernelLog, SplitsEscapedNewlinesOfOneRecord) {
  const auto rsyslog = parse(
      "Jun 30 11:07:05 gpu-0 kernel: NVRM: API mismatch: the client has the version 535.54.03, but#012NVRM: this kernel module "
      "has the "
      "version 530.30.02.  Please#012NVRM: make sure that this kernel module and all NVIDIA driver#012NVRM: components have the "
      "same version.\n");
  ASSERT_EQ(rsyslog.size(), 1U);
  EXPECT_NE(rsyslog[0].text.find("but this kernel module has the version 530.30.02."), std::string::npos);
  const auto kmsg = parse(
      "4,1235,5678902,-;NVRM: API mismatch: the client has the version 550.120, but\\x0aNVRM: this kernel module has the version "
      "535.183.01.\n");
  ASSERT_EQ(kmsg.size(), 1U);
  EXPECT_NE(kmsg[0].text.find("but this kernel module"), std::string::npos);
}

TEST(KernelLog, ReadsXidAndSxidNumbers) {
  const auto events = parse(
      "[91042.117001] NVRM: Xid (PCI:0000:9c:00): 48, pid=4242, name=x, DBE (double bit error) in HBM\n"
      "[91043.117001] NVRM: Xid (0000:03:00): 13, Graphics Exception\n"
      "[91044.1] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)\n"
      "[91045.1] NVRM: Xid (garbled\n");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].kind, "xid");
  EXPECT_EQ(events[0].code, 48);
  EXPECT_EQ(events[0].pci, "0000:9c:00");
  EXPECT_EQ(events[1].code, 13);
  EXPECT_EQ(events[1].pci, "0000:03:00");
  EXPECT_EQ(events[2].kind, "sxid");
  EXPECT_EQ(events[2].code, 12028);
  EXPECT_EQ(events[3].code, -1);
}

TEST(KernelLog, FoldsTheSameTwoLinesOfEveryAttempt) {
  std::string text;
  for (int i = 0; i < 50; ++i) {
    const std::string time = "[ " + std::to_string(100 + i) + ".000000] ";
    text += time + "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x56:1474)\n";
    text += time + "NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0\n";
  }
  const auto events = parse(text);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].count, 50);
  EXPECT_EQ(events[1].count, 50);
}

TEST(KernelLog, UnfoldsRepetitionsThatSyslogFolded) {
  const auto events = parse(
      "May 27 09:10:00 box kernel: [  100.0] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x56:1474)\n"
      "May 27 09:10:09 box kernel: message repeated 3 times: [ [  101.0] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! "
      "(0x26:0x56:1474)]\n"
      "May 27 09:10:09 box kernel: message repeated x times: [ NVRM: y]\n");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].text, "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x56:1474)");
  EXPECT_EQ(events[0].count, 4);
}

TEST(KernelLog, CountsBootsBackFromTheNewest) {
  const auto events = parse(
      "May 25 09:10:00 box kernel: NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n"
      "May 26 09:10:00 box kernel: Linux version 6.8.0-49-generic (builder@build)\n"
      "May 26 09:10:01 box kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01\n"
      "May 27 09:10:00 box kernel: Linux version 6.8.0-60-generic (builder@build)\n"
      "May 27 09:10:01 box kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.120\n");
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].boot, -2);
  EXPECT_EQ(events[1].boot, -1);
  EXPECT_EQ(events[4].boot, 0);
}

TEST(KernelLog, JournalSeparatorsAndBackwardTimeStartBoots) {
  const auto journal = parse(
      "-- Boot 0123456789abcdef0123456789abcdef --\n"
      "May 26 09:10:00 box kernel: Linux version 6.8.0-49-generic\n"
      "-- Boot fedcba9876543210fedcba9876543210 --\n"
      "May 27 09:10:00 box kernel: Linux version 6.8.0-60-generic\n");
  ASSERT_EQ(journal.size(), 2U);
  EXPECT_EQ(journal[0].boot, -1);
  EXPECT_EQ(journal[1].boot, 0);
  const auto backwards =
      parse("[ 5000.0] NVRM: Xid (PCI:0000:01:00): 79, x\n[   12.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.120\n");
  EXPECT_EQ(backwards[0].boot, -1);
  EXPECT_EQ(backwards[1].boot, 0);
}

TEST(KernelLog, LinesFromBeforeTheRunningBootAreOlder) {
  KernelLogOptions options;
  options.boot_time = 1748340000;  // 2025-05-27T10:00:00Z
  const auto split = parse(
      "2025-05-27T09:10:00+00:00 box kernel: NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n"
      "2025-05-27T11:00:00+00:00 box kernel: NVRM: No NVIDIA devices probed.\n",
      options);
  ASSERT_EQ(split.size(), 2U);
  EXPECT_EQ(split[0].boot, -1);
  EXPECT_EQ(split[1].boot, 0);
  // Without a zone a few hours prove nothing.
  EXPECT_EQ(parse("May 27 09:10:00 box kernel: NVRM: No NVIDIA devices probed.\n", options)[0].boot, 0);
  EXPECT_EQ(parse("May 20 09:10:00 box kernel: NVRM: No NVIDIA devices probed.\n", options)[0].boot, -1);
  // A whole boot, whose first lines carry a clock that was not set yet.
  const auto whole = parse(
      "2025-05-27T05:00:00+00:00 box kernel: Linux version 6.8.0\n"
      "2025-05-27T10:00:30+00:00 box kernel: NVRM: No NVIDIA devices probed.\n",
      options);
  EXPECT_EQ(whole[0].boot, 0);
}

TEST(KernelLog, KnowsTheKindsOfLines) {
  const std::pair<const char*, const char*> cases[] = {
      {"nvidia: version magic '6.8.0-49-generic SMP ' should be '6.8.0-60-generic SMP '", "module"},
      {"nvidia: disagrees about version of symbol module_layout", "module"},
      {"vboxdrv: version magic '6.8.0-49 ' should be '6.8.0-60 '", ""},
      {"nvidia: module verification failed: signature and/or required key missing - tainting kernel", "module"},
      {"Loading of unsigned module is rejected", "secure-boot"},
      {"Loading of module with unavailable key is rejected", "secure-boot"},
      {"Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7", "secure-boot"},
      {"secureboot: Secure boot enabled", "secure-boot"},
      {"pci 0000:01:00.0: BAR 1: no space for [mem size 0x10000000 64bit pref]", "pci"},
      {"pci 0000:01:00.0: BAR 1 [mem size 0x400000000 64bit pref]: can't assign; no space", "pci"},
      {"pci 0000:01:00.0: BAR 1: assigned [mem 0x4000000000-0x43ffffffff 64bit pref]", ""},
      {"pci 0000:01:00.0: [10de:25a2] type 00 class 0x030000 PCIe Legacy Endpoint", "pci"},
      {"pci 0000:00:02.0: [8086:3e92] type 00 class 0x030000", ""},
      {"nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible", "pci"},
      {"pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0", "aer"},
      {"pcieport 0000:00:01.0: AER: enabled with IRQ 122", ""},
      {"DMAR: [DMA Read NO_PASID] Request device [01:00.0] fault addr 0x7f000 [fault reason 0x06] PTE Read access is not set",
       "iommu"},
      {"nvidia 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000a address=0xfee0 flags=0x0070]", "iommu"},
      {"DMAR: Host address width 39", ""},
      {"PM: suspend entry (deep)", "suspend"},
      {"PM: suspend exit", "resume"},
      {"ACPI: PM: Waking up from system sleep state S3", "resume"},
      {"nouveau 0000:01:00.0: NVIDIA GA106 (176000a1)", "nouveau"},
      {"vfio-pci 0000:01:00.0: vgaarb: VGA decodes changed", "vfio"},
      {"bbswitch: disabling discrete graphics", "gpu-switch"},
      {"nvidia-uvm: Loaded the UVM driver, major device number 508.", "nvidia-uvm"},
      {"[drm:nv_drm_load [nvidia_drm]] *ERROR* [nvidia-drm] [GPU ID 0x00000100] Failed to allocate NvKmsKapiDevice",
       "nvidia-drm"},
      {"nvidia-modeset: ERROR: GPU:0: Failed to query display engine channel state", "nvidia-modeset"},
      {"nvidia 0000:01:00.0: Direct firmware load for nvidia/550.54.14/gsp_ga10x.bin failed with error -2", "firmware"},
      {"NVRM kgspInitRm_IMPL: missing NVDEC0 engine, cannot initialize GSP-RM", "nvrm"},
      {"audit: type=1400 audit(1.2:3): apparmor=\"DENIED\" operation=\"open\" name=\"/dev/nvidiactl\"", "audit"},
      {"audit: type=1400 audit(1.2:3): apparmor=\"DENIED\" operation=\"open\" name=\"/etc/passwd\" comm=\"snap\"", ""},
      {"Modules linked in: nvidia_uvm(POE) nvidia(POE)", ""},
      {" ? _nv012345rm+0x1c/0x30 [nvidia]", ""},
      {"input: HDA NVIDIA HDMI/DP,pcm=3 as /devices/pci0000:00/sound/card1/input20", ""},
      {"usb 1-1: new full-speed USB device number 2", ""},
      {"misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22", "dxg"},
  };
  for (const auto& [line, kind] : cases) EXPECT_EQ(kinds(parse("[    5.000000] " + std::string(line) + "\n")), kind) << line;
}

TEST(KernelLog, KeepsProgramsAroundTheDriverAndNoOthers) {
  const auto events = parse(
      "May 27 09:10:00 box nvidia-gridd[812]: Valid GRID license not found.\n"
      "May 27 09:10:00 box systemd[1]: nvidia-persistenced.service: Failed with result 'exit-code'.\n"
      "May 27 09:10:00 box systemd-modules-load[300]: Failed to insert module 'nvidia_drm': Key was rejected by service\n"
      "May 27 09:10:00 box sudo[1]: alice : COMMAND=/usr/bin/nvidia-smi\n"
      "May 27 09:10:00 box CRON[1]: (root) CMD (nvidia-smi)\n"
      "type=AVC msg=audit(1364481363.243:24287): avc:  denied  { read write } for  pid=1 comm=\"python3\" name=\"nvidiactl\"\n");
  ASSERT_EQ(kinds(events), "user user user audit");
  EXPECT_EQ(events[0].text, "nvidia-gridd: Valid GRID license not found.");
}

TEST(KernelLog, LatestEventsOutliveAFlood) {
  std::string text = "[    1.0] Linux version 6.8.0\n";
  for (int i = 0; i < 60000; ++i)
    text += "[  100.0] NVRM: Xid (PCI:0000:01:00): 13, pid=" + std::to_string(i) + ", Graphics Exception\n";
  text += "[  200.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n";
  const auto events = parse(text);
  EXPECT_LT(events.size(), 5000U);
  EXPECT_EQ(events.back().code, 79);
  EXPECT_EQ(events[1].code, 13);
  std::int64_t total = 0;
  for (const auto& event : events) total += event.code == 13 ? event.count : 0;
  EXPECT_EQ(total, 60000);
}

TEST(KernelLog, GarbageIsNoEvent) {
  EXPECT_TRUE(parse("").empty());
  EXPECT_TRUE(parse(std::string(100000, '\xff')).empty());
  const auto events = parse(
      "[ 1.0] NVRM: \xff\xfe bad\x01"
      "bytes\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text, "NVRM: ?? bad bytes");
}

TEST(LogScan, FindsAWordAtEveryAlignmentAndCountsLines) {
  for (std::size_t pad = 0; pad < 9; ++pad) {
    const std::string text = "one\ntwo\n" + std::string(pad, 'x') + "NVRM: y";
    LogScanner scanner(text);
    std::string_view line;
    std::uint32_t number = 0;
    ASSERT_TRUE(scanner.next(line, number)) << pad;
    EXPECT_EQ(number, 3U);
    EXPECT_EQ(line, std::string(pad, 'x') + "NVRM: y");
    EXPECT_FALSE(scanner.next(line, number));
  }
}

}  // namespace
}  // namespace gpuvet
