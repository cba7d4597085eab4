#include "commands/kb.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuvet {
namespace {

const Knowledge& knowledge() {
  static const Knowledge shared;
  return shared;
}

/// The answer with its wrapped lines joined.
std::string ask(std::vector<std::string> args, Language language = Language::English) {
  std::string joined;
  for (char c : kb_answer(knowledge(), std::move(args), language, false).value_or("NOTHING")) {
    if (c == '\n') c = ' ';
    if (c != ' ' || joined.empty() || joined.back() != ' ') joined += c;
  }
  return joined;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// "driver 535 + cu124 wheel" is not broken: the most repeated mistake.
TEST(KbDriver, NativeMinorCompatibleAndRefusedRuntimes) {
  const std::string text = ask({"driver", "535.129.03"});
  EXPECT_TRUE(has(text, "CUDA version that it reports: 12.2 ["));
  EXPECT_TRUE(has(text, "natively: 7.0 – 12.2 ["));
  EXPECT_TRUE(has(text, "minor-version compatibility: 12.3 – 12.9;"));
  EXPECT_TRUE(has(text, "13.0 – 13.5 (needs 580.65.06)"));
  EXPECT_TRUE(has(text, "no longer served: Tesla, Fermi, Kepler"));
  EXPECT_TRUE(has(text, "Hopper"));
  EXPECT_FALSE(has(text, "Blackwell"));
  EXPECT_TRUE(has(text, "Sources"));
}

TEST(KbDriver, BetaBelowTheMinimumRunsNoTwelve) {
  const std::string text = ask({"driver", "525.53"});
  EXPECT_TRUE(has(text, "natively: 7.0 – 11.8"));
  EXPECT_TRUE(has(text, "12.0 – 12.9 (needs 525.60.13)"));
}

TEST(KbDriver, ElevenIsNotTwelve) {
  const std::string text = ask({"driver", "470.256.02"});
  EXPECT_TRUE(has(text, "natively: 7.0 – 11.4"));
  EXPECT_TRUE(has(text, "compatibility: 11.5 – 11.8;"));
  EXPECT_TRUE(has(text, "12.0 – 12.9 (needs 525.60.13); 13.0 – 13.5 (needs 580.65.06)"));
}

TEST(KbDriver, BareBranchAndUnknownOnes) {
  EXPECT_TRUE(has(ask({"driver", "R580"}), "R580 (judged by 580."));
  EXPECT_EQ(ask({"driver", "537.13"}), "NOTHING");
  EXPECT_EQ(ask({"driver", "535.129.03.1"}), "NOTHING");
  EXPECT_EQ(ask({"driver", "-5"}), "NOTHING");
  EXPECT_EQ(ask({"driver", ""}), "NOTHING");
  EXPECT_TRUE(has(ask({"driver", "535.999.01"}), "newer than the last release"));
}

TEST(KbDriver, TellsKnownDefects) { EXPECT_TRUE(has(ask({"driver", "515.43.04"}), "video decoder")); }

TEST(KbGpu, ByIdAndByName) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"gpu", "10de:2684"},
                                               {"gpu", "10DE:2684"},
                                               {"gpu", "0x2684"},
                                               {"gpu", "2684"},
                                               {"gpu", "rtx", "4090"}}) {
    const std::string text = ask(args);
    EXPECT_TRUE(has(text, "NVIDIA GeForce RTX 4090 [10de:2684]")) << args[1];
    EXPECT_TRUE(has(text, "compute capability: 8.9 ["));
    EXPECT_TRUE(has(text, "accepts the chip: R520"));
  }
}

TEST(KbGpu, AmbiguousNameListsAll) {
  const std::string text = ask({"gpu", "GT", "730"});
  EXPECT_TRUE(has(text, "Fermi"));
  EXPECT_TRUE(has(text, "Kepler"));
  EXPECT_TRUE(has(text, "last driver branch: R390"));
  EXPECT_TRUE(has(text, "last driver branch: R470"));
}

TEST(KbGpu, NameComesLaterThanTheChip) {
  const std::string text = ask({"gpu", "10de:2803"});
  EXPECT_TRUE(has(text, "accepts the chip: R525"));
  EXPECT_TRUE(has(text, "535.43.02, 525.125.06"));
}

TEST(KbGpu, OpenModule) {
  EXPECT_TRUE(has(ask({"gpu", "10de:2b85"}), "open kernel module: required"));
  EXPECT_TRUE(has(ask({"gpu", "10de:1b06"}), "open kernel module: impossible"));
}

TEST(KbSm, EverySpelling) {
  for (const char* text : {"89", "8.9", "sm_89"}) EXPECT_TRUE(has(ask({"sm", text}), "Ada Lovelace")) << text;
  EXPECT_TRUE(has(ask({"sm", "sm_90a"}), "Hopper"));
  EXPECT_TRUE(has(ask({"sm", "120"}), "Blackwell"));
  EXPECT_EQ(ask({"sm", "99"}), "NOTHING");
}

TEST(KbCuda, ReleasesOfAMinor) {
  const std::string text = ask({"cuda", "12.4"});
  EXPECT_TRUE(has(text, "CUDA 12.4.0"));
  EXPECT_TRUE(has(text, "CUDA 12.4.1"));
  EXPECT_TRUE(has(text, "least Linux driver for its runtime: 525.60.13"));
  EXPECT_TRUE(has(text, "(no minimum): 550.54.14"));
  EXPECT_TRUE(has(ask({"cuda", "12.7"}), "no public toolkit"));
  EXPECT_EQ(ask({"cuda", "12"}), "NOTHING");
}

