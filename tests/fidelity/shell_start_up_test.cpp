// Forecast against truth: the real bash, zsh, dash and fish run the file sets of shell_files/ in a throw-away HOME (and this
// machine's own /etc); every variable that is forecast must be what the shell's child sees. What the forecast leaves open is
// counted apart.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "shell/start_up.h"

namespace gpuvet {
namespace {

namespace fs = std::filesystem;
using Environment = std::map<std::string, std::string>;

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// This machine's files, for the forecaster.
ShellFiles real_files() {
  ShellFiles files;
  files.read = [](const std::string& path) -> ShellFiles::Content {
    std::error_code error;
    if (!fs::exists(path, error)) return {ShellFiles::Read::Missing, {}};
    if (!fs::is_regular_file(path, error) || ::access(path.c_str(), R_OK) != 0) return {ShellFiles::Read::Unreadable, {}};
    return {ShellFiles::Read::Text, read_all(path)};
  };
  files.is_file = [](const std::string& path) {
    std::error_code error;
    return std::optional<bool>(fs::is_regular_file(path, error));
  };
  files.is_directory = [](const std::string& path) {
    std::error_code error;
    return std::optional<bool>(fs::is_directory(path, error));
  };
  files.is_executable = [](const std::string& path) {
    struct stat status {};
    return std::optional<bool>(::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0);
  };
  files.list = [](const std::string& path) -> std::optional<std::vector<std::string>> {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path, error)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  return files;
}

/// Makes the files of a set below `home`. "file PATH", "exec PATH", "dir PATH", "link PATH TARGET", "env NAME=value", "mode PATH
/// 0000", lines of a file behind "| " ("|r " with CRLF); @HOME@ is the home.
Environment lay_out(const fs::path& set, const fs::path& home) {
  Environment environment;
  std::ifstream in(set);
  std::string line;
  std::ofstream file;
  const auto filled = [&](std::string text) {
    for (std::size_t at = 0; (at = text.find("@HOME@", at)) != std::string::npos;) text.replace(at, 6, home.string());
    return text;
  };
  while (std::getline(in, line)) {
    if (line.starts_with("|")) {
      const bool crlf = line.starts_with("|r");
      std::string text = line.substr(crlf ? 2 : 1);
      if (text.starts_with(" ")) text.erase(0, 1);
      file << filled(text) << (crlf ? "\r\n" : "\n");
      continue;
    }
    std::istringstream words(line);
    std::string what, path;
    words >> what >> path;
    if (what != "file" && what != "exec" && what != "dir" && what != "link" && what != "env" && what != "mode") continue;
    if (file.is_open()) file.close();
    const fs::path target = home / path;
    if (what == "dir") fs::create_directories(target);
    if (what == "file" || what == "exec") {
      fs::create_directories(target.parent_path());
      file.open(target, std::ios::binary | std::ios::trunc);
      if (what == "exec") ::chmod(target.c_str(), 0755);
    }
    if (what == "link") {
      std::string to;
      words >> to;
      fs::create_directories(target.parent_path());
      fs::create_symlink(filled(to), target);
    }
    if (what == "env") environment[path.substr(0, path.find('='))] = filled(path.substr(path.find('=') + 1));
  }
  return environment;
}

struct Way {
  const char* name;
  bool login, interactive, by_ssh;
};
constexpr Way ways[] = {{"login interactive", true, true, false},
                        {"login", true, false, false},
                        {"interactive", false, true, false},
                        {"command", false, false, false},
                        {"ssh command", false, false, true}};

/// The environment that a child of the real shell gets; nullopt when the shell ended before.
std::optional<Environment> real(const std::string& shell, const Way& way, const Environment& start, const fs::path& folder) {
  const fs::path out = folder / "environment";
  std::error_code error;
  fs::remove(out, error);
  std::vector<std::string> arguments{shell};
  if (way.login) arguments.emplace_back("-l");
  if (way.interactive) arguments.emplace_back("-i");
  arguments.emplace_back("-c");
  arguments.push_back("/usr/bin/env -0 > " + out.string());
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    std::vector<std::string> entries;
    for (const auto& [name, value] : start) entries.push_back(name + "=" + value);
    if (way.by_ssh) entries.emplace_back("SSH_CLIENT=10.0.0.1 40000 22");
    std::vector<char*> argv, envp;
    for (std::string& a : arguments) argv.push_back(a.data());
    for (std::string& e : entries) envp.push_back(e.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    if (::chdir(start.at("HOME").c_str()) != 0) ::_exit(126);
    ::execve(shell.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  int status = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (!fs::exists(out)) return std::nullopt;
  Environment environment;
  std::istringstream entries(read_all(out));
  std::string entry;
  while (std::getline(entries, entry, '\0')) {
    const std::size_t equal = entry.find('=');
    if (equal != std::string::npos) environment[entry.substr(0, equal)] = entry.substr(equal + 1);
  }
  return environment;
}

struct Counts {
  int right = 0, unknown = 0, wrong = 0, ended = 0;
};

std::string user_name() {
  const ::uid_t uid = ::getuid();
  std::ifstream passwd("/etc/passwd");
  std::string line;
  while (std::getline(passwd, line)) {
    std::istringstream fields(line);
    std::string name, password, number;
    std::getline(fields, name, ':');
    std::getline(fields, password, ':');
    std::getline(fields, number, ':');
    if (number == std::to_string(uid)) return name;
  }
  return "nobody";
}

void compare(const std::string& title, const shell::Outcome& outcome, const Environment& truth, const Environment& start,
             Counts& counts) {
  const auto forecast = shell::reported(outcome.environment);
  for (const std::string& name : shell::reported_names) {
    const auto found = std::find_if(forecast.begin(), forecast.end(), [&](const ShellVariable& v) { return v.name == name; });
    const auto held = truth.find(name);
    // A variable that nothing touches is no achievement: only those in play count.
    const bool in_play = held != truth.end() || found != forecast.end() || start.contains(name);
    if (!in_play) continue;
    const bool listed = found != forecast.end();
    if (listed && found->value.is_not_seen()) {
      ++counts.unknown;
      std::cout << "  open: " << title << " " << name << ": " << found->value.why() << "\n";
      continue;
    }
    const std::string expected = listed && found->value.is_known() ? *found->value.get() : "(not set)";
    const std::string got = held == truth.end() ? "(not set)" : held->second;
    if (expected == got)
      ++counts.right;
    else
      ++counts.wrong;
    EXPECT_EQ(expected, got) << title << " " << name;
  }
}

TEST(ShellStartUp, ForecastsAreWhatRealShellsDo) {
  char pattern[] = "/tmp/gpuvet-shells-XXXXXX";
  const fs::path folder = ::mkdtemp(pattern);
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(SHELL_FILES)) {
    if (entry.path().extension() == ".set") sets.push_back(entry.path());
  }
  std::sort(sets.begin(), sets.end());
  EXPECT_GE(sets.size(), 40U);
  const char* only = std::getenv("SHELL_SET");
  const ShellFiles files = real_files();
  Counts all;
  int shells = 0;
  for (const auto& [name, path] : {std::pair<std::string, std::string>{"bash", "/bin/bash"},
                                   {"zsh", "/bin/zsh"},
                                   {"sh", "/bin/dash"},
                                   {"fish", "/usr/bin/fish"}}) {
    if (::access(path.c_str(), X_OK) != 0) {
      std::cout << "skipped: " << path << " is not installed\n";
      continue;
    }
    ++shells;
    Counts counts;
    for (const fs::path& set : sets) {
      if (only && set.stem().string().find(only) == std::string::npos) continue;
      const fs::path home = folder / "home" / set.stem();
      fs::remove_all(home);
      fs::create_directories(home);
      Environment start = lay_out(set, home);
      start.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
      start["HOME"] = home.string();
      start["USER"] = start["LOGNAME"] = user_name();
      start["SHELL"] = path;
      start["TERM"] = "dumb";
      for (const Way& way : ways) {
        if (way.by_ssh && name != "bash") continue;
        shell::Variables first;
        for (const auto& [variable, value] : start) {
          if (variable == "TERM") continue;
          first[variable].value = shell::Value::known(value);
          first[variable].exported = true;
        }
        const shell::Identity identity{home.string(), user_name(), path, static_cast<std::int64_t>(::getuid())};
        const auto outcome = shell::follow_start_up(files, identity, {name, way.login, way.interactive, way.by_ssh, true}, first);
        const auto truth = real(path, way, start, folder);
        const std::string title = set.stem().string() + " " + name + " " + way.name;
        if (!truth) {
          ++counts.ended;
          continue;
        }
        compare(title, outcome, *truth, start, counts);
      }
    }
    std::cout << name << ": " << counts.right << " values right, " << counts.unknown << " left open, " << counts.wrong
              << " wrong; " << counts.ended << " shells ended before\n";
    all.right += counts.right;
    all.unknown += counts.unknown;
    all.wrong += counts.wrong;
  }
  fs::remove_all(folder);
  std::cout << sets.size() << " file sets, " << shells << " shells: " << all.right << " right, " << all.unknown << " left open, "
            << all.wrong << " wrong\n";
  if (shells == 0) GTEST_SKIP() << "skipped: no shell";
  EXPECT_EQ(all.wrong, 0);
}

}  // namespace
}  // namespace gpuvet
