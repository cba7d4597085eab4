// What stands in front of a message, in every form that logs have.
#include "text/log_line.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

struct Case {
  const char* line;
  const char* text;
  const char* tag;
  const char* time;
  double seconds;
};

TEST(LogLine, TakesEveryUsualFormApart) {
  const Case cases[] = {
      {"[   12.345678] NVRM: x", "NVRM: x", "", "", 12.345678},
      {"[    0.000000][    T0] Linux version 6.8.0", "Linux version 6.8.0", "", "", 0},
      {"[    1.202000] [drm] [nvidia-drm] [GPU ID 0x00000100] Loading driver",
       "[drm] [nvidia-drm] [GPU ID 0x00000100] Loading driver", "", "", 1.202},
      {"<6>[   12.5] NVRM: x", "NVRM: x", "", "", 12.5},
      {"kern  :err   : [    4.100000] NVRM: x", "NVRM: x", "", "", 4.1},
      {"[Tue May 27 09:10:00 2025] NVRM: x", "NVRM: x", "", "Tue May 27 09:10:00 2025", -1},
      {"[May27 09:10] NVRM: x", "NVRM: x", "", "May27 09:10", -1},
      {"[  +0.000003] NVRM: x", "NVRM: x", "", "", -1},
      {"6,1234,5678901,-;nvidia 0000:01:00.0: y", "nvidia 0000:01:00.0: y", "", "", 5.678901},
      {"30,1236,5678902,-;systemd[1]: Starting x", "Starting x", "systemd", "", 5.678902},
      {"May 27 09:10:00 box kernel: NVRM: x", "NVRM: x", "kernel", "May 27 09:10:00", -1},
      {"May  7 09:10:00 box kernel: [    1.5] NVRM: x", "NVRM: x", "kernel", "May  7 09:10:00", 1.5},
      {"May 27 09:10:00.123456 box kernel: NVRM: x", "NVRM: x", "kernel", "May 27 09:10:00.123456", -1},
      {"May 27 09:10:00 box kern.warn kernel: [    1.5] NVRM: x", "NVRM: x", "kernel", "May 27 09:10:00", 1.5},
      {"May 27 09:10:00 box nvidia-persistenced: Started (812)", "Started (812)", "nvidia-persistenced", "May 27 09:10:00", -1},
      {"May 27 09:10:00 box nvidia-gridd[812]: x", "x", "nvidia-gridd", "May 27 09:10:00", -1},
      {"2025-05-27T09:10:00.000000+00:00 box kernel: [  907.410000] NVRM: x", "NVRM: x", "kernel",
       "2025-05-27T09:10:00.000000+00:00", 907.41},
      {"2025-05-27T09:10:00+0200 box kernel: NVRM: x", "NVRM: x", "kernel", "2025-05-27T09:10:00+0200", -1},
      {"2025-05-27T09:10:00,201999+00:00 nvidia 0000:01:00.0: y", "nvidia 0000:01:00.0: y", "",
       "2025-05-27T09:10:00,201999+00:00", -1},
      {"Tue 2025-05-27 09:10:00 UTC box kernel: NVRM: x", "NVRM: x", "kernel", "2025-05-27 09:10:00", -1},
      {"1748337000.201999 box kernel: NVRM: x", "NVRM: x", "kernel", "1748337000.201999", -1},
      {"[    1.202000] box kernel: NVRM: x", "NVRM: x", "kernel", "", 1.202},
      {"[    1.202000] box systemd[1]: x", "x", "systemd", "", 1.202},
      {"[    1.202000] nvidia 0000:01:00.0: vgaarb: z", "nvidia 0000:01:00.0: vgaarb: z", "", "", 1.202},
      {"<4>1 2025-05-27T09:10:00Z host kernel - - - NVRM: x", "NVRM: x", "kernel", "2025-05-27T09:10:00Z", -1},
      {"box kernel: NVRM: x", "NVRM: x", "kernel", "", -1},
      {"type=AVC msg=audit(1364481363.243:24287): avc:  denied", "type=AVC msg=audit(1364481363.243:24287): avc:  denied",
       "audit", "1364481363.243", -1},
      {"               NVRM: continued", "NVRM: continued", "", "", -1},
      {"NVRM: x", "NVRM: x", "", "", -1},
      {"", "", "", "", -1},
  };
  for (const Case& c : cases) {
    const LogLine line = parse_log_line(c.line);
    EXPECT_EQ(line.text, c.text) << c.line;
    EXPECT_EQ(line.tag, c.tag) << c.line;
    EXPECT_EQ(line.time, c.time) << c.line;
    EXPECT_NEAR(line.seconds, c.seconds, 1e-6) << c.line;
  }
}

TEST(LogLine, ReadsClocks) {
  const auto utc = parse_wall_clock("2025-05-27T09:10:00.5+00:00", 0);
  ASSERT_TRUE(utc);
  EXPECT_EQ(utc->epoch, 1748337000);
  EXPECT_EQ(utc->uncertainty, 0);
  EXPECT_EQ(parse_wall_clock("2025-05-27T09:10:00+02:00", 0)->epoch, 1748337000 - 7200);
  EXPECT_EQ(parse_wall_clock("2025-05-27T09:10:00-0530", 0)->epoch, 1748337000 + 19800);
  const auto local = parse_wall_clock("May 27 09:10:00", 1748330000);
  ASSERT_TRUE(local);
  EXPECT_EQ(local->epoch, 1748337000);
  EXPECT_EQ(local->uncertainty, 14 * 3600);
  EXPECT_EQ(parse_wall_clock("Tue May 27 09:10:00 2025", 0)->epoch, 1748337000);
  // New Year: a line of 31 December read in January is of the year before.
  EXPECT_EQ(parse_wall_clock("Dec 31 23:00:00", 1735700000)->epoch, 1735686000);
  EXPECT_EQ(parse_wall_clock("2024-02-29T00:00:00Z", 0)->epoch, 1709164800);
  EXPECT_EQ(parse_wall_clock("1748337000.201999", 0)->epoch, 1748337000);
  EXPECT_FALSE(parse_wall_clock("yesterday", 1748337000));
  EXPECT_FALSE(parse_wall_clock("", 1748337000));
}

}  // namespace
}  // namespace gpuvet