TEST(KbErrors, ByNumberAndName) {
  EXPECT_TRUE(has(ask({"error", "804"}), "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"));
  EXPECT_TRUE(has(ask({"error", "cudaerrornodevice"}), "cudaErrorNoDevice (100"));
  EXPECT_TRUE(has(ask({"xid", "79"}), "Xid 79"));
  EXPECT_EQ(ask({"xid", "seventy-nine"}), "NOTHING");
}

TEST(KbSoname, ToReleases) {
  EXPECT_TRUE(has(ask({"soname", "libcudart.so.12"}), "belongs to: CUDA 12 [1]"));
  EXPECT_TRUE(has(ask({"libcudart.so.12"}), "least driver: 525.60.13")) << "the name alone will do";
  EXPECT_TRUE(has(ask({"soname", "libcudart.so.11.0"}), "belongs to: CUDA 11 [1]"));
  EXPECT_TRUE(has(ask({"soname", "libcudnn.so.9"}), "belongs to: cuDNN 9"));
  EXPECT_TRUE(has(ask({"soname", "libcusparse.so.12"}), "belongs to: CUDA 12, 13"));
  EXPECT_TRUE(has(ask({"soname", "libcusolver.so.10"}), "libcusolver.so.11 (CUDA 11.1–11.8, 12)"));
  EXPECT_TRUE(has(ask({"soname", "libnvrtc-builtins.so.12.6"}), "belongs to: CUDA 12.6"));
  EXPECT_TRUE(has(ask({"soname", "/usr/lib/libcuda.so.1"}), "the NVIDIA driver"));
  EXPECT_EQ(ask({"soname", "libnvrtc-builtins.so."}), "NOTHING");
  EXPECT_EQ(ask({"soname", "libcudart.so.1"}), "NOTHING") << "a part of a name is no name";
}

TEST(KbFunction, ToDriver) {
  EXPECT_TRUE(has(ask({"function", "cuMemcpyBatchAsync"}), "since CUDA: 12.8"));
  EXPECT_TRUE(has(ask({"cuMemcpyBatchAsync"}), "first driver branch: R570"));
  EXPECT_TRUE(has(ask({"cuInit"}), "every driver of the tables"));
  EXPECT_EQ(ask({"function", "cuMakeCoffee"}), "NOTHING");
}

TEST(KbUnknown, SaysWhatComesNear) {
  EXPECT_TRUE(has(kb_unknown(knowledge(), {"gpu", "rtx", "4091"}, Language::English), "NVIDIA GeForce RTX 4090"));
  EXPECT_TRUE(has(kb_unknown(knowledge(), {"driver", "537.13"}, Language::English), "  535\n"));
  EXPECT_TRUE(has(kb_unknown(knowledge(), {"soname", "libcudart.so.1"}, Language::English), "libcudart.so.1"));
  EXPECT_TRUE(has(kb_unknown(knowledge(), {"nix"}, Language::English), "gpuvet kb driver"));
  EXPECT_TRUE(has(kb_unknown(knowledge(), {}, Language::Chinese), "可以查询"));
  EXPECT_FALSE(has(kb_unknown(knowledge(), {"gpu", "\x1b[31mred"}, Language::English), "\x1b"));
}

TEST(KbJson, EveryFactHasItsSource) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"driver", "580.65.06"},
                                               {"gpu", "rtx 4090"},
                                               {"gpu", "rtx"},
                                               {"sm", "90"},
                                               {"cuda", "11.8"},
                                               {"xid", "48"},
                                               {"error", "100"},
                                               {"soname", "libcublas.so.12"}}) {
    const auto text = kb_answer(knowledge(), args, Language::Chinese, true);
    ASSERT_TRUE(text) << args[0];
    const auto document = nlohmann::json::parse(*text);
    EXPECT_EQ(document["schema"], 1);
    for (const auto& answer : document["answers"]) {
      EXPECT_FALSE(answer["facts"].empty());
      for (const auto& fact : answer["facts"])
        EXPECT_FALSE(fact["source"].get<std::string>().empty()) << args[0] << " " << fact["key"];
    }
  }
}

// The usual card leads: AD106, named long before the AD104 of the same name.
TEST(KbGpu, OldestIdOfANameLeads) {
  const std::string text = ask({"gpu", "RTX 4060 Ti"});
  ASSERT_TRUE(has(text, "10de:2803") && has(text, "10de:2805") && has(text, "10de:2788"));
  EXPECT_TRUE(text.starts_with("NVIDIA GeForce RTX 4060 Ti [10de:2803]")) << text.substr(0, 200);
  EXPECT_TRUE(has(text, "ids of this name: 3"));
}

// Invalid UTF-8 and endless questions are answered, not crashed on.
TEST(KbJson, HostileQuestions) {
  EXPECT_EQ(kb_answer(knowledge(), {"gpu", std::string(100000, 'x')}, Language::English, true), std::nullopt);
  EXPECT_EQ(kb_answer(knowledge(), {"\xff", "\xfe"}, Language::English, true), std::nullopt);
  EXPECT_TRUE(kb_answer(knowledge(), {"gpu", "2684", "\xff"}, Language::English, true) == std::nullopt);
}

TEST(KbChinese, HasChineseLabels) {
  const std::string text = ask({"driver", "535.129.03"}, Language::Chinese);
  EXPECT_TRUE(has(text, "报告的 CUDA 版本：12.2"));
  EXPECT_TRUE(has(text, "来源"));
}

}  // namespace
}  // namespace gpuvet
