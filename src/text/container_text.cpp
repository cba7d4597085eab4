// Containers in a text: commands of container engines and of schedulers, images and what they ask of the driver, what was
// configured, and whether all of the text was typed inside of one.

#include <algorithm>
#include <array>
#include <string>

#include "text/driver_text_parts.h"
#include "text/printable.h"
#include "text/re2_text.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

struct Patterns {
  // "nvidia/cuda:12.4.1-base-ubuntu22.04", "pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime", "vllm/vllm-openai:v0.4.3"
  RE2 image{
      R"re(\b((?:[a-z0-9.-]+(?::\d+)?/)?(?:[a-z0-9_.-]+/)*(?:nvidia|pytorch|vllm|tensorflow|huggingface|rapidsai|ollama|localai|cuda|jupyter|lmsysorg|nvcr\.io)[a-z0-9_./-]*:[A-Za-z0-9_.-]+))re"};
  RE2 image_cuda{R"re((?:nvidia/cuda:|nvidia/cuda-\S*:|cuda-?|cu)(\d{1,2}\.\d)(?:\.\d+)?)re"};
  RE2 from{R"re((?i)^\s*FROM\s+(?:--platform=\S+\s+)?(\S+))re"};
  RE2 image_line{R"re(^\s*(?:-\s*)?(?:image|Image):\s*["']?([^\s"']+))re"};
  RE2 image_variable{R"re((?i)^\s*ENV\s+(NVIDIA_[A-Z_]+|CUDA_[A-Z_]+|LD_LIBRARY_PATH)[ =]"?([^"\s]+))re"};
  // compose: "      - NVIDIA_DRIVER_CAPABILITIES=utility"; Pod and docker inspect: '"NVIDIA_VISIBLE_DEVICES=all",'
  RE2 listed_variable{R"re(^\s*(?:- ["']?|")((?:NVIDIA|CUDA)_[A-Z_]+)[=:] ?([^"'\s]+)["']?,?\s*$)re"};
  RE2 requests{R"re("DeviceRequests"\s*:\s*(null|\[\s*\]|\[.*))re"};
  RE2 capabilities{R"re("Capabilities"\s*:\s*\[\s*\[([^\]]*)\])re"};
  RE2 compose_capabilities{R"re(^\s*(?:-\s*)?capabilities:\s*(\[?.*\bgpu\b.*))re"};
  RE2 runtime{R"re(^\s*(?:runtime:\s*nvidia|"Runtime":\s*"nvidia"|runtimeClassName:\s*nvidia|gpus:\s*["']?all)\b)re"};
  RE2 limit{R"re(^\s*["']?nvidia\.com/(?:gpu|mig-\S+?)["']?:\s*["']?(\d+))re"};
  RE2 toolkit{
      R"re(NVIDIA Container (?:Toolkit|Runtime)(?: CLI| Hook)? version (\d+\.\d+\.\d+)|^\s*(?:ii\s+)?(?:nvidia-container-toolkit|libnvidia-container1)(?:-base)?(?::\S+)?\s+(\d+\.\d+\.\d+))re"};
  RE2 cli_version{R"re(^\s*cli-version: (\d+\.\d+\.\d+))re"};
  RE2 runtime_name{R"re(default_runtime_name\s*=\s*["']([^"']+)["'])re"};
  RE2 default_runtime{R"re(^\s*Default Runtime:\s*(\S+)|"default-runtime"\s*:\s*"([^"]+)")re"};
  RE2 desktop{R"re(^\s*desktop-linux\s*\*|^\s*Context:\s+desktop-linux|Operating System: Docker Desktop)re"};
  RE2 container_world{
      R"re(^\s*(?:container=(podman|docker|lxc|systemd-nspawn)\s*$|\d+:\S*:/(docker|kubepods|lxc)[/.-])|KUBERNETES_SERVICE_HOST=)re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

bool asks_for_gpus(std::string_view command) {
  constexpr std::array<std::string_view, 15> options{"--gpus",
                                                     "--runtime=nvidia",
                                                     "--runtime nvidia",
                                                     "nvidia.com/gpu",
                                                     " --nv ",
                                                     "--nvccli",
                                                     "/dev/nvidia",
                                                     "NVIDIA_VISIBLE_DEVICES",
                                                     "--gres=gpu",
                                                     "--gres gpu",
                                                     "--gpus-per-",
                                                     "-G ",
                                                     "nvidia-docker ",
                                                     "--privileged",
                                                     "-G="};
  return std::ranges::any_of(options, [&](std::string_view option) { return command.find(option) != std::string_view::npos; });
}

void add_image(Machine& machine, const PastedText& text, std::size_t line, std::string_view image) {
  StringPiece cuda;
  RE2::PartialMatch(piece(image), patterns().image_cuda, &cuda);
  add_observation(machine, text, line, "container-image", {{"image", std::string(image)}, {"cuda", std::string(view(cuda))}});
}

/// An engine's verb that starts a process in a container: "run", "exec"; empty: none.
std::string verb_of(const PasteSegment& segment) {
  constexpr std::array<std::string_view, 11> engines{"docker",         "podman",  "nerdctl", "singularity",
                                                     "apptainer",      "enroot",  "ctr",     "nvidia-docker",
                                                     "docker-compose", "kubectl", "crictl"};
  if (std::ranges::none_of(engines, [&](std::string_view engine) { return runs(segment, engine); })) return {};
  std::string_view rest = arguments_of(segment);
  // "docker compose -f x.yml up", "docker --context y run", "kubectl -n ns exec": the verb is the first of these words.
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest = trimmed(rest.substr(word.size()));
    // Docker's exec goes into a container that runs; Apptainer's starts one.
    if (word == "exec" && (runs(segment, "singularity") || runs(segment, "apptainer"))) return "run";
    if (word == "exec" || word == "attach") return "exec";
    if (word == "run" || word == "create" || word == "up" || word == "start" || word == "shell") return "run";
    if (word == "inspect" || word == "ps" || word == "logs" || word == "info" || word == "describe" || word == "get" ||
        word == "build")
      return {};
  }
  return {};
}

void read_commands(const PastedText& text, Machine& machine) {
  for (const PasteSegment& segment : text.segments) {
    if (const std::string verb = verb_of(segment); !verb.empty())
      add_observation(machine, text, segment.line, "container-command",
                      {{"gpus", asks_for_gpus(segment.command + " ") ? "yes" : "no"},
                       {"tool", segment.command.substr(0, segment.command.find(' '))},
                       {"verb", verb}});
    // docker inspect --format '{{.HostConfig.DeviceRequests}}'
    if (segment.command.find("DeviceRequests") == std::string::npos || segment.first >= segment.end) continue;
    const std::string_view first = trimmed(text.lines[segment.first].text);
    if (first.starts_with("[]") || first.starts_with("null") || first.starts_with("<no value>"))
      add_observation(machine, text, segment.first, "device-requests", {{"gpus", "no"}});
  }
}

// ---- inside of one ------------------------------------------------------------------------------------------------------

/// The container that every command of the text was typed in; empty: not told, or there is a host too.
std::string container_of(const PastedText& text, std::size_t& line) {
  std::string found;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    StringPiece named, group;
    if (text.lines[i].text.size() > 400 ||
        !RE2::PartialMatch(piece(text.lines[i].text), patterns().container_world, &named, &group))
      continue;
    found = named.empty() ? std::string(view(group)) : std::string(view(named));
    if (found.empty() || found == "kubepods") found = "kubernetes";
    if (found == "systemd-nspawn") found = "nspawn";
    line = i;
    break;
  }
  bool prompts = false;
  for (const PasteSegment& segment : text.segments) {
    if (segment.command.empty() || segment.python) continue;
    // `docker run …` is typed on a host, root@0123456789ab:/# is a container's prompt.
    if (segment.place != PastePlace::Container || !verb_of(segment).empty()) {
      if (found.empty() || segment.place == PastePlace::Container || segment.prompt.find('@') != std::string::npos) return {};
      continue;
    }
    if (!prompts && found.empty()) line = segment.line;
    prompts = true;
  }
  return found.empty() && prompts ? "docker" : found;
}

// ---- lines --------------------------------------------------------------------------------------------------------------

/// "ggml-cuda.cu:5141" is a line of a source file, not an image with a tag.
bool is_source_line(std::string_view image) {
  const std::string_view name = image.substr(0, image.rfind(':'));
  constexpr std::array<std::string_view, 13> extensions{".c",  ".cc",  ".cpp", ".cu", ".cuh", ".h",   ".hpp",
                                                        ".py", ".pyx", ".go",  ".rs", ".js",  ".java"};
  return std::ranges::any_of(extensions, [&](std::string_view extension) { return name.ends_with(extension); });
}

void read_image(const PastedText& text, std::size_t i, Machine& machine) {
  const Patterns& p = patterns();
  const std::string& line = text.lines[i].text;
  StringPiece image;
  const bool from = RE2::PartialMatch(piece(line), p.from, &image) && view(image).find_first_of(":/") != std::string_view::npos;
  const bool named =
      from || RE2::PartialMatch(piece(line), p.image_line, &image) || RE2::PartialMatch(piece(line), p.image, &image);
  if (named && !is_source_line(view(image))) add_image(machine, text, i, view(image));
}

/// "nvidia.com/gpu: 0" in what `kubectl describe node` tells of the node is what it has, not what a Pod asks for.
bool of_a_node(const PastedText& text, std::size_t line) {
  for (std::size_t i = line; i-- > 0 && line - i <= 20;) {
    const std::string_view heading = trimmed(text.lines[i].text);
    if (heading == "Capacity:" || heading == "Allocatable:") return true;
    if (heading == "limits:" || heading == "Limits:" || heading == "requests:" || heading == "Requests:") return false;
  }
  return false;
}

void read_requests(const PastedText& text, std::size_t i, Machine& machine) {
  const Patterns& p = patterns();
  const std::string& line = text.lines[i].text;
  StringPiece value, capabilities;
  if (RE2::PartialMatch(piece(line), p.requests, &value)) {
    // "DeviceRequests": [ alone is the beginning of a list over several lines.
    const bool open = view(value) == "[" || view(value).find('{') != std::string_view::npos;
    RE2::PartialMatch(piece(line), p.capabilities, &capabilities);
    add_observation(machine, text, i, "device-requests",
                    {{"gpus", open ? "yes" : "no"}, {"capabilities", std::string(view(capabilities))}});
  } else if (RE2::PartialMatch(piece(line), p.compose_capabilities, &capabilities)) {
    add_observation(machine, text, i, "device-requests", {{"gpus", "yes"}, {"capabilities", std::string(view(capabilities))}});
  } else if (RE2::PartialMatch(piece(line), p.runtime)) {
    add_observation(machine, text, i, "device-requests", {{"gpus", "yes"}});
  } else if (RE2::PartialMatch(piece(line), p.limit, &value) && !of_a_node(text, i)) {
    add_observation(machine, text, i, "device-requests", {{"gpus", view(value) == "0" ? "no" : "yes"}});
  }
}

void read_configuration(const PastedText& text, std::size_t i, Machine& machine) {
  const Patterns& p = patterns();
  const std::string& line = text.lines[i].text;
  StringPiece a, b;
  const auto either = [&] { return std::string(view(a).empty() ? view(b) : view(a)); };
  if (RE2::PartialMatch(piece(line), p.image_variable, &a, &b) || RE2::PartialMatch(piece(line), p.listed_variable, &a, &b)) {
    Observation& variable =
        add_observation(machine, text, i, "variable", {{"name", std::string(view(a))}, {"value", std::string(view(b))}});
    variable.place = "container";
  }
  a = b = {};
  if (RE2::PartialMatch(piece(line), p.toolkit, &a, &b) || RE2::PartialMatch(piece(line), p.cli_version, &a))
    add_observation(machine, text, i, "container-toolkit", {{"version", either()}});
  a = b = {};
  if (!trimmed(line).starts_with('#') &&
      (RE2::PartialMatch(piece(line), p.runtime_name, &a) || RE2::PartialMatch(piece(line), p.default_runtime, &a, &b)))
    add_observation(machine, text, i, "default-runtime", {{"runtime", either()}});
}

/// Docker Desktop's VM has no NVIDIA GPU: its context is the one in use.
void read_desktop(const PastedText& text, std::size_t i, Machine& machine) {
  if (RE2::PartialMatch(piece(text.lines[i].text), patterns().desktop)) add_observation(machine, text, i, "docker-desktop", {});
}

}  // namespace

void read_containers(const PastedText& text, const Knowledge&, Machine& machine) {
  read_commands(text, machine);
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    if (text.lines[i].text.size() > 4000) continue;
    read_image(text, i, machine);
    read_requests(text, i, machine);
    read_configuration(text, i, machine);
    read_desktop(text, i, machine);
  }
  std::size_t line = 0;
  if (const std::string container = container_of(text, line); !container.empty())
    set_fact(machine.os.container, container, text, line);
}

}  // namespace gpuvet
