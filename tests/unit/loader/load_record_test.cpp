#include "loader/load_record.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

/// One record as the audit library writes it: "t=search i=1 …" with blanks for NULs.
std::string record(std::string text) {
  for (char& c : text) {
    if (c == ' ') c = '\0';
  }
  return text + std::string(2, '\0');
}

const std::string start_of_ls =
    record("t=start i=9 o=64 p=64 v=2 q=1 x=/usr/bin/ls w=/tmp a=ls") + record("t=open i=9 o=64 p=64 m=0 c=1 n= d=1 f=10") +
    record("t=open i=9 o=64 p=64 m=0 c=2 n=/lib64/ld-linux-x86-64.so.2 d=1 f=11") + record("t=activity i=9 o=64 p=64 r=1 c=1") +
    record("t=open i=9 o=64 p=64 m=0 c=3 n=linux-vdso.so.1 e=2");

std::string search(const std::string& rest) { return record("t=search i=9 o=64 p=64 " + rest); }
std::string open(const std::string& rest) { return record("t=open i=9 o=64 p=64 m=0 " + rest); }

TEST(LoadRecord, StartUpInOrderWithRuleAndRequester) {
  const LoadRecord read =
      parse_load_record(start_of_ls + search("r=1 c=1 n=libselinux.so.1") + search("r=2 c=1 n=/opt/libselinux.so.1 e=2") +
                        search("r=8 c=1 n=/lib/libselinux.so.1 d=1 f=12") + open("c=4 n=/lib/libselinux.so.1 d=1 f=12") +
                        search("r=1 c=4 n=libpcre2-8.so.0") + search("r=4 c=4 n=/p/libpcre2-8.so.0 d=1 f=13") +
                        open("c=5 n=/p/libpcre2-8.so.0 d=1 f=13") + record("t=activity i=9 o=64 p=64 r=0 c=1") +
                        record("t=preinit i=9 o=64 p=64 c=1"));
  ASSERT_EQ(read.processes.size(), 1u);
  const RecordedProcess& process = read.processes[0];
  EXPECT_EQ(process.pid, 0x64);
  EXPECT_EQ(process.program, "/usr/bin/ls");
  EXPECT_EQ(process.working_directory, "/tmp");
  EXPECT_TRUE(process.started);
  ASSERT_EQ(process.objects.size(), 4u);
  EXPECT_EQ(process.objects[0].path, "/usr/bin/ls");
  EXPECT_EQ(process.objects[0].rule, "program");
  EXPECT_EQ(process.objects[1].rule, "loader");
  EXPECT_EQ(process.objects[2].rule, "ld.so.cache");
  EXPECT_EQ(process.objects[2].requester, 0);
  EXPECT_EQ(process.objects[3].rule, "RPATH/RUNPATH");
  EXPECT_EQ(process.objects[3].requester, 2);
  EXPECT_FALSE(process.objects[3].dlopen);
  EXPECT_TRUE(process.failures.empty());
  EXPECT_EQ(read.unreadable, 0);
}

TEST(LoadRecord, DlopenHasRootAndWhatItBrings) {
  const LoadRecord read = parse_load_record(
      start_of_ls + record("t=preinit i=9 o=64 p=64 c=1") + search("r=1 c=1 n=/x/a.so d=1 f=20") +
      record("t=activity i=9 o=64 p=64 r=1 c=1") + open("c=4 n=/x/a.so d=1 f=20") + search("r=1 c=4 n=b.so") +
      search("r=40 c=4 n=/lib/b.so d=1 f=21") + open("c=5 n=/lib/b.so d=1 f=21") + record("t=activity i=9 o=64 p=64 r=0 c=1"));
  const RecordedProcess& process = read.processes.at(0);
  ASSERT_EQ(process.objects.size(), 4u);
  EXPECT_TRUE(process.objects[2].root);
  EXPECT_EQ(process.objects[2].rule, "path");
  EXPECT_TRUE(process.objects[3].dlopen);
  EXPECT_FALSE(process.objects[3].root);
  EXPECT_EQ(process.objects[3].rule, "default");
  EXPECT_EQ(process.objects[3].requester, 2);
}

