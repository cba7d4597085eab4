#pragma once
// Which start-up files a shell reads, and what they leave in the environment.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "shell/files.h"
#include "shell/state.h"

namespace gpuvet::shell {

struct Identity {
  std::string home, user, login_shell;
  std::optional<std::int64_t> uid;
};

/// One way to start one shell.
struct Start {
  std::string shell;  ///< "bash", "zsh", "fish", "sh"
  bool login = false;
  bool interactive = false;
  bool by_ssh = false;     ///< `ssh host command`: bash reads ~/.bashrc then
  bool sh_is_dash = true;  ///< of "sh"; else it is bash
};

struct Outcome {
  std::vector<std::string> files;  ///< read, in order
  Variables environment;           ///< exported variables, and unset ones that a file touched
};

/// Follows the start-up files of one shell that begins with `environment`.
Outcome follow_start_up(const ShellFiles& files, const Identity& identity, const Start& start, Variables environment);

/// What two ways have in common: values that differ become unknown, with `why`.
Variables common(const Variables& a, const Variables& b, const std::string& why);

/// The variables that matter: PATH always, others when they are set or were touched.
std::vector<ShellVariable> reported(const Variables& environment);

// ---- environment files that are no shell scripts (environment_files.cpp) ----

/// /etc/environment as pam_env reads it.
void apply_pam_environment(const std::string& text, const std::string& file, Variables& environment);
/// A file of environment.d(5): NAME=value with ${NAME}, ${NAME:-x} and ${NAME:+x}.
void apply_environment_d(const std::string& text, const std::string& file, Variables& environment);
/// PATH of ENV_PATH or ENV_SUPATH in login.defs.
std::optional<Origin> login_defs_path(const std::string& text, const std::string& file, bool root);
/// PATH that a crontab or systemd's DefaultEnvironment= sets; the origin's text is the value.
std::optional<Origin> crontab_variable(const std::string& text, const std::string& file, std::string_view name);
void apply_default_environment(const std::string& text, const std::string& file, Variables& environment);

/// Lines that name a CUDA folder in one of the reported variables; comments are left out.
void find_cuda_lines(const std::string& text, const std::string& file, std::vector<Origin>& lines);

// ---- fish (fish.cpp) ----
Outcome follow_fish(const ShellFiles& files, const Identity& identity, const Start& start, Variables environment);

}  // namespace gpuvet::shell
