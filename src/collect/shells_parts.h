#pragma once
// The parts of collect_shells.

#include "collect/collect.h"
#include "shell/start_up.h"

namespace gpuvet {

/// The machine's files as the forecaster asks for them; each is read once.
ShellFiles shell_files_of(System& system);

// shell_environments.cpp: what a process has before any shell start-up file.
shell::Variables login_environment(const ShellFiles& files, const Machine& machine, const shell::Identity& identity);
void add_processes_without_shell(const ShellFiles& files, const Machine& machine, const shell::Identity& identity,
                                 std::vector<ShellForecast>& forecasts);
/// environment.d of the system and the user, in the order of systemd: (path, text).
std::vector<std::pair<std::string, std::string>> environment_d_files(const ShellFiles& files, const std::string& home);

/// Is this machine's distribution one of this family ("debian", "rhel")?
bool is_of_family(const OperatingSystem& os, std::string_view family);

}  // namespace gpuvet
