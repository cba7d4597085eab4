#include "render/trace.h"

#include <gtest/gtest.h>

#include <deque>
#include <sstream>

#include "render/terminal_text.h"

namespace gpuvet {
namespace {

/// A program that needs libfirst.so.1, which needs libsecond.so.2.
struct Sample {
  std::deque<LibraryFile> files;
  TraceReport report;

  Sample() {
    report.target = "./app";
    report.plan.kind = "program";
    report.plan.program = "/srv/app";
    add("./app", "/srv/app", "program", -1);
    add("libfirst.so.1", "/srv/lib/libfirst.so.1", "RUNPATH", 0);
    add("libsecond.so.2", "/usr/lib/libsecond.so.2", "ld.so.cache", 1);
    report.forecast.objects[1].rule_detail = "$ORIGIN/lib";
  }
  LoadedObject& add(const std::string& name, const std::string& path, const std::string& rule, int loader) {
    LibraryFile& file = files.emplace_back();
    file.path = file.real_path = path;
    file.state = "elf";
    file.soname = loader < 0 ? "" : name;
    LoadedObject& object = report.forecast.objects.emplace_back();
    object.name = name;
    object.path = path;
    object.file = &file;
    object.rule = rule;
    object.loader = loader;
    if (loader >= 0)
      report.forecast.objects[static_cast<std::size_t>(loader)].needed.push_back(
          static_cast<int>(report.forecast.objects.size()) - 1);
    return object;
  }
  void lose(const std::string& name) {
    MissingLibrary missing;
    missing.name = name;
    missing.needed_by = 1;
    missing.tried.push_back({"/srv/lib/" + name, "RUNPATH", "not there"});
    report.forecast.missing.push_back(missing);
    report.forecast.objects[1].needed.push_back(-1);
  }
  void conflict(const std::string& symbol) {
    SymbolConflict conflict;
    conflict.symbols = {symbol};
    conflict.count = 1;
    conflict.wanted_by = 1;
    conflict.expected_in = 2;
    conflict.expected_name = "libsecond.so.2";
    report.conflicts.conflicts.push_back(conflict);
    report.conflicts.symbols_seen = true;
  }
};

RenderOptions plain(int width = 80) {
  RenderOptions options;
  options.width = width;
  options.color = false;
  return options;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

int widest(const std::string& text) {
  int most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, static_cast<int>(display_width(line)));
  return most;
}

TEST(TraceText, ATreeWithTheRuleOfEachLibrary) {
  const Sample sample;
  const std::string text = render_trace_text(sample.report, plain(120));
  EXPECT_TRUE(has(text, "libfirst.so.1 → /srv/lib/libfirst.so.1 (RUNPATH $ORIGIN/lib")) << text;
  EXPECT_TRUE(has(text, "   └─ libsecond.so.2 → /usr/lib/libsecond.so.2 (ld.so.cache)")) << text;
  EXPECT_TRUE(has(text, "exit code 0")) << text;
  EXPECT_FALSE(has(text, "\033"));
}

TEST(TraceText, KeepsToItsWidth) {
  Sample sample;
  sample.lose("libgone.so.3");
  sample.conflict("second_new");
  for (const int width : {40, 60, 80, 120}) {
    const std::string text = render_trace_text(sample.report, plain(width));
    EXPECT_LE(widest(text), width) << text;
  }
}

TEST(TraceText, ColourOnlyWhereItIsWanted) {
  Sample sample;
  sample.lose("libgone.so.3");
  RenderOptions options = plain();
  options.color = true;
  EXPECT_TRUE(has(render_trace_text(sample.report, options), "\033["));
  EXPECT_FALSE(has(render_trace_text(sample.report, plain()), "\033"));
}

TEST(TraceText, AMissingLibraryIsToldWithTheSearch) {
  Sample sample;
  sample.lose("libgone.so.3");
  sample.report.copies["libgone.so.3"] = {{"/opt/x/libgone.so.3", "3.1"}};
  const std::string text = render_trace_text(sample.report, plain());
  EXPECT_TRUE(has(text, "libgone.so.3, needed by libfirst.so.1")) << text;
  EXPECT_TRUE(has(text, "/srv/lib/libgone.so.3")) << text;
  EXPECT_TRUE(has(text, "/opt/x/libgone.so.3 (3.1)")) << text;
  EXPECT_EQ(trace_exit_code(sample.report), 1);
}

TEST(TraceText, AConflictNamesSymbolAndFiles) {
  Sample sample;
  sample.conflict("second_new");
  const std::string text = render_trace_text(sample.report, plain());
  EXPECT_TRUE(has(text, "What does not fit")) << text;
  EXPECT_TRUE(has(text, "second_new")) << text;
  EXPECT_TRUE(has(text, "libfirst.so.1")) << text;
  EXPECT_EQ(trace_exit_code(sample.report), 1);
}

TEST(TraceText, Chinese) {
  Sample sample;
  sample.lose("libgone.so.3");
  RenderOptions options = plain();
  options.language = Language::Chinese;
  const std::string text = render_trace_text(sample.report, options);
  EXPECT_TRUE(has(text, "缺少的库")) << text;
  EXPECT_TRUE(has(text, "libgone.so.3，libfirst.so.1 需要它")) << text;
  EXPECT_LE(widest(text), 80) << text;
}

TEST(TraceText, AsciiWhereTheTerminalHasNothingElse) {
  Sample sample;
  RenderOptions options = plain();
  options.ascii = true;
  for (const char c : render_trace_text(sample.report, options)) EXPECT_LT(static_cast<unsigned char>(c), 128);
}

TEST(TraceText, NamesThatWouldSteerATerminalDoNot) {
  Sample sample;
  const std::string evil = "lib\033[2J\007evil\nnew.so";
  sample.add(evil, "/srv/" + evil, "RUNPATH", 1);
  sample.lose(evil);
  sample.conflict(evil);
  sample.report.target = evil;
  for (const auto& render : {render_trace_text, render_trace_json, render_trace_dot, render_trace_markdown}) {
    const std::string text = render(sample.report, plain());
    EXPECT_FALSE(has(text, "\033")) << text;
    EXPECT_FALSE(has(text, "\007")) << text;
    EXPECT_FALSE(has(text, "evil\nnew")) << text;
  }
}

TEST(TraceJson, HasTheFieldsThatAreDocumented) {
  Sample sample;
  sample.lose("libgone.so.3");
  const std::string json = render_trace_json(sample.report, plain());
  for (const char* part : {"\"target\": \"./app\"", "\"libraries\": [", "\"name\": \"libfirst.so.1\"", "\"path\": null",
                           "\"rule\"", "\"needed_by\"", "\"shadows\"", "\"conflicts\""})
    EXPECT_TRUE(has(json, part)) << part << "\n" << json;
}

}  // namespace
}  // namespace gpuvet
