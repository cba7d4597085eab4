#include <gtest/gtest.h>

#include "collect/collect.h"
#include "collect/wsl_settings.h"
#include "model/windows_driver.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

std::string driver_of(std::string_view windows) {
  const auto version = driver_of_windows_version(windows);
  return version ? version->text : "";
}

TEST(WindowsDriver, IsTheLastFiveDigits) {
  EXPECT_EQ(driver_of("32.0.15.6094"), "560.94");
  EXPECT_EQ(driver_of("30.0.14.7212"), "472.12");
  EXPECT_EQ(driver_of("27.21.14.5102"), "451.02");
  EXPECT_EQ(driver_of("31.0.15.123"), "501.23");  // "0123" as a number
  EXPECT_EQ(driver_of("32.0.15.10094"), "");
  EXPECT_EQ(driver_of("32.0.10.1008"), "");  // too small for a driver of NVIDIA
  EXPECT_EQ(driver_of("32.0.15"), "");
  EXPECT_EQ(driver_of("32.0.15.6094.1"), "");
  EXPECT_EQ(driver_of("32.0.15."), "");
  EXPECT_EQ(driver_of("-1.0.15.6094"), "");
  EXPECT_EQ(driver_of("99999999999.0.15.6094"), "");
  EXPECT_EQ(driver_of(""), "");
}

std::string value(std::string_view text, std::string_view name) {
  const auto settings = parse_wsl_settings(text);
  const WslSetting* setting = find_setting(settings, name);
  return setting == nullptr ? "(none)" : setting->value;
}

TEST(WslSettings, AreReadAsWslReadsThem) {
  EXPECT_EQ(value("[gpu]\nenabled=false\n", "gpu.enabled"), "false");
  EXPECT_EQ(value("\xEF\xBB\xBF[GPU] # off\r\n  Enabled =  FALSE   # why\r\n", "gpu.enabled"), "FALSE");
  EXPECT_EQ(value("[wsl2]\nmemory=\"8 GB\"\n", "wsl2.memory"), "8 GB");
  EXPECT_EQ(value("[wsl2]\nkernelCommandLine = \"a # b\"  # c\n", "wsl2.kernelcommandline"), "a # b");
  EXPECT_EQ(value("[wsl2]\nmemory=4GB\nmemory=8GB\n", "wsl2.memory"), "4GB");  // the first holds
  EXPECT_EQ(value("[wsl2]\nkernel=C:\\\\Users\\\\x\\\\vmlinux\n", "wsl2.kernel"), "C:\\Users\\x\\vmlinux");
  EXPECT_EQ(value("# [gpu]\n#enabled=false\n[gpu]\n1bad=x\nenabled\n=\n", "gpu.enabled"), "(none)");
  EXPECT_EQ(value("[gpu\nenabled=false\n", "gpu.enabled"), "(none)");
  EXPECT_EQ(value("[wsl2]\nnetworkingMode=mirr\\\nored\n", "wsl2.networkingmode"), "mirrored");
  EXPECT_EQ(parse_wsl_settings(std::string(100000, '\n') + "[a]\nb=c").front().number, 100002u);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + "=1\n";
  EXPECT_EQ(parse_wsl_settings(many).size(), 256u);
  EXPECT_EQ(wsl_switch("True"), true);
  EXPECT_EQ(wsl_switch("0"), false);
  EXPECT_EQ(wsl_switch("yes"), std::nullopt);
}

Wsl wsl_of(RecordedTree tree, std::map<std::string, std::string> environment = {}, const char* container = nullptr) {
  auto system = make_recorded_system(std::move(tree));
  Machine machine;
  machine.os.wsl = Fact<std::int64_t>::known(2);
  if (container != nullptr) machine.os.container = Fact<std::string>::known(container);
  machine.environment = std::move(environment);
  collect_wsl(*system, {}, machine);
  return machine.wsl;
}

std::string utf16(std::string_view text) {
  std::string bytes = "\xFF\xFE";
  for (const char c : text) {
    bytes += c;
    bytes += '\0';
  }
  return bytes;
}

const std::string folder = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_7cc7738d8e428783";
const std::string older = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_3b0b0ab3fa07d1a3";

TEST(WslDriverStore, VersionOfTheInf) {
  for (const std::string& inf : {std::string("[Version]\r\nDriverVer   = 08/14/2024, 32.0.15.6094 ; x\r\n"), utf16("[Version]\r\nDriverVer=08/14/2024,32.0.15.6094\r\n")}) {
    RecordedTree tree;
    tree.add_file(folder + "/nv_dispi.inf", inf);
    tree.add_file(folder + "/libcuda.so.1.1", "x");
    const Wsl wsl = wsl_of(tree);
    EXPECT_TRUE(wsl.driver_store.is(folder));
    EXPECT_TRUE(wsl.windows_driver.is("32.0.15.6094"));
    EXPECT_EQ(wsl.windows_driver.origin().line, 2u);
  }
  RecordedTree other;
  other.add_file(folder + "/nv_dispi.inf", "[Version]\nDriverVer = soon\n");
  other.add_file(folder + "/libcuda.so.1.1", "x");
  EXPECT_TRUE(wsl_of(other).windows_driver.is_absent());
}

