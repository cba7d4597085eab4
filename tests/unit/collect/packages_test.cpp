// Package databases: those in the fuzz corpora were made by the real tools (Berkeley DB's loader, rpm's header) or by the
// format's description (ndb); where rpm itself is installed it makes another one now.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "collect/collect.h"
#include "collect/packages_parts.h"
#include "collect/rpm_header.h"
#include "system/recorded.h"

namespace gpuvet {
namespace {

std::string corpus(const std::string& name) {
  std::ifstream in(std::string(GPUVET_SOURCE_DIR) + "/tests/fuzz/corpus/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string list(const std::vector<Package>& packages) {
  std::string text;
  for (const Package& p : packages) text += p.name + " " + p.version + " " + p.status + (p.held ? " held" : "") + "\n";
  return text;
}

Machine collect_from(RecordedTree tree) {
  const auto system = make_recorded_system(std::move(tree));
  Machine machine;
  collect_packages(*system, {}, machine);
  return machine;
}

TEST(Packages, DpkgStatus) {
  RecordedTree tree;
  tree.add_file("/var/lib/dpkg/status", corpus("dpkg_status/status"));
  const Machine machine = collect_from(std::move(tree));
  EXPECT_EQ(list(*machine.packages.installed.get()),
            "nvidia-dkms-550 550.120-0ubuntu0.22.04.1 half-configured\nlibnvidia-compute-550 550.120-0ubuntu0.22.04.1 installed "
            "held\n");
  ASSERT_EQ(machine.packages.problems.size(), 1U);
  EXPECT_EQ(machine.packages.problems[0].line, 6U);
  EXPECT_TRUE(machine.packages.manager.is("dpkg"));
}

TEST(Packages, RpmBerkeleyDbAndNdb) {
  for (const char* file : {"rpm_bdb/packages", "rpm_ndb/packages"}) {
    RecordedTree tree;
    tree.add_file(std::string(file).starts_with("rpm_bdb") ? "/var/lib/rpm/Packages" : "/usr/lib/sysimage/rpm/Packages.db",
                  corpus(file));
    const Machine machine = collect_from(std::move(tree));
    ASSERT_TRUE(machine.packages.installed.is_known()) << file << machine.packages.installed.why();
    auto packages = *machine.packages.installed.get();
    std::ranges::sort(packages, {}, &Package::name);
    EXPECT_EQ(list(packages),
              "nvidia-driver-cuda-libs 3:550.127.05-1.el9 installed\nnvidia-fabricmanager 0:550.127.05-1 installed\n")
        << file;
  }
}

TEST(Packages, RpmDatabaseMadeByRpm) {
  if (std::system("command -v rpm >/dev/null 2>&1 && command -v rpmbuild >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no rpm and rpmbuild on this machine";
  const std::string script =
      "set -e; d=$(mktemp -d); trap 'rm -rf $d' EXIT; cd $d; printf 'Name: nvidia-driver-cuda-libs\\nEpoch: 3\\nVersion: "
      "550.127.05\\nRelease: 1.el9\\nSummary: t\\nLicense: t\\nBuildArch: noarch\\n%%description\\nt\\n%%files\\n' >a.spec;"
      "rpmbuild -bb --define \"_topdir $d\" a.spec >/dev/null 2>&1; mkdir db; rpm --dbpath $d/db --define '_db_backend sqlite' "
      "--initdb 2>/dev/null;"
      "rpm --dbpath $d/db --define '_db_backend sqlite' -i --justdb --nodeps --force RPMS/*/*.rpm 2>/dev/null; cat "
      "db/rpmdb.sqlite";
  FILE* pipe = popen(("bash -c \"" +
                      [&] {
                        std::string s;
                        for (char c : script) {
                          if (c == '$' || c == '"') s += '\\';
                          s += c;
                        }
                        return s;
                      }() +
                      "\"")
                         .c_str(),
                     "r");
  ASSERT_NE(pipe, nullptr);
  std::string bytes;
  char buffer[65536];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) bytes.append(buffer, n);
  pclose(pipe);
  ASSERT_GT(bytes.size(), 1000U) << "rpm made no database";
  RecordedTree tree;
  tree.add_file("/var/lib/rpm/rpmdb.sqlite", bytes);
  const Machine machine = collect_from(std::move(tree));
  ASSERT_TRUE(machine.packages.installed.is_known()) << machine.packages.installed.why();
  EXPECT_EQ(list(*machine.packages.installed.get()), "nvidia-driver-cuda-libs 3:550.127.05-1.el9 installed\n");
}

TEST(Packages, BrokenDatabasesAreNotSeen) {
  for (const char* path : {"/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages", "/var/lib/rpm/Packages.db"}) {
    for (const std::string content :
         {std::string("garbage"), std::string(), std::string("SQLite format 3\0", 16) + std::string(4000, '\xff')}) {
      RecordedTree tree;
      tree.add_file(path, content);
      const Machine machine = collect_from(std::move(tree));
      EXPECT_TRUE(machine.packages.installed.is_not_seen()) << path;
      EXPECT_NE(machine.packages.installed.why(), "") << path;
    }
  }
}

TEST(Packages, AnEmptyDatabaseOfAnotherManagerGivesWay) {
  RecordedTree tree;
  tree.add_file("/var/lib/dpkg/status", "");
  EXPECT_TRUE(collect_from(tree).packages.manager.is("dpkg"));
  tree.add_file("/var/lib/rpm/Packages", corpus("rpm_bdb/packages"));
  const Machine machine = collect_from(std::move(tree));
  EXPECT_TRUE(machine.packages.manager.is("rpm"));
  EXPECT_EQ(machine.packages.installed.get()->size(), 2U);
}

TEST(Packages, NoDatabaseIsNotSeen) { EXPECT_TRUE(collect_from({}).packages.installed.is_not_seen()); }

TEST(PackageHistory, EachManager) {
  const auto apt = parse_apt_history(corpus("package_history/apt"), "history.log");
  ASSERT_EQ(apt.size(), 1U);
  EXPECT_TRUE(apt[0].failed);
  ASSERT_EQ(apt[0].changes.size(), 1U);
  EXPECT_EQ(apt[0].changes[0].old_version + ">" + apt[0].changes[0].new_version, "550.90-1>550.120-1");
  const auto pacman = parse_pacman_log(corpus("package_history/pacman"), "pacman.log");
  ASSERT_EQ(pacman.size(), 1U);
  EXPECT_EQ(pacman[0].command, "pacman -Syu");
  EXPECT_EQ(pacman[0].changes.size(), 2U);
  EXPECT_EQ(pacman[0].changes[0].new_version, "570.133.07-1");
  EXPECT_EQ(pacman[0].epoch, 1748329805);  // 2025-05-27T07:10:05Z
  const auto dnf = parse_dnf_rpm_log(corpus("package_history/dnf"), "dnf.rpm.log");
  ASSERT_EQ(dnf.size(), 1U);
  EXPECT_EQ(dnf[0].changes[0].name + " " + dnf[0].changes[0].new_version, "nvidia-driver 3:550.127.05-1.el9");
  const auto zypp = parse_zypp_history(corpus("package_history/zypp"), "history");
  ASSERT_EQ(zypp.size(), 1U);
  EXPECT_EQ(zypp[0].changes[0].new_version, "550.144.03-1");
}

TEST(RunfileInstaller, ItsLogSaysWhatIsInstalled) {
  const std::string log =
      "nvidia-installer log file '/var/log/nvidia-installer.log'\n-> Installing NVIDIA driver version 535.183.01.\n"
      "-> Installation of the NVIDIA Accelerated Graphics Driver for Linux-x86_64 (version: 535.183.01) is now complete.\n";
  RecordedTree tree;
  tree.add_file("/var/log/nvidia-installer.log", log);
  EXPECT_TRUE(collect_from(tree).packages.runfile_driver.is("535.183.01"));
  EXPECT_EQ(collect_from(tree).packages.runfile_driver.origin().line, 3U);
  tree.add_file("/var/log/nvidia-uninstall.log", "Uninstallation of existing driver is complete.\n");
  EXPECT_TRUE(collect_from(tree).packages.runfile_driver.is_absent());
  tree.add_file("/usr/bin/nvidia-uninstall", "x");
  EXPECT_TRUE(collect_from(tree).packages.runfile_driver.is("535.183.01"));
  tree.add_file("/var/log/nvidia-installer.log",
                "ERROR: Unable to build the NVIDIA kernel module.\nERROR: Installation has failed.\n");
  EXPECT_TRUE(collect_from(tree).packages.runfile_driver.is_absent());
  EXPECT_TRUE(collect_from({}).packages.runfile_driver.is_absent());
}

}  // namespace
}  // namespace gpuvet
