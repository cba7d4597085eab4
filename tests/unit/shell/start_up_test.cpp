#include "shell/start_up.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace gpuvet {
namespace {

using shell::Identity;
using shell::Outcome;
using shell::Start;
using shell::Value;
using shell::Variables;

/// Files in memory: path → text; a path that ends in "/" is an empty folder; a text "!" may not be read.
struct Tree {
  std::map<std::string, std::string> files;

  ShellFiles view() const {
    ShellFiles view;
    view.read = [this](const std::string& path) -> ShellFiles::Content {
      const auto found = files.find(path);
      if (found == files.end()) return {};
      if (found->second == "!") return {ShellFiles::Read::Unreadable, {}};
      return {ShellFiles::Read::Text, found->second};
    };
    view.is_file = [this](const std::string& path) { return std::optional<bool>(files.contains(path)); };
    view.is_directory = [this](const std::string& path) {
      const std::string folder = path.ends_with('/') ? path : path + "/";
      const auto next = files.lower_bound(folder);
      return std::optional<bool>(next != files.end() && next->first.starts_with(folder));
    };
    view.is_executable = [this](const std::string& path) {
      return std::optional<bool>(files.contains(path) && path.find("/bin/") != std::string::npos);
    };
    view.list = [this](const std::string& path) {
      const std::string folder = path.ends_with('/') ? path : path + "/";
      std::vector<std::string> names;
      for (auto next = files.lower_bound(folder); next != files.end() && next->first.starts_with(folder); ++next) {
        const std::string name = next->first.substr(folder.size(), next->first.find('/', folder.size()) - folder.size());
        if (!name.empty() && (names.empty() || names.back() != name)) names.push_back(name);
      }
      return std::optional(names);
    };
    return view;
  }

  Variables follow(const Start& start, const std::string& path = "/usr/bin:/bin") const {
    Variables environment;
    environment["PATH"].value = Value::known(path);
    environment["PATH"].exported = true;
    const ShellFiles files_view = view();
    return shell::follow_start_up(files_view, Identity{"/home/a", "a", "/bin/bash", 1000}, start, environment).environment;
  }
};

const Start bash_login{"bash", true, true, false, true}, bash_window{"bash", false, true, false, true},
    bash_ssh{"bash", false, false, true, true};
const Start zsh_window{"zsh", false, true, false, true}, sh_login{"sh", true, false, false, true},
    fish_window{"fish", false, true, false, true};

ShellVariable variable(const Variables& environment, const std::string& name) {
  for (ShellVariable& v : shell::reported(environment)) {
    if (v.name == name) return v;
  }
  return {name, Fact<std::string>::absent(), {}};
}
std::string value(const Variables& environment, const std::string& name) {
  const ShellVariable v = variable(environment, name);
  if (v.value.is_not_seen()) return "? " + v.value.why();
  return v.value.value_or("-");
}

TEST(StartUp, GuardOfUbuntusBashrcHidesCudaFromSsh) {
  const Tree tree{{{"/home/a/.bashrc",
                    "case $- in\n    *i*) ;;\n      *) return;;\nesac\nexport PATH=/usr/local/cuda/bin${PATH:+:${PATH}}\n"}}};
  EXPECT_EQ(value(tree.follow(bash_window), "PATH"), "/usr/local/cuda/bin:/usr/bin:/bin");
  EXPECT_EQ(value(tree.follow(bash_ssh), "PATH"), "/usr/bin:/bin");
}

TEST(StartUp, TellsTheLineThatSetAVariable) {
  const Tree tree{{{"/home/a/.bashrc", "# CUDA\n  export PATH=/usr/local/cuda/bin:$PATH\nPATH=/only\n"}}};
  const ShellVariable path = variable(tree.follow(bash_window), "PATH");
  ASSERT_EQ(path.set_by.size(), 2U);
  EXPECT_EQ(path.set_by[0], (Origin{"/home/a/.bashrc", 2, "export PATH=/usr/local/cuda/bin:$PATH"}));
  EXPECT_EQ(path.set_by[1].line, 3U);
  EXPECT_EQ(path.value.origin().line, 3U);
}

TEST(StartUp, AFunctionsCallIsTheLineToShow) {
  const Tree tree{{{"/home/a/.bashrc", "add() { PATH=$1:$PATH; }\n\nadd /usr/local/cuda/bin\n"}}};
  const ShellVariable path = variable(tree.follow(bash_window), "PATH");
  ASSERT_EQ(path.set_by.size(), 1U);
  EXPECT_EQ(path.set_by[0].text, "add /usr/local/cuda/bin");
}

TEST(StartUp, WithoutExportTheVariableIsAbsent) {
  const Tree tree{{{"/home/a/.bashrc", "LD_LIBRARY_PATH=/usr/local/cuda/lib64\n"}}};
  const ShellVariable v = variable(tree.follow(bash_window), "LD_LIBRARY_PATH");
  EXPECT_TRUE(v.value.is_absent());
  EXPECT_EQ(v.set_by.size(), 1U);
}

TEST(StartUp, UnknownIsLimitedToWhatMayChange) {
  const Tree tree{{{"/home/a/.bashrc", "export CUDA_HOME=$(find-cuda)\nexport CUDA_PATH=/x\neval \"$(pyenv init -)\"\n"},
                   {"/bin/find-cuda", ""},
                   {"/bin/pyenv", ""}}};
  const Variables environment = tree.follow(bash_window);
  EXPECT_EQ(value(environment, "CUDA_HOME"), "? /home/a/.bashrc:1: the output of find-cuda");
  EXPECT_EQ(value(environment, "CUDA_PATH"), "/x");
  EXPECT_TRUE(value(environment, "PATH").starts_with("? /home/a/.bashrc:3: eval"));
}

TEST(StartUp, AnEvalOfUnknownTextLeavesEverythingOpen) {
  const Tree tree{{{"/home/a/.bashrc", "eval \"$(some-tool)\"\n"}, {"/bin/some-tool", ""}}};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME"}) {
    EXPECT_EQ(value(tree.follow(bash_window), name), "? /home/a/.bashrc:1: eval \"$(some-tool)\"") << name;
  }
}

