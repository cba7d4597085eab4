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

}  // namespace
}  // namespace gpuvet
