#include <cstddef>
#include <cstdint>
#include <string>

#include "shell/start_up.h"

// Start-up files of every shell and the environment files beside them, out of foreign bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuvet;
  const std::string text(reinterpret_cast<const char*>(data), size);
  ShellFiles files;
  files.read = [&](const std::string& path) -> ShellFiles::Content {
    if (path.find("/home/a/") == 0 || path == "/etc/profile") return {ShellFiles::Read::Text, text};
    return {};
  };
  files.is_file = [](const std::string& path) {
    return std::optional<bool>(path.find("/home/a/") == 0 || path == "/etc/profile");
  };
  files.is_directory = [](const std::string& path) { return std::optional<bool>(path == "/home/a" || path.ends_with("/d")); };
  files.is_executable = [](const std::string& path) { return std::optional<bool>(path.ends_with("/conda")); };
  files.list = [](const std::string& path) {
    return std::optional(path.ends_with(".d") ? std::vector<std::string>{"a.sh", "b.fish", "c"} : std::vector<std::string>{});
  };
  const shell::Identity identity{"/home/a", "a", "/bin/bash", 1000};
  shell::Variables start;
  start["PATH"].value = shell::Value::known("/usr/bin:/bin");
  start["PATH"].exported = true;
  for (const char* name : {"bash", "zsh", "sh", "fish"}) {
    (void)shell::reported(shell::follow_start_up(files, identity, {name, true, true, false, true}, start).environment);
  }
  shell::Variables environment;
  shell::apply_pam_environment(text, "/etc/environment", environment);
  shell::apply_environment_d(text, "/etc/environment.d/a.conf", environment);
  shell::apply_default_environment(text, "/etc/systemd/system.conf", environment);
  (void)shell::login_defs_path(text, "/etc/login.defs", true);
  (void)shell::crontab_variable(text, "/etc/crontab", "PATH");
  std::vector<Origin> lines;
  shell::find_cuda_lines(text, "/home/a/.bashrc", lines);
  return 0;
}
