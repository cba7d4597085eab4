// The forecast on made-up views. What the real loaders do with the same cases is tested in tests/fidelity.
#include "loader/forecast.h"

#include <gtest/gtest.h>

#include "loader/tokens.h"

namespace gpuvet {
namespace {

using Names = std::vector<std::string>;

struct Maker {
  LoaderView view;
  LoaderRules rules;
  std::map<std::string, std::string> environment;
  ProcessPlan plan;
  int files = 0;

  Maker() {
    rules.glibc_minor = 39;
    rules.platform = "x86_64";
    rules.lib = "lib64";
    rules.defaults = {"/lib64", "/usr/lib64"};
    rules.hwcaps = {"x86-64-v3", "x86-64-v2"};
    rules.loader_path = "/lib64/ld-linux-x86-64.so.2";
    plan.kind = "program";
    plan.program = "/bin/app";
    plan.name = "app";
    program({"libc.so.6"});
    add("/lib64/libc.so.6").needed = {"ld-linux-x86-64.so.2"};
    add("/lib64/ld-linux-x86-64.so.2").soname = "ld-linux-x86-64.so.2";
  }
  LibraryFile& add(const std::string& path, Names needed = {}) {
    LibraryFile file;
    file.path = file.real_path = path;
    file.inode = "1:" + std::to_string(++files);
    file.size = 4096;
    file.state = "elf";
    file.elf_class = "64";
    file.machine = "x86_64";
    file.type = "shared";
    file.dynamic = true;
    file.needed = std::move(needed);
    return view.files.emplace_back(std::move(file));
  }
  LibraryFile& program(Names needed) {
    std::erase_if(view.files, [](const auto& f) { return f.path == "/bin/app"; });
    auto& file = add("/bin/app", std::move(needed));
    file.type = "program";
    file.interpreter = "/lib64/ld-linux-x86-64.so.2";
    return file;
  }
  void step(LoadStep step) { plan.steps.push_back(std::move(step)); }
  Forecast run() const {
    ViewSource source(view);
    return forecast(source, rules, plan, environment);
  }
};

Names paths(const Forecast& forecast) {
  Names result;
  for (const auto& object : forecast.objects) result.push_back(object.path);
  return result;
}

TEST(Forecast, BreadthFirstWithTheLoaderWhereItIsNeeded) {
  Maker m;
  m.program({"libx.so.1", "libc.so.6"}).runpath = "/a";
  m.add("/a/libx.so.1", {"libc.so.6", "liby.so.1"}).runpath = "$ORIGIN";
  m.add("/a/liby.so.1", {"libx.so.1"});
  const auto f = m.run();
  EXPECT_EQ(paths(f), (Names{"/bin/app", "/a/libx.so.1", "/lib64/libc.so.6", "/a/liby.so.1", "/lib64/ld-linux-x86-64.so.2"}));
  EXPECT_TRUE(f.starts());
  EXPECT_EQ(f.objects[1].rule, "RUNPATH");
  EXPECT_EQ(f.objects[2].rule, "default");
  EXPECT_EQ(f.objects[3].rule_detail, "$ORIGIN");
  EXPECT_EQ(f.objects[3].loader, 1);
  EXPECT_EQ(f.objects[4].rule, "loader");
  EXPECT_EQ(f.objects[1].needed, (std::vector<int>{2, 3}));
}

TEST(Forecast, RuleNamesTheLibraryWhoseRpathLed) {
  Maker m;
  m.program({"libx.so.1"}).rpath = "/a";
  m.add("/a/libx.so.1", {"liby.so.1"});
  m.add("/a/liby.so.1");
  EXPECT_EQ(m.run().objects[2].rule, "RPATH of /bin/app");
}

TEST(Forecast, MissingTellsWhereItWasLookedFor) {
  Maker m;
  m.environment["LD_LIBRARY_PATH"] = "/b:/nothing";
  m.program({"libx.so.1"});
  m.add("/b/libother.so");
  m.add("/b/libx.so.1").elf_class = "32";
  const auto f = m.run();
  ASSERT_EQ(f.missing.size(), 1u);
  EXPECT_FALSE(f.starts());
  EXPECT_EQ(f.missing[0].needed_by_path, "/bin/app");
  ASSERT_GE(f.missing[0].tried.size(), 4u);
  EXPECT_EQ(f.missing[0].tried[0].path, "/b/libx.so.1");
  EXPECT_EQ(f.missing[0].tried[0].why, "32-bit");
  EXPECT_EQ(f.missing[0].tried[1].why, "no such folder");
  EXPECT_EQ(f.missing[0].tried[2].rule, "default");
}

TEST(Forecast, AnErrorNamesTheFileThatItIsAbout) {
  Maker m;
  m.program({"libx.so.1"}).rpath = "/a:/b";
  m.add("/a/libx.so.1").state = "not-elf";
  m.add("/b/libx.so.1");
  const auto f = m.run();
  ASSERT_EQ(f.missing.size(), 1u);
  EXPECT_EQ(f.missing[0].blocked_by, "/a/libx.so.1");
  EXPECT_EQ(f.missing[0].error, "invalid ELF header");
}

TEST(Forecast, CacheGivesTheBestLevelThatTheCpuServes) {
  Maker m;
  m.program({"libx.so.1"});
  m.add("/c/glibc-hwcaps/x86-64-v4/libx.so.1");
  m.add("/c/glibc-hwcaps/x86-64-v3/libx.so.1");
  m.add("/c/libx.so.1");
  m.view.cache =
      Fact<std::vector<LoaderCacheEntry>>::known({{"libx.so.1", "/c/glibc-hwcaps/x86-64-v4/libx.so.1", 0x0303, 1, "x86-64-v4"},
                                                  {"libx.so.1", "/c/glibc-hwcaps/x86-64-v3/libx.so.1", 0x0303, 1, "x86-64-v3"},
                                                  {"libx.so.1", "/c/libx.so.1", 0x0803, 0, ""},
                                                  {"libx.so.1", "/c/libx.so.1", 0x0303, 0, ""}});
  EXPECT_EQ(m.run().objects[1].path, "/c/glibc-hwcaps/x86-64-v3/libx.so.1");
  m.rules.hwcaps.clear();
  EXPECT_EQ(m.run().objects[1].path, "/c/libx.so.1");
  EXPECT_EQ(m.run().objects[1].rule, "ld.so.cache");
}

TEST(Forecast, ShadowsAreOtherFilesLaterOnTheSamePath) {
  Maker m;
  m.rules.want_shadows = true;
  m.environment["LD_LIBRARY_PATH"] = "/a:/b:/c";
  m.program({"libx.so.1"});
  const auto inode = m.add("/a/libx.so.1").inode;
  m.add("/b/libx.so.1").inode = inode;
  m.add("/c/libx.so.1");
  m.add("/lib64/libx.so.1").machine = "aarch64";
  const auto f = m.run();
  ASSERT_EQ(f.objects[1].shadows.size(), 1u);
  EXPECT_EQ(f.objects[1].shadows[0].path, "/c/libx.so.1");
  EXPECT_EQ(f.objects[1].shadows[0].rule, "LD_LIBRARY_PATH");
}

TEST(Forecast, RelativeElementsNeedAWorkingDirectory) {
  Maker m;
  m.environment["LD_LIBRARY_PATH"] = "below:";
  m.program({"libx.so.1"});
  m.add("/here/below/libx.so.1");
  EXPECT_EQ(m.run().missing.size(), 1u);
  EXPECT_EQ(m.run().unknown.size(), 2u);
  m.rules.working_directory = "/here";
  EXPECT_EQ(m.run().objects[1].path, "below/libx.so.1");
}

TEST(Forecast, SecureProgramsForgetTheEnvironment) {
  Maker m;
  m.rules.secure = true;
  m.environment = {{"LD_LIBRARY_PATH", "/a"}, {"LD_PRELOAD", "/a/libp.so"}};
  m.program({"libx.so.1"}).rpath = "$ORIGIN/../a:$ORIGIN";
  m.add("/a/libx.so.1");
  m.add("/a/libp.so");
  m.add("/lib64/libx.so.1");
  EXPECT_EQ(m.run().objects[1].path, "/lib64/libx.so.1");
  EXPECT_EQ(m.run().unknown.size(), 1u);
}

TEST(Forecast, PreloadThatIsMissingOrNoLibraryOnlyWarns) {
  Maker m;
  m.environment["LD_PRELOAD"] = "libnothing.so /p/libp.so";
  m.rules.preload = {"/p/libq.so"};
  m.add("/p/libp.so");
  m.add("/p/libq.so");
  const auto f = m.run();
  EXPECT_TRUE(f.starts());
  ASSERT_EQ(f.missing.size(), 1u);
  EXPECT_TRUE(f.missing[0].optional);
  EXPECT_EQ(paths(f)[1], "/p/libp.so");
  EXPECT_EQ(f.objects[1].rule, "LD_PRELOAD");
  EXPECT_EQ(f.objects[2].rule, "ld.so.preload");
}

TEST(Forecast, AStepTakesTheFirstNameThatLoads) {
  Maker m;
  m.add("/lib64/libb.so.1");
  LoadStep step;
  step.names = {"liba.so.1", "libb.so.1"};
  m.step(step);
  const auto f = m.run();
  ASSERT_EQ(f.steps.size(), 1u);
  EXPECT_TRUE(f.steps[0].loaded);
  EXPECT_EQ(f.steps[0].name, "libb.so.1");
  EXPECT_TRUE(f.missing.empty());
  EXPECT_FALSE(f.objects.back().global);
  EXPECT_EQ(f.objects.back().step, 0);
}

TEST(Forecast, AFailedStepLeavesNothingBehindButWhatItLacked) {
  Maker m;
  m.add("/a/libx.so", {"liby.so", "libnothing.so"}).runpath = "/a";
  m.add("/a/liby.so");
  LoadStep step;
  step.names = {"/a/libx.so"};
  m.step(step);
  const auto f = m.run();
  EXPECT_FALSE(f.steps[0].loaded);
  EXPECT_EQ(f.objects.size(), 3u);
  ASSERT_EQ(f.missing.size(), 1u);
  EXPECT_EQ(f.missing[0].needed_by_path, "/a/libx.so");
  EXPECT_EQ(f.missing[0].needed_by, -1);
  EXPECT_EQ(f.missing[0].step, 0);
  EXPECT_TRUE(f.starts());
}

TEST(Forecast, AfterAFailureTheStepIsTriedOnceMore) {
  Maker m;
  m.add("/t/libtorch.so", {"libcudnn.so.9"});
  m.add("/n/libcudnn.so.9").soname = "libcudnn.so.9";
  LoadStep step;
  step.names = {"/t/libtorch.so"};
  step.global = true;
  step.after_failure = {"/n/libcudnn.so.9", "/n/libnothing.so"};
  m.step(step);
  const auto f = m.run();
  EXPECT_TRUE(f.steps[0].loaded);
  EXPECT_TRUE(f.steps[0].by_after_failure);
  EXPECT_TRUE(f.missing.empty());
  EXPECT_EQ(paths(f)[3], "/n/libcudnn.so.9");
  EXPECT_TRUE(f.objects[3].global);
}

TEST(Forecast, GlobalReachesWhatTheObjectNeeds) {
  Maker m;
  m.add("/a/libx.so", {"liby.so"}).runpath = "/a";
  m.add("/a/liby.so");
  LoadStep local, global;
  local.names = global.names = {"/a/libx.so"};
  global.global = true;
  m.step(local);
  EXPECT_FALSE(m.run().objects.back().global);
  m.step(global);
  EXPECT_TRUE(m.run().objects.back().global);
}

TEST(Forecast, ALibraryStandsInTheProgramsPlace) {
  Maker m;
  m.plan = {};
  m.plan.kind = "library";
  LoadStep step;
  step.names = {"/a/libx.so"};
  m.step(step);
  m.add("/a/libx.so", {"libc.so.6"});
  const auto f = m.run();
  EXPECT_EQ(paths(f), (Names{"/a/libx.so", "/lib64/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}));
  ASSERT_EQ(f.steps.size(), 1u);
  EXPECT_TRUE(f.steps[0].loaded);
}

TEST(Forecast, AProgramThatIsNotThere) {
  Maker m;
  m.plan.program = "/bin/nothing";
  const auto f = m.run();
  EXPECT_FALSE(f.starts());
  EXPECT_TRUE(f.objects.empty());
}

TEST(Forecast, OldSubFoldersEndWithGlibc236) {
  Maker m;
  m.program({"libx.so.1"}).rpath = "/a";
  m.rules.legacy_hwcaps = {"x86_64"};
  m.add("/a/tls/x86_64/libx.so.1");
  m.add("/a/libx.so.1");
  EXPECT_EQ(m.run().objects[1].path, "/a/libx.so.1");
  m.rules.glibc_minor = 36;
  EXPECT_EQ(m.run().objects[1].path, "/a/tls/x86_64/libx.so.1");
}

TEST(Tokens, AreReplaced) {
  const TokenValues values{"/o", "x86_64", "lib64", false};
  EXPECT_EQ(expand_tokens("$ORIGIN/../${LIB}/$PLATFORM", values).text, "/o/../lib64/x86_64");
  EXPECT_EQ(expand_tokens("$ORIGINAL:${ORIGIN/x:$", values).text, "$ORIGINAL:${ORIGIN/x:$");
  EXPECT_EQ(expand_tokens("/$LIB", {"", "", "", false}).without_value, "LIB");
  EXPECT_TRUE(has_tokens("a$$LIB"));
  EXPECT_FALSE(has_tokens("a$LIBRARY"));
}

TEST(Tokens, SecureOriginIsTheWholeFirstComponent) {
  const TokenValues values{"/usr/lib/app", "", "", true};
  EXPECT_EQ(expand_tokens("$ORIGIN/x", values).text, "/usr/lib/app/x");
  EXPECT_EQ(expand_tokens("/a$ORIGIN", values).text, "");
  EXPECT_TRUE(lies_in_one_of("/usr/lib/app/../x", {"/usr/lib"}));
  EXPECT_FALSE(lies_in_one_of("/usr/lib/../../tmp", {"/usr/lib"}));
}

}  // namespace
}  // namespace gpuvet
