// Containers in a text: commands of container engines, images and what they ask of the driver, what was configured.

#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "text/printable.h"
#include "text/text_readers.h"

namespace gpuvet {
namespace {

using re2::StringPiece;

StringPiece piece(std::string_view s) { return {s.data(), s.size()}; }
std::string_view view(const StringPiece& s) { return s.data() == nullptr ? std::string_view() : std::string_view(s.data(), s.size()); }

struct Patterns {
  // "nvidia/cuda:12.4.1-base-ubuntu22.04", "pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime", "vllm/vllm-openai:v0.4.3"
  RE2 image{R"re(\b((?:[a-z0-9.-]+(?::\d+)?/)?(?:[a-z0-9_.-]+/)*(?:nvidia|pytorch|vllm|tensorflow|huggingface|rapidsai|ollama|localai|cuda|jupyter|lmsysorg|nvcr\.io)[a-z0-9_./-]*:[A-Za-z0-9_.-]+))re"};
  RE2 image_cuda{R"re((?:nvidia/cuda:|cuda|cu)(\d{1,2}\.\d)(?:\.\d+)?)re"};
  RE2 from{R"re((?i)^\s*FROM\s+(\S+))re"};
  RE2 image_line{R"re(^\s*(?:-\s*)?image:\s*["']?([^\s"']+))re"};
  RE2 requests{R"re("DeviceRequests"\s*:\s*(null|\[\s*\]|\[.*))re"};
  RE2 capabilities{R"re("Capabilities"\s*:\s*\[\s*\[([^\]]*)\])re"};
  RE2 toolkit{R"re(NVIDIA Container (?:Toolkit|Runtime)(?: CLI)? version (\d+\.\d+\.\d+)|nvidia-container-(?:toolkit|runtime)[^\d]*(\d+\.\d+\.\d+))re"};
  RE2 runtime_name{R"re(default_runtime_name\s*=\s*"([^"]+)")re"};
  RE2 default_runtime{R"re(^\s*Default Runtime:\s*(\S+)|"default-runtime"\s*:\s*"([^"]+)")re"};
};

const Patterns& patterns() {
  static const Patterns compiled;
  return compiled;
}

bool asks_for_gpus(std::string_view command) {
  for (const std::string_view option : {"--gpus", "--runtime=nvidia", "--runtime nvidia", "nvidia.com/gpu", "--nv", "--device /dev/nvidia", "--device=/dev/nvidia", "NVIDIA_VISIBLE_DEVICES", "--nvccli"})
    if (command.find(option) != std::string_view::npos) return true;
  return false;
}

void add_image(Machine& machine, const PastedText& text, std::size_t line, std::string_view image) {
  StringPiece cuda;
  RE2::PartialMatch(piece(image), patterns().image_cuda, &cuda);
  add_observation(machine, text, line, "container-image", {{"image", std::string(image)}, {"cuda", std::string(view(cuda))}});
}

}  // namespace

void read_containers(const PastedText& text, const Knowledge&, Machine& machine) {
  const Patterns& p = patterns();
  for (const PasteSegment& segment : text.segments) {
    const std::string& command = segment.command;
    const bool starts = runs(segment, "docker") || runs(segment, "podman") || runs(segment, "nerdctl") || runs(segment, "singularity") ||
                        runs(segment, "apptainer") || runs(segment, "enroot") || runs(segment, "docker-compose") || runs(segment, "kubectl");
    if (!starts) continue;
    const bool run = command.find(" run") != std::string::npos || command.find(" create") != std::string::npos ||
                     command.find(" exec") != std::string::npos || command.find(" up") != std::string::npos;
    if (run)
      add_observation(machine, text, segment.line, "container-command",
                      {{"gpus", asks_for_gpus(command) ? "yes" : "no"},
                       {"tool", command.substr(0, command.find(' '))},
                       {"verb", command.find(" exec") != std::string::npos ? "exec" : "run"}});
  }
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::string& line = text.lines[i].text;
    StringPiece a, b;
    static const RE2 image_variable{R"re((?i)^\s*ENV\s+(NVIDIA_[A-Z_]+|CUDA_[A-Z_]+|LD_LIBRARY_PATH)[ =]"?([^"\s]+))re"};
    if (RE2::PartialMatch(piece(line), image_variable, &a, &b))
      add_observation(machine, text, i, "variable", {{"name", std::string(view(a))}, {"value", std::string(view(b))}});
    if (RE2::PartialMatch(piece(line), p.from, &a) && (view(a).find(':') != std::string_view::npos || view(a).find('/') != std::string_view::npos))
      add_image(machine, text, i, view(a));
    else if (RE2::PartialMatch(piece(line), p.image_line, &a))
      add_image(machine, text, i, view(a));
    else if (RE2::PartialMatch(piece(line), p.image, &a))
      add_image(machine, text, i, view(a));
    if (RE2::PartialMatch(piece(line), p.requests, &a)) {
      const bool none = view(a) == "null" || view(a).find('{') == std::string_view::npos;
      RE2::PartialMatch(piece(line), p.capabilities, &b);
      const std::string capabilities(view(b));
      add_observation(machine, text, i, "device-requests", {{"gpus", none ? "no" : "yes"}, {"capabilities", capabilities}});
    } else if (line.find("capabilities:") != std::string::npos && line.find("gpu") != std::string::npos) {
      add_observation(machine, text, i, "device-requests", {{"gpus", "yes"}, {"capabilities", line.substr(line.find(':') + 1)}});
    }
    if (RE2::PartialMatch(piece(line), p.toolkit, &a, &b))
      add_observation(machine, text, i, "container-toolkit", {{"version", std::string(view(a).empty() ? view(b) : view(a))}});
    if (RE2::PartialMatch(piece(line), p.runtime_name, &a) || RE2::PartialMatch(piece(line), p.default_runtime, &a, &b))
      add_observation(machine, text, i, "default-runtime", {{"runtime", std::string(view(a).empty() ? view(b) : view(a))}});
    if (line.find("desktop-linux") != std::string::npos && line.find('*') != std::string::npos)
      add_observation(machine, text, i, "docker-desktop", {});
    if (line.find("Context:") != std::string::npos && line.find("desktop-linux") != std::string::npos)
      add_observation(machine, text, i, "docker-desktop", {});
    if (line.find("Operating System: Docker Desktop") != std::string::npos) add_observation(machine, text, i, "docker-desktop", {});
  }
}

}  // namespace gpuvet
