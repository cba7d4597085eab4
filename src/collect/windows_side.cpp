// --windows: three programs of Windows are asked what cannot be read from inside WSL. Nothing of this runs unasked.

#include "collect/collect.h"
#include "collect/lines.h"
#include "collect/windows_answers.h"

namespace gpuvet {
namespace {

constexpr int patience_ms = 15000;  ///< PowerShell takes seconds to start on a busy computer
constexpr std::size_t answer_limit = 65536;

constexpr const char* powershell_question =
    "'build=' + [Environment]::OSVersion.Version.ToString(); Get-CimInstance Win32_VideoController | "
    "ForEach-Object { 'display=' + $_.Name + '|' + $_.DriverVersion }";

/// The program's output, or why there is none.
Result<std::string> ask(System& system, const std::vector<std::string>& command) {
  auto answer = system.run(command, patience_ms, answer_limit);
  if (!answer) return tl::unexpected(answer.error());
  return std::move(answer->output);
}

Fact<std::string> told(std::string value, const char* program, std::string_view line = {}) {
  return Fact<std::string>::known(std::move(value), origin_of(program, line));
}

Fact<std::string> not_told(const char* program, std::string why) {
  return Fact<std::string>::not_seen(std::move(why), origin_of(program));
}

/// "10.0.22631" of "10.0.22631.4460": what follows changes with every month's update.
std::string build_of(const std::string& version) {
  std::size_t end = 0;
  for (int dots = 0; end < version.size(); ++end)
    if (version[end] == '.' && ++dots == 3) break;
  return version.substr(0, end);
}

void ask_wsl(System& system, Wsl& wsl) {
  constexpr const char* program = "wsl.exe";
  const auto output = ask(system, {program, "--version"});
  if (!output) {
    wsl.wsl_version = not_told(program, output.error().message);
    return;
  }
  const WslVersionAnswer answer = parse_wsl_version(*output);
  // The WSL that came with Windows itself does not know --version and shows its help.
  wsl.wsl_version = answer.wsl.empty() ? not_told(program, "it does not tell its version: " + first_words(*output))
                                       : told(answer.wsl, "wsl.exe --version");
  if (!answer.windows.empty()) wsl.windows_build = told(build_of(answer.windows), "wsl.exe --version", answer.windows);
}

void ask_nvidia_smi(System& system, Wsl& wsl) {
  constexpr const char* program = "nvidia-smi.exe";
  const auto output = ask(system, {program, "--query-gpu=name,driver_version,driver_model.current", "--format=csv,noheader"});
  const auto gpus = output ? parse_smi_gpus(*output) : std::vector<SmiGpuAnswer>();
  if (gpus.empty()) {
    wsl.nvidia_smi = not_told(program, output ? "it names no GPU: " + first_words(*output) : output.error().message);
    wsl.driver_model = wsl.nvidia_smi;
    return;
  }
  wsl.nvidia_smi = told(gpus.front().driver, program);
  std::string models;
  for (const SmiGpuAnswer& gpu : gpus)
    if (!gpu.model.empty()) models += (models.empty() ? "" : ", ") + gpu.model;
  wsl.driver_model = models.empty() ? Fact<std::string>::absent(origin_of(program)) : told(models, program);
}

void ask_powershell(System& system, Wsl& wsl) {
  constexpr const char* program = "powershell.exe";
  const auto output = ask(system, {program, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", powershell_question});
  const PowershellAnswer answer = output ? parse_powershell(*output) : PowershellAnswer();
  const std::string why = output ? "no answer that is understood: " + first_words(*output) : output.error().message;
  if (!wsl.windows_build.is_known())
    wsl.windows_build = answer.build.empty() ? not_told(program, why) : told(build_of(answer.build), program, answer.build);
  if (wsl.windows_driver.is_known()) return;
  if (!answer.nvidia_driver.empty())
    wsl.windows_driver = told(answer.nvidia_driver, program);
  else if (output && !answer.build.empty() && wsl.windows_driver.is_not_seen())
    wsl.windows_driver = Fact<std::string>::absent(origin_of(program, "no display adapter of NVIDIA"));
}

}  // namespace

void collect_windows_side(System& system, const CollectOptions& options, Machine& machine) {
  if (!options.ask_windows) return;
  Wsl& wsl = machine.wsl;
  if (!machine.os.wsl.is_known()) {
    const auto nothing = Fact<std::string>::not_seen("this is no WSL");
    wsl.windows_build = wsl.wsl_version = wsl.nvidia_smi = wsl.driver_model = nothing;
    return;
  }
  ask_wsl(system, wsl);
  ask_nvidia_smi(system, wsl);
  if (!wsl.windows_build.is_known() || !wsl.windows_driver.is_known()) ask_powershell(system, wsl);
}

}  // namespace gpuvet
