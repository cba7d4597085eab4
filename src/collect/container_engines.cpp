// Docker on this machine: which of its builds is there, what its configuration registers, whether the program is there by which
// it brings a GPU in, and the lines in which it was asked for one and had none.

#include <array>

#include <nlohmann/json.hpp>

#include "collect/collect.h"
#include "collect/lines.h"

namespace gpuvet {
namespace {

using Json = nlohmann::json;
using Text = Fact<std::string>;

constexpr const char* daemon_configuration = "/etc/docker/daemon.json";
constexpr std::size_t configuration_limit = std::size_t{1} << 20;
constexpr std::size_t log_tail = std::size_t{4} << 20;
constexpr std::size_t most_refusals = 8;

/// Folders that a daemon's PATH has.
constexpr std::array program_folders = {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/", "/bin/", "/sbin/"};

std::optional<std::string> find_program(System& system, const std::string& name) {
  for (const char* folder : program_folders) {
    const auto status = system.status(folder + name);
    if (status && status->type == FileType::Regular) return folder + name;
  }
  return std::nullopt;
}

Text find_docker(System& system) {
  if (const auto path = find_program(system, "dockerd")) return Text::known(*path, origin_of(*path));
  // A unit of another folder (a static build) starts it from where it says.
  return Text::absent(origin_of("/usr/bin/dockerd"));
}

Text find_snap(System& system) {
  for (const char* folder : {"/snap/docker/current", "/var/snap/docker/current"})
    if (system.is_directory(folder)) return Text::known(folder, origin_of(folder));
  return Text::absent(origin_of("/snap/docker"));
}

/// Docker's "--gpus" looks for the hook; without it, for nothing else of the toolkit (moby, daemon/nvidia_linux.go). GPU Operator
/// and k3s keep the toolkit in folders of their own and register it as a runtime.
Text find_hook(System& system) {
  for (const char* name : {"nvidia-container-runtime-hook", "nvidia-container-toolkit"})
    if (const auto path = find_program(system, name)) return Text::known(*path, origin_of(*path));
  for (const char* path :
       {"/usr/local/nvidia/toolkit/nvidia-container-runtime-hook", "/run/current-system/sw/bin/nvidia-container-runtime-hook"})
    if (system.exists(path)) return Text::known(path, origin_of(path));
  return Text::absent(origin_of("/usr/bin/nvidia-container-runtime-hook"));
}

Text find_context(System& system, const Machine& machine) {
  if (const auto it = machine.environment.find("DOCKER_CONTEXT"); it != machine.environment.end() && !it->second.empty())
    return Text::known(it->second, origin_of("environment", "DOCKER_CONTEXT=" + it->second));
  const auto home = machine.environment.find("HOME");
  if (home == machine.environment.end() || home->second.empty()) return Text::not_seen("no home folder known");
  const std::string path = home->second + "/.docker/config.json";
  const auto text = system.read_file(path, configuration_limit);
  if (!text) return Text::absent(origin_of(path));
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) return Text::not_seen("no JSON", origin_of(path));
  const auto context = json.find("currentContext");
  if (context == json.end() || !context->is_string()) return Text::absent(origin_of(path));
  const auto name = context->get<std::string>();
  return Text::known(name, origin_of(path, "\"currentContext\": \"" + name + "\""));
}

/// The first line of the file with `word` in quotes, as it stands there.
Origin origin_of_key(std::string_view text, std::string_view word) {
  Origin origin = origin_of(daemon_configuration);
  const std::string quoted = '"' + std::string(word) + '"';
  for_each_line(text, [&](std::string_view line, std::uint32_t number) {
    if (line.find(quoted) == std::string_view::npos) return true;
    origin = origin_of(daemon_configuration, trim(line), number);
    return false;
  });
  return origin;
}

Fact<bool> program_is_there(System& system, const std::string& path) {
  using Found = Fact<bool>;
  if (path.empty()) return Found::not_seen("no program told");
  if (path.front() == '/') return Found::known(system.exists(path), origin_of(path));
  return Found::known(find_program(system, path).has_value(), origin_of(path));
}

void read_configuration(System& system, ContainerEngines& engines) {
  using Runtimes = Fact<std::vector<ContainerRuntime>>;
  const Origin origin = origin_of(daemon_configuration);
  const auto text = system.read_file(daemon_configuration, configuration_limit);
  if (!text && text.error().code == ErrorCode::NotFound) {
    engines.docker_runtimes = Runtimes::absent(origin);
    engines.docker_default_runtime = Text::absent(origin);
    return;
  }
  if (!text) {
    engines.docker_runtimes = not_seen_because<std::vector<ContainerRuntime>>(text.error(), daemon_configuration);
    engines.docker_default_runtime = not_seen_because<std::string>(text.error(), daemon_configuration);
    return;
  }
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) {
    engines.docker_runtimes = Runtimes::not_seen("no JSON", origin);
    engines.docker_default_runtime = Text::not_seen("no JSON", origin);
    return;
  }
  std::vector<ContainerRuntime> runtimes;
  if (const auto all = json.find("runtimes"); all != json.end() && all->is_object()) {
    for (const auto& [name, entry] : all->items()) {
      ContainerRuntime runtime;
      runtime.name = name;
      if (entry.is_object() && entry.contains("path") && entry["path"].is_string())
        runtime.path = entry["path"].get<std::string>();
      runtime.found = program_is_there(system, runtime.path);
      runtime.origin = origin_of_key(*text, name);
      if (runtimes.size() < 64) runtimes.push_back(std::move(runtime));
    }
  }
  engines.docker_runtimes = Runtimes::known(std::move(runtimes), origin);
  const auto standard = json.find("default-runtime");
  engines.docker_default_runtime = standard != json.end() && standard->is_string()
                                       ? Text::known(standard->get<std::string>(), origin_of_key(*text, "default-runtime"))
                                       : Text::absent(origin);
}

/// An engine's words when it was asked for a GPU (moby; nvidia-container-toolkit).
bool is_refusal(std::string_view line) {
  const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
  if (!has("docker") && !has("containerd") && !has("nvidia-container")) return false;
  if (has("could not select device driver") && has("gpu")) return true;
  if ((has("nknown runtime specified") || has("unknown or invalid runtime name") || has("invalid runtime name")) && has("nvidia"))
    return true;
  if (has("nvidia-container-runtime") && (has("executable file not found") || has("no such file or directory"))) return true;
  return has("nvidia-container-cli") && (has("load library failed") || has("initialization error"));
}

void read_refusals(System& system, ContainerEngines& engines) {
  for (const char* path : {"/var/log/syslog", "/var/log/messages", "/var/log/daemon.log", "/var/log/docker.log"}) {
    const auto tail = system.read_tail(path, log_tail);
    if (!tail) continue;
    for_each_line(tail->text, [&](std::string_view line, std::uint32_t number) {
      const bool cut = number == 1 && tail->truncated;
      if (!cut && is_refusal(line)) engines.refusals.push_back(origin_of(path, trim(line), tail->truncated ? 0 : number));
      return true;
    });
    if (!engines.refusals.empty()) break;
  }
  if (engines.refusals.size() > most_refusals)
    engines.refusals.erase(engines.refusals.begin(), engines.refusals.end() - most_refusals);
}

}  // namespace

void collect_container_engines(System& system, const CollectOptions&, Machine& machine) {
  ContainerEngines& engines = machine.container_engines;
  engines.docker = find_docker(system);
  engines.docker_snap = find_snap(system);
  engines.docker_context = find_context(system, machine);
  engines.toolkit_hook = find_hook(system);
  read_configuration(system, engines);
  if (engines.docker.is_known() || engines.docker_snap.is_known()) read_refusals(system, engines);
}

}  // namespace gpuvet
