#include <gtest/gtest.h>

#include "collect/process_record.h"

namespace gpuvet {
namespace {

TEST(ProcessMaps, EachFileOnceWithItsMarks) {
  const auto files = parse_maps(
      "55d0-55d2 r--p 00000000 fe:01 12                         /usr/bin/a b\n"
      "55d2-55d4 r-xp 00002000 fe:01 12                         /usr/bin/a b\n"
      "55d4-55d5 rw-p 00000000 00:00 0                          [heap]\n"
      "7f00-7f01 r--s 00000000 fe:01 13                         /lib/x.so.1 (deleted)\n"
      "7f02-7f03 rw-p 00000000 00:00 0 \n");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "/usr/bin/a b");
  EXPECT_TRUE(files[0].executable);
  EXPECT_EQ(files[0].device_major, 0xfeu);
  EXPECT_EQ(files[0].inode, 12u);
  EXPECT_EQ(files[1].path, "/lib/x.so.1");
  EXPECT_TRUE(files[1].deleted);
  EXPECT_FALSE(files[1].executable);
}

TEST(ProcessMaps, AnyTextIsTaken) {
  for (const char* text :
       {"", "\n\n", "1-", "1-2 ", "1-2 r", "1-2 r-xp", "1-2 r-xp 0 0:0 ", "zz-2 r-xp 0 0:0 1 /x", "1-2 r-xp 0 0:0 0 /x"})
    EXPECT_TRUE(parse_maps(text).empty()) << text;
}

}  // namespace
}  // namespace gpuvet
