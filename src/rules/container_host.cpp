// What a host shows of the engine that starts its containers. A GPU must have been asked for: a plain Docker user's machine is in
// order without the NVIDIA Container Toolkit.

#include <algorithm>

#include "rules/container.h"
#include "rules/evidence.h"

namespace gpuvet::container {
namespace {

const ContainerEngines& engines(const RuleContext& context) { return context.machine.container_engines; }

bool has_part(const Origin& line, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return line.text.find(part) != std::string::npos; });
}

/// The newest refusal with one of these parts, or null.
const Origin* refusal(const RuleContext& context, std::initializer_list<std::string_view> parts) {
  const Origin* newest = nullptr;
  for (const Origin& line : engines(context).refusals)
    if (has_part(line, parts)) newest = &line;
  return newest;
}

const ContainerRuntime* nvidia_runtime(const RuleContext& context) {
  const auto* runtimes = engines(context).docker_runtimes.get();
  if (runtimes == nullptr) return nullptr;
  const auto is_nvidia = [](const ContainerRuntime& runtime) {
    return runtime.name == "nvidia" || runtime.path.find("nvidia-container-runtime") != std::string::npos;
  };
  const auto found = std::ranges::find_if(*runtimes, is_nvidia);
  return found == runtimes->end() ? nullptr : &*found;
}

bool has_hook(const RuleContext& context) { return engines(context).toolkit_hook.is_known(); }

Finding with_docker(const RuleContext& context) {
  Finding finding;
  if (engines(context).docker.is_known())
    finding.evidence.push_back(quote(engines(context).docker, "/usr/bin/dockerd", "Docker's daemon"));
  return finding;
}

/// What shows that GPUs are to be given to containers here: the toolkit is there, or an engine was asked.
bool gpu_containers_wanted(const RuleContext& context) {
  return has_hook(context) || nvidia_runtime(context) != nullptr || !engines(context).refusals.empty();
}

}  // namespace

std::optional<Finding> toolkit_missing(const RuleContext& context) {
  if (!engines(context).docker.is_known() || context.in(World::Container)) return std::nullopt;
  Finding finding = with_docker(context);
  finding.repair = {make_action("install-container-toolkit")};
  const ContainerRuntime* runtime = nvidia_runtime(context);
  if (runtime != nullptr && runtime->found.is(false) && !has_hook(context)) {
    finding.evidence.push_back(runtime->origin);
    finding.evidence.push_back({runtime->path, 0, "registered with Docker, and not there"});
    return finding;
  }
  const Origin* no_driver = refusal(context, {"could not select device driver", "executable file not found", "no such file"});
  if (no_driver != nullptr && !has_hook(context) && engines(context).toolkit_hook.is_absent()) {
    finding.evidence.push_back(*no_driver);
    finding.evidence.push_back(quote(engines(context).toolkit_hook, "/usr/bin/nvidia-container-runtime-hook", "not there"));
    return finding;
  }
  const Origin* no_runtime = refusal(context, {"runtime specified", "runtime name"});
  if (no_runtime != nullptr && runtime == nullptr && !engines(context).docker_runtimes.is_not_seen()) {
    finding.evidence.push_back(*no_runtime);
    finding.evidence.push_back(
        quote(engines(context).docker_runtimes, "/etc/docker/daemon.json", "no runtime of the name nvidia"));
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> snap_conflict(const RuleContext& context) {
  const ContainerEngines& here = engines(context);
  if (!here.docker_snap.is_known() || context.in(World::Container)) return std::nullopt;
  const Origin* line = refusal(context, {"snap.docker", "docker.dockerd", "/snap/docker"});
  // Without another daemon every line is the snap's.
  if (line == nullptr && here.docker.is_absent()) line = refusal(context, {"nvidia", "gpu"});
  if (line == nullptr) return std::nullopt;
  Finding finding;
  finding.evidence = {quote(here.docker_snap, "/snap/docker/current", "Docker of the snap"), *line};
  if (here.docker.is_known())
    finding.evidence.push_back(quote(here.docker, "/usr/bin/dockerd", "Docker's own package, installed too"));
  finding.repair = {make_action("replace-snap-docker")};
  return finding;
}

std::optional<Finding> desktop_virtual_machine(const RuleContext& context) {
  const ContainerEngines& here = engines(context);
  if (!here.docker_context.is("desktop-linux") || context.in(World::Container)) return std::nullopt;
  Finding finding;
  if (!gpu_containers_wanted(context)) finding.severity = Severity::Note;
  finding.evidence = {quote(here.docker_context, "~/.docker/config.json", "desktop-linux")};
  if (has_hook(context))
    finding.evidence.push_back(
        quote(here.toolkit_hook, "/usr/bin/nvidia-container-runtime-hook", "the container toolkit of the host"));
  finding.repair = {make_action("use-docker-engine-instead-of-desktop")};
  return finding;
}

}  // namespace gpuvet::container