TEST(StartUp, ASourcedFileThatMayNotBeReadLeavesEverythingOpen) {
  const Tree tree{{{"/home/a/.bashrc", ". /opt/site.sh\n"}, {"/opt/site.sh", "!"}}};
  EXPECT_EQ(value(tree.follow(bash_window), "PATH"), "? /home/a/.bashrc:1: /opt/site.sh may not be read");
}

TEST(StartUp, AModuleCommandThatExistsLeavesEverythingOpen) {
  const Tree tree{{{"/home/a/.bashrc", "module load cuda/12.4\n"},
                   {"/etc/bash.bashrc", "module() { eval \"$(/usr/lib/bin/modulecmd bash \"$@\")\"; }\n"},
                   {"/usr/lib/bin/modulecmd", ""}}};
  EXPECT_TRUE(value(tree.follow(bash_window), "PATH").starts_with("? /home/a/.bashrc:1"))
      << value(tree.follow(bash_window), "PATH");
  const Tree without{{{"/home/a/.bashrc", "module load cuda/12.4\n"}}};
  EXPECT_EQ(value(without.follow(bash_window), "PATH"), "/usr/bin:/bin");
}

TEST(StartUp, BashLoginTakesTheFirstOfThree) {
  const Tree tree{
      {{"/home/a/.profile", "export CUDA_HOME=/profile\n"}, {"/home/a/.bash_profile", "export CUDA_PATH=/bash_profile\n"}}};
  const Variables environment = tree.follow(bash_login);
  EXPECT_EQ(value(environment, "CUDA_HOME"), "-");
  EXPECT_EQ(value(environment, "CUDA_PATH"), "/bash_profile");
}

TEST(StartUp, ProfileFolderIsReadInOrder) {
  const Tree tree{{{"/etc/profile",
                    "for i in /etc/profile.d/*.sh /etc/profile.d/sh.local; do\n  if [ -r \"$i\" ]; then\n    if [ \"${-#*i}\" != "
                    "\"$-\" ]; then . \"$i\"; else . \"$i\" >/dev/null; fi\n  fi\ndone\n"},
                   {"/etc/profile.d/b.sh", "PATH=/b:$PATH\n"},
                   {"/etc/profile.d/a.sh", "PATH=/a:$PATH\n"},
                   {"/etc/profile.d/c.csh", "setenv PATH /never\n"}}};
  EXPECT_EQ(value(tree.follow(bash_login), "PATH"), "/b:/a:/usr/bin:/bin");
  EXPECT_EQ(value(tree.follow(sh_login), "PATH"), "/b:/a:/usr/bin:/bin");
}

