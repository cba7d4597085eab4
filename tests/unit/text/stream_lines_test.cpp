// Two streams as one text of whole lines.

#include "text/stream_lines.h"

#include <gtest/gtest.h>

namespace gpuvet {
namespace {

TEST(StreamLines, LinesStayWholeInTheOrderInWhichTheyEnd) {
  std::string text;
  StreamLines lines([&](std::string_view whole) {
    EXPECT_TRUE(whole.ends_with('\n'));
    text += whole;
  });
  lines.feed(0, "one ");
  lines.feed(1, "error\nhalf");
  lines.feed(0, "line\nnext\nthi");
  lines.feed(1, " of it\n");
  lines.feed(0, "rd");
  lines.finish();
  EXPECT_EQ(text, "error\none line\nnext\nhalf of it\nthird\n");
}

TEST(StreamLines, AnyCuttingOfOneStreamIsTheSame) {
  const std::string whole = "a\n\nbb\nccc\r\nlast";
  for (std::size_t piece = 1; piece <= whole.size(); ++piece) {
    std::string text;
    StreamLines lines([&](std::string_view part) { text += part; });
    for (std::size_t i = 0; i < whole.size(); i += piece) lines.feed(0, std::string_view(whole).substr(i, piece));
    lines.finish();
    EXPECT_EQ(text, whole + "\n") << piece;
  }
}

TEST(StreamLines, ALineWithoutEndDoesNotGrow) {
  std::size_t taken = 0;
  StreamLines lines([&](std::string_view part) { taken += part.size(); }, 100);
  for (int i = 0; i < 1000; ++i) lines.feed(0, "0123456789");
  EXPECT_GE(taken, 9900U);
}

}  // namespace
}  // namespace gpuvet
