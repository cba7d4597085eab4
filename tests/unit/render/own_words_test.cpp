#include "render/own_words.h"

#include <gtest/gtest.h>

#include "knowledge/table.h"
#include "render/messages.h"

namespace gpuvet {
namespace {

std::string zh(std::string_view text) { return in_own_words(text, Language::Chinese); }

TEST(OwnWords, SentencesWithTheirParts) {
  EXPECT_EQ(zh("needs libfoo.so.1"), "需要 libfoo.so.1");
  EXPECT_EQ(zh("needs libcufft.so.11, which belongs to CUDA 12"), "需要 libcufft.so.11（属于 CUDA 12）");
  EXPECT_EQ(zh("libcudart.so.12 12.4, found by RUNPATH; asked for by a name in libggml.so"),
            "libcudart.so.12 12.4，查找依据：RUNPATH；请求者：libggml.so 工作时可能打开的库（其文件中有这些库名）");
  EXPECT_EQ(zh("libx.so.2, not libx.so.1"), "是 libx.so.2，不是 libx.so.1");
  EXPECT_EQ(zh("default"), "默认目录");
  EXPECT_EQ(in_own_words("needs libfoo.so.1", Language::English), "needs libfoo.so.1");
  EXPECT_EQ(in_own_words("a name in libggml.so", Language::English),
            "what libggml.so may open while it works (it has their names)");
}

TEST(OwnWords, QuotationsStay) {
  EXPECT_EQ(zh("NVRM: the client needs help"), "NVRM: the client needs help");
  EXPECT_EQ(zh("needs restart"), "needs restart");
  EXPECT_EQ(evidence_text({"/var/log/x", 3, "needs libfoo.so.1"}, Language::Chinese), "needs libfoo.so.1");
  EXPECT_EQ(zh("needs lib\033[31m"), "需要 lib" + printable("\033[31m"));
  EXPECT_EQ(zh(""), "");
}

// What the table of framework loading says about a step is there in Chinese.
TEST(OwnWords, EveryReasonOfFrameworkLoading) {
  const Knowledge knowledge;
  const Knowledge::Table& table = knowledge.table("framework_loading");
  ASSERT_FALSE(table.rows.empty());
  for (const auto& row : table.rows) {
    const std::string_view why = table.cell(row, "why");
    if (why.empty() || why.starts_with("import ")) continue;
    EXPECT_NE(zh(why), why);
  }
}

TEST(FillPlaceholders, WordsForOneAndForMany) {
  const auto text = [](const std::string& n) { return fill_placeholders("{n} {n|file|files} of {x}", {{"n", n}}); };
  EXPECT_EQ(text("1"), "1 file of {x}");
  EXPECT_EQ(text("0"), "0 files of {x}");
  EXPECT_EQ(text("11"), "11 files of {x}");
  EXPECT_EQ(fill_placeholders("{n|one", {{"n", "1"}}), "{n|one");
  EXPECT_EQ(fill_placeholders("{n|one}", {{"n", "1"}}), "1");
}

}  // namespace
}  // namespace gpuvet