TEST(StartUp, DashEndsAtAMissingFile) {
  const Tree tree{{{"/home/a/.profile", "export CUDA_HOME=/x\n. ~/.cargo/env\n"}}};
  EXPECT_TRUE(value(tree.follow(sh_login), "CUDA_HOME").starts_with("? /home/a/.profile:2"));
  EXPECT_EQ(value(tree.follow(bash_login), "CUDA_HOME"), "/x");
}

TEST(StartUp, SyntaxErrorsAreSaid) {
  const Tree tree{{{"/home/a/.bashrc", "export CUDA_HOME=/x\nif true; then\n"}}};
  EXPECT_EQ(value(tree.follow(bash_window), "PATH"), "? /home/a/.bashrc:3: the file ends inside a compound command");
}

TEST(StartUp, CondasBlock) {
  const std::string block =
      "__conda_setup=\"$('/opt/c/bin/conda' 'shell.bash' 'hook' 2> /dev/null)\"\nif [ $? -eq 0 ]; then\n    eval "
      "\"$__conda_setup\"\nelse\n"
      "    export PATH=\"/opt/c/bin:$PATH\"\nfi\nunset __conda_setup\n";
  Tree tree{{{"/home/a/.bashrc", block}, {"/opt/c/bin/conda", ""}}};
  EXPECT_EQ(value(tree.follow(bash_window), "PATH"), "/opt/c/bin:/opt/c/condabin:/usr/bin:/bin");
  tree.files["/opt/c/etc/conda/activate.d/cuda.sh"] = "export CUDA_HOME=$CONDA_PREFIX\n";
  EXPECT_EQ(value(tree.follow(bash_window), "CUDA_HOME"), "/opt/c");
  tree.files["/home/a/.condarc"] = "auto_activate_base: false\n";
  EXPECT_EQ(value(tree.follow(bash_window), "PATH"), "/opt/c/condabin:/usr/bin:/bin");
  EXPECT_EQ(value(tree.follow(bash_window), "CUDA_HOME"), "-");
  tree.files["/home/a/.condarc"] = "default_activation_env: ml\n";
  EXPECT_TRUE(value(tree.follow(bash_window), "PATH").starts_with("? "));
  tree.files.erase("/opt/c/bin/conda");
  EXPECT_EQ(value(tree.follow(bash_window), "PATH"), "/opt/c/bin:/usr/bin:/bin");
}

TEST(StartUp, ZshArraysAndZdotdir) {
  const Tree tree{{{"/home/a/.zshenv", "ZDOTDIR=~/z\ntypeset -U path\npath=(/cuda/bin $path /bin)\n"},
                   {"/home/a/z/.zshrc", "path+=(/last)\n"},
                   {"/home/a/.zshrc", "path=()\n"}}};
  EXPECT_EQ(value(tree.follow(zsh_window), "PATH"), "/cuda/bin:/usr/bin:/bin:/last");
}

TEST(StartUp, ZshStopsAtAPatternWithoutAMatch) {
  const Tree tree{{{"/home/a/.zshrc", "export CUDA_HOME=/x\nfor d in /opt/none-*; do :; done\nexport CUDA_PATH=/y\n"}}};
  EXPECT_TRUE(value(tree.follow(zsh_window), "CUDA_PATH").starts_with("? /home/a/.zshrc:2"));
}

TEST(StartUp, FishPaths) {
  const Tree tree{
      {{"/home/a/.config/fish/config.fish",
        "fish_add_path /usr/local/cuda/bin /absent\nset -gx LD_LIBRARY_PATH /l $LD_LIBRARY_PATH\nset CUDA_HOME /not/exported\n"},
       {"/usr/local/cuda/bin/nvcc", ""}}};
  const Variables environment = tree.follow(fish_window);
  EXPECT_EQ(value(environment, "PATH"), "/usr/local/cuda/bin:/usr/bin:/bin");
  EXPECT_EQ(value(environment, "LD_LIBRARY_PATH"), "/l");
  EXPECT_EQ(value(environment, "CUDA_HOME"), "-");
}

TEST(StartUp, FishRefusesAFileWithASyntaxError) {
  const Tree tree{{{"/home/a/.config/fish/config.fish", "set -gx CUDA_HOME /x\nif true\n"}}};
  EXPECT_TRUE(value(tree.follow(fish_window), "CUDA_HOME").starts_with("? /home/a/.config/fish/config.fish"));
}

