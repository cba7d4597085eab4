// What a command line starts.

#include "collect/command_words.h"

#include <gtest/gtest.h>

#include "system/recorded.h"

namespace gpuvet {
namespace {

using Words = std::vector<std::string>;
using Kind = CommandWords::Kind;

TEST(CommandWords, WrappersAreTakenOff) {
  const Words inner{"python", "train.py"};
  for (const Words& outer :
       {Words{"env", "A=b", "-u", "C", "python", "train.py"}, Words{"nice", "-n", "5", "python", "train.py"},
        Words{"timeout", "-k", "5", "10", "python", "train.py"}, Words{"nohup", "stdbuf", "-oL", "python", "train.py"},
        Words{"taskset", "-c", "0-3", "python", "train.py"}, Words{"uv", "run", "--with", "torch", "python", "train.py"},
        Words{"conda", "run", "-n", "ml", "python", "train.py"}, Words{"mpirun", "-np", "4", "-x", "PATH", "python", "train.py"},
        Words{"nsys", "profile", "-o", "report", "--", "python", "train.py"}, Words{"sudo", "-u", "me", "--", "python", "train.py"}})
    EXPECT_EQ(read_command(outer).words, inner) << outer.front();
  EXPECT_EQ(read_command({"env", "A=b", "true"}).variables, Words{"A=b"});
  EXPECT_EQ(read_command({"conda", "run", "-n", "ml", "python"}).environment, "ml");
  // What only looks like one.
  EXPECT_EQ(read_command({"env"}).words, Words{"env"});
  EXPECT_EQ(read_command({"timeout", "10"}).words, (Words{"timeout", "10"}));
  EXPECT_EQ(read_command({}).words, Words());
}

TEST(CommandWords, PythonAndWhatItRuns) {
  EXPECT_EQ(read_command({"python3.12", "-u", "-X", "dev", "train.py", "-m", "x"}).script, "train.py");
  EXPECT_EQ(read_command({"/opt/v/bin/python", "-m", "torch.distributed.run", "t.py"}).module_name, "torch.distributed.run");
  EXPECT_EQ(read_command({"python", "-cimport torch"}).code, "import torch");
  EXPECT_EQ(read_command({"python", "t.py"}).kind, Kind::Python);
  EXPECT_EQ(read_command({"python-config", "t.py"}).kind, Kind::Program);
  EXPECT_EQ(read_command({"docker", "run", "x"}).kind, Kind::Container);
  EXPECT_EQ(read_command({"ssh", "host", "python", "t.py"}).kind, Kind::Remote);
}

TEST(CommandWords, InterpreterOfAScript) {
  EXPECT_EQ(interpreter_words("#!/opt/v/bin/python\nimport x"), Words{"/opt/v/bin/python"});
  EXPECT_EQ(interpreter_words("#! /usr/bin/env -S A=b python3 -u\n"), (Words{"python3", "-u"}));
  EXPECT_EQ(interpreter_words("#!/bin/sh\n'''exec' \"/a long/bin/python\" \"$0\" \"$@\"\n' '''\n"), Words{"/a long/bin/python"});
  EXPECT_EQ(interpreter_words("#!/bin/sh\nexec python\n"), Words{"/bin/sh"});
  EXPECT_EQ(interpreter_words("\x7f" "ELF"), Words());
  EXPECT_EQ(interpreter_words("#!"), Words());
}

TEST(CommandWords, FrameworkOfSource) {
  EXPECT_EQ(framework_of_source("import os\nimport numpy as np, torch\n"), "torch");
  EXPECT_EQ(framework_of_source("from tensorflow.keras import layers"), "tensorflow");
  EXPECT_EQ(framework_of_source("import sys; import jax"), "jax");
  EXPECT_EQ(framework_of_source("  from vllm.scripts import main"), "torch");
  EXPECT_EQ(framework_of_source("# import torch\nprint('import torch')\nimport torchwood\n"), "");
  EXPECT_EQ(framework_of_source(""), "");
}

class CommandPurposeTest : public ::testing::Test {
 protected:
  CommandPurpose purpose(const Words& command) {
    return command_purpose(*system_, {{"PATH", "/usr/bin:/opt/v/bin"}}, command);
  }
  void SetUp() override {
    const std::string elf = std::string("\x7f" "ELF") + std::string(60, '\0');
    RecordedTree tree;
    tree.add_file("/opt/v/bin/python", elf, 0755);
    tree.add_file("/usr/bin/app", elf, 0755);
    tree.add_file("/usr/bin/shim", "#!/bin/sh\nexec true\n", 0755);
    tree.add_file("/opt/v/bin/torchrun", "#!/opt/v/bin/python\nfrom torch.distributed.run import main\n", 0755);
    tree.add_file("/home/a/train.py", "import torch\n");
    system_ = make_recorded_system(std::move(tree));
  }
  std::unique_ptr<System> system_;
};

TEST_F(CommandPurposeTest, FromFiles) {
  EXPECT_EQ(purpose({"torchrun", "x.py"}).purpose.text, "torch@/opt/v");
  EXPECT_EQ(purpose({"/opt/v/bin/python", "/home/a/train.py"}).purpose.text, "torch@/opt/v");
  EXPECT_EQ(purpose({"python", "/home/a/train.py"}).purpose.text, "torch");
  EXPECT_EQ(purpose({"app", "--x"}).purpose.target, "/usr/bin/app");
  EXPECT_EQ(purpose({"nvidia-smi"}).purpose.name, "driver");
  EXPECT_EQ(purpose({"docker", "run", "--gpus", "all", "image"}).purpose.name, "driver");
  for (const Words& unknown : {Words{"shim"}, Words{"none"}, Words{"python", "-c", "print(1)"}})
    EXPECT_FALSE(purpose(unknown).purpose.asked()) << unknown.front();
}

}  // namespace
}  // namespace gpuvet
