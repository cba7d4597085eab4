// One step, several installers.

#include <gtest/gtest.h>

#include "render/render.h"
#include "sample.h"

namespace gpuvet {
namespace {

Action installation(std::map<std::string, std::string> more = {}) {
  std::map<std::string, std::string> parameters = {{"framework", "torch"},
                                                   {"release", "2.6.0"},
                                                   {"cuda", "12.4"},
                                                   {"environment", "/home/alice/venv"},
                                                   {"python", "/home/alice/venv/bin/python"},
                                                   {"packages", "torch==2.6.0 torchvision==0.21.0"},
                                                   {"index", "https://download.pytorch.org/whl/cu124"},
                                                   {"conda_packages", "pytorch=2.6.*=cuda* cuda-version=12"},
                                                   {"new_environment", "venv-cu124"},
                                                   {"python_version", "3.12"},
                                                   {"installer", "pip"}};
  parameters.merge(more);
  return {"install-framework-build", parameters};
}

using Commands = std::vector<std::string>;

TEST(ActionWays, TheEnvironmentsOwnInstallerComesFirst) {
  const RenderedAction action = render_action(installation(), sample_machine(), Language::English);
  EXPECT_EQ(action.text, "Install torch 2.6.0 for CUDA 12.4 into /home/alice/venv");
  EXPECT_EQ(action.commands, Commands{"/home/alice/venv/bin/python -m pip install --force-reinstall torch==2.6.0 "
                                      "torchvision==0.21.0 --index-url https://download.pytorch.org/whl/cu124"});
  ASSERT_EQ(action.alternatives.size(), 2u);
  EXPECT_EQ(action.alternatives[0].installer, "uv");
  EXPECT_EQ(action.alternatives[0].commands,
            Commands{"uv pip install --python /home/alice/venv/bin/python --reinstall torch==2.6.0 torchvision==0.21.0 "
                     "--index-url https://download.pytorch.org/whl/cu124"});
  EXPECT_EQ(action.alternatives[1].commands, Commands{"conda create --name venv-cu124 -c conda-forge python=3.12 "
                                                      "'pytorch=2.6.*=cuda*' cuda-version=12"});
}

TEST(ActionWays, UvFirstWhereUvMadeTheEnvironment) {
  Action action = installation();
  action.parameters["installer"] = "uv";
  EXPECT_TRUE(render_action(action, sample_machine(), Language::English).commands[0].starts_with("uv pip install"));
}

TEST(ActionWays, RequirementsAreQuotedOneByOne) {
  Action action = installation();
  action.parameters.erase("index");
  action.parameters.erase("packages");
  action.parameters["pypi_packages"] = "tensorflow[and-cuda]==2.17.1 x;rm -rf";
  const RenderedAction rendered = render_action(action, sample_machine(), Language::English);
  EXPECT_EQ(rendered.commands,
            Commands{"/home/alice/venv/bin/python -m pip install --upgrade 'tensorflow[and-cuda]==2.17.1' 'x;rm' -rf"});
}

TEST(ActionWays, TextAndJsonShowThem) {
  Diagnosis diagnosis = broken_diagnosis();
  diagnosis.findings[0].repair = {installation()};
  const Machine machine = sample_machine();
  const Knowledge knowledge;
  const std::string text = render_text(diagnosis, machine, knowledge, {});
  EXPECT_NE(text.find("or with uv:"), std::string::npos);
  EXPECT_NE(text.find("or with conda:"), std::string::npos);
  const std::string json = render_json(diagnosis, machine, knowledge, {});
  EXPECT_NE(json.find("\"alternatives\""), std::string::npos);
  EXPECT_NE(json.find("uv pip install --python"), std::string::npos);
  EXPECT_NE(render_markdown(diagnosis, machine, knowledge, {}).find("or with uv:"), std::string::npos);
}

// ---- a distribution that was not seen ----------------------------------------------------------------------------------

TEST(ActionWays, EveryDistributionWhereNoneWasSeen) {
  const RenderedAction action = render_action({"finish-package-upgrade", {}}, Machine{}, Language::English);
  EXPECT_TRUE(action.commands.empty());
  ASSERT_EQ(action.alternatives.size(), 4u);
  EXPECT_EQ(action.alternatives[0].distributions, "Ubuntu, Debian");
  EXPECT_EQ(action.alternatives[0].commands[0], "sudo dpkg --configure -a");
  EXPECT_EQ(action.alternatives[1].distributions, "Fedora, RHEL");
}

TEST(ActionWays, OnlyThoseOfThePackageManager) {
  Machine machine;
  machine.packages.manager = Fact<std::string>::known("pacman");
  const RenderedAction action = render_action({"finish-package-upgrade", {}}, machine, Language::Chinese);
  ASSERT_EQ(action.alternatives.size(), 1u);
  EXPECT_EQ(action.alternatives[0].distributions, "Arch Linux");
}

TEST(ActionWays, NoWayWhosePackagesAreUnknown) {
  // Which package brings a branch on Debian and RHEL depends on the release, which nobody told.
  const RenderedAction action =
      render_action({"install-driver-branch", {{"branch", "580"}, {"flavor", "open"}}}, Machine{}, Language::English);
  ASSERT_FALSE(action.alternatives.empty());
  EXPECT_EQ(action.alternatives[0].distributions, "Ubuntu");
  EXPECT_EQ(action.alternatives[0].commands.back(), "sudo apt install nvidia-driver-580-open");
  for (const RenderedWay& way : action.alternatives) EXPECT_NE(way.distributions, "Debian");
}

TEST(ActionWays, ADistributionWithoutCommandsGetsNoneOfOthers) {
  Machine machine;
  machine.os.id = Fact<std::string>::known("debian");
  const RenderedAction action =
      render_action({"install-signed-module", {{"branch", "580"}, {"kernel", "6.1"}}}, machine, Language::English);
  EXPECT_TRUE(action.commands.empty());
  EXPECT_TRUE(action.alternatives.empty());
}

TEST(ActionWays, RootNeedsNoSudoInAny) {
  Machine machine;
  machine.user.uid = Fact<std::int64_t>::known(0);
  for (const RenderedWay& way : render_action({"finish-package-upgrade", {}}, machine, Language::English).alternatives)
    for (const std::string& command : way.commands) EXPECT_FALSE(command.starts_with("sudo"));
}

}  // namespace
}  // namespace gpuvet
