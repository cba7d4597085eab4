#include "loader/symbol_conflicts.h"

#include <gtest/gtest.h>

#include <deque>

#include "loader/library_family.h"

namespace gpuvet {
namespace {

using Kind = SymbolConflict::Kind;

/// A process of hand-made objects: the first is the target.
struct Process {
  std::deque<LibraryFile> files;
  Forecast forecast;
  std::vector<ObjectSymbols> symbols;
  ProcessPlan plan;

  explicit Process(std::string kind = "program") { plan.kind = std::move(kind); }

  LibraryFile& add(const std::string& path, const std::string& soname, std::vector<SymbolRecord> records) {
    LibraryFile& file = files.emplace_back();
    file.path = file.real_path = path;
    file.soname = soname;
    file.state = "elf";
    LoadedObject object;
    object.name = object.path = path;
    object.file = &file;
    object.rule = forecast.objects.empty() ? "program" : "RUNPATH";
    forecast.objects.push_back(object);
    symbols.push_back({std::move(records), true});
    return file;
  }
  ConflictReport find(LoaderRules::Kind kind = LoaderRules::Kind::Glibc) const {
    return find_conflicts(forecast, plan, kind, symbols);
  }
};

SymbolRecord wants(std::string_view name, std::string_view version = {}, std::string_view file = {}) {
  return {name, version, file, false, false, false, true};
}
SymbolRecord has(std::string_view name, std::string_view version = {}) { return {name, version, {}, true, false, false, true}; }

TEST(SymbolConflicts, AnswersAcrossTheWholeScope) {
  Process process;
  process.add("/app", "", {wants("open"), wants("helper")});
  process.add("/libc.so.6", "libc.so.6", {has("open", "GLIBC_2.2.5"), wants("app_hook")});
  process.add("/libx.so", "libx.so", {has("helper"), has("app_hook")});
  EXPECT_TRUE(process.find().conflicts.empty());
}

TEST(SymbolConflicts, OldNvJitLinkLacksWhatCusparseWants) {
  Process process("library");
  process
      .add("/w/libcusparse.so.12", "libcusparse.so.12",
           {wants("__nvJitLinkComplete_12_4", "libnvJitLink.so.12", "libnvJitLink.so.12"),
            wants("__nvJitLinkCreate_12_4", "libnvJitLink.so.12", "libnvJitLink.so.12")})
      .version_needs = {"libnvJitLink.so.12:libnvJitLink.so.12"};
  process.add("/old/libnvJitLink.so.12", "libnvJitLink.so.12", {has("__nvJitLinkComplete_12_1", "libnvJitLink.so.12")})
      .version_definitions = {"libnvJitLink.so.12"};
  const ConflictReport report = process.find();
  ASSERT_EQ(report.conflicts.size(), 1U);
  const SymbolConflict& conflict = report.conflicts[0];
  EXPECT_EQ(conflict.kind, Kind::SymbolMissing);
  EXPECT_EQ(conflict.count, 2U);
  EXPECT_EQ(conflict.symbols.front(), "__nvJitLinkComplete_12_4");
  EXPECT_EQ(conflict.version, "libnvJitLink.so.12");
  EXPECT_EQ(conflict.wanted_by, 0);
  EXPECT_EQ(conflict.expected_in, 1);
  EXPECT_FALSE(conflict.at_load);
  EXPECT_FALSE(report.fits());
}

TEST(SymbolConflicts, VersionThatTheFileDoesNotDefine) {
  Process process;
  process.add("/app", "", {wants("_ZSt4cerr", "GLIBCXX_3.4.32", "libstdc++.so.6")}).version_needs = {
      "libstdc++.so.6:GLIBCXX_3.4.32", "libstdc++.so.6:GLIBCXX_3.4.99 (weak)"};
  process.add("/libstdc++.so.6", "libstdc++.so.6", {has("_ZSt4cerr", "GLIBCXX_3.4")}).version_definitions = {
      "libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_1.3"};
  const ConflictReport report = process.find();
  ASSERT_EQ(report.conflicts.size(), 1U);
  EXPECT_EQ(report.conflicts[0].kind, Kind::VersionMissing);
  EXPECT_EQ(report.conflicts[0].version, "GLIBCXX_3.4.32");
  EXPECT_EQ(report.conflicts[0].newest, "GLIBCXX_3.4.30");
  EXPECT_EQ(report.conflicts[0].count, 1U);
  EXPECT_TRUE(report.conflicts[0].at_load);
  // musl binds by name alone.
  EXPECT_TRUE(process.find(LoaderRules::Kind::Musl).conflicts.empty());
}

TEST(SymbolConflicts, FileWithoutVersionsServesAnyVersion) {
  Process process;
  process.add("/app", "", {wants("f", "V1", "libf.so")}).version_needs = {"libf.so:V1"};
  process.add("/libf.so", "libf.so", {has("f")});
  EXPECT_TRUE(process.find().conflicts.empty());
}

TEST(SymbolConflicts, WeakReferencesAndThoseOfMissingLibrariesAreNoConflicts) {
  Process process;
  process.add("/app", "", {SymbolRecord{"maybe", {}, {}, false, true, false, true}, wants("g"), wants("h", "V1", "libgone.so")});
  process.forecast.missing.push_back({});
  process.forecast.missing.back().name = "libgone.so";
  EXPECT_TRUE(process.find().conflicts.empty());
}

TEST(SymbolConflicts, SymbolOfNobodyInAProgramIsAConflictInALibraryItsHosts) {
  Process program;
  program.add("/app", "", {wants("nobody")});
  ASSERT_EQ(program.find().conflicts.size(), 1U);
  EXPECT_EQ(program.find().conflicts[0].expected_in, -1);

  Process library("library");
  library.add("/m.so", "", {wants("PyObject_Call"), wants("Py_None")});
  const ConflictReport report = library.find();
  EXPECT_TRUE(report.conflicts.empty());
  ASSERT_EQ(report.host.size(), 1U);
  EXPECT_EQ(report.host[0].host, "Python");
  EXPECT_EQ(report.host[0].count, 2U);
}

TEST(SymbolConflicts, OtherStringAbiOfTheOwner) {
  Process process("library");
  process.add("/ext.so", "", {wants("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs")});
  process.add("/t/libc10.so", "libc10.so",
              {has("_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")});
  const ConflictReport report = process.find();
  ASSERT_EQ(report.conflicts.size(), 1U);
  EXPECT_TRUE(report.conflicts[0].cxx11_abi);
  EXPECT_EQ(report.conflicts[0].expected_in, 1);
}

TEST(SymbolConflicts, LocallyOpenedLibrariesDoNotSeeEachOther) {
  Process process;
  process.add("/app", "", {});
  process.add("/a.so", "a.so", {has("a_function")});
  process.add("/b.so", "b.so", {wants("a_function")});
  process.plan.steps.resize(2);
  for (int step = 0; step < 2; ++step) {
    LoadedObject& object = process.forecast.objects[static_cast<std::size_t>(step) + 1];
    object.step = step;
    object.global = false;
    process.forecast.steps.push_back({true, object.name, step + 1, false});
  }
  ASSERT_EQ(process.find().conflicts.size(), 1U);
  process.forecast.objects[1].global = true;
  EXPECT_TRUE(process.find().conflicts.empty());
}

TEST(SymbolConflicts, UnreadSymbolsMakeNoConflict) {
  Process process;
  process.add("/app", "", {wants("f"), wants("g", "V1", "libx.so")});
  process.add("/libx.so", "libx.so", {});
  process.symbols[1].seen = false;
  EXPECT_TRUE(process.find().conflicts.empty());
}

TEST(SymbolConflicts, PartsOfCudnnOfDifferentReleases) {
  Process process;
  process.add("/app", "", {});
  process.add("/a/libcudnn_graph.so.9", "libcudnn_graph.so.9", {}).library_version = Fact<std::string>::known("9.1.0");
  process.add("/b/libcudnn_ops.so.9", "libcudnn_ops.so.9", {}).library_version = Fact<std::string>::known("9.5.1");
  const ConflictReport report = process.find();
  ASSERT_EQ(report.conflicts.size(), 1U);
  EXPECT_EQ(report.conflicts[0].kind, Kind::MixedReleases);
  EXPECT_EQ(report.conflicts[0].objects, (std::vector<int>{1, 2}));
}

TEST(SymbolConflicts, TwoMajorReleasesAreANote) {
  Process process;
  process.add("/app", "", {});
  process.add("/a/libcudart.so.11.0", "libcudart.so.11.0", {});
  process.add("/a/libcudart.so.12", "libcudart.so.12", {});
  const ConflictReport report = process.find();
  ASSERT_EQ(report.conflicts.size(), 1U);
  EXPECT_EQ(report.conflicts[0].kind, Kind::TwoReleases);
  EXPECT_TRUE(report.fits());
}

TEST(SymbolConflicts, CyclesAndWrongIndicesAreHarmless) {
  Process process;
  process.add("/app", "", {wants("f")});
  process.add("/a.so", "a.so", {has("f")});
  process.forecast.objects[0].needed = {1, 0, -1, 99};
  process.forecast.objects[1].needed = {0, 1};
  process.forecast.objects[1].step = 7;
  process.forecast.steps.push_back({true, "/a.so", 1, false});
  EXPECT_NO_FATAL_FAILURE(process.find());
}

TEST(LibraryFamily, StemsAndReleases) {
  EXPECT_EQ(library_stem("libcudart.so.12"), "libcudart");
  EXPECT_EQ(library_stem("/x/libcudart-1b5bc9d0.so.12.4.99"), "libcudart");
  EXPECT_EQ(library_stem("libtorch_cpu.so"), "libtorch_cpu");
  EXPECT_EQ(library_stem("python3"), "");
  EXPECT_EQ(owners_of_symbol("__nvJitLinkComplete_12_4").front(), "libnvJitLink");
  EXPECT_EQ(owners_of_symbol("cublasLtMatmul").front(), "libcublasLt");
  EXPECT_EQ(owners_of_symbol("cuInit").front(), "libcuda");
  EXPECT_EQ(owners_of_symbol("cudaMalloc").front(), "libcudart");
  EXPECT_TRUE(owners_of_symbol("customer_init").empty());
  EXPECT_EQ(host_of_symbol("_Py_Dealloc"), "Python");
  LibraryFile file;
  file.real_path = "/usr/lib/libstdc++.so.6.0.30";
  EXPECT_EQ(release_of(file), "6.0.30");
  file.real_path = "/usr/lib/libcublas.so.12";
  EXPECT_EQ(release_of(file), "");
}

}  // namespace
}  // namespace gpuvet
