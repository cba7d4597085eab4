// Numbers in the kernel log that no rule speaks of are told with their meaning: the first ones, and not those behind a cause.

#include "diagnose/code_meanings.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

LogEvent xid(std::int64_t code, std::uint32_t line) {
  LogEvent event;
  event.kind = "xid";
  event.text = "NVRM: Xid (PCI:0000:01:00): " + std::to_string(code);
  event.pci = "0000:01:00";
  event.code = code;
  event.origin = {"dmesg", line, event.text};
  return event;
}

Machine with(std::vector<LogEvent> events) {
  Machine machine;
  machine.kernel_log.events = Fact<std::vector<LogEvent>>::known(std::move(events));
  return machine;
}

std::string told(const Machine& machine, const std::vector<Finding>& findings, bool of_text) {
  static const Knowledge knowledge;
  std::string all;
  for (const CodeMeaning& meaning : meanings_of_xids(machine, knowledge, findings, of_text)) all += meaning.code + ";";
  return all;
}

TEST(CodeMeanings, EachOnceInOrder) {
  const Knowledge knowledge;
  const auto meanings = meanings_of_xids(with({xid(62, 1), xid(62, 2), xid(32, 3)}), knowledge, {}, true);
  ASSERT_EQ(meanings.size(), 2u);
  EXPECT_EQ(meanings[0].code, "Xid 62");
  EXPECT_EQ(meanings[0].name, "PMU_HALT_ERROR");
  EXPECT_EQ(meanings[0].en.meaning, "Internal micro-controller halt");
  EXPECT_NE(meanings[0].zh.meaning, meanings[0].en.meaning);
  EXPECT_NE(meanings[0].zh.advice, meanings[0].en.advice);
  EXPECT_EQ(meanings[0].origin.line, 1u);
  EXPECT_EQ(meanings[1].code, "Xid 32");
}

TEST(CodeMeanings, WhatFollowsACauseIsNotTold) {
  Finding cause;
  cause.evidence.push_back({"dmesg", 2, "NVRM: Xid (PCI:0000:01:00): 79"});
  EXPECT_EQ(told(with({xid(62, 1), xid(79, 2), xid(154, 3)}), {cause}, true), "Xid 62;");
}

TEST(CodeMeanings, EverydayFaultsOfProgramsOnAMachineAreNotTold) {
  const Machine machine = with({xid(13, 1), xid(31, 2), xid(45, 3), xid(109, 4)});
  EXPECT_EQ(told(machine, {}, false), "Xid 109;");
  EXPECT_EQ(told(machine, {}, true), "Xid 13;Xid 31;Xid 45;Xid 109;");
}

TEST(CodeMeanings, AnUnknownNumberStaysUnknown) { EXPECT_EQ(told(with({xid(99999, 1)}), {}, true), ""); }

TEST(CodeMeanings, OlderBootsAreHistory) {
  LogEvent old = xid(62, 1);
  old.boot = -1;
  EXPECT_EQ(told(with({old}), {}, false), "");
}

}  // namespace
}  // namespace gpuvet
