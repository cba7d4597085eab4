// Pasted text: encodings, quoting, prefixes, prompts.

#include "text/pasted_text.h"

#include <gtest/gtest.h>

#include "text_reader.h"

namespace gpuvet {
namespace {

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
  const PastedText text =
      make_pasted_text("t",
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

TEST(PastedText, NothingThatATerminalObeysIsLeft) {
  std::string hostile =
      "a\x1b[2Jb\x1b]8;;http://x\x1b\\c\x1b]52;c;aGk=\x07"
      "d\x1bPq#0\x1b\\e\x9b"
      "31mf\x1b(0g\x1b[38;2;1;2;3mh\x1b";
  for (char c = 1; c < 0x20; ++c)
    if (c != '\n' && c != '\r') hostile += c;
  hostile += "\x7f\n";
  hostile += std::string("nul\0nul\n\x1b[31", 12);
  const PastedText text = make_pasted_text("t", hostile);
  for (const PasteLine& line : text.lines)
    for (const std::string& shown : {line.text, line.quoted})
      for (const char c : shown) {
        const auto byte = static_cast<unsigned char>(c);
        EXPECT_TRUE(byte >= 0x20 && byte != 0x7f) << int(byte) << " in " << shown;
      }
  EXPECT_TRUE(text.lines.at(0).text.starts_with("abc")) << text.lines.at(0).text;
}

TEST(PastedText, ProgressBarsThatEndInReturns) {
  EXPECT_EQ(lines_of(make_pasted_text("t", "10%\r100% done\r\r\r\nnext\r\r\n")), "100% done\nnext\n");
  EXPECT_EQ(lines_of(make_pasted_text("t", "\r 50%\r\x1b[K100%\r\n")), "100%\n");
}

TEST(PastedText, TheEndOfALongProgressBarIsWhatStayed) {
  std::string bar;
  for (int i = 0; i < 2000; ++i) bar += "\r " + std::to_string(i) + "/2000 [00:00<?, ?it/s]";
  EXPECT_EQ(make_pasted_text("t", bar + "\rRuntimeError: x\n").lines.at(0).text, "RuntimeError: x");
}

TEST(PastedText, BackspacesTakeWholeCharacters) {
  EXPECT_EQ(make_pasted_text("t", "gr\xc3\xbc\b\xc3\xb6ss\n").lines.at(0).text, "gr\xc3\xb6ss");
  EXPECT_EQ(make_pasted_text("t", "\b\b-\b\\\b|\bok\n").lines.at(0).text, "ok");
}

TEST(PastedText, QuotesOfQuotes) {
  EXPECT_EQ(lines_of(make_pasted_text("t", "> $ nvidia-smi\n>\n> > NVIDIA-SMI has failed\n>> deep\n")),
            "$ nvidia-smi\n\nNVIDIA-SMI has failed\ndeep\n");
}

TEST(PastedText, CarriersInsideCarriers) {
  EXPECT_EQ(without_carrier("2024-06-06T14:09:57.1Z [rank3]: RuntimeError: x"), "RuntimeError: x");
  EXPECT_EQ(without_carrier("2024-06-06T14:09:57Z RuntimeError: x"), "RuntimeError: x");
  EXPECT_EQ(without_carrier("2024-06-06T14:09:57.123456789Z stdout F   indented"), "  indented");
  EXPECT_EQ(without_carrier("[1,0]<stderr>:RuntimeError: x"), "RuntimeError: x");
  EXPECT_EQ(without_carrier("(EngineCore_0 pid=17) (Worker_TP1 pid=18) ERROR x"), "ERROR x");
  EXPECT_EQ(without_carrier("gpu_1    | |   0  NVIDIA A10  Off | 00000000:01:00.0 |"),
            "|   0  NVIDIA A10  Off | 00000000:01:00.0 |");
}

TEST(PastedText, WhatLooksLikeACarrierButIsTheText) {
  for (const std::string_view line : {"name | index | memory", "(see the manual) x", "[ 12.345] NVRM: x", "a > b",
                                      "2024-06-06 14:09:57 x", "[rank", "(pid=3", "[1,0]<stderr", "2024-06-06T14:09:57.", "|"})
    EXPECT_FALSE(without_carrier(line).empty()) << line;
  EXPECT_EQ(without_carrier("name | index | memory"), "name | index | memory");
  EXPECT_EQ(without_carrier("(see the manual) x"), "(see the manual) x");
  EXPECT_EQ(without_carrier("[ 12.345] NVRM: x"), "[ 12.345] NVRM: x");
}

TEST(PastedText, NumbersOfOtherViewers) {
  EXPECT_EQ(lines_of(make_pasted_text("t", "     8\ta\n     9\tb\n    10\t\n    11\td\n")), "a\nb\n\nd\n");
  EXPECT_EQ(lines_of(make_pasted_text("t", "  1  a\n  2  b\n  3    c\n")), "a\nb\n  c\n");
  EXPECT_EQ(lines_of(make_pasted_text("t", "1| a\n2| b\n3| c\n")), "a\nb\nc\n");
  // A list of GPUs counts on too, and is no viewer's.
  EXPECT_EQ(lines_of(make_pasted_text("t", "0, NVIDIA A10\n1, NVIDIA A10\n2, NVIDIA A10\n")),
            "0, NVIDIA A10\n1, NVIDIA A10\n2, NVIDIA A10\n");
}

std::string utf16(std::u32string_view text, bool big, bool marked) {
  std::string out;
  const auto put = [&](char32_t unit) {
    const char low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
    out += big ? high : low;
    out += big ? low : high;
  };
  if (marked) put(0xfeff);
  for (const char32_t c : text) {
    if (c < 0x10000) {
      put(c);
    } else {
      put(0xd800 + ((c - 0x10000) >> 10));
      put(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  return out;
}

TEST(PastedText, Utf16OfBothOrders) {
  for (const bool big : {false, true})
    for (const bool marked : {false, true})
      EXPECT_EQ(lines_of(make_pasted_text("t", utf16(U"NVIDIA-SMI 已失败 \U0001F600\r\nCUDA error: 100\r\n", big, marked))),
                "NVIDIA-SMI \xe5\xb7\xb2\xe5\xa4\xb1\xe8\xb4\xa5 \xf0\x9f\x98\x80\nCUDA error: 100\n")
          << big << marked;
}

TEST(PastedText, Utf8MarkAndBytesOfOtherEncodings) {
  EXPECT_EQ(lines_of(make_pasted_text("t", "\xef\xbb\xbf$ nvidia-smi\n")), "$ nvidia-smi\n");
  EXPECT_EQ(lines_of(make_pasted_text("t", "Ger\xe4t\n")), "Ger?t\n");
  EXPECT_EQ(decoded_text("\xff"), "\xff");
  EXPECT_EQ(decoded_text(""), "");
}

TEST(PastedText, PromptsOfManyShells) {
  struct Case {
    std::string_view line, command;
  };
  for (const Case& c : std::initializer_list<Case>{{"$ nvidia-smi", "nvidia-smi"},
                                                   {"# modprobe nvidia", "modprobe nvidia"},
                                                   {"% nvcc --version", "nvcc --version"},
                                                   {"~/pytorch$ make", "make"},
                                                   {"[user@host dir]$ ls", "ls"},
                                                   {"bash-5.1# id", "id"},
                                                   {"(base) (env) me@box:/opt/x$ sudo -E time nvidia-smi -q", "nvidia-smi -q"},
                                                   {"PS C:\\Users\\me> nvidia-smi", "nvidia-smi"},
                                                   {"PS /home/me> nvidia-smi", "nvidia-smi"},
                                                   {"(venv) C:\\Users\\A B>python x.py", "python x.py"},
                                                   {"In [12]: torch.cuda.is_available()", "torch.cuda.is_available()"}}) {
    const PastedText text = make_pasted_text("t", std::string(c.line) + "\nout\n");
    ASSERT_EQ(text.segments.size(), 1u) << c.line;
    EXPECT_EQ(text.segments[0].command, c.command);
    EXPECT_EQ(text.segments[0].first, 1u);
    EXPECT_EQ(text.segments[0].end, 2u);
  }
}

TEST(PastedText, WhatLooksLikeAPromptButIsOutput) {
  for (const std::string_view line : {"# This file is managed by hand", "#  indented comment", "# ", "$", "$HOME is set",
                                      "costs 5 $ a day", "C:\\Windows\\System32\\nvcuda.dll", "user@host:~$", ">>>", "100% done",
                                      "git@github.com:x/y.git # z", "  \"path\": \"C:\\x> y\""})
    for (const PasteSegment& segment : make_pasted_text("t", std::string(line) + "\nout\n").segments)
      EXPECT_EQ(segment.command, "") << line;
}

TEST(PastedText, OutputOfAProgramInAContainer) {
  const PastedText text = make_pasted_text("t", "$ docker run --rm x nvidia-smi\nout\n$ nvidia-smi\nout\n");
  ASSERT_EQ(text.segments.size(), 2u);
  EXPECT_EQ(text.segments[0].place, PastePlace::Container);
  EXPECT_EQ(text.segments[1].place, PastePlace::Host);
}

TEST(PastedText, ACommandThatNeverEnds) {
  std::string lines = "$ a \\\n";
  for (int i = 0; i < 3000; ++i) lines += "  --b \\\n";
  const PastedText text = make_pasted_text("t", lines);
  ASSERT_EQ(text.segments.size(), 1u);
  EXPECT_LE(text.segments[0].first, text.lines.size());
  EXPECT_LE(text.segments[0].first, text.segments[0].end);
}

TEST(PastedText, LinesOfAGuideReportNothing) {
  for (const std::string_view line : {"- If `nvidia-smi` prints `Failed to initialize NVML`, reboot.", "When torch says \"out of memory\", wait",
                                      "如果出现“CUDA out of memory”，请减小 batch size", "* `no kernel image is available`: wrong build",
                                      "- *no kernel image is available*: wrong build", "- **CUDA error 35**: old driver"})
    EXPECT_EQ(lines_of(make_pasted_text("t", line)), "\n") << line;
  for (const std::string_view line : {"If I run it, CUDA out of memory", "- CUDA out of memory", "I get `CUDA out of memory`: why?",
                                      "*** Error: no kernel image is available", "- `CUDA out of memory` at step 3", "-- CUDA: no"})
    EXPECT_NE(lines_of(make_pasted_text("t", line)), "\n") << line;
}

}  // namespace
}  // namespace gpuvet