TEST(StartUp, EndlessThingsEnd) {
  for (const char* text :
       {"while true; do PATH=/x:$PATH; done\n", "f() { f; }; f\n", ". ~/.bashrc\n",
        "x=a; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do x=$x$x; done\nexport CUDA_HOME=$x\n",
        "until false; do :; done\n", "eval 'eval \"eval x\"'\n"}) {
    const Tree tree{{{"/home/a/.bashrc", text}}};
    (void)tree.follow(bash_window);
  }
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "if true; then ";
  std::string nested(5000, '(');
  std::string substitutions;
  for (int i = 0; i < 5000; ++i) substitutions += "$(";
  for (const std::string& text : {deep, nested, "x=" + substitutions, "echo \"" + substitutions}) {
    const Tree tree{{{"/home/a/.bashrc", text}, {"/home/a/.config/fish/config.fish", text}}};
    EXPECT_TRUE(value(tree.follow(bash_window), "PATH").starts_with("? "));
    (void)tree.follow(fish_window);
  }
}

// ---- environment files ------------------------------------------------------------------------------------------------

TEST(EnvironmentFiles, PamEnvironment) {
  Variables environment;
  shell::apply_pam_environment(
      "# comment\nPATH=\"/usr/bin:/usr/local/cuda/bin\"\n export "
      "CUDA_HOME='/usr/local/cuda'\nLD_LIBRARY_PATH=$HOME/lib\nnonsense\n",
      "/etc/environment", environment);
  EXPECT_EQ(value(environment, "PATH"), "/usr/bin:/usr/local/cuda/bin");
  EXPECT_EQ(value(environment, "CUDA_HOME"), "/usr/local/cuda");
  EXPECT_EQ(value(environment, "LD_LIBRARY_PATH"), "$HOME/lib");
  EXPECT_EQ(variable(environment, "PATH").set_by.at(0).line, 2U);
}

TEST(EnvironmentFiles, EnvironmentD) {
  Variables environment;
  environment["PATH"].value = Value::known("/usr/bin");
  shell::apply_environment_d(
      "PATH=/usr/local/cuda/bin:$PATH\nLD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/l\nCUDA_HOME=${X:-/d}\n",
      "/etc/environment.d/c.conf", environment);
  EXPECT_EQ(value(environment, "PATH"), "/usr/local/cuda/bin:/usr/bin");
  EXPECT_EQ(value(environment, "LD_LIBRARY_PATH"), "/l");
  EXPECT_EQ(value(environment, "CUDA_HOME"), "/d");
}

TEST(EnvironmentFiles, LoginDefsCrontabAndSystemd) {
  EXPECT_EQ(
      shell::login_defs_path("#ENV_PATH PATH=/no\nENV_SUPATH\tPATH=/sbin:/bin\nENV_PATH\tPATH=/bin\n", "/etc/login.defs", false)
          ->text,
      "/bin");
  EXPECT_EQ(shell::login_defs_path("ENV_SUPATH\tPATH=/sbin:/bin\n", "/etc/login.defs", true)->text, "/sbin:/bin");
  EXPECT_FALSE(shell::login_defs_path("ENV_PATHS x\n", "/etc/login.defs", false));
  EXPECT_EQ(shell::crontab_variable("# PATH=/no\nPATH = \"/a:/b\"\n* * * * * x\n", "t", "PATH")->text, "/a:/b");
  Variables environment;
  shell::apply_default_environment("[Manager]\n#DefaultEnvironment=PATH=/no\nDefaultEnvironment=\"PATH=/a\" CUDA_HOME=/c\n",
                                   "/etc/systemd/system.conf", environment);
  EXPECT_EQ(value(environment, "PATH"), "/a");
  EXPECT_EQ(value(environment, "CUDA_HOME"), "/c");
}

TEST(EnvironmentFiles, CudaLines) {
  std::vector<Origin> lines;
  shell::find_cuda_lines(
      "# export PATH=/usr/local/cuda/bin\nexport PATH=/usr/local/cuda-12.4/bin:$PATH\nexport CUDA_HOME=/usr/local/cuda\nalias "
      "x=/usr/local/cuda/bin/nvcc\n"
      "PATH=/usr/bin # /usr/local/cuda\nset -gx PATH /opt/nvidia/hpc_sdk/bin $PATH\nexport LD_LIBRARY_PATH=$CUDA_HOME/lib64\n",
      "f", lines);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].line, 2U);
  EXPECT_EQ(lines[1].line, 3U);
  EXPECT_EQ(lines[2].line, 6U);
  EXPECT_EQ(lines[3].line, 7U);
}

}  // namespace
}  // namespace gpuvet