TEST(WslDriverStore, OtherMakersAndNoStore) {
  RecordedTree tree;
  tree.add_file("/usr/lib/wsl/drivers/u0420529.inf_amd64_94ad5a6c4d1a04e2/u0420529.inf", "DriverVer=06/01/2024,32.0.11029.1008\n");
  tree.add_file("/usr/lib/wsl/drivers/nvhda.inf_amd64_1/nvhda.inf", "DriverVer=06/01/2024,1.4.2.6\n");  // sound of the card
  EXPECT_TRUE(wsl_of(tree).driver_store.is_absent());
  EXPECT_TRUE(wsl_of({}).driver_store.is_not_seen());
  RecordedTree empty;
  empty.add_directory("/usr/lib/wsl/drivers");
  EXPECT_TRUE(wsl_of(empty).driver_store.is_not_seen());
}

TEST(WslDriverStore, TheOneInUseElseTheNewest) {
  RecordedTree tree;
  for (const auto& [path, version] : {std::pair{folder, "32.0.15.6094"}, std::pair{older, "31.0.15.5161"}}) {
    tree.add_file(path + "/nv_dispi.inf", std::string("[Version]\nDriverVer = 1/1/2024, ") + version + "\n");
    tree.add_file(path + "/libcuda_loader.so", std::string("loader ") + version);
  }
  EXPECT_TRUE(wsl_of(tree).windows_driver.is("32.0.15.6094"));
  tree.add_file("/usr/lib/wsl/lib/libcuda.so.1", "loader 31.0.15.5161");
  EXPECT_TRUE(wsl_of(tree).windows_driver.is("31.0.15.5161"));
  EXPECT_TRUE(wsl_of(tree).driver_store.is(older));
}

TEST(WslConfiguration, WindowsUserByPathElseTheOnlyOne) {
  RecordedTree tree;
  tree.add_file("/mnt/c/Users/ann/.wslconfig", "[wsl2]\nmemory=8GB\ngpuSupport=false\n");
  tree.add_directory("/mnt/c/Users/Public");
  EXPECT_TRUE(wsl_of(tree).memory_limit.is("8GB"));
  EXPECT_TRUE(wsl_of(tree).gpu_enabled.is(false));
  tree.add_file("/mnt/c/Users/bob/.wslconfig", utf16("[wsl2]\r\nmemory=16GB\r\n"));
  EXPECT_TRUE(wsl_of(tree).memory_limit.is_not_seen());
  EXPECT_TRUE(wsl_of(tree).gpu_enabled.is_absent());
  const Wsl bob = wsl_of(tree, {{"PATH", "/usr/bin:/mnt/c/Windows:/mnt/c/Users/bob/AppData/Local/Microsoft/WindowsApps"}});
  EXPECT_TRUE(bob.memory_limit.is("16GB"));
  EXPECT_TRUE(wsl_of(tree, {{"PATH", "/mnt/c/Users/../../etc"}}).memory_limit.is_not_seen());
}

TEST(WslConfiguration, LinksAreNotFollowed) {
  RecordedTree tree;
  tree.add_file("/etc/secret", "[wsl2]\nmemory=1GB\n");
  tree.add_directory("/mnt/c/Users/ann");
  tree.add_link("/mnt/c/Users/ann/.wslconfig", "/etc/secret");
  tree.add_link("/mnt/c/Users/All Users", "/mnt/c/Users/ann");
  EXPECT_TRUE(wsl_of(tree).memory_limit.is_absent());
  EXPECT_TRUE(wsl_of(tree, {{"PATH", "/mnt/c/Users/ann/bin"}}).memory_limit.is_absent());
}

TEST(WslConfiguration, OfTheDistribution) {
  RecordedTree tree;
  tree.add_file("/etc/wsl.conf", "[boot]\nsystemd=true\n[automount]\nroot=/\n[gpu]\nappendLibPath=false\n");
  tree.add_file("/c/Users/ann/.wslconfig", "[wsl2]\nmemory=2GB\n");
  const Wsl wsl = wsl_of(tree);
  EXPECT_TRUE(wsl.systemd.is(true));
  EXPECT_TRUE(wsl.append_library_path.is(false));
  EXPECT_TRUE(wsl.gpu_enabled.is_absent());
  EXPECT_TRUE(wsl.memory_limit.is("2GB"));
  EXPECT_TRUE(wsl_of({}).memory_limit.is_not_seen());
  // In a container /etc is the image's.
  EXPECT_TRUE(wsl_of(tree, {}, "docker").systemd.is_not_seen());
}

TEST(WslConfiguration, OnlyInWsl2) {
  RecordedTree tree;
  tree.add_file("/etc/wsl.conf", "[boot]\nsystemd=true\n");
  auto system = make_recorded_system(std::move(tree));
  Machine machine;
  collect_wsl(*system, {}, machine);
  EXPECT_EQ(machine.wsl, Wsl{});
}

}  // namespace
}  // namespace gpuvet
