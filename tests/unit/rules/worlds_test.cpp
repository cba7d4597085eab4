// Which rule may speak in which world: the table of docs/worlds.md is what the records say, and no text that can be shown in WSL
// sends people to a kernel module or to device nodes that WSL does not have.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "rules/rule.h"

namespace gpuvet {
namespace {

constexpr std::array worlds = {World::BareMetal, World::Vm, World::Container, World::Wsl2, World::Wsl1, World::Jetson};

bool applies(const RuleRecord& record, World world) { return (record.worlds & static_cast<Worlds>(world)) != 0; }

/// Texts of its own for a world are variants that carry its name.
bool has_text_of(const RuleRecord& record, World world) {
  const auto named = [&](std::initializer_list<std::string_view> parts) {
    return std::ranges::any_of(record.texts, [&](const RuleText& text) {
      return std::ranges::any_of(parts, [&](std::string_view part) { return text.variant.find(part) != std::string_view::npos; });
    });
  };
  switch (world) {
    case World::Container: return named({"container", "apptainer"});
    case World::Wsl2: return named({"windows", "wsl"});
    case World::Jetson: return named({"jetson", "l4t"});
    default: return false;
  }
}

std::string cell(const RuleRecord& record, World world) {
  if (!applies(record, world)) return "never";
  return has_text_of(record, world) ? "differently" : "applies";
}

std::string table() {
  std::ostringstream out;
  out << "| finding | bare metal | VM | container | WSL2 | WSL1 | Jetson |\n|---|---|---|---|---|---|---|\n";
  for (const RuleRecord& record : all_rule_records()) {
    out << "| `" << record.slug << "` |";
    for (const World world : worlds) out << ' ' << cell(record, world) << " |";
    out << '\n';
  }
  return out.str();
}

TEST(Worlds, DocumentIsWhatTheRecordsSay) {
  std::ifstream file(GPUVET_SOURCE_DIR "/docs/worlds.md");
  std::ostringstream content;
  content << file.rdbuf();
  const std::string document = content.str();
  const std::string expected = table();
  const std::size_t start = document.find("| finding |");
  if (start != std::string::npos && document.substr(start) == expected) return;
  const std::string path = testing::TempDir() + "worlds-table.md";
  std::ofstream(path) << expected;
  FAIL() << "docs/worlds.md does not end with the table of the records, which is now in " << path;
}

std::vector<std::string_view> texts_of(const RuleRecord& record) {
  std::vector<std::string_view> all = {record.confirm, record.confirm_library};
  for (const RuleText& text : record.texts)
    for (const std::string_view part : {text.title_en, text.title_zh, text.explanation_en, text.explanation_zh}) all.push_back(part);
  return all;
}

/// A text that names the nodes of both worlds tells the reader of WSL where to look.
bool speaks_of_linux_driver(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("/dev/nvidia") && !has("/dev/dxg")) return true;
  return has("modprobe nvidia") || has("/proc/driver/nvidia") || has("lsmod");
}

TEST(Worlds, NothingShownInWslSpeaksOfLinuxModulesOrNodes) {
  for (const RuleRecord& record : all_rule_records()) {
    if (!applies(record, World::Wsl2) && !applies(record, World::Wsl1)) continue;
    for (const std::string_view text : texts_of(record))
      EXPECT_FALSE(speaks_of_linux_driver(text)) << record.slug << ": " << text;
  }
}

TEST(Worlds, RulesOfTheLinuxDriverNeverFireInWsl) {
  for (const RuleRecord& record : all_rule_records()) {
    if (record.layer != Layer::KernelModule && record.layer != Layer::DeviceNode) continue;
    EXPECT_FALSE(applies(record, World::Wsl2) || applies(record, World::Wsl1)) << record.slug;
  }
}

}  // namespace
}  // namespace gpuvet