TEST(LoadRecord, ASearchThatMapsNothingIsAFailureUnlessTheFileIsMapped) {
  const LoadRecord read = parse_load_record(
      start_of_ls + record("t=preinit i=9 o=64 p=64 c=1") + search("r=1 c=1 n=libnone.so") +
      search("r=40 c=1 n=/lib/libnone.so e=2") + search("r=1 c=1 n=/proc/self/exe d=1 f=10") +
      search("r=1 c=1 n=/x/probe.so d=1 f=77") + search("r=1 c=1 n=libz.so.1") + record("t=close i=9 o=64 p=64 c=2"));
  const RecordedProcess& process = read.processes.at(0);
  ASSERT_EQ(process.failures.size(), 3u);
  EXPECT_EQ(process.failures[0].name, "libnone.so");
  ASSERT_EQ(process.failures[0].tried.size(), 1u);
  EXPECT_EQ(process.failures[0].tried[0].rule, "default");
  EXPECT_EQ(process.failures[0].stopped_at, "");
  EXPECT_EQ(process.failures[1].stopped_at, "/x/probe.so");
  EXPECT_EQ(process.failures[2].name, "libz.so.1");
  EXPECT_TRUE(process.objects[1].closed);
}

TEST(LoadRecord, TheEndOfAProgramIsNoDlclose) {
  for (const char* order : {"1 2", "2 1"}) {
    std::string closes;
    for (const char* c = order; *c != '\0'; ++c) {
      if (*c != ' ') closes += record(std::string("t=close i=9 o=64 p=64 c=") + *c);
    }
    const LoadRecord read = parse_load_record(start_of_ls + record("t=activity i=9 o=64 p=64 r=2 c=1") + closes);
    EXPECT_FALSE(read.processes.at(0).objects[1].closed) << order;
  }
}

TEST(LoadRecord, PreloadedByTheVariable) {
  const LoadRecord read = parse_load_record(record("t=start i=9 o=64 p=64 x=/usr/bin/ls a=ls") +
                                            record("t=variable i=9 o=64 p=64 k=LD_PRELOAD= n=libfirst.so:/x/mine.so") +
                                            record("t=open i=9 o=64 p=64 m=0 c=1 n= d=1 f=10") +
                                            search("r=1 c=1 n=/x/mine.so d=1 f=30") + open("c=2 n=/x/mine.so d=1 f=30"));
  EXPECT_EQ(read.processes.at(0).objects.at(1).rule, "LD_PRELOAD");
  EXPECT_EQ(read.processes.at(0).environment.at("LD_PRELOAD"), "libfirst.so:/x/mine.so");
}

TEST(LoadRecord, ForkedChildrenCountOnlyWhenTheyLoad) {
  const std::string child =
      record("t=search i=9 o=64 p=65 r=1 c=1 n=/x/a.so d=1 f=20") + record("t=open i=9 o=64 p=65 m=0 c=4 n=/x/a.so d=1 f=20");
  const LoadRecord read = parse_load_record(start_of_ls + record("t=close i=9 o=64 p=66 c=1") + child);
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_TRUE(read.processes[1].forked);
  EXPECT_EQ(read.processes[1].parent, 0x64);
  EXPECT_EQ(read.processes[1].program, "/usr/bin/ls");
  EXPECT_EQ(read.processes[1].objects.at(0).path, "/x/a.so");
}

TEST(LoadRecord, ExecGivesASecondImageOfTheSameProcess) {
  const LoadRecord read = parse_load_record(start_of_ls + record("t=start i=a o=64 p=64 x=/usr/bin/cat a=cat"));
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_EQ(read.processes[1].program, "/usr/bin/cat");
  EXPECT_EQ(read.processes[1].pid, 0x64);
}

TEST(LoadRecord, AnyBytesAreTaken) {
  EXPECT_TRUE(parse_load_record("").processes.empty());
  EXPECT_EQ(parse_load_record("rubbish").unreadable, 1);
  EXPECT_EQ(parse_load_record(std::string(9, '\0')).unreadable, 5);
  const LoadRecord read = parse_load_record(start_of_ls + "t=search" + std::string(1, '\0') + "i=9");
  EXPECT_EQ(read.processes.size(), 1u);
  EXPECT_EQ(read.unreadable, 1);
  EXPECT_EQ(parse_load_record(record("t=unknown i=1 o=1 p=1")).unreadable, 1);
}

}  // namespace
}  // namespace gpuvet
