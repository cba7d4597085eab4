#include "loader_truth.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace gpuvet::test {
namespace {

/// Reads both pipes to their ends.
void drain(int out, int err, Run& result) {
  std::array<pollfd, 2> pipes{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  std::array<char, 65536> buffer;
  for (int open = 2; open > 0;) {
    if (poll(pipes.data(), pipes.size(), 20000) <= 0) return;
    for (auto& p : pipes) {
      if (p.fd < 0 || p.revents == 0) continue;
      const auto got = read(p.fd, buffer.data(), buffer.size());
      if (got > 0) {
        (p.fd == out ? result.output : result.errors).append(buffer.data(), static_cast<std::size_t>(got));
      } else {
        p.fd = -1;
        --open;
      }
    }
  }
}

[[noreturn]] void child(const std::vector<std::string>& command, const Variables& environment, const std::string& folder, int out,
                        int err) {
  dup2(open("/dev/null", O_RDONLY), 0);
  dup2(out, 1);
  dup2(err, 2);
  if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(126);
  std::vector<std::string> texts;
  for (const auto& [name, value] : environment) texts.push_back(name + "=" + value);
  std::vector<char*> variables, arguments;
  for (auto& text : texts) variables.push_back(text.data());
  for (const auto& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
  variables.push_back(nullptr);
  arguments.push_back(nullptr);
  execve(arguments[0], arguments.data(), variables.data());
  _exit(126);
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of("\n");
  if (end == std::string::npos) return {};
  const auto start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - (start == std::string::npos ? 0 : start + 1) + 1);
}

/// "\tlibx.so => /a/libx.so (0x…)", "\t/lib64/ld-linux-x86-64.so.2 (0x…)", "\tlibx.so => not found"
void parse_line(std::string line, Outcome& outcome) {
  if (!line.starts_with('\t') || line.starts_with("\tlinux-vdso") || line.starts_with("\tlinux-gate")) return;
  line.erase(0, 1);
  const auto arrow = line.find(" => ");
  auto path = arrow == std::string::npos ? line : line.substr(arrow + 4);
  if (path == "not found") {
    outcome.missing.push_back(line.substr(0, arrow));
    return;
  }
  const auto address = path.rfind(" (0x");
  if (address != std::string::npos) outcome.loaded.push_back(path.substr(0, address));
}

Outcome parse_list(const Run& run) {
  Outcome outcome;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) parse_line(line, outcome);
  if (run.exit_code != 0) outcome.error = last_line(run.errors.empty() ? run.output : run.errors);
  return outcome;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Run run(const std::vector<std::string>& command, const Variables& environment, const std::string& folder) {
  std::array<int, 2> out{}, err{};
  Run result;
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) return result;
  const pid_t pid = fork();
  if (pid == 0) child(command, environment, folder, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  drain(out[0], err[0], result);
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Outcome listed(const std::string& loader, const std::string& file, const Variables& environment, const std::string& folder) {
  const auto list = parse_list(run({loader, "--list", file}, environment, folder));
  if (list.error.empty() || loader.find("musl") != std::string::npos) return list;
  // --list ends at the first library that is missing; what ldd does goes on.
  auto variables = environment;
  variables["LD_TRACE_LOADED_OBJECTS"] = "1";
  return parse_list(run({loader, file}, variables, folder));
}

Outcome traced(const std::string& program, const Variables& environment, const std::string& folder) {
  auto variables = environment;
  variables["LD_TRACE_LOADED_OBJECTS"] = "1";
  return parse_list(run({program}, variables, folder));
}

Outcome opened(const std::vector<std::string>& command, const Variables& environment, const std::string& folder) {
  const auto result = run(command, environment, folder);
  Outcome outcome;
  bool program_told = false;  // musl names the program like the others
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("step ")) outcome.steps.push_back(line.substr(5));
    if (!line.starts_with("map ") || line.find("linux-vdso") != std::string::npos) continue;
    if (line != "map " + command[0] || std::exchange(program_told, true)) outcome.loaded.push_back(line.substr(4));
  }
  if (result.exit_code != 0) outcome.error = last_line(result.errors);
  return outcome;
}

Outcome outcome_of(const Forecast& forecast) {
  Outcome outcome;
  for (std::size_t i = 1; i < forecast.objects.size(); ++i) outcome.loaded.push_back(forecast.objects[i].path);
  for (const auto& missing : forecast.missing) {
    if (missing.step >= 0 || missing.optional) continue;
    if (missing.error.empty())
      outcome.missing.push_back(missing.name);
    else if (outcome.error.empty())
      outcome.error = missing.error;
  }
  for (const auto& step : forecast.steps) outcome.steps.emplace_back(step.loaded ? "ok" : "failed");
  return outcome;
}

std::string words_of(const Outcome& outcome) {
  return joined(outcome.loaded) + " | missing: " + joined(outcome.missing) + " | error: " + outcome.error +
         " | steps: " + joined(outcome.steps);
}

std::string difference(const Outcome& truth, const Forecast& forecast) {
  const auto ours = outcome_of(forecast);
  const bool ends = !truth.error.empty();
  if (ends != !ours.error.empty() && !(ends && truth.missing.empty() && !ours.missing.empty()))
    return "  loader's error: " + truth.error + "\n  forecast's:     " + ours.error + "\n";
  if (ends && !ours.error.empty())
    return truth.error.find(ours.error) != std::string::npos
               ? ""
               : "  loader's error: " + truth.error + "\n  forecast's:     " + ours.error + "\n";
  std::string text;
  const auto compare = [&](const char* what, const std::vector<std::string>& a, const std::vector<std::string>& b) {
    if (a != b) text += std::string("  ") + what + "\n    loader:   " + joined(a) + "\n    forecast: " + joined(b) + "\n";
  };
  if (!ends) compare("loaded", truth.loaded, ours.loaded);
  if (!ends) compare("missing", truth.missing, ours.missing);
  compare("steps", truth.steps, ours.steps);
  return text;
}

}  // namespace gpuvet::test
