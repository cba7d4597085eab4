#include "collect/collect.h"

#include <gtest/gtest.h>

#include "system/recorded.h"

namespace gpuvet {
namespace {

const char* const passwd = "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000:,,,:/home/alice:/bin/bash\n";

RecordedTree ubuntu_home() {
  RecordedTree tree;
  tree.add_file("/etc/passwd", passwd);
  tree.add_file("/etc/environment", "PATH=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\n");
  tree.add_file("/etc/crontab", "SHELL=/bin/sh\n");
  tree.add_file("/usr/lib/systemd/systemd", "");
  tree.add_link("/bin/sh", "dash");
  tree.add_file("/home/alice/.bashrc", "case $- in\n  *i*) ;;\n  *) return;;\nesac\nexport PATH=/usr/local/cuda/bin:$PATH\n");
  tree.add_file("/home/alice/.profile",
                "if [ -n \"$BASH_VERSION\" ]; then\n  if [ -f \"$HOME/.bashrc\" ]; then\n    . \"$HOME/.bashrc\"\n  fi\nfi\n");
  return tree;
}

Machine collected(RecordedTree tree, const char* user = "alice") {
  Machine machine;
  if (user) machine.user.name = Fact<std::string>::known(user);
  machine.os.id = Fact<std::string>::known("ubuntu");
  machine.os.id_like = Fact<std::string>::known("debian");
  machine.os.container = Fact<std::string>::absent();
  const auto system = make_recorded_system(std::move(tree));
  collect_shells(*system, {}, machine);
  return machine;
}

const ShellForecast* forecast(const Machine& machine, const std::string& kind, const std::string& shell = "bash") {
  const auto* all = machine.shells.forecasts.get();
  if (!all) return nullptr;
  for (const ShellForecast& f : *all) {
    if (f.kind == kind && (f.shell == shell || f.shell.empty())) return &f;
  }
  return nullptr;
}

std::string path_in(const Machine& machine, const std::string& kind) {
  const ShellForecast* f = forecast(machine, kind);
  if (!f) return "no forecast";
  for (const ShellVariable& v : f->variables) {
    if (v.name == "PATH") return v.value.is_not_seen() ? "? " + v.value.why() : v.value.value_or("-");
  }
  return "no PATH";
}

TEST(CollectShells, InteractiveShellsSeeCudaOthersDoNot) {
  const Machine machine = collected(ubuntu_home());
  const std::string base = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  EXPECT_EQ(machine.shells.home.value_or(""), "/home/alice");
  EXPECT_EQ(machine.shells.login_shell.value_or(""), "/bin/bash");
  EXPECT_EQ(path_in(machine, "login"), "/usr/local/cuda/bin:" + base);
  EXPECT_EQ(path_in(machine, "interactive"), "/usr/local/cuda/bin:" + base);
  EXPECT_EQ(path_in(machine, "command"), base);
  EXPECT_EQ(path_in(machine, "ide"), base);
  EXPECT_EQ(path_in(machine, "cron"), "/usr/bin:/bin");
  EXPECT_EQ(path_in(machine, "systemd-system"), base);
  ASSERT_EQ(machine.shells.cuda_lines.size(), 1U);
  EXPECT_EQ(machine.shells.cuda_lines[0].source, "/home/alice/.bashrc");
  EXPECT_EQ(machine.shells.cuda_lines[0].line, 5U);
}

TEST(CollectShells, FilesAreListedInOrder) {
  const Machine machine = collected(ubuntu_home());
  ASSERT_TRUE(forecast(machine, "login"));
  EXPECT_EQ(forecast(machine, "login")->files, (std::vector<std::string>{"/home/alice/.profile", "/home/alice/.bashrc"}));
}

TEST(CollectShells, OtherShellsWithFilesOfTheirOwnAreForecastToo) {
  RecordedTree tree = ubuntu_home();
  tree.add_file("/home/alice/.zshrc", "export CUDA_HOME=/usr/local/cuda\n");
  tree.add_file("/home/alice/.config/fish/config.fish", "set -gx CUDA_HOME /usr/local/cuda\n");
  const Machine machine = collected(std::move(tree));
  EXPECT_TRUE(forecast(machine, "interactive", "zsh"));
  EXPECT_TRUE(forecast(machine, "interactive", "fish"));
  EXPECT_EQ(machine.shells.cuda_lines.size(), 3U);
}

TEST(CollectShells, DisplayManagersDisagreeForZsh) {
  RecordedTree tree = ubuntu_home();
  tree.add_file("/etc/passwd", "alice:x:1000:1000:,,,:/home/alice:/usr/bin/zsh\n");
  tree.add_file("/home/alice/.zprofile", "export CUDA_HOME=/usr/local/cuda\n");
  const Machine machine = collected(std::move(tree));
  const ShellForecast* ide = forecast(machine, "ide", "zsh");
  ASSERT_TRUE(ide);
  bool found = false;
  for (const ShellVariable& v : ide->variables) found = found || (v.name == "CUDA_HOME" && v.value.is_not_seen());
  EXPECT_TRUE(found);
}

TEST(CollectShells, WithoutAHomeNothingIsGuessed) {
  RecordedTree tree;
  tree.add_file("/etc/passwd", passwd);
  const Machine machine = collected(std::move(tree));
  EXPECT_TRUE(machine.shells.forecasts.is_not_seen());
  EXPECT_EQ(machine.shells.forecasts.why(), "there is no folder /home/alice");
  EXPECT_TRUE(collected(ubuntu_home(), nullptr).shells.forecasts.is_not_seen());
}

TEST(CollectShells, AnUnreadableHomeIsSaid) {
  RecordedTree tree = ubuntu_home();
  tree.nodes["/home/alice"].type = FileType::Directory;
  tree.nodes["/home/alice"].unreadable = true;
  EXPECT_EQ(collected(std::move(tree)).shells.forecasts.why(), "/home/alice may not be read");
}

TEST(CollectShells, AContainersProcessIsNotALogin) {
  Machine machine;
  machine.user.name = Fact<std::string>::known("alice");
  machine.os.container = Fact<std::string>::known("docker");
  const auto system = make_recorded_system(ubuntu_home());
  collect_shells(*system, {}, machine);
  EXPECT_TRUE(machine.shells.forecasts.is_not_seen());
  EXPECT_EQ(machine.shells.cuda_lines.size(), 1U);
}

TEST(CollectShells, UserServicesReadEnvironmentD) {
  RecordedTree tree = ubuntu_home();
  tree.add_file("/home/alice/.config/environment.d/50-cuda.conf", "CUDA_HOME=/usr/local/cuda\nPATH=$CUDA_HOME/bin:$PATH\n");
  const Machine machine = collected(std::move(tree));
  EXPECT_TRUE(path_in(machine, "systemd-user").starts_with("/usr/local/cuda/bin:"));
}

}  // namespace
}  // namespace gpuvet
