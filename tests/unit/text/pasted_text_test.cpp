// Pasted text: encodings, quoting, prefixes, prompts; and texts of any length in bounded memory.

#include "text/pasted_text.h"

#include <gtest/gtest.h>

#include "text/paste_collector.h"

namespace gpuvet {
namespace {

std::string lines_of(const PastedText& text) {
  std::string all;
  for (const PasteLine& line : text.lines) all += line.text + "\n";
  return all;
}

TEST(PastedText, ColoursAndControlCharactersAreGone) {
  const PastedText text = make_pasted_text("t", "\x1b[31mRuntimeError\x1b[0m: x\x07\x1b]0;title\x07y\r\n");
  EXPECT_EQ(text.lines.at(0).text, "RuntimeError: xy");
  EXPECT_EQ(text.lines.at(0).quoted, "RuntimeError: xy");
}

TEST(PastedText, AProgressBarLeavesItsLastState) {
  EXPECT_EQ(make_pasted_text("t", "10%\r50%\r100% done\n").lines.at(0).text, "100% done");
}

TEST(PastedText, QuotesAndCarriersOfLogs) {
  EXPECT_EQ(without_carrier("> > RuntimeError: x"), "RuntimeError: x");
  EXPECT_EQ(without_carrier(">>> import torch"), ">>> import torch");
  EXPECT_EQ(without_carrier("trainer-1  | RuntimeError: x"), "RuntimeError: x");
  EXPECT_EQ(without_carrier("|   0  NVIDIA A10  Off |"), "|   0  NVIDIA A10  Off |");
  EXPECT_EQ(without_carrier("(RayWorkerWrapper pid=2148) RuntimeError: x"), "RuntimeError: x");
  EXPECT_EQ(without_carrier("[rank0]: RuntimeError: x"), "RuntimeError: x");
  EXPECT_EQ(without_carrier("2024-06-06T14:09:57.1234567Z stderr F RuntimeError: x"), "RuntimeError: x");
}

TEST(PastedText, NumbersOfAViewer) {
  EXPECT_EQ(lines_of(make_pasted_text("t", "1: a\n2: b\n3: c\n4: d\n")), "a\nb\nc\nd\n");
  // Numbers that do not count on are the text's own.
  EXPECT_EQ(lines_of(make_pasted_text("t", "7: a\n7: b\n7: c\n")), "7: a\n7: b\n7: c\n");
}

TEST(PastedText, Utf16) {
  std::string little = "\xff\xfe", plain;
  for (const char c : std::string("PS C:\\> nvidia-smi\r\nERROR\r\n")) little += c, little += '\0', plain += c, plain += '\0';
  EXPECT_EQ(lines_of(make_pasted_text("t", little)), "PS C:\\> nvidia-smi\nERROR\n");
  EXPECT_EQ(lines_of(make_pasted_text("t", plain)), "PS C:\\> nvidia-smi\nERROR\n");
}

TEST(PastedText, Prompts) {
  const PastedText text = make_pasted_text("t",
                                           "before\n$ sudo nvidia-smi -L\nGPU 0\n(env) user@host:~$ A=1 python x.py\nout\n"
                                           "root@3f4e5a6b7c8d:/# ls\nC:\\> where nvcc\n>>> import torch\n# a comment of its own\n");
  ASSERT_EQ(text.segments.size(), 6u);
  EXPECT_EQ(text.segments[0].command, "");
  EXPECT_EQ(text.segments[1].command, "nvidia-smi -L");
  EXPECT_EQ(text.lines[text.segments[1].first].text, "GPU 0");
  EXPECT_EQ(text.segments[2].command, "A=1 python x.py");
  EXPECT_EQ(text.segments[3].place, PastePlace::Container);
  EXPECT_EQ(text.segments[4].place, PastePlace::Windows);
  EXPECT_TRUE(text.segments[5].python);
}

TEST(PastedText, ContinuedCommands) {
  const PastedText text = make_pasted_text("t", "$ docker run \\\n  --gpus all x\nout\n");
  EXPECT_EQ(text.segments.at(0).command, "docker run  --gpus all x");
  EXPECT_EQ(text.segments.at(0).first, 2u);
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

TEST(PasteCollector, LongTextsKeepBothEndsAndWhatMatters) {
  const LiteralSet literals({{"needle", 0}});
  std::string bytes;
  for (int i = 1; i <= 20000; ++i) bytes += i == 10000 ? "here is a needle\n" : "line " + std::to_string(i) + "\n";
  for (const std::size_t piece : {777u, 65536u, 1u << 20}) {
    const PastedText text = collected(bytes, piece, {.head = 1000, .tail = 1000, .middle = 4000, .longest_line = 100, .per_literal = 4, .context = 2}, literals);
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

TEST(PasteCollector, AnEndlessLineIsCut) {
  const LiteralSet literals;
  const PastedText text = collected(std::string(5 << 20, 'x') + "\nafter\n", 65536, {}, literals);
  ASSERT_EQ(text.lines.size(), 2u);
  EXPECT_LE(text.lines[0].text.size(), 8192u);
  EXPECT_EQ(text.lines[1].text, "after");
}

TEST(PasteCollector, Utf16InOddPieces) {
  std::string bytes = "\xff\xfe";
  for (int i = 0; i < 300; ++i)
    for (const char c : std::string("line\r\n")) bytes += c, bytes += '\0';
  const LiteralSet literals;
  for (const std::size_t piece : {1u, 3u, 511u, 5000u}) {
    const PastedText text = collected(bytes, piece, {}, literals);
    EXPECT_EQ(text.lines.size(), 300u) << piece;
    EXPECT_EQ(text.lines.back().text, "line") << piece;
  }
}

TEST(LiteralSet, FindsTheFirstAndAll) {
  const LiteralSet set({{"abcdef", 1}, {"cdefgh", 2}, {"cdefghij", 3}, {"tiny", 4}});
  const auto hit = set.find("xxabcdefghijxx", 0);
  EXPECT_EQ(hit.position, 2u);
  EXPECT_EQ(hit.number, 1u);
  EXPECT_EQ(set.find("xxabcdefghijxx", 3).number, 3u);  // the longest at one place
  EXPECT_EQ(set.find("tiny things", 0).position, std::string_view::npos);
  std::vector<std::uint32_t> numbers;
  set.all_in("abcdefghij", numbers);
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 3}));
  set.all_in("abcde", numbers);
  EXPECT_TRUE(numbers.empty());
}

}  // namespace
}  // namespace gpuvet
