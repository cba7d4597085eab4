// Texts of any length in bounded memory: both ends, what matters between, every encoding, any cutting into pieces.

#include "text/paste_collector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "text/signature_match.h"
#include "text_reader.h"

namespace gpuvet {
namespace {

bool has_line(const PastedText& text, std::string_view wanted) {
  for (const PasteLine& line : text.lines)
    if (line.text == wanted) return true;
  return false;
}

/// What the text takes in memory, roughly.
std::size_t kept_bytes(const PastedText& text) {
  std::size_t bytes = text.lines.capacity() * sizeof(PasteLine);
  for (const PasteLine& line : text.lines)
    for (const std::string& part : {std::cref(line.text), std::cref(line.quoted)})
      if (part.capacity() > 15) bytes += part.capacity();
  return bytes;
}

PastedText collected(const std::string& bytes, std::size_t piece, PasteCollector::Limits limits, const LiteralSet& literals) {
  PasteCollector collector(literals, limits);
  for (std::size_t i = 0; i < bytes.size(); i += piece) collector.feed(std::string_view(bytes).substr(i, piece));
  return collector.finish("t");
}

TEST(PasteCollector, ShortTextsAreWhole) {
  const LiteralSet literals({{"needle", 0}});
  for (const std::size_t piece : {1u, 3u, 100u}) {
    const PastedText text = collected("a\r\nbb\n\nlast", piece, {}, literals);
    EXPECT_EQ(lines_of(text), "a\nbb\n\nlast\n") << piece;
    EXPECT_TRUE(text.complete);
  }
}

TEST(PasteCollector, SeveralTextsDoNotRunIntoEachOther) {
  const LiteralSet literals({{"needle", 0}});
  PasteCollector collector(literals);
  for (const std::string_view text : {std::string_view("first, no line end"), std::string_view("\xef\xbb\xbfsecond\n"),
                                      std::string_view("\xff\xfeu\0t\0f\0", 8), std::string_view("last")}) {
    collector.feed(text);
    collector.end_of_text();
  }
  EXPECT_EQ(lines_of(collector.finish("t")), "first, no line end\nsecond\nutf\nlast\n");
}

TEST(PasteCollector, LongTextsKeepBothEndsAndWhatMatters) {
  const LiteralSet literals({{"needle", 0}});
  std::string bytes;
  for (int i = 1; i <= 20000; ++i) bytes += i == 10000 ? "here is a needle\n" : "line " + std::to_string(i) + "\n";
  for (const std::size_t piece : {777u, 65536u, 1u << 20}) {
    const PastedText text =
        collected(bytes, piece, {.head = 1000, .tail = 1000, .middle = 4000, .longest_line = 100, .per_literal = 4, .context = 2},
                  literals);
    bool found = false;
    std::uint32_t last = 0;
    for (const PasteLine& line : text.lines) {
      EXPECT_GT(line.number, last);
      EXPECT_EQ(line.gap_before, line.number != last + 1);
      last = line.number;
      if (line.text != "here is a needle") continue;
      found = true;
      EXPECT_EQ(line.number, 10000u);
    }
    EXPECT_TRUE(found) << piece;
    EXPECT_EQ(text.lines.front().text, "line 1");
    EXPECT_EQ(text.lines.back().text, "line 20000");
    EXPECT_EQ(last, 20000u);
    EXPECT_FALSE(text.complete);
  }
}

constexpr PasteCollector::Limits small{
    .head = 1000, .tail = 1000, .middle = 4000, .longest_line = 100, .per_literal = 4, .context = 2};

TEST(PasteCollector, ThePiecesDoNotMatter) {
  const LiteralSet literals({{"needle", 0}, {"haystack", 1}});
  std::string bytes;
  for (int i = 1; i <= 3000; ++i)
    bytes += i % 401 == 0   ? "a needle\r\n"
             : i % 733 == 0 ? "\n"
             : i % 997 == 0 ? std::string(300, 'h') + "haystack\n"
                            : "line " + std::to_string(i) + "\n";
  bytes += "no end";
  const std::string whole = lines_of(collected(bytes, bytes.size(), {}, literals));
  EXPECT_EQ(whole, lines_of(collected(bytes, 1, {}, literals)));
  for (const std::size_t piece : {1u, 7u, 100u, 101u, 4096u}) {
    EXPECT_EQ(lines_of(collected(bytes, piece, {}, literals)), whole) << piece;
    // What lies between the ends is known line by line, however it came.
    const PastedText text = collected(bytes, piece, small, literals);
    EXPECT_EQ(text.lines.front().text, "line 1") << piece;
    EXPECT_EQ(text.lines.back().text, "no end") << piece;
    EXPECT_EQ(text.lines.back().number, 3001u) << piece;
    for (const int number : {401, 802, 1203, 1604}) {
      bool found = false;
      for (const PasteLine& line : text.lines)
        found |= line.number == static_cast<std::uint32_t>(number) && line.text == "a needle";
      EXPECT_TRUE(found) << piece << ": " << number;
    }
  }
}

TEST(PasteCollector, GapsAreMarked) {
  const LiteralSet literals({{"needle", 0}});
  std::string bytes;
  for (int i = 1; i <= 5000; ++i) bytes += i == 2500 ? "needle\n" : std::to_string(i) + "\n";
  const PastedText text = collected(bytes, 300, small, literals);
  int gaps = 0;
  std::uint32_t last = 0;
  for (const PasteLine& line : text.lines) {
    ASSERT_GT(line.number, last);
    EXPECT_EQ(line.gap_before, line.number != last + 1) << line.number;
    EXPECT_EQ(line.text, line.number == 2500 ? "needle" : std::to_string(line.number));
    gaps += line.gap_before;
    last = line.number;
  }
  EXPECT_EQ(gaps, 2);
  EXPECT_TRUE(has_line(text, "needle"));
  EXPECT_TRUE(has_line(text, "2501"));  // the context behind
  EXPECT_TRUE(has_line(text, "2502"));
  EXPECT_FALSE(has_line(text, "2503"));
}

TEST(PasteCollector, AFloodOfOneMessageLeavesRoomForOthers) {
  const LiteralSet literals({{"flooding", 0}, {"oding the", 1}, {"rare one", 2}});
  std::string bytes;
  for (int i = 1; i <= 5000; ++i)
    bytes += i == 2500   ? "a rare one\n"
             : i == 3000 ? "flooding the rare\n"
             : i == 3500 ? "flooding rare one\n"
                         : "flooding " + std::to_string(i) + "\n";
  const PastedText text = collected(bytes, 4096, small, literals);
  EXPECT_TRUE(has_line(text, "a rare one"));
  EXPECT_TRUE(has_line(text, "flooding rare one"));
  EXPECT_TRUE(has_line(text, "flooding the rare"));  // its literals overlap
}

// Words such as "returned " stand in any log and must not use up the room of the errors that matter.
TEST(PasteCollector, AnErrorOfCudaBetweenManyOtherWords) {
  const Knowledge knowledge;
  const SignatureMatcher matcher(knowledge);
  std::string bytes;
  for (int i = 1; i <= 60000; ++i)
    bytes += i == 40000 ? "x.cu:17: an illegal memory access was encountered (cudaErrorIllegalAddress)\n"
                        : "GET /page/" + std::to_string(i) + " returned 200, error code 0\n";
  const PastedText text = collected(bytes, 65536, {.head = 4096, .tail = 4096, .middle = 65536}, matcher.literals());
  bool found = false;
  for (const Observation& o : observe(text, matcher)) {
    found |= o.signature == "cuda-error-700";
    EXPECT_TRUE(o.signature != "cuda-error-700" || o.origin.line == 40000u) << o.origin.line;
  }
  EXPECT_TRUE(found);
}

TEST(PasteCollector, AnEndlessLineIsCut) {
  const LiteralSet literals;
  const PastedText text = collected(std::string(5 << 20, 'x') + "\nafter\n", 65536, {}, literals);
  ASSERT_EQ(text.lines.size(), 2u);
  EXPECT_LE(text.lines[0].text.size(), 8192u);
  EXPECT_EQ(text.lines[1].text, "after");
  EXPECT_EQ(collected(std::string(5 << 20, 'x'), 65536, {}, literals).lines.size(), 1u);
}

TEST(PasteCollector, AnEndlessProgressBarEndsInItsMessage) {
  const LiteralSet literals;
  std::string bytes = "start\n";
  for (int i = 0; i < 20000; ++i) bytes += "\r " + std::to_string(i) + "/20000 [00:00<?, ?it/s]";
  bytes += "\rRuntimeError: x\r\nafter\n";
  for (const std::size_t piece : {1u, 97u, 4096u, 1u << 20})
    EXPECT_EQ(lines_of(collected(bytes, piece, {}, literals)), "start\nRuntimeError: x\nafter\n") << piece;
}

TEST(PasteCollector, Utf16InOddPieces) {
  const std::u32string_view sample = U"line 无 \U0001F600\U0001F680.\r\n";
  for (const bool big : {false, true})
    for (const bool marked : {false, true}) {
      std::string bytes;
      const auto put = [&](char32_t unit) {
        const char low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
        bytes += big ? high : low;
        bytes += big ? low : high;
      };
      if (marked) put(0xfeff);
      for (const char32_t c : std::u32string_view(U"PS C:\\> nvidia-smi --help\r\n")) put(c);
      for (int i = 0; i < 300; ++i)
        for (const char32_t c : sample) {
          if (c < 0x10000) {
            put(c);
          } else {
            put(0xd800 + ((c - 0x10000) >> 10));
            put(0xdc00 + ((c - 0x10000) & 0x3ff));
          }
        }
      const LiteralSet literals;
      for (const std::size_t piece : {1u, 2u, 3u, 5u, 511u, 513u, 5000u, 1u << 20}) {
        const PastedText text = collected(bytes, piece, {}, literals);
        ASSERT_EQ(text.lines.size(), 301u) << big << marked << piece;
        EXPECT_EQ(text.lines[0].text, "PS C:\\> nvidia-smi --help");
        for (std::size_t i = 1; i < text.lines.size(); ++i)
          ASSERT_EQ(text.lines[i].text, "line \xe6\x97\xa0 \xf0\x9f\x98\x80\xf0\x9f\x9a\x80.")
              << big << marked << piece << ": " << i;
      }
    }
}

TEST(PasteCollector, Utf16ThatIsCutAtItsEnd) {
  const LiteralSet literals;
  const std::string bytes(
      "\xff\xfe"
      "a\0b\0\n\0c\0d",
      11);
  for (const std::size_t piece : {1u, 2u, 3u, 11u})
    EXPECT_EQ(lines_of(collected(bytes, piece, {}, literals)), "ab\nc\n") << piece;
  EXPECT_EQ(lines_of(collected(std::string("\xff\xfe", 2), 1, {}, literals)), "");
}

TEST(PasteCollector, Utf8MarkIsNoPartOfTheText) {
  const LiteralSet literals;
  const std::string bytes = "\xef\xbb\xbf$ nvidia-smi\n" + std::string(600, '.') + "\n";
  for (const std::size_t piece : {1u, 3u, 5000u})
    EXPECT_EQ(collected(bytes, piece, {}, literals).lines.at(0).text, "$ nvidia-smi") << piece;
}

TEST(PasteCollector, NothingAtAll) {
  const LiteralSet literals;
  EXPECT_TRUE(collected("", 1, {}, literals).lines.empty());
  EXPECT_EQ(collected("\n", 1, {}, literals).lines.size(), 1u);
  EXPECT_EQ(collected(std::string(1, '\0'), 1, {}, literals).lines.size(), 1u);
}

TEST(PasteCollector, TwoHundredMegabytesInLittleMemory) {
  const LiteralSet literals({{"needle", 0}});
  PasteCollector collector(literals);
  std::string piece;
  for (int i = 0; piece.size() < (1u << 20); ++i)
    piece += "Dec  2 22:10:11 node7 kernel: [ 8123.456789] usb 1-1: new device number " + std::to_string(i % 90 + 10) + "\n";
  const auto in_piece = static_cast<std::uint64_t>(std::ranges::count(piece, '\n'));
  for (int i = 0; i < 200; ++i) {
    collector.feed(piece);
    if (i == 120) collector.feed("here is a needle\n");
  }
  EXPECT_EQ(collector.lines(), 200 * in_piece + 1);
  const PastedText text = collector.finish("t");
  EXPECT_FALSE(text.complete);
  EXPECT_TRUE(has_line(text, "here is a needle"));
  EXPECT_LT(kept_bytes(text), 24u << 20);
}

// Lines cost more than their bytes.
TEST(PasteCollector, ManyEmptyLinesInLittleMemory) {
  const LiteralSet literals;
  PasteCollector collector(literals);
  const std::string piece(1 << 20, '\n');
  for (int i = 0; i < 20; ++i) collector.feed(piece);
  collector.feed("end\n");
  EXPECT_EQ(collector.lines(), (20u << 20) + 1);
  const PastedText text = collector.finish("t");
  EXPECT_EQ(text.lines.back().text, "end");
  EXPECT_EQ(text.lines.back().number, (20u << 20) + 1);
  EXPECT_LT(kept_bytes(text), 24u << 20);
}

}  // namespace
}  // namespace gpuvet
